"""What the error rates of a test of membership say about ε: values by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from caveat.attack.membership import bound_at, epsilon_bound, estimate_at


def test_epsilon_bound_by_hand():
    # 500 of 1000 hits, no false alarm in 1000: the lower limit of the hit rate is the 2.5 % point
    # of Beta(500, 501), the upper limit of the alarm rate is 1 - 0.025^(1/1000).
    upper = 1 - 0.025 ** (1 / 1000)
    assert epsilon_bound(500, 1000, 0, 1000) == pytest.approx(math.log(0.46855 / upper), abs=1e-3)
    assert epsilon_bound(10, 1000, 10, 1000) == 0.0
    # the complements: 1000 of 1000 rejected outside, half missed inside
    assert epsilon_bound(1000, 1000, 500, 1000) == pytest.approx(
        epsilon_bound(500, 1000, 0, 1000), abs=1e-12
    )


def test_a_threshold_gives_the_counts_of_the_bound():
    inside, outside = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.0, 1.0, 2.0, 0.5])
    assert bound_at(inside, outside, 2.0, 0.05, 0.0) == epsilon_bound(3, 4, 1, 4)
    # Half a count is added on both sides: 3.5 of 5 hits, 1.5 of 5 alarms.
    assert estimate_at(inside, outside, 2.0) == pytest.approx(math.log(3.5 / 1.5))
