"""One-to-one matches against what a model of the keys says anyway."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.risk import MEASURES, Scenario, pair


def test_improvement_uses_the_model():
    """A release that repeats what a model of the keys says anyway has no improvement to show."""
    rng = np.random.default_rng(5)
    age = np.arange(200) % 50
    original = {"age": age, "old": age > 24, "noise": rng.integers(0, 50, 200)}
    release = {"age": age, "old": age > 24, "noise": rng.integers(0, 50, 200)}
    both = pair(original, release, Scenario(("age", "noise"), "old"))
    precision, found = MEASURES["matchPrecision"](both), MEASURES["PI"](both)
    assert precision.value == 1
    assert precision.baseline == pytest.approx(0.5)
    assert found.value is None or found.details["P_base"] > 0.9
