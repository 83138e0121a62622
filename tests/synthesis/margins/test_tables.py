"""Tables of counts: by hand, with weights, and too large ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.synthesis.margins.tables import count_tables, margin_of, places, within

CELLS = {"a": np.array([0, 0, 1, 1, 1]), "b": np.array([2, 0, 2, 2, 1])}
SIZES = {"a": 2, "b": 3}


def test_counts_by_hand_and_by_weight():
    found = count_tables(CELLS, SIZES, [("a", "b"), ("b",)])
    assert found["a", "b"].tolist() == [[1, 0, 1], [0, 1, 2]]
    assert found["b",].tolist() == [1, 1, 3]
    weights = np.array([0.5, 1, 2, 0, 4])
    assert count_tables(CELLS, SIZES, [("b", "a")], weights)["b", "a"].tolist() == [
        [1, 0], [0, 4], [0.5, 2],
    ]  # fmt: skip


def test_no_records_give_empty_tables():
    none = {name: values[:0] for name, values in CELLS.items()}
    assert count_tables(none, SIZES, [("a", "b")])["a", "b"].tolist() == [[0, 0, 0], [0, 0, 0]]


@given(seed=st.integers(0, 99))
def test_a_margin_is_what_is_counted_directly(seed):
    rng = np.random.default_rng(seed)
    sizes = {"a": 2, "b": 3, "c": 4}
    cells = {name: rng.integers(0, n, 30) for name, n in sizes.items()}
    whole = count_tables(cells, sizes, [("c", "a", "b")])
    for names in (("b", "c"), ("c", "b"), ("a",), ("b", "a", "c")):
        direct = count_tables(cells, sizes, [names])[names]
        assert margin_of(whole, names).tolist() == direct.tolist()


def test_the_place_of_a_record_is_that_of_its_cell():
    assert places(CELLS, SIZES, ("a", "b")).tolist() == [2, 0, 5, 5, 4]


def test_a_table_that_is_too_large_is_refused_in_words():
    assert within([2**12, 2**12])
    assert not within([2**12, 2**12 + 1])
    assert not within([2**40] * 10)
    with refused("synthesis.table.too-large", where="synthesis, margins"):
        count_tables(CELLS, {"a": 5000, "b": 5000}, [("a", "b")])
