"""All tables, counted one by one and in blocks, are the tables that pandas counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from caveat.table.table import smallest_unsigned
from caveat.utility import tables
from caveat.utility.pair import Category
from caveat.utility.tables import count_tables

LEVELS = (2, 5, 3, 300, 7, 4, 1, 40)


def columns(n: int, m: int) -> list[Category]:
    rng = np.random.default_rng(5)
    found = []
    for levels in LEVELS:
        kind = smallest_unsigned(levels)
        codes = (rng.integers(0, levels, size).astype(kind) for size in (n, m))
        found.append(Category(*codes, tuple(map(str, range(levels))), np.zeros(levels, bool)))
    return found


def expected(chosen: tuple[Category, ...], weights: np.ndarray | None) -> list[np.ndarray]:
    """Count in an array with an axis for each column."""
    shape = tuple(column.n_levels for column in chosen)
    found = []
    for side, counted in (("original", weights), ("synthetic", None)):
        table = np.zeros(shape)
        where = tuple(getattr(column, side).astype(int) for column in chosen)
        np.add.at(table, where, 1.0 if counted is None else counted)
        found.append(table.ravel())
    return found


@pytest.mark.parametrize("rows", [(40, 60), (9_000, 5_000)])  # no blocks, and several
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ways", [1, 2])
def test_every_table_in_the_order_of_its_columns(
    rows: tuple[int, int], weighted: bool, ways: int
) -> None:
    made = columns(*rows)
    weights = np.linspace(0.5, 1.5, rows[0]) if weighted else None
    counted = list(count_tables([], made, ways, weights))
    chosen = list(combinations(made, ways))
    assert len(counted) == len(chosen)
    for table, some in zip(counted, chosen, strict=True):
        for ours, right in zip(table, expected(some, weights), strict=True):
            assert ours == pytest.approx(right)


def test_small_columns_are_crossed_and_large_ones_stand_alone() -> None:
    shapes = [block.shape for block in tables._blocks(columns(9_000, 5_000), 35)]
    assert shapes == [(2, 5, 3), (300,), (7, 4, 1), (40,)]


def test_pieces_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    made = columns(9_000, 5_000)
    whole = list(count_tables([], made, 2, None))
    monkeypatch.setattr(tables, "PIECE", 700)
    for table, again in zip(whole, count_tables([], made, 2, None), strict=True):
        assert all((a == b).all() for a, b in zip(table, again, strict=True))


def test_a_column_in_every_table() -> None:
    first, *rest = columns(500, 400)
    counted = list(count_tables([first], rest, 1, None))
    for table, other in zip(counted, rest, strict=True):
        for ours, right in zip(table, expected((first, other), None), strict=True):
            assert ours.tolist() == right.tolist()


def test_too_many_cells_are_counted_where_they_occur(monkeypatch: pytest.MonkeyPatch) -> None:
    made = columns(300, 200)
    monkeypatch.setattr(tables, "DENSE_CELLS", 50)
    counted = count_tables([], made, 2, None)
    for table, some in zip(counted, combinations(made, 2), strict=True):
        ours, theirs = expected(some, None)
        if len(ours) > 50:
            ours, theirs = ours[ours + theirs > 0], theirs[ours + theirs > 0]
        assert table[0].tolist() == ours.tolist()
        assert table[1].tolist() == theirs.tolist()


def test_a_column_of_one_level_before_one_of_256():
    rows = 256 * 1100
    codes = np.tile(np.arange(256, dtype=np.uint8), rows // 256)
    none = np.zeros(rows, np.uint8)
    one = Category(none, none, ("a",), np.zeros(1, bool))
    many = Category(codes, codes[::-1].copy(), tuple(map(str, range(256))), np.zeros(256, bool))
    ((ours, theirs),) = count_tables([], [one, many], 2, None)
    assert (ours == rows // 256).all()
    assert (theirs == rows // 256).all()
