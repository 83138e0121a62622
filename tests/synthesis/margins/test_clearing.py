"""Clearing: what is published by hand, and against a definition record by record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.synthesis.margins.tables import Clearing, changed_by, clear_tables, cleared_counts

PAIR = ("sex", "job")
SIZES = {"sex": 2, "job": 2}


def cells_of(counts: list[list[int]]) -> dict[str, np.ndarray]:
    """Return records with these counts."""
    places = np.repeat(np.arange(4), np.ravel(counts))
    return {"sex": places // 2, "job": places % 2}


def cleared(counts: list[list[int]], rules: Clearing, weights=None) -> list[list[float]]:
    return cleared_counts(cells_of(counts), SIZES, [PAIR], rules, weights)[PAIR].tolist()


def test_coarsening_to_the_limit_as_raab_does_it():
    # counts are coarsened to multiples of the disclosure limit, smaller ones are none
    assert cleared([[9, 10], [14, 15]], Clearing(10, None, 10)) == [[0, 10], [10, 20]]
    assert cleared([[4, 5], [24, 25]], Clearing(1, None, 10)) == [[0, 10], [20, 30]]


def test_the_threshold_is_one_of_records_and_rounding_is_half_up():
    assert cleared([[2, 3], [12, 13]], Clearing(3, None, 5)) == [[0, 5], [10, 15]]
    assert cleared([[2, 3], [7, 13]], Clearing(1)) == [[2, 3], [7, 13]]
    heavy = np.repeat([100.0, 1.0, 2.5, 1.0], [2, 3, 1, 10])
    assert cleared([[2, 3], [1, 10]], Clearing(3, None, 5), heavy) == [[0, 5], [0, 10]]
    assert cleared([[0, 0], [1, 0]], Clearing(1, None, 5), np.array([2.5])) == [[0, 0], [5, 0]]


def test_who_has_no_weight_is_no_record():
    weights = np.array([1.0, 1, 0, 1, 1, 1])
    assert cleared([[3, 0], [0, 3]], Clearing(3), weights) == [[0, 0], [0, 3]]


def test_a_few_that_make_up_most_of_a_cell_suppress_it():
    weights = np.array([85.0, 5, 5, 5, 86, 4, 5, 5])
    rules = Clearing(1, (1, 0.85))
    assert cleared([[4, 4], [0, 0]], rules, weights) == [[100, 0], [0, 0]]
    assert cleared([[4, 4], [0, 0]], Clearing(1, (2, 0.89)), weights) == [[0, 0], [0, 0]]
    assert cleared([[4, 4], [0, 0]], Clearing(1, (2, 0.9)), weights) == [[100, 0], [0, 0]]
    # without weights n of m records make up n/m
    assert cleared([[4, 5], [0, 1]], Clearing(1, (1, 0.2))) == [[0, 5], [0, 0]]


def test_what_is_said_of_a_table():
    found = clear_tables(cells_of([[12, 3], [13, 27]]), SIZES, (PAIR,), Clearing(10, None, 5))[PAIR]
    assert found.counts.tolist() == [[10, 0], [15, 25]]
    assert (found.suppressed, found.changed_by) == (1, 13)
    # a cell that rounds to nothing looks suppressed and is
    found = clear_tables(cells_of([[2, 0], [3, 5]]), SIZES, (PAIR,), Clearing(1, None, 5))[PAIR]
    assert (found.counts.tolist(), found.suppressed) == ([[0, 0], [5, 5]], 1)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 9999),
    threshold=st.integers(1, 6),
    dominance=st.sampled_from([None, (1, 0.5), (2, 0.7), (3, 0.9)]),
    multiple=st.sampled_from([1, 3, 5]),
    weighted=st.booleans(),
)
def test_changed_by_equals_clearing_again_without_each_record(
    seed, threshold, dominance, multiple, weighted
):
    rng = np.random.default_rng(seed)
    sizes = {"a": 2, "b": 3, "c": 2}
    cells = {name: rng.integers(0, k, 25) for name, k in sizes.items()}
    weights = rng.integers(0, 6, 25).astype(float) if weighted else None
    rules, margins = Clearing(threshold, dominance, multiple), (("a", "b"), ("b", "c"))
    whole = cleared_counts(cells, sizes, margins, rules, weights)
    expected = {margin: np.zeros(25, bool) for margin in margins}
    for record in range(25):
        rest = {name: np.delete(values, record) for name, values in cells.items()}
        lighter = None if weights is None else np.delete(weights, record)
        other = cleared_counts(rest, sizes, margins, rules, lighter)
        for margin in margins:
            expected[margin][record] = not np.array_equal(whole[margin], other[margin])
    either = expected["a", "b"] | expected["b", "c"]
    assert changed_by(cells, sizes, margins, rules, weights).tolist() == either.tolist()
    tables = clear_tables(cells, sizes, margins, rules, weights)
    assert {m: t.changed_by for m, t in tables.items()} == {m: e.sum() for m, e in expected.items()}
    for margin, table in tables.items():
        assert np.array_equal(table.counts, whole[margin])
        published = table.counts[table.counts > 0]
        assert (published % multiple == 0).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 9999), dominance=st.sampled_from([None, (1, 0.5), (2, 0.8)]))
def test_a_cell_by_its_records(seed, dominance):
    rng = np.random.default_rng(seed)
    cells, weights = {"a": rng.integers(0, 4, 20)}, rng.integers(1, 9, 20).astype(float)
    found = cleared_counts(cells, {"a": 4}, [("a",)], Clearing(3, dominance, 5), weights)["a",]
    for cell in range(4):
        own = np.sort(weights[cells["a"] == cell])[::-1]
        bad = len(own) < 3
        if dominance is not None and len(own):
            bad |= own[: dominance[0]].sum() > dominance[1] * own.sum()
        assert found[cell] == (0 if bad else 5 * np.floor(own.sum() / 5 + 0.5))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"treshold": 10}, "synthesis.setting.unknown"),
        ({"threshold": -1}, "synthesis.setting.range"),
        ({"threshold": 2.5}, "synthesis.setting.range"),
        ({"multiple": 0}, "synthesis.setting.range"),
        ({"multiple": True}, "synthesis.setting.range"),
        ({"dominance": [0, 0.85]}, "synthesis.setting.range"),
        ({"dominance": [1, 85]}, "synthesis.setting.range"),
        ({"dominance": [1]}, "synthesis.setting.range"),
        ({"dominance": 0.85}, "synthesis.setting.range"),
        (10, "synthesis.setting.type"),
    ],
)
def test_rules_that_are_none_are_refused(given, message):
    with refused(message):
        Clearing.of(given)


def test_rules_go_through_a_file_and_have_words():
    rules = Clearing.of({"dominance": [2, 0.9], "multiple": 3})
    assert rules == Clearing(10, (2, 0.9), 3)
    assert Clearing.of(rules.state()) == rules
    assert str(rules).startswith("at least 10 records in a cell, the 2 largest weights at most 0.9")
    assert Clearing.of(Clearing().state()) == Clearing()
