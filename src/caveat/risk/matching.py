"""One-to-one matches: a person unique on the keys meets a synthetic record unique on the keys."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.notes import Note
from caveat.risk.held_out import held_out_precision
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate, scaled, undefined
from caveat.risk.pair import ScenarioPair

__all__ = ["ENTRIES", "improvement", "match_precision", "precision_improvement"]

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
    """Return the precision of one-to-one matches where 0 is what a model says of strangers."""
    matched, right = _right(pair)
    n, found = int(matched.sum()), match_precision(pair)
    base = held_out_precision(pair)
    if found.value is None or base is None:
        few = Note("one-record", "there is no other record that a model could be fitted to")
        return undefined(found.notes[0] if found.value is None else few)
    return improvement(int(right.sum()), n, base, coverage=n / pair.n, trace=found.trace)


def improvement(
    right: int, matches: int, base: float, *, coverage: float | None = None, trace: Any = None
) -> Measurement:
    """Return (P_atk − P_base) / (1 − P_base) from counts of matches.

    Parameters
    ----------
    right, matches
        One-to-one matches whose target is right, and all of them.
    base
        How often a model names the target of a record that it was not fitted to.
    coverage, trace
        Share of the records that are matched, and what each record carries.

    Examples
    --------
    >>> improvement(3, 4, 0.5).value
    0.5
    """
    attack = rate(right, matches)
    if attack.value is None or attack.interval is None:
        return attack
    ends = [scaled(x, base) for x in (attack.value, *attack.interval)]
    if ends[0] is None:
        return undefined(Note("always-right", "the model is always right: nothing to learn"))
    return Measurement(
        ends[0],
        interval=(ends[1] or 0.0, ends[2] or 0.0),
        baseline=0.0,
        n=matches,
        details={
            "matches": matches,
            "coverage": coverage,
            "P_atk": attack.value,
            "P_base": base,
        },
        trace=trace,
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
_UNIQUE = "Looks only at records unique on the keys on both sides; report the coverage. "
_SPOT = _UNIQUE + (
    "Right guesses that follow from the population count as well: PI has a model tested on people "
    "outside its data as its baseline, the most frequent value is a weak one."
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
        says="matchPrecision on a scale from 0 (a model's guess for a stranger) to 100",
        attacker=_JOINS,
        formula="(P_atk − P_base) / (100 − P_base) · 100; may be negative; P_base: how often ridge "
        "regression on 0/1 columns of the keys, fitted to all other records, names a record's "
        "target",
        source=f"{FRANCIS}, PI; there P_base is an L1 logistic regression tested on 30 % of the "
        "records, and PI is 0 where P_base is 100: here it is undefined",
        blind_spot=_UNIQUE + "Far below 0 where P_base is near 100. The model is linear: what only "
        "a combination of keys tells about the population counts as disclosure.",
        blind="only one-to-one matches; undefined is no all-clear",
        baseline="0 by construction",
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION}),
        default=False,
        by_size=True,
    ),
)
