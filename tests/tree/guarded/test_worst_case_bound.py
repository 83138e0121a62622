"""The bound on a structure as the evidence has it; that it holds is shown beside the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.tree.guarded import (
    Candidates,
    Guard,
    Response,
    Sample,
    grow_guarded,
    structure_bound,
)


@pytest.mark.parametrize(
    ("response", "levels", "bound"),
    [
        (Response(2), [3], 5 * (4 / 0.5 + 1 / 4)),  # two classes need no line
        (Response(6), [3], 5 * (4 / 0.5 + 1 / 4) + 5 / 5),
        (Response(6, has_order=True), [3], 5 * (4 / 0.5 + 1 / 4)),
        (Response(6), [], 5 / 5),
        (Response(6, is_number=True, has_order=True), [], 0.0),
    ],
)
def test_depth_times_choice_and_stopping_and_the_line(response, levels, bound) -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (len(levels), 50)).astype(np.uint16)
    sample = Sample(codes, rng.integers(0, response.n_codes, 50), np.ones(50))
    guard = Guard(temperature=0.5, smallest=40, depth=5)
    tree = grow_guarded(sample, Candidates(levels, [False] * len(levels)), response, guard, rng)
    assert structure_bound(tree) == pytest.approx(bound, rel=1e-12)
