"""The same regression from codes as from the design written down."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from caveat.table import Table
from caveat.utility import WeightedPair, propensity
from caveat.utility.propensity import MainEffects, fit_logistic, orthonormal_basis
from caveat.utility.stacked import Stacked, stack


def people(n: int, seed: int, **more: object) -> Table:
    rng = np.random.default_rng(seed)
    school = rng.integers(0, 6, n)
    income = np.where(rng.random(n) < 0.1, np.nan, np.round(rng.lognormal(7 + seed / 50, 1, n)))
    data = {
        "sex": rng.choice(["f", "m"], n),
        "school": np.array(list("abcdef"))[school],
        "years": 8.0 + 2 * school,  # made of the categories before it
        "age": rng.integers(16, 97, n),
        "income": income,
        "one": np.full(n, 7.0),
    }
    return Table.from_frame(data | more)


def both(pair: WeightedPair) -> tuple[Stacked, MainEffects]:
    data = stack(pair)
    return data, MainEffects(data)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_and_rank_of_the_written_design(weighted: bool) -> None:
    data, effects = both(WeightedPair.of(people(700, 1), people(500, 2)))
    weights = np.linspace(0.5, 1.5, 1200) if weighted else None
    basis = orthonormal_basis(data.design(0))
    right = fit_logistic(basis, data.is_synthetic, weights)
    found = effects.fit(data.is_synthetic, weights)
    assert found is not None
    assert data.design(0).shape[1] == 12  # a constant, 1, 5, 1, 1, 1, 1 and where income is empty
    assert (effects.rank, found.rank) == (right.rank, right.rank) == (10, 10)
    assert (found.steps, found.converged) == (right.steps, right.converged)
    assert found.scores == pytest.approx(right.scores, abs=1e-10)
    assert found.deviance == pytest.approx(right.deviance, rel=1e-12)


def test_a_number_that_hardly_varies_is_left_to_the_rows() -> None:
    rng = np.random.default_rng(4)
    far = [people(n, s, far=1e9 + rng.integers(0, 5, n)) for n, s in ((300, 1), (200, 2))]
    data, effects = both(WeightedPair.of(*far))
    assert effects.rank is None
    assert effects.fit(data.is_synthetic) is None


def test_a_column_that_is_nearly_made_of_others_is_left_to_the_rows() -> None:
    rng = np.random.default_rng(4)
    tables = []
    for n, s in ((300, 1), (200, 2)):
        age = rng.integers(16, 97, n)
        tables.append(people(n, s, age=age, again=age + 1e-7 * rng.random(n)))
    assert both(WeightedPair.of(*tables))[1].rank is None


def test_separated_rows() -> None:
    apart = [people(n, s, side=np.full(n, float(s))) for n, s in ((300, 1), (200, 2))]
    data, effects = both(WeightedPair.of(*apart))
    right = fit_logistic(orthonormal_basis(data.design(0)), data.is_synthetic)
    found = effects.fit(data.is_synthetic)
    assert found is not None
    assert (found.steps, found.converged) == (right.steps, right.converged) == (25, False)
    assert found.scores == pytest.approx(right.scores, abs=1e-9)


def test_a_group_that_is_all_synthetic() -> None:
    """Its weights all but vanish."""
    tables = [people(n, s) for n, s in ((300, 1), (200, 2))]
    only = np.where(np.arange(200) < 3, "x", "y")
    sides = [t.with_columns(Table.from_frame({"z": z}).columns) for t, z in zip(
        tables, (np.full(300, "y"), only), strict=True)]  # fmt: skip
    data, effects = both(WeightedPair.of(*sides))
    right = fit_logistic(orthonormal_basis(data.design(0)), data.is_synthetic)
    found = effects.fit(data.is_synthetic)
    assert found is not None
    assert found.steps == right.steps
    assert found.scores == pytest.approx(right.scores, abs=1e-9)


def test_large_tables_and_small_ones_have_the_same_value(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = people(700, 1), people(500, 2)
    small = propensity(WeightedPair.of(*tables), "logit")
    monkeypatch.setattr(import_module("caveat.utility.propensity"), "FEW_CELLS", 0)
    large = propensity(WeightedPair.of(*tables), "logit")
    assert large.df == small.df
    assert large.pMSE == pytest.approx(small.pMSE, rel=1e-10)
    apart = [people(n, s, side=np.full(n, float(s))) for n, s in ((300, 1), (200, 2))]
    assert propensity(WeightedPair.of(*apart), "logit").PO50 == 0.5
