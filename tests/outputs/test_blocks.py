"""Reconstruction of a block from published figures."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.outputs.blocks import Figure, reconstruct


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=4, max_size=4), st.booleans())
def test_reconstruction_lists_all_blocks(counts, bound):
    """Against trying every block of at most 8 records in 2 × 2 cells."""
    cells = list(itertools.product("ab", "xy"))
    truth = dict(zip(cells, counts, strict=True))
    figures = [
        Figure({}, sum(counts)),
        Figure({"p": "a"}, truth["a", "x"] + truth["a", "y"]),
        Figure({"q": "x"}, truth["a", "x"] + truth["b", "x"], at_most=bound),
    ]
    found = reconstruct({"p": "ab", "q": "xy"}, figures)
    every = [
        block
        for block in itertools.product(range(9), repeat=4)
        if sum(block) == sum(counts)
        and block[0] + block[1] == counts[0] + counts[1]
        and (
            block[0] + block[2] <= counts[0] + counts[2]
            if bound
            else block[0] + block[2] == counts[0] + counts[2]
        )
    ]
    assert sorted(map(tuple, found.solutions.tolist())) == sorted(every)
    assert found.low.tolist() == np.min(every, axis=0).tolist()
    assert found.high.tolist() == np.max(every, axis=0).tolist()
    assert found.unique == (len(every) == 1)


def test_reconstruction_stops_at_the_cap_and_says_so():
    found = reconstruct({"p": "ab", "q": "xy"}, [Figure({}, 9)], most=10)
    assert len(found.solutions) == 10
    assert not found.complete
    assert not found.certain


def test_reconstruction_of_figures_that_contradict_each_other():
    with refused("outputs.table.conflict"):
        reconstruct({"p": "ab"}, [Figure({}, 3), Figure({"p": "a"}, 4)])
    with refused("outputs.total.absent"):
        reconstruct({"p": "ab"}, [Figure({"p": "a"}, 4)])
