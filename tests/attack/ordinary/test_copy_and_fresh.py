"""Every attack finds a copied table and does not find one of fresh records from the process."""

from __future__ import annotations

import pytest

from caveat.attack.ordinary import (
    closer_than_neighbour,
    epsilon_identifiability,
    identical_matches,
    inference,
    linkability,
    membership_scores,
    singling_out,
)
from caveat.risk.measure import wilson

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
