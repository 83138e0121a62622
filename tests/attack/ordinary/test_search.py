"""Nearest records and descriptions against comparing all with all."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.attack.ordinary.encoding import code_matrix, mixed, prepare
from caveat.attack.ordinary.frnn import frnn
from caveat.attack.ordinary.singling_out import Index, describe, describe_one_column, isolated
from caveat.nearest import gower_nearest
from caveat.risk import MEASURES, Scenario, pair
from caveat.table import Table


def test_gower_by_hand():
    """Range of age 40: |30 − 40|/40; debt negative, range 200; missing differs by 1."""
    a = pl.DataFrame({"age": [30, 50], "debt": [-100, -100], "sex": ["f", "m"]})
    b = pl.DataFrame({"age": [40, 0, None], "debt": [-300, -100, -100], "sex": ["f", "f", "m"]})
    tables = prepare(a, b)
    ours, theirs = mixed([tables.original, tables.synthetic], a.columns, tables.synthetic)
    found = gower_nearest(ours, theirs, 3)
    assert found.distance[0] == pytest.approx([1 / 3 * 30 / 40, (10 / 40 + 1) / 3, 2 / 3])
    assert found.position[0].tolist() == [1, 0, 2]


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


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_descriptions_fit_one_record(seed, columns):
    """Those of the release fit one synthetic record; what they fit elsewhere is counted by hand."""
    tables = prepare(people(seed, 40), people(seed + 1, 40))
    rng = np.random.default_rng(seed)
    found = describe(tables.synthetic, columns, 50, rng)
    if columns == 1:
        found = describe_one_column(tables.synthetic, 50, rng)
    assert (isolated(found, Index.of(tables.synthetic)) >= 0).all()
    codes = code_matrix(tables.original, tables.original.names)
    for row, hit in enumerate(isolated(found, Index.of(tables.original))):
        fits = np.ones(40, dtype=bool)
        for c, low, high in zip(*(part[row] for part in found), strict=True):
            fits &= (codes[c] >= low) & (codes[c] <= high)
        assert hit == (int(np.flatnonzero(fits)[0]) if fits.sum() == 1 else -1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30))
def test_frnn_is_algorithm_3_1_and_its_accuracy_is_r_gcap(seed, n, m):
    """As it stands in the paper, all pairs compared; GCAP is the share of the truth."""
    keys = ("sex", "town", "debt")
    tables = prepare(people(seed, n), people(seed + 1, m))
    shares = frnn(tables.synthetic, tables.original, keys, "job")
    assert shares.sum(axis=1) == pytest.approx(np.ones(n))
    ours, theirs = (
        np.stack([t[key].codes for key in keys], 1) for t in (tables.original, tables.synthetic)
    )
    steps = (ours[:, None] != theirs[None]).sum(axis=2)
    job = tables.synthetic["job"].codes
    for row in range(n):
        pool = job[steps[row] == steps[row].min()]
        assert shares[row] == pytest.approx(
            np.bincount(pool, minlength=shares.shape[1]) / len(pool)
        )
    truth = tables.original["job"].codes
    best = shares == shares.max(axis=1, keepdims=True)
    right = (best[np.arange(n), truth] / best.sum(axis=1)).mean()
    measured = pair(tables.original, tables.synthetic, Scenario(keys, "job"))
    assert right == pytest.approx(MEASURES["R_GCAP"](measured).value)
    assert shares[np.arange(n), truth].mean() == pytest.approx(MEASURES["GCAP"](measured).value)


def test_columns_that_are_no_values_are_left_out():
    table = Table.from_frame(people(1, 30))
    assert prepare(table, table).original.names == table.names
