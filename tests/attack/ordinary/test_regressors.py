"""Numbers predicted within a tolerance."""

from __future__ import annotations

import numpy as np
from tests.refusals import refused

from caveat.attack.ordinary import (
    prediction,
)
from caveat.attack.ordinary.predicting import best_constant


def test_numeric_target_within_a_tolerance(original, control):
    """Debt rises by 10 a year with sd 400: a line meets ±400 for 68.3 % (within 4 sd)."""
    found = prediction(
        original, original, keys=["age"], target="debt", control=control, tolerance=400, trees=10
    )
    line = found.summary("LR", "control")[0]
    assert abs(line - 0.683) < 4 * np.sqrt(0.683 * 0.317 / 600)
    assert best_constant(np.array([-9.0, -8.0, -7.5, 4.0]), 1.0) == -8.25
    with refused("attack.tolerance.unsupported", column="ill"):
        prediction(original, original, keys=["age"], target="ill", tolerance=1)
