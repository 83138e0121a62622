"""A made-up survey with 20 mixed columns, any number of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# name, number of levels, ordered
COLUMNS = [
    ("sex", 2, False),
    ("age", 80, True),
    ("region", 16, False),
    ("size of place", 6, True),
    ("education", 5, True),
    ("profession", 10, False),
    ("marital status", 7, False),
    ("income", 1_500, True),
    ("smokes", 2, False),
    ("cigarettes", 40, True),
    ("height", 70, True),
    ("weight", 110, True),
    ("body mass", 4_000, True),
    ("occupation", 30, False),
    ("life satisfaction", 7, True),
    ("depression", 22, True),
    ("trust", 3, False),
    ("friends", 50, True),
    ("abroad", 2, False),
    ("field of study", 28, False),
]


class Survey(NamedTuple):
    codes: list[np.ndarray]
    n_levels: list[int]
    ordered: list[bool]

    def without(self, column: int) -> list[int]:
        return [i for i in range(len(self.codes)) if i != column]


def make_survey(n_rows: int, seed: int = 7) -> Survey:
    """Each column is a noisy function of three hidden traits, cut into levels of uneven size."""
    rng = np.random.default_rng(seed)
    traits = rng.standard_normal((3, n_rows), dtype=np.float32)
    codes = []
    for _, n_levels, ordered in COLUMNS:
        mix = rng.normal(size=3)
        score = mix @ traits + rng.standard_normal(n_rows, dtype=np.float32)
        edges = np.cumsum(rng.dirichlet(np.full(n_levels, 3.0)))[:-1]
        ranks = np.quantile(score[: min(n_rows, 100_000)], edges)
        column = np.searchsorted(ranks, score)
        if not ordered:
            column = rng.permutation(n_levels)[column]
        codes.append(column.astype(np.uint8 if n_levels <= 256 else np.uint16))
    return Survey(codes, [n for _, n, _ in COLUMNS], [o for *_, o in COLUMNS])
