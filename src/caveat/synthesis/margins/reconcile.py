"""Tables that do not quite agree become shares that do."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from caveat.synthesis.margins.tables import Tables

__all__ = ["reconcile"]


def reconcile(
    tables: Tables, sizes: Mapping[str, int], variances: Mapping[str, float] | None = None
) -> Tables:
    """Return shares of a tree of pairs that sum to 1 and agree on every column they share.

    The first table is kept; each further one is scaled to what is known of the column it hangs on.
    """
    del variances
    known: dict[str, NDArray[np.float64]] = {}
    found: Tables = {}
    waiting = dict(tables)
    while waiting:
        key = next((k for k in waiting if any(name in known for name in k)), next(iter(waiting)))
        table = np.maximum(np.asarray(waiting.pop(key), np.float64), 0.0)
        shares = table / max(table.sum(), np.finfo(float).tiny)
        for axis, name in enumerate(key):
            if name in known:
                lines = np.moveaxis(shares, axis, 0)
                own = lines.sum(axis=tuple(range(1, lines.ndim)))
                overall = lines.sum(axis=0)
                scaled = [
                    want * (line / mine if mine > 0 else overall)
                    for want, line, mine in zip(known[name], lines, own, strict=True)
                ]
                shares = np.moveaxis(np.array(scaled), 0, axis)
        for axis, name in enumerate(key):
            others = tuple(a for a in range(len(key)) if a != axis)
            known.setdefault(name, shares.sum(axis=others))
        found[key] = shares
    assert all(known[name].shape == (sizes[name],) for name in known)
    return found
