"""Randomness is a tree of seeds: each part of the work has its own, whatever runs beside it."""

from __future__ import annotations

import numpy as np

__all__ = ["child_seed", "rng_of"]


def child_seed(seed: int, *key: int) -> int:
    """Return the seed of one part of the work."""
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0] >> 1)


def rng_of(seed: int, *key: int) -> np.random.Generator:
    """Return the generator of one part of the work: the same key, the same numbers.

    Examples
    --------
    >>> [int(rng_of(1, part).integers(100)) for part in (2, 2, 3)]
    [42, 42, 18]
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
