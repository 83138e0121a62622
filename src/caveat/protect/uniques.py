"""Removal of synthetic uniques that stand for somebody in the original."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caveat.errors import CaveatError
from caveat.protect.record import Protected, Step
from caveat.risk import key_cells
from caveat.table import Table, align

__all__ = ["remove_replicated_uniques"]


def remove_replicated_uniques(
    original: Table, synthetic: Table, keys: Sequence[str], *, existing: bool = False
) -> Protected:
    """Remove records that are unique on the keys in the release and in the original.

    Parameters
    ----------
    original, synthetic
        The original and the release.
    keys
        Columns an attacker may know.
    existing
        Remove also uniques of the release whose keys several original records have.

    Examples
    --------
    >>> people = Table.from_frame({"sex": list("ffm"), "age": [31, 47, 31]})
    >>> release = Table.from_frame({"sex": list("ffm"), "age": [31, 31, 31]})
    >>> dict(remove_replicated_uniques(people, release, ["sex", "age"]).step.counts)
    {'rows': 3, 'removed': 1}
    """
    if not keys:
        raise CaveatError(
            "no key is named",
            do="say which columns an attacker may know",
            code="protection.key.absent",
        )
    both = align(original.select(keys), synthetic.select(keys))
    tables = (both.original, both.synthetic)
    cells, n = key_cells(
        [[table[key].codes for key in keys] for table in tables],
        [both.original[key].n_levels for key in keys],
    )
    ours, theirs = (np.bincount(c, minlength=n) for c in cells)
    bad = (theirs == 1) & ((ours >= 1) if existing else (ours == 1))
    keep = ~bad[cells[1]]
    if not keep.any():
        raise CaveatError(
            "every synthetic record is such a unique, and nothing would remain",
            where=f"keys {', '.join(keys)}",
            do="choose fewer or coarser keys",
            code="protection.table.empty",
        )
    step = Step(
        "remove_replicated_uniques",
        {"keys": list(keys), "existing": existing},
        {"rows": len(keep), "removed": int((~keep).sum())},
        reads_original=True,
    )
    return Protected(synthetic.take(np.flatnonzero(keep)), step)
