"""The wrong file is refused, or doubted: what two tables have in common."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from tests.refusals import refused

from caveat.table import Table, align
from caveat.table.align import (
    chance_of_nothing,
    common_share,
    refuse_other_table,
    refuse_strangers,
)


def share(ours: list[object], theirs: list[object]) -> float:
    both = align(Table.from_frame({"x": ours}), Table.from_frame({"x": theirs}))
    return common_share(both.original["x"], both.synthetic["x"])


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (["a", "b"], ["a", "b", "c", "a"], 0.75),
        (["a", "b"], ["c", "d"], 0.0),
        ([1.5, 9.5], [2.25, 7.75], 1.0),  # smoothed: no value is the same
        ([1.5, 9.5], [9.75, 12.5], 0.0),
        ([1, 2, 3], [3, 4, 5, 6], 0.25),
        ([True, True], [False], 0.0),
        ([1, 3, 5] * 5, [2, 4] * 5, 0.0),  # codes: whole numbers that repeat
        ([1, 3, 5] * 5, [1, 4] * 5, 0.5),
        ([1, 3, 5], [2, 4], 1.0),
        ([dt.date(2020, 1, 1), dt.date(2020, 3, 1)], [dt.date(2020, 2, 2)], 1.0),
        ([dt.date(2020, 1, 1), dt.date(2020, 3, 1)], [dt.date(1950, 2, 2)], 0.0),
        (["a", None], ["b", None], 0.0),  # nothing but blanks in common is nothing
        (["a", "b"], [None, None], 0.0),
        (["a", None], [None, None], 1.0),
        ([None, None], [None], 1.0),
        ([None, None], ["a", "b"], 0.0),
        ([1, 2], ["one", "two"], 0.0),
        ([1, 2], ["1", "2"], 1.0),
        (["a"], [], 1.0),
    ],
)
def test_share_in_common(ours: list[object], theirs: list[object], expected: float) -> None:
    assert share(ours, theirs) == expected


def test_noise_and_rounding_of_the_same_people_are_no_strangers() -> None:
    rng = np.random.default_rng(0)
    pay = rng.lognormal(7, 1, 500)
    for release in (pay + rng.normal(0, 50, 500), np.round(pay, -2), np.round(pay)):
        assert share(pay.tolist(), release.tolist()) > 0.9


def test_a_doubt_is_an_alarm_without_values() -> None:
    both = align(
        Table.from_frame({"town": ["Ulm"] * 28, "id": list("abcd") * 7}),
        Table.from_frame({"town": ["Ulm", "Bonn", "Bonn", "Bonn"] * 7, "id": list("wxyz") * 7}),
    )
    alarms = {d.column: d.what for d in both.differences if d.is_alarm}
    assert alarms == {
        "town": "less than half of the synthetic cells have a value that occurs in the original: "
        "is it the right file?",
        "id": "no synthetic cell has a value that occurs in the original: is it the right file?",
    }
    refuse_strangers(both.original, [both.synthetic], ["town"])
    refuse_other_table(both.original, [both.synthetic])
    with refused("data.value.mismatch", column="id"):
        refuse_strangers(both.original, [both.synthetic], ["town", "id"])
    alone = both.original.select(["id"]), both.synthetic.select(["id"])
    with refused("data.table.mismatch"):
        refuse_other_table(alone[0], [alone[1]])


def pair(ours: list[object], theirs: list[object]) -> tuple[Table, Table]:
    both = align(Table.from_frame({"x": ours}), Table.from_frame({"x": theirs}))
    return both.original, both.synthetic


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (["a", "a", None], ["b"], 5 / 9),
        (["a"] * 2, ["b"] * 2, 1 / 4),
        ([f"n{i}" for i in range(40)], [f"m{i}" for i in range(40)], 1.0),
        ([1.5, 2.5], [3.5], 2 / 3),  # two of the three numbers must be neighbours
        ([1.5, 2.5, 3.5], [7.5, 8.5, 9.5], 4 / 20),
        ([None, None], ["a"], 1.0),
    ],
)
def test_the_chance_of_nothing_in_common_by_hand(
    ours: list[object], theirs: list[object], expected: float
) -> None:
    original, other = pair(ours, theirs)
    assert chance_of_nothing(original["x"], other["x"]) == pytest.approx(expected)


def test_few_values_that_are_all_held_out_are_no_wrong_file() -> None:
    sparse = pair(["scurvy", None] * 2 + [None] * 40, ["gout", None, "yaws"] + [None] * 40)
    names = pair([f"n{i}" for i in range(40)], [f"m{i}" for i in range(40)])
    towns = pair(["Ulm", "Bonn"] * 20, ["Rome", "Oslo"] * 20)
    refuse_strangers(sparse[0], [sparse[1]], ["x"])
    for original, other in (sparse, names):
        refuse_strangers(original, [original], ["x"], other)
    # A release takes its values from the original, so that names of others are another file's.
    for original, copies, control in (
        (towns[0], [towns[0]], towns[1]),
        (towns[0], [towns[1]], None),
        (names[0], [names[1]], None),
    ):
        with refused("data.value.mismatch", column="x"):
            refuse_strangers(original, copies, ["x"], control)
