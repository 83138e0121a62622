"""Classifiers trained on the release."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack.ordinary import (
    prediction,
)
from caveat.attack.ordinary.predicting import majority
from caveat.risk.measure import wilson

KEYS = ["age", "debt", "height", "sex", "town"]


def test_an_even_vote_goes_to_the_class_named_first():
    """Four against two; three against three, the first says 2; two each, the first says 0."""
    ballots = np.array([[0, 1, 1, 1, 1, 0], [2, 1, 2, 1, 2, 1], [0, 1, 2, 2, 1, 0]])
    assert majority(list(ballots.T), 3).tolist() == [1, 2, 0]


def test_classifiers_trained_on_a_copy_are_the_reference(original, control, fresh):
    copy = prediction(original, original, keys=KEYS, target="ill", control=control, trees=20)
    assert copy.attack == copy.reference
    assert copy.measurement("FR-NN").value == 1
    new = prediction(original, fresh, keys=KEYS, target="ill", control=control, trees=20)
    for name in new.names:
        found = new.measurement(name)
        others = wilson(found.control * found.control_n, found.control_n)
        assert found.interval[0] <= others[1], name
        assert found.interval[1] >= others[0], name
        assert found.baseline == pytest.approx((original["ill"] == "no").mean())
