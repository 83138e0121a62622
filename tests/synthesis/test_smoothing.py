"""Silverman's bandwidth: by hand, and against numpy's quartiles of the values one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from caveat.synthesis.coding import bandwidth


def of_values(values):
    """The rule on the values written out: 0.9 min(s, IQR/1.34) n^(-1/5), zeros passed over."""
    s = np.std(values, ddof=1) if len(values) > 1 else 0.0
    spreads = [x for x in (s, stats.iqr(values) / 1.34) if x > 0]
    return 0.9 * min(spreads, default=0.0) * len(values) ** -0.2


@pytest.mark.parametrize(
    ("known", "counts", "expected"),
    [
        # Quartiles 1 and 3, s = 1.5811: the range decides.
        ([0, 1, 2, 3, 4], [1, 1, 1, 1, 1], 0.9 * 2 / 1.34 * 5**-0.2),
        # 0 0 0 10: quartiles 0 and 2.5, s = 5.
        ([0, 10], [3, 1], 0.9 * 2.5 / 1.34 * 4**-0.2),
        # 0 ×9 and 10: both quartiles 0, so s = √10 alone.
        ([0, 10], [9, 1], 0.9 * 10**0.5 * 10**-0.2),
        # Half of the values below, half above: quartiles 0 and 1, s = √(100/99)/2.
        ([0, 1], [50, 50], 0.9 * (100 / 99) ** 0.5 / 2 * 100**-0.2),
        ([7], [12], 0.0),
        ([7], [1], 0.0),
    ],
)
def test_bandwidth_by_hand(known, counts, expected):
    known, counts = np.array(known, dtype=float), np.array(counts)
    n = int(counts.sum())
    assert bandwidth(known, counts, n) == pytest.approx(expected)
    assert bandwidth(known, counts / n, n) == pytest.approx(expected)


@given(
    st.dictionaries(st.integers(-50, 50), st.integers(1, 7), min_size=1),
)
def test_bandwidth_of_counted_values_is_that_of_the_values(counted):
    known = np.array(sorted(counted), dtype=float)
    counts = np.array([counted[x] for x in sorted(counted)])
    n = int(counts.sum())
    expected = of_values(np.repeat(known, counts))
    assert bandwidth(known, counts, n) == pytest.approx(expected)
    assert bandwidth(known, counts / n, n) == pytest.approx(expected)  # shares, as in a leaf
