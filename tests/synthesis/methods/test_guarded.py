"""The guarded method in a table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.attack.guarded_tables import make_problem

from caveat.attack.worlds import Worlds
from caveat.errors import CaveatWarning
from caveat.synthesis import Synthesizer
from caveat.synthesis.fitting import fit_columns
from caveat.synthesis.methods.guarded import GUARDS, guard_of
from caveat.table import Table


@pytest.mark.parametrize("weights", ["", "any"])
def test_the_number_of_threads_changes_nothing(weights):
    problem = make_problem(["three", "both", "seven", "many"], 120, 5, weights)
    fits = [fit_columns(problem.table, problem.plan, 9, threads) for threads in (1, 2, 5)]
    for name, model in fits[0].items():
        for other in fits[1:]:
            for one, two in ((model.kinds, other[name].kinds), (model.values, other[name].values)):
                if one is None:
                    assert two is None
                    continue
                ours, theirs = one.tree.arrays(), two.tree.arrays()
                assert {k: np.asarray(v).tobytes() for k, v in ours.items()} == {
                    k: np.asarray(v).tobytes() for k, v in theirs.items()
                }


def test_releases_are_the_same_bytes_for_any_number_of_threads():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(list("xyz"), 300), "b": rng.integers(0, 400, 300)})
    models = [Synthesizer(seed=4, method="guarded", threads=k).fit(frame) for k in (1, 3)]
    one, two = (m.sample(copies=2, threads=k) for m, k in zip(models, (2, 1), strict=True))
    for ours, theirs in zip(one, two, strict=True):
        pd.testing.assert_frame_equal(ours, theirs)


def test_ten_rows_one_level_and_no_predictors():
    frame = pd.DataFrame({"one": ["only"] * 10, "two": list("ab") * 5, "three": [7] * 10})
    with pytest.warns(CaveatWarning, match="10 rows"):
        model = Synthesizer(seed=1, method="guarded").fit(frame)
    drawn = model.sample(rows=500)
    assert set(drawn["one"]) == {"only"}
    assert set(drawn["three"]) == {7}
    # Root alone, two classes of five each: (5 + 1/2) / (10 + 1)
    logs = model.log_prob(frame).columns["two"]
    assert np.exp(logs) == pytest.approx(0.5)
    assert 200 < (drawn["two"] == "a").sum() < 300


def test_weights_count_in_their_unit():
    """Weights of 3 in units of 3 are no weights at all; in units of 1 they are."""
    plain = make_problem(["three", "few", "seven"], 80, 3)
    frame = plain.table.to_frame()
    table = Table.from_frame(frame.assign(w=3.0))
    plan = replace(plain.plan, weights="w")
    release = Table.from_frame(frame)
    expected = Worlds(plain.table, plain.plan, [release], 3).evidence(plain.table, ())
    found = [
        Worlds(table, replace(plan, weight_unit=unit), [release], 3).evidence(table, ())
        for unit in (3.0, 1.0)
    ]
    assert found[0].log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
    assert abs(found[1].log_likelihood - expected.log_likelihood) > 1


def test_the_dial_has_three_positions_and_numbers_of_its_own():
    problem = make_problem(["two", "three"], 20, 1)
    guard = guard_of(problem.plan.columns["a"].settings)
    assert (guard.temperature, guard.smallest, guard.backoff, guard.depth) == (1.5, 8.0, 3.0, 4)
    order = [GUARDS[name] for name in ("light", "standard", "strong")]
    for name in ("temperature", "smallest", "backoff"):
        values = [getattr(guard, name) for guard in order]
        assert values == sorted(values)
        assert len(set(values)) == 3
