"""Descriptions that fit one person only."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attack.ordinary.tables import people

from caveat.attack.ordinary.common import code_matrix, prepare
from caveat.attack.ordinary.three_risks import Index, describe, describe_one_column, isolated


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
