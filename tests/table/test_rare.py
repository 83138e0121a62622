"""Rare levels: counted in units, declared ones excepted."""

import numpy as np

from caveat.table import Column, Kind
from caveat.table.identifying import K, has_open_vocabulary, rare_levels, units_of_levels
from caveat.table.table import Missing


def column(cells: list[str | None], kind: Kind = Kind.CATEGORY) -> Column:
    levels = sorted({cell for cell in cells if cell is not None})
    codes = [len(levels) if cell is None else levels.index(cell) for cell in cells]
    return Column(np.array(codes), np.array(levels, object), kind, (Missing(),))


def test_levels_below_k_are_rare_and_missing_is_no_level() -> None:
    cells = column(["a"] * K + ["b"] * (K - 1) + [None])
    assert rare_levels(cells).tolist() == [False, True]
    assert rare_levels(cells, k=1).tolist() == [False, False]


def test_declared_levels_are_not_rare() -> None:
    assert not rare_levels(column(["a", "b", "b"]), declared=("a", "b")).any()


def test_units_are_counted_and_not_rows() -> None:
    cells = column(["a"] * 10 + ["b"] * 10)
    units = np.array(["one"] * 10 + [f"u{i}" for i in range(10)])
    assert units_of_levels(cells, units).tolist() == [1, 10]
    assert rare_levels(cells, units).tolist() == [True, False]


def test_a_level_that_nobody_has_is_not_rare() -> None:
    empty = Column(np.zeros(9, int), np.array(["a", "b"], object), Kind.ORDERED)
    assert rare_levels(empty).tolist() == [False, False]


def test_numbers_and_yes_or_no_have_no_open_vocabulary() -> None:
    assert has_open_vocabulary(column(["a"], Kind.TEXT))
    assert has_open_vocabulary(column(["a"], Kind.ORDERED))
    flags = Column(np.array([0, 1]), np.array([False, True]), Kind.BOOLEAN)
    assert not has_open_vocabulary(flags)
    assert not has_open_vocabulary(Column(np.array([0]), np.array([3]), Kind.INTEGER))
