"""A record that changes its class alone: one pass serves all classes, and equals a new count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from caveat.tree.guarded import Candidates, Guard, Response, Sample, grow_guarded
from caveat.tree.guarded.adjacent import Change, Moves, logs_of_moves

N, SIZES, ORDERED = 200, [6, 4, 9], [True, False, True]


def sample_of(rng, n_codes, weights):
    codes = np.stack([rng.integers(0, size, N) for size in SIZES]).astype(np.uint16)
    response = (codes[0] + codes[1] + rng.integers(0, 3, N)) % n_codes
    return Sample(codes, response.astype(np.int64), weights)


def every_class(sample, records, n_codes):
    """Return moves in which each of the records gets each class, one world each."""
    rows = np.repeat(records, n_codes)
    old = Sample(sample.codes[:, rows], sample.response[rows], sample.weights[rows])
    new = replace(old, response=np.tile(np.arange(n_codes), len(records)))
    on, each = np.ones(len(rows), bool), np.arange(len(rows))
    return Moves.of(Change(old, on), Change(new, on), (each, each), len(rows))


@pytest.mark.parametrize("temperature", [0.01, 0.7, 20.0])
@pytest.mark.parametrize("n_codes", [2, 5, 90])
@pytest.mark.parametrize("weights", ["one", "two", "any"])
def test_every_class_of_a_record_is_a_new_count(temperature, n_codes, weights):
    rng = np.random.default_rng(n_codes)
    choices = {"one": [1.0], "two": [2.0], "any": [0.5, 1.0, 3.0]}[weights]
    sample = sample_of(rng, n_codes, rng.choice(choices, N))
    guard = Guard(temperature=temperature, smallest=15.0, depth=4)
    tree = grow_guarded(sample, Candidates(SIZES, ORDERED), Response(n_codes), guard, rng)
    assert len(tree.candidate) > 5
    records = np.array([3, 3, 77, 150])
    moves = every_class(sample, records, n_codes)
    worlds, weight = moves.with_class_alone()
    same = sample.weights[records] == sample.weights[3]
    assert weight == sample.weights[3]
    assert worlds.tolist() == np.flatnonzero(np.repeat(same, n_codes)).tolist()
    # Nothing is released: what is left is the structure, with the line of classes.
    nothing = np.zeros((len(tree.candidate), n_codes + 1))
    found = logs_of_moves(tree, sample, nothing, moves).reshape(len(records), n_codes)
    for record, line in zip(records, found, strict=True):
        for code in range(0, n_codes, max(1, n_codes // 7)):
            response = sample.response.copy()
            response[record] = code
            again = tree.counted_on(replace(sample, response=response))
            expected = again.log_structure - tree.log_structure
            np.testing.assert_allclose(line[code], expected, rtol=1e-9, atol=1e-9)
