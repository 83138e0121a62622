"""What a notebook shows of an attack: how sure the attacker is, and of nobody in particular."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from caveat.showing import Summary

if TYPE_CHECKING:
    from caveat.attack.attributes import Attributes
    from caveat.attack.posterior import Posterior

__all__ = [
    "FACTOR",
    "RISE",
    "SURE",
    "attributes_summary",
    "disclosed",
    "membership_summary",
    "place_of",
    "posterior_summary",
    "rose",
]

SURE = 0.9
"""From this posterior probability on a record can count as disclosed."""
RISE, FACTOR = 0.1, 2.0
"""It counts if the release raised the probability by so much, or to so many times what it was."""
_NEARLY = 1e-9  # 1 - 0.9 is less than 0.1 in binary
Floats = NDArray[np.float64]


def rose(before: Floats, after: Floats) -> NDArray[np.bool_]:
    """Return for each probability whether the release raised it by much.

    Examples
    --------
    >>> rose(np.array([0.885, 0.9, 0.01, 1.0]), np.array([0.905, 1.0, 0.02, 1.0])).tolist()
    [False, True, True, False]
    """
    by_points = after >= before + RISE - _NEARLY
    return np.asarray(by_points | ((after >= FACTOR * before) & (after > 0)))


def disclosed(before: Floats, after: Floats, limit: float = SURE) -> NDArray[np.bool_]:
    """Return for each probability of a truth whether it is large, and because of the release.

    Parameters
    ----------
    before, after
        The probabilities before the release and after it.
    limit
        From this probability on it is a disclosure.

    Examples
    --------
    >>> disclosed(np.array([0.885, 0.5, 0.1]), np.array([0.905, 0.95, 0.4])).tolist()
    [False, True, False]
    """
    return (after >= limit) & rose(before, after)


def place_of(p: NDArray[np.float64], truth: int) -> int:
    """Return the place of the truth among the guesses, 1 for the most probable one."""
    return 1 + int((p > p[truth]).sum())


def posterior_summary(found: Posterior) -> Summary:
    """Return what is shown of the attack on one record."""
    before, after = float(found.prior[found.truth]), found.probability
    rows = [
        ("how sure she is of the true values", before, after),
        ("bits that are left to learn", found.prior_entropy, found.entropy),
        ("the truth is her guess number", place_of(found.prior, found.truth), found.rank),
    ]
    how = "exact" if found.exact else "simulated"
    title = f"Posterior of record {found.record}, {how}: {before:.1%} before, {after:.1%} after"
    header = (f"{len(found.prior):,} candidates", "before the release", "after")
    return Summary(title, header, rows, found.notes)


def membership_summary(after: NDArray[np.float64], unit: str) -> Summary:
    """Return what is shown of the probabilities of membership that were 0.5 before."""
    known = after[~np.isnan(after)]
    sure, n = int((known >= SURE).sum()), len(known)
    rows = [
        (f"{unit}s whose membership she knows almost surely (≥ {SURE:.0%})", sure),
        (f"as a share of the {unit}s", sure / max(n, 1)),
        ("median probability", float(np.median(known)) if n else None),
        ("largest probability", float(known.max()) if n else None),
    ]
    title = f"Membership of {len(after):,} {unit}s: {sure:,} known almost surely"
    return Summary(title, ("an attacker who gave each 0.5 before", ""), rows)


def attributes_summary(found: Attributes) -> Summary:
    """Return what is shown of the attack on one column of many records."""
    before, after = found.prior_probability, found.probability
    rows = [
        (f"a probability of {SURE:.0%} or more", _share(before >= SURE), _share(after >= SURE)),
        ("of these, because of the release", 0.0, _share(disclosed(before, after))),
        ("the only best guess is true", _share(found.prior_correct), _share(found.correct)),
        ("mean probability of the true value", _share(before), _share(after)),
    ]
    title = f"Attributes of {len(after):,} {found.unit}s: {rows[1][2]:.1%} known because of it"
    return Summary(title, (f"share of the {found.unit}s", "before the release", "after"), rows)


def _share(each: NDArray[np.generic]) -> float:
    return float(each.mean()) if len(each) else 0.0
