"""What one setting comes to against a limit."""

from __future__ import annotations

import math

from caveat.generators import Setting
from caveat.spec.limits import read_limits
from caveat.tuning.bench import Point


def test_a_limit_above_the_baseline_is_held_against_the_worst_rise():
    (limit,) = read_limits({"DiSCO": {"above": 2}})
    values = ({"DiSCO": 0.41}, {"DiSCO": 0.42})
    fine = Point(Setting({}), values, rises=({"DiSCO": 0.0}, {"DiSCO": 0.02}))
    assert fine.excess(limit) == 0
    worse = Point(Setting({}), values, rises=({"DiSCO": 0.0}, {"DiSCO": 0.05}))
    assert worse.excess(limit) > 1
    assert Point(Setting({}), values).excess(limit) == math.inf  # nothing to compare with
    (level,) = read_limits({"DiSCO": 41.5})
    assert Point(Setting({}), values).excess(level) > 0
