"""Tables that do not agree become shares that do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.synthesis.margins.reconcile import reconcile
from caveat.synthesis.margins.tables import count_tables

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2}
TREE = [("a", "b"), ("b", "c"), ("d", "b")]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 999))
def test_shares_sum_to_one_and_agree(seed):
    rng = np.random.default_rng(seed)
    tables = {m: rng.integers(0, 20, [SIZES[n] for n in m]).astype(float) for m in TREE}
    found = reconcile(tables, SIZES)
    assert set(found) == set(TREE)
    for shares in found.values():
        assert (shares >= 0).all()
        assert shares.sum() == pytest.approx(1)
    b = found["a", "b"].sum(axis=0)
    assert found["b", "c"].sum(axis=1) == pytest.approx(b, abs=1e-9)
    assert found["d", "b"].sum(axis=0) == pytest.approx(b, abs=1e-9)


def test_what_agrees_stays_as_it_is():
    rng = np.random.default_rng(1)
    cells = {name: rng.integers(0, k, 100) for name, k in SIZES.items()}
    tables = count_tables(cells, SIZES, TREE)
    found = reconcile(tables, SIZES)
    for margin in TREE:
        assert found[margin] == pytest.approx(tables[margin] / 100, abs=1e-9)
