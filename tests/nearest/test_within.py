"""Box queries against comparing all with all."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.nearest import Split, within


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3))
def test_they_are_what_all_pairs_give(seed, width):
    rng = np.random.default_rng(seed)

    def split(n, width, levels=3):
        return Split([rng.integers(0, levels, n)], [levels], rng.integers(0, 9, (n, width)) * 1.0)

    (query, data), target = [split(20, width), split(30, width)], (split(20, 1), split(30, 1))
    radius = rng.integers(0, 4, (20, width)).astype(np.float64)
    near = query.equal[0][:, None] == data.equal[0][None]
    near &= (np.abs(query.numbers[:, None] - data.numbers[None]) <= radius[:, None]).all(axis=2)
    same = target[0].equal[0][:, None] == target[1].equal[0][None]
    same &= np.abs(target[0].numbers - target[1].numbers.T) <= 2
    found, right = within(query, data, radius, target, 2.0)
    assert found.tolist() == near.sum(axis=1).tolist()
    assert right.tolist() == (near & same).sum(axis=1).tolist()
    found, right = within(query, data, radius)
    assert found.tolist() == right.tolist() == near.sum(axis=1).tolist()
