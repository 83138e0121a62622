"""What the tests of ordinary attackers share: a made-up process, a copy and fresh records."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest


def people(seed: int, n: int = 600) -> pl.DataFrame:
    """Records of one process: continuous and negative numbers, categories, missing cells."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 90, n)
    debt = rng.normal(-1000, 400, n) + 10 * age
    job = np.where(age > 65, "none", rng.choice(["baker", "clerk", "smith"], n))
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n).tolist(),
            "job": job.tolist(),
            "town": [(None, "north", "south", "west")[i] for i in rng.integers(0, 4, n)],
            "age": age,
            "debt": debt,
            "height": rng.normal(170, 10, n),
            "ill": np.where(rng.random(n) < 0.2 + 0.4 * (age > 65), "yes", "no").tolist(),
        }
    )


@pytest.fixture(scope="session")
def original():
    return people(1)


@pytest.fixture(scope="session")
def control():
    """People of the same process who were not in the data."""
    return people(2)


@pytest.fixture(scope="session")
def fresh():
    """A release that knows the process and nobody in the data."""
    return people(3)
