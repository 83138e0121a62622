"""Rates beyond a control."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from caveat.attack.ordinary import (
    residual_risk,
)


def test_residual_risk_by_hand():
    """z² = 3.8415: the centres are 81.92/103.84 and 51.92/103.84."""
    a, c = 81.9207294 / 103.8414588, 51.9207294 / 103.8414588
    value, low, high = residual_risk(80, 100, 50, 100)
    assert value == pytest.approx((a - c) / (1 - c))
    # The errors are half the Wilson intervals; the value's derivatives are 1/(1 - c) for a and
    # (a - 1)/(1 - c)² for c.
    wilson = [stats.binomtest(k, 100).proportion_ci(method="wilson") for k in (80, 50)]
    a_error, c_error = ((x.high - x.low) / 2 for x in wilson)
    error = np.hypot(a_error / (1 - c), c_error * (1 - a) / (1 - c) ** 2)
    assert [low, high] == pytest.approx([value - error, value + error])
    assert residual_risk(50, 100, 80, 100)[0] == 0
