"""What a notebook shows of an attack: how sure the attacker is, and of nobody in particular."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from caveat.showing import Summary

if TYPE_CHECKING:
    from caveat.attack.attributes import Attributes
    from caveat.attack.posterior import Posterior

__all__ = ["SURE", "attributes_summary", "membership_summary", "place_of", "posterior_summary"]

SURE = 0.9
"""From this posterior probability on a record counts as disclosed."""


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
        (f"known almost surely (≥ {SURE:.0%})", _share(before >= SURE), _share(after >= SURE)),
        ("the only best guess is true", _share(found.prior_correct), _share(found.correct)),
        ("mean probability of the true value", _share(before), _share(after)),
    ]
    title = f"Attributes of {len(after):,} {found.unit}s: {rows[0][2]:.1%} known almost surely"
    return Summary(title, (f"share of the {found.unit}s", "before the release", "after"), rows)


def _share(each: NDArray[np.generic]) -> float:
    return float(each.mean()) if len(each) else 0.0
