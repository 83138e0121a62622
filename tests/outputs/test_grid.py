"""Combinations that a table does not list."""

from __future__ import annotations

from caveat.outputs.hidden_cells import Grid, Place, lines_of, named_place


def test_what_is_not_listed() -> None:
    grid = Grid([("f", "no"), ("m", "no"), ("m", "yes")])
    assert list(grid.absent(0, ("m", "yes"))) == [("f", "yes")]
    assert list(grid.absent(0, ("m", "no"))) == []
    assert Grid([]).nested == []
    assert Grid([("f",), ("m",)]).nested == []


def test_nested_keys_have_no_combinations_of_other_values() -> None:
    cells: list[Place] = [
        (region, town, sex)
        for region, town in (("n", "a"), ("n", "b"), ("s", "c"), ("s", "d"))
        for sex in "fm"
        if (town, sex) != ("b", "m")
    ]
    grid = Grid(cells)
    assert grid.nested == [(1, 0)]
    assert list(grid.absent(0, ("n", "b", "f"))) == []  # a town has its region
    assert list(grid.absent(1, ("n", "a", "m"))) == [("n", "b", "m")]  # towns of the region
    assert list(grid.absent(2, ("n", "b", "f"))) == [("n", "b", "m")]


def test_a_code_and_its_label() -> None:
    grid = Grid([("1", "north", "f"), ("1", "north", "m"), ("2", "south", "f")])
    assert grid.nested == [(0, 1), (1, 0)]
    assert list(grid.absent(2, ("2", "south", "f"))) == [("2", "south", "m")]


def test_places_have_no_values_where_they_are_totals() -> None:
    place = ("n", None)
    assert named_place(("region", "sex"), place) == {"region": "n", "sex": ""}
    cells: list[Place] = [("n", "f"), ("n", "m"), ("s", "f"), place]
    assert list(lines_of(cells)) == [(0, [0, 2]), (0, [1]), (1, [0, 1]), (1, [2])]
