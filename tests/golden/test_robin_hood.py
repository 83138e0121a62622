"""Robin Hood, Brown et al. (2024): the worked example, how many to mask, the true odds ratios."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.protect import attempts, burdens, effective_k, masked_outside, odds_ratios, robin_hood
from caveat.protect.lattice import Levels
from caveat.table import Table


def test_the_worked_example():
    """Ten records: the majority A 7, B 4, C 3, D 1; the minority A 3, B 2, C 1, D 3."""
    assert round(effective_k(7, 3, 1), 4) == 7.4286
    assert effective_k(3, 1, 3) == 4
    minority, majority = attempts(3, 1, 3), attempts(7, 3, 1)
    assert minority[:3] == pytest.approx((2.5, 4.5, 3.5))
    assert minority.chances == pytest.approx((1 / 3, 1 / 12, 1 / 6))
    assert np.round(majority[:3], 4).tolist() == [4.2143, 4.7857, 4.5]
    assert np.round(majority.chances, 4).tolist() == [0.1429, 0.1071, 0.125]


def test_how_many_to_mask_for_an_effective_k_of_30():
    """Equation 5, rounded up."""
    assert masked_outside(3, 1, 30) == 81
    assert [masked_outside(5, c, 30) for c in (1, 2)] == [125, 63]
    assert [masked_outside(10, c, 30) for c in (1, 2, 3, 4, 5)] == [200, 100, 67, 50, 40]


def simulation():
    """The paper's simulation with its counts as expected: shares .9/.09/.01, rates .1/.2/.5."""
    groups = {"majority": (81_000, 9_000), "minority": (7_200, 1_800), "super": (500, 500)}
    rows = [(name, event) for name, both in groups.items() for event, n in enumerate(both)
            for _ in range(n)]  # fmt: skip
    rng = np.random.default_rng(1)
    return Table.from_frame(
        {
            "age": np.clip(rng.gamma(9, 4.3, len(rows)), 17, 60).astype(int),
            "race": [name for name, _ in rows],
            "outcome": ["yes" if event else "no" for _, event in rows],
        }
    )


def test_odds_ratios_of_the_simulation():
    table = simulation()
    found = odds_ratios(table, "race", "outcome", "yes")
    assert found["minority"].value == 2.25
    assert found["super"].value == 9
    names = ["majority" if race == "majority" else "Other" for race in table["race"].values]
    merged = Table.from_frame({"race": names, "outcome": table["outcome"].values})
    merging = {"minority": "Other", "super": "Other"}
    both = burdens(table, merged, "race", "outcome", "yes", merged=merging)
    assert [one.group for one in both] == ["super", "minority", "majority"]
    assert [round(one.after.value or 0, 4) for one in both] == [2.6883, 2.6883, 1]


def test_masking_keeps_what_merging_takes():
    """The paper: its odds ratios do not move with k_target in expectation."""
    table = simulation()
    levels = {"age": Levels(widths=[2, 10, 20, 40])}
    ratios, lost = [], []
    for seed in range(20):
        done = robin_hood(table, "race", levels, k_target=100, k_initial=3, seed=seed)
        assert done.step.counts["smallest effective k"] >= 100
        small, middle, _ = burdens(table, done.table, "race", "outcome", "yes")
        ratios.append([small.after.value, middle.after.value])
        lost.append(small.lost)
    logs = np.log(ratios)
    # Within four standard errors of the twenty.
    error = logs.std(axis=0, ddof=1) / np.sqrt(20)
    assert (np.abs(logs.mean(axis=0) - np.log([9, 2.25])) < 4 * error).all()
    assert 0 < np.mean(lost) < 0.5
