"""One-to-one matches: a person unique on the keys meets a synthetic record unique on the keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caveat.notes import Note
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate, scaled, undefined
from caveat.risk.pair import ScenarioPair

__all__ = ["ENTRIES", "match_precision", "precision_improvement"]

FRANCIS = "Francis (2024), A Comparison of SynDiffix Multi-table Versus Single-table"


def match_precision(pair: ScenarioPair) -> Measurement:
    """Return how often the target agrees where both sides are unique on the same keys."""
    matched, right = _right(pair)
    n = int(matched.sum())
    if not n:
        return undefined(Note("no-match", "no original unique is a synthetic unique as well"))
    return rate(
        int(right.sum()),
        n,
        baseline=float(pair.joint.d_target.max()) / pair.n,
        reference=1.0,
        details={"matches": n, "coverage": n / pair.n},
        trace=lambda: _right(pair)[1][pair.position].astype(np.float64),
    )


def precision_improvement(pair: ScenarioPair) -> Measurement:
    """Return the precision of one-to-one matches on the scale where the baseline is 0."""
    found = match_precision(pair)
    if found.value is None or found.baseline is None or found.interval is None:
        return undefined(found.notes[0])
    ends = [scaled(x, found.baseline) for x in (found.value, *found.interval)]
    if ends[0] is None:
        return undefined(Note("one-value", "the target has one value: nothing to learn"))
    return Measurement(
        ends[0],
        interval=(ends[1] or 0.0, ends[2] or 0.0),
        baseline=0.0,
        n=found.n,
        details=found.details,
        trace=found.trace,
    )


def _right(pair: ScenarioPair) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which pairs are matches, and which of them have the right target."""
    joint = pair.joint
    matched = (joint.d_all == 1) & (joint.s_all == 1) & (joint.d == 1)
    return matched, matched & (joint.s == 1)


_JOINS = (
    "has the release, knows the keys of somebody who is unique, and takes the only synthetic "
    "record with these keys for hers"
)
_SPOT = (
    "Looks only at records unique on the keys on both sides; report the coverage. Right guesses "
    "that follow from the population count as well: the best baseline is a model tested on people "
    "outside the data, the most frequent value is a weak one."
)

ENTRIES = (
    Measure(
        name="matchPrecision",
        function=match_precision,
        family="matching",
        says="how often the target is right where a unique meets a unique on the same keys",
        attacker=_JOINS,
        formula="#(q with d_q = s_q = 1 and the same target) / #(q with d_q = s_q = 1) · 100",
        source=f"{FRANCIS}, P_atk",
        blind_spot=_SPOT,
        blind="only one-to-one matches; undefined is no all-clear",
        baseline="the most frequent target of the original",
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION, Property.GAIN}),
        default=False,
        by_size=True,
    ),
    Measure(
        name="PI",
        function=precision_improvement,
        family="matching",
        says="matchPrecision on a scale from 0 (most frequent value) to 100",
        attacker=_JOINS,
        formula="(P_atk − P_base) / (100 − P_base) · 100; may be negative",
        source=f"{FRANCIS}, PI; there P_base is a logistic regression tested on held-out records",
        blind_spot=_SPOT,
        blind="only one-to-one matches; undefined is no all-clear",
        baseline="0 by construction",
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION}),
        default=False,
        by_size=True,
    ),
)
