"""What two coded columns tell about each other, by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.synthesis.pairs import BINS, UNIT, scores_for, whole_entropy


def by_definition(first, second):
    """Return mutual information times the records, less chance, in nats."""
    joint = np.zeros((BINS, BINS))
    np.add.at(joint, (first, second), 1)
    even = np.outer(joint.sum(1), joint.sum(0)) / joint.sum()
    on = joint > 0
    free = ((joint.sum(0) > 0).sum() - 1) * ((joint.sum(1) > 0).sum() - 1)
    return (joint[on] * np.log(joint[on] / even[on])).sum() - free / 2


def test_x_log_x_in_units() -> None:
    assert whole_entropy(9)[:2].tolist() == [0, 0]
    assert whole_entropy(9)[9] * UNIT == pytest.approx(9 * np.log(9))


def test_scores_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, [[2], [5], [16], [4]], (4, 300)).astype(np.uint8)
    codes[3] = (codes[1] + codes[3] // 2) % 8
    scores = scores_for(codes, 3, np.arange(3), whole_entropy(300)) * UNIT
    assert scores == pytest.approx([by_definition(codes[i], codes[3]) for i in range(3)], abs=1e-6)
    assert scores.argmax() == 1
