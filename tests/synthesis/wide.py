"""A wide table of which it is known what tells something."""

from __future__ import annotations

import numpy as np

from caveat.table import Table


def wide(columns=65, rows=400, seed=0):
    """Return columns of which x3 and x7 alone tell something about the last."""
    rng = np.random.default_rng(seed)
    found = {f"x{i}": rng.integers(0, 4, rows) for i in range(columns)}
    found[f"x{columns - 1}"] = np.where(rng.random(rows) < 0.5, found["x3"], found["x7"])
    return Table.from_frame(found)
