"""Breaks of numbers: against numpy, against brute force, and by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.table.cells import breaks, cut, interval_labels, pretty

values = st.lists(st.integers(-50, 50), min_size=4, max_size=60)


def tally(rows: list[int]) -> tuple[np.ndarray, np.ndarray]:
    distinct, counts = np.unique(np.array(rows, float), return_counts=True)
    return distinct, counts


@given(values, st.integers(3, 10))
def test_quantiles_as_numpy(rows: list[int], n: int) -> None:
    found = breaks(*tally(rows), n)
    expected = np.unique(np.round(np.quantile(rows, np.linspace(0, 1, n + 1)), 9))
    if len(expected) > 3:
        assert found == pytest.approx(expected)
    elif len(set(rows)) > 1:  # too few groups: equal widths
        assert np.diff(found) == pytest.approx((max(rows) - min(rows)) / n)


@given(st.lists(st.integers(0, 30), min_size=6, max_size=25, unique=True), st.integers(2, 4))
def test_natural_breaks_are_the_best(rows: list[int], n: int) -> None:
    rows = sorted(rows)

    def within(cuts: tuple[int, ...]) -> float:
        parts = np.split(np.array(rows, float), cuts)
        return sum(((part - part.mean()) ** 2).sum() for part in parts)

    best = min(within(cuts) for cuts in combinations(range(1, len(rows)), n - 1))
    distinct, counts = tally(rows)
    group = cut(distinct, breaks(distinct, counts, n, "fisher"))
    found = within(tuple(np.flatnonzero(np.diff(group)) + 1))
    assert found == pytest.approx(best, abs=1e-9)


@given(values)
def test_every_value_falls_into_a_group(rows: list[int]) -> None:
    distinct, counts = tally(rows)
    limits = breaks(distinct, counts, 5)
    group = cut(distinct, limits)
    assert group.min() == 0
    assert (np.diff(group) >= 0).all()
    assert group.max() < max(1, len(limits) - 1)
    assert len(interval_labels(limits)) == max(1, len(limits) - 1)


def test_values_that_never_occur_do_not_count() -> None:
    assert breaks(np.array([1.0, 2.0, 99.0]), np.array([1, 1, 0]), 4, "equal").max() == 2


@pytest.mark.parametrize(
    ("low", "high", "n", "first", "step", "last"),
    [
        (16, 97, 20, 15, 5, 100),
        (16, 97, 10, 10, 10, 100),
        (100, 16000, 20, 0, 1000, 16000),
        (12.96, 449.98, 20, 0, 20, 460),
        (12.96, 449.98, 10, 0, 50, 450),
        (-8, 60, 20, -10, 5, 60),
        (0, 21, 20, 0, 1, 21),
        (0.001, 0.009, 5, 0, 0.002, 0.01),
    ],
)
def test_round_limits(low, high, n, first, step, last) -> None:
    found = pretty(low, high, n)
    assert found[0] == pytest.approx(first)
    assert found[-1] == pytest.approx(last)
    assert np.diff(found) == pytest.approx(step)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 40))
def test_round_limits_cover_the_range(low: float, width: float, n: int) -> None:
    found = pretty(low, low + width, n)
    slack = 1e-6 * (found[1] - found[0])
    assert found[0] <= low + slack
    assert found[-1] >= low + width - slack
    assert n / 3 < len(found) - 1 < 3 * n + 3
