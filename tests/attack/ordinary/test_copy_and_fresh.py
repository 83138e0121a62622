"""Every attack finds a copied table and does not find one of fresh records from the process."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack.ordinary import (
    closer_than_neighbour,
    closest_record,
    closest_share,
    epsilon_identifiability,
    identical_matches,
    inference,
    linkability,
    membership_scores,
    neighbour_ratio,
    outlier_links,
    prediction,
    singling_out,
)
from caveat.risk.measurement import wilson

FIRST, SECOND = ["age", "sex", "town"], ["debt", "height", "job"]
KEYS = ["age", "debt", "height", "sex", "town"]


def membership(original, synthetic, control, score="density"):
    return membership_scores(original, synthetic, control=control, score=score).true_positives(0.05)


RATES = {
    "singling out": lambda o, s, c: singling_out(o, s, control=c, attacks=500),
    "singling out, one column": lambda o, s, c: singling_out(o, s, control=c, columns="one"),
    "linkability": lambda o, s, c: linkability(
        o, s, first=FIRST, second=SECOND, control=c, neighbours=3
    ),
    "inference": lambda o, s, c: inference(o, s, keys=KEYS, target="ill", control=c),
    "inference of a number": lambda o, s, c: inference(
        o, s, keys=["age", "height"], target="debt", control=c
    ),
    "membership by density": membership,
    "membership by distance": lambda o, s, c: membership(o, s, c, "distance"),
    "identical matches": lambda o, s, c: identical_matches(o, s, control=c),
    "epsilon identifiability": lambda o, s, c: epsilon_identifiability(o, s, control=c),
    "too close": lambda o, s, c: closer_than_neighbour(o, s, control=c),
}


@pytest.mark.parametrize("name", RATES)
def test_a_copy_is_found(name, original, control):
    """Ages, debts and heights are continuous, so each record is its own only nearest one: 100 %.

    The density is smoothed: a member's own kernel is certain, near others may hide it; all but a
    few must be found.
    """
    found = RATES[name](original, original, control)
    assert found.value >= (0.97 if "density" in name else 1)
    low, _ = found.interval
    assert low > wilson(found.control * found.control_n, found.control_n)[1]


@pytest.mark.parametrize("name", RATES)
def test_fresh_records_are_not_found(name, original, control, fresh):
    """Attack and control are two samples of one process: their 95 % intervals overlap.

    Not overlapping needs a difference of about 2.8 standard errors, p = 0.005 if nothing is there.
    """
    found = RATES[name](original, fresh, control)
    low, high = found.interval
    others = wilson(found.control * found.control_n, found.control_n)
    assert low <= others[1]
    assert high >= others[0]


def test_outliers_of_a_copy_are_those_of_the_original(original, control):
    found = outlier_links(original, original, keys=["age", "debt", "sex"], rule="depth")
    assert found.value == pytest.approx(found.reference)
    assert found.details["linked"] == found.details["outliers"] == 12  # the shallowest 2 %


def test_outliers_of_fresh_records_are_those_of_the_control(original, control, fresh):
    found = outlier_links(
        original, fresh, keys=["debt", "height"], rule="z", limit=1.5, control=control
    )
    low, high = found.interval
    others = wilson(found.control * found.control_n, found.control_n)
    assert low <= others[1]
    assert high >= others[0]


@pytest.mark.parametrize("copied", [True, False])
def test_distances(original, control, fresh, copied):
    release = original if copied else fresh
    closest = closest_record(original, release, control=control)
    ratio = neighbour_ratio(original, release, control=control)
    share = closest_share(original, release, control=control)
    if copied:
        assert closest.value == ratio.value == 0
        assert share.value == 1
        return
    assert closest.value == pytest.approx(closest.control, rel=0.1)
    assert ratio.value == pytest.approx(ratio.control, abs=0.1)
    assert share.interval[0] <= 0.5 <= share.interval[1]


def test_independent_data_score_a_half_on_epsilon_identifiability(original, fresh):
    """n/(2n − 1); the standard error for n = 600 is 2 %, four of them are allowed."""
    found = epsilon_identifiability(original, fresh)
    assert found.baseline == pytest.approx(600 / 1199)
    assert abs(found.value - found.baseline) < 4 * np.sqrt(0.25 / 600)


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
