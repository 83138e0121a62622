"""The generator ``outputs``: it keeps the contract and never looks at the table."""

from __future__ import annotations

import numpy as np
import pytest
from tests.generators.conformance import check_generator
from tests.refusals import refused

from caveat.generators import Drafted, generator_names, generator_of
from caveat.synthesis.drafts import Category, DraftPlan, Numeric
from caveat.table import Table

PLAN = DraftPlan(
    {"sex": Category(("f", "m"), (0.6, 0.4)), "age": Numeric(45, 12, least=18, most=90)}, rows=500
)


def people(seed: int, rows: int = 300) -> Table:
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], rows), rng.uniform(18, 90, rows)
    return Table.from_frame({"sex": sex, "age": age})


def test_it_keeps_the_contract() -> None:
    assert "outputs" in generator_names()
    check_generator(generator_of("outputs", {"plan": PLAN}), people(1))


def test_it_knows_nothing_but_the_number_of_rows() -> None:
    generator = Drafted(PLAN)
    one, other = (generator.fit(people(seed), 1).sample()[0] for seed in (1, 2))
    assert one == other
    assert one.n_rows == 300
    assert one["age"].cell_numbers.mean() == pytest.approx(45, abs=1e-6)


@pytest.mark.parametrize("settings", [{}, {"plan": "draft.toml"}, {"plan": PLAN, "share": 1}])
def test_without_a_specification_it_cannot_be_made(settings: dict[str, object]) -> None:
    with refused("generator.setting.unsupported", where="generator outputs"):
        generator_of("outputs", settings)
