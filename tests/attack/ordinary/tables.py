"""A small table with numbers and categories for the attacks."""

from __future__ import annotations

import numpy as np
import polars as pl


def people(seed, n):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n).tolist(),
            "town": [(None, "a", "b", "c")[i] for i in rng.integers(0, 4, n)],
            "debt": rng.integers(-9, 9, n),
            "job": rng.choice(["x", "y", "z"], n).tolist(),
        }
    )
