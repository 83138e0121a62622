"""Weights that meet margins: by hand, as iterative proportional fitting, and what cannot be met."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.table.calibration import TargetMargin, rake

SEX, AGE = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])


def test_two_margins_of_a_two_way_table_by_hand() -> None:
    """Odds of 1 stay odds of 1: each cell is row total times column total over the whole."""
    margins = {
        "sex": TargetMargin(SEX, np.array([60.0, 40.0])),
        "age": TargetMargin(AGE, np.array([30.0, 70.0])),
    }
    assert rake(np.ones(4), margins) == pytest.approx([18, 42, 12, 28])


def test_the_odds_ratio_of_the_given_weights_stays() -> None:
    margins = {
        "sex": TargetMargin(SEX, np.array([6.0, 4.0])),
        "age": TargetMargin(AGE, np.array([5.0, 5.0])),
    }
    a, b, c, d = rake([8.0, 1.0, 2.0, 3.0], margins)
    assert a * d / (b * c) == pytest.approx(8 * 3 / (1 * 2))
    assert a + b == pytest.approx(6)


def test_a_household_counts_with_each_of_its_members() -> None:
    """A woman, a man, a couple; w = s·a, s·b, s·ab with a + ab = 12/7 and b + ab = 16/7."""
    sex, household = np.array([0, 1, 0, 1]), np.array([0, 1, 2, 2])
    found = rake(np.ones(3), {"sex": TargetMargin(sex, np.array([30.0, 40.0]), household)})
    a = (-11 / 7 + np.sqrt(121 / 49 + 48 / 7)) / 2
    assert found == pytest.approx([17.5 * a, 17.5 * (a + 4 / 7), 17.5 * a * (a + 4 / 7)])


def test_margins_of_households_and_of_persons_together() -> None:
    """Two unknown weights, two equations: x + y = 10 households of sizes 1 and 3, 18 persons."""
    margins = {
        "households": TargetMargin(np.zeros(2, int), np.array([10.0])),
        "persons": TargetMargin(np.zeros(4, int), np.array([18.0]), np.array([0, 1, 1, 1])),
    }
    assert rake([1.0, 1.0], margins) == pytest.approx([6.0, 4.0])


def test_a_target_of_zero_leaves_nobody() -> None:
    found = rake(np.ones(4), {"sex": TargetMargin(SEX, np.array([7.0, 0.0]))})
    assert found.tolist() == pytest.approx([3.5, 3.5, 0, 0])


def test_a_weight_that_must_vanish_vanishes() -> None:
    """The cells say w1 = 3 and w1 + w2 = 3: reached only in the limit."""
    margins = {
        "a": TargetMargin(np.array([0, 1, 1]), np.array([3.0, 2.0])),
        "b": TargetMargin(np.array([0, 0, 1]), np.array([3.0, 2.0])),
    }
    assert rake(np.ones(3), margins) == pytest.approx([3, 0, 2], abs=1e-5)


households = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=6, max_size=25)


@settings(max_examples=60, deadline=None)
@given(households=households, seed=st.integers(0, 1000), scale=st.floats(0.01, 100))
def test_margins_hold_and_the_unit_of_the_weights_does_not_matter(
    households: list[list[int]], seed: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.uniform(1, 5, len(households))
    unit = np.repeat(np.arange(len(households)), list(map(len, households)))
    codes = np.concatenate(households)
    region = rng.integers(0, 2, len(households))
    true = weights * rng.uniform(0.5, 2, len(households))
    sums, regions = np.bincount(codes, true[unit], 5), np.bincount(region, true, 2)
    margins = {"age": TargetMargin(codes, sums, unit), "region": TargetMargin(region, regions)}
    found = rake(weights, margins)
    assert np.bincount(codes, found[unit], 5) == pytest.approx(sums, rel=1e-6)
    assert np.bincount(region, found, 2) == pytest.approx(regions, rel=1e-6)
    assert rake(scale * weights, margins) == pytest.approx(found, rel=1e-5)
    # Weights that are accepted meet the margins to 1e-6, and may still move by as much.
    assert rake(found, margins) == pytest.approx(found, rel=1e-5)


def test_it_ends_where_proportional_fitting_ends() -> None:
    rng = np.random.default_rng(4)
    n = 500
    codes = [rng.integers(0, k, n) for k in (3, 4, 5)]
    weights = rng.uniform(1, 9, n)
    targets = [np.bincount(c, weights * rng.uniform(0.5, 2, n)) for c in codes]
    targets = [t / t.sum() * 1000 for t in targets]
    expected = weights.copy()
    for _ in range(300):
        for c, t in zip(codes, targets, strict=True):
            expected *= (t / np.bincount(c, expected))[c]
    margins = {
        str(i): TargetMargin(c, t) for i, (c, t) in enumerate(zip(codes, targets, strict=True))
    }
    assert rake(weights, margins) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("weights", "margins", "words"),
    [
        ([1, 1, 1], {"a": TargetMargin(np.array([0, 1, 1]), np.array([5.0, 1.0])),
                     "b": TargetMargin(np.array([0, 0, 1]), np.array([1.0, 5.0]))},
         "synthesis.margin.conflict"),
        ([1, 1], {"a": TargetMargin(np.array([0, 1]), np.array([5.0, 1.0])),
                  "b": TargetMargin(np.array([0, 1]), np.array([5.0, 2.0]))},
         "synthesis.target.mismatch"),
        ([1, 1], {"a": TargetMargin(np.array([0, 0]), np.array([5.0, 1.0]))},
         "synthesis.cell.empty"),
        ([1, 0], {"a": TargetMargin(np.array([0, 1]), np.array([5.0, 1.0]))},
         "synthesis.cell.empty"),
        ([1, 1], {"a": TargetMargin(np.array([0, 2]), np.array([5.0, 1.0]))},
         "synthesis.target.absent"),
        ([1, 1], {"a": TargetMargin(np.array([0]), np.array([5.0]))}, "synthesis.margin.mismatch"),
        ([1, 1], {"a": TargetMargin(np.array([0, 0]), np.array([-5.0]))},
         "synthesis.target.range"),
        ([1], {"a": TargetMargin(np.array([0]), np.array([5.0]), np.array([3]))},
         "synthesis.unit.unknown"),
        ([1, -1], {"a": TargetMargin(np.array([0, 0]), np.array([5.0]))}, "data.weights.range"),
        ([1, 1], {}, "synthesis.margin.absent"),
    ],
)  # fmt: skip
def test_what_cannot_be_met_is_said(
    weights: list[float], margins: dict[str, TargetMargin], words: str
) -> None:
    with refused(words):
        rake(weights, margins)
