"""Which hidden cells a table gives away itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from caveat.outputs.hidden_cells import Place, computable, left_out

X = np.nan
ROWS, COLUMNS = ("a", "b", "c"), ("x", "y", "z")
GRID: list[Place] = [*itertools.product((*ROWS, None), (*COLUMNS, None))]
COUNTS = np.array([[20, 30, 40], [15, 25, 35], [12, 13, 14]])


def table(*hidden: tuple[str | None, str | None]) -> np.ndarray:
    full = np.vstack([np.hstack([COUNTS, COUNTS.sum(1, keepdims=True)]), np.zeros((1, 4), int)])
    full[3] = full[:3].sum(0)
    values = full.astype(float).ravel()
    values[[GRID.index(cell) for cell in hidden]] = X
    return values


def told(*hidden: tuple[str | None, str | None]) -> list[Place]:
    return [GRID[row] for row in computable(GRID, table(*hidden)).rows]


def test_a_rectangle_holds_and_less_does_not() -> None:
    assert told(("a", "x")) == [("a", "x")]
    assert told(("a", "x"), ("a", "y")) == [("a", "x"), ("a", "y")]
    assert told(("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")) == []


def test_lines_together_tell_what_none_alone_tells() -> None:
    """The lines of c z have two hidden cells each, and the others of the table give its totals."""
    corner = [("c", "z"), ("c", None), (None, "z")]
    square = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert told(*square, *corner) == corner
    assert told(*square, *corner, (None, None)) == []


def test_against_all_tables_that_look_the_same() -> None:
    """A hidden cell is told if it has one value in all tables of counts with the shown cells."""
    places: list[Place] = [*itertools.product(("a", "b", None), ("x", "y", None))]
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(60):
        inner = rng.integers(0, 4, 4)
        a, b, c, d = inner
        full = np.array([a, b, a + b, c, d, c + d, a + c, b + d, inner.sum()], float)
        hidden = rng.random(9) < 0.45
        values = np.where(hidden, X, full)
        possible = []
        for p, q, r, s in itertools.product(range(13), repeat=4):
            one = np.array([p, q, p + q, r, s, r + s, p + r, q + s, p + q + r + s], float)
            if np.array_equal(one[~hidden], full[~hidden]):
                possible.append(one)
        same = np.ptp(np.array(possible), axis=0) == 0
        if np.any(full[~hidden] == 0):
            continue  # who shows zeros hides none, and fewer tables look the same
        expected = {
            row for row in np.flatnonzero(hidden & same).tolist() if None not in places[row]
        }
        rows = set(computable(places, values).rows)
        assert {row for row in rows if None not in places[row]} == expected
        found += len(expected)
    assert found > 10


def test_counts_cannot_be_below_zero() -> None:
    places: list[Place] = [("a",), ("b",), ("c",), (None,)]
    assert computable(places, np.array([20, X, X, 20])).rows == (1, 2)
    assert computable(places, np.array([20, X, X, 22])).rows == ()
    # Where an empty cell is shown hidden ones are not empty: both have one person.
    more: list[Place] = [("a",), ("z",), ("b",), ("c",), (None,)]
    assert computable(more, np.array([20, 0, X, X, 22])).rows == (2, 3)
    assert computable(places, np.array([-20, X, X, -20])).rows == ()


def test_a_total_of_what_is_shown_is_no_secret() -> None:
    places: list[Place] = [("a",), ("b",), (None,)]
    assert computable(places, np.array([20, 30, X])).rows == ()
    margins: list[Place] = [("a", None), ("b", None), (None, None)]
    assert computable(margins, np.array([20, 30, X])).rows == ()


def test_what_must_be_empty_protects_nothing() -> None:
    places: list[Place] = [("a",), ("b",), ("c",), (None,)]
    assert computable(places, np.array([20, X, X, 27])).rows == ()
    assert computable(places, np.array([20, X, X, 27]), known=frozenset({1})).rows == (2,)


def test_a_cell_that_is_left_out_is_not_hidden() -> None:
    places: list[Place] = [("n", "f"), ("n", "m"), ("s", "f"), ("n", None), ("s", None)]
    assert left_out(places, np.array([20, 30, 40, 50, 44])) == [("s", "m")]
    assert computable(places, np.array([20, 30, 40, 50, 44])).left_out == (("s", "m"),)
    assert left_out(places, np.array([20, 30, 40, 50, 40])) == []  # it is empty
    assert left_out(places, np.array([20, 30, X, 50, 44])) == []  # not known
    assert left_out(places[:3], np.array([20, 30, 40])) == []


def test_margins_alone_tell_nothing() -> None:
    places: list[Place] = [("n", None), ("s", None), (None, "f"), (None, "m"), (None, None)]
    assert computable(places, np.array([20, X, 30, X, X])).rows == ()
    assert computable(places, np.array([20, X, 30, 25, X])).rows == (1,)  # 55 less 20


def test_large_tables_are_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caveat.outputs.hidden_cells.MOST_CELLS", 3)
    assert not computable(GRID, table(("a", "x"))).complete
    assert computable(GRID, table()).complete
    monkeypatch.undo()
    monkeypatch.setattr("caveat.outputs.hidden_cells.MOST_GRID", 3)
    places: list[Place] = [("n", None), ("s", None), (None, "f"), (None, "m")]
    assert not computable(places, np.array([20, X, 30, X])).complete


def test_bounds_that_are_written_are_limits() -> None:
    places: list[Place] = [("f",), ("m",), (None,)]
    free = np.full(3, np.inf)
    limits = -free, np.array([9.0, 9.0, np.inf])  # both are <10
    told = computable(places, np.array([np.nan, np.nan, 18]), limits=limits, few=3)
    assert (told.rows, told.near) == ((0, 1), ())
    told = computable(places, np.array([np.nan, np.nan, 17]), limits=limits, few=3)
    assert (told.rows, told.near) == ((), (0, 1))  # 8 or 9
    told = computable(places, np.array([np.nan, np.nan, 16]), limits=limits, few=3)
    assert (told.rows, told.near) == ((), ())
    at_least = np.array([7.0, -np.inf, -np.inf]), free
    told = computable(places, np.array([np.nan, np.nan, 7]), limits=at_least)
    assert told.rows == (0, 1)  # all of them
    # A bound on a hidden total counts too.
    limits = -np.full(4, np.inf), np.array([np.inf, np.inf, 50, np.inf])
    told = computable([*places, ("x",)], np.array([np.nan, 20, np.nan, 30]), limits=limits)
    assert told.rows == (0, 2)  # 20 and 30 are all of them


def test_amounts_that_are_known_closely() -> None:
    limits = np.array([95.0, -np.inf, -np.inf]), np.full(3, np.inf)
    told = computable([("f",), ("m",), (None,)], np.array([np.nan, np.nan, 100.0]), whole=False,
                      limits=limits)  # fmt: skip
    assert (told.rows, told.near) == ((), (0,))  # 95 to 100
