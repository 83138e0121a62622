"""Membership from scores."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack.ordinary import (
    MembershipScores,
)


def test_true_positives_and_f1_by_hand():
    members, outsiders = np.arange(90.0, 190.0), np.arange(0.0, 100.0)
    found = MembershipScores(members, outsiders, "density").true_positives(0.05)
    # Outsiders over 94: five of them. Members over 94: all but 90 to 94.
    assert found.value == 0.95
    assert found.control == 0.05
    # 90 to 99 are ten on both sides: a member is below an outsider in 45 pairs, level in 10.
    assert found.details["AUC"] == pytest.approx(1 - (45 + 10 / 2) / 100**2)
    # f = 1/2 claims the upper hundred of two hundred: 95 ... 189 and 95 ... 99.
    f1, without = MembershipScores(members, outsiders, "density").f1(0.5)
    assert f1 == pytest.approx(2 * 95 / (100 + 100))
    assert without == pytest.approx(2 / 3)


def test_scores_that_say_nothing_find_what_chance_finds():
    """1000 against 1000 equal scores: AUC one half; sd of the AUC is about 0.013."""
    rng = np.random.default_rng(1)
    found = MembershipScores(rng.random(1000), rng.random(1000), "density")
    assert abs(found.auc - 0.5) < 4 * 0.013
    low, high = found.true_positives(0.05).interval
    assert low < 0.05 < high
