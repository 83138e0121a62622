"""Stages as tables: who stands where, and what is known of those before."""

from __future__ import annotations

import numpy as np

from caveat.expressions import Expression
from caveat.synthesis.linked.unfold import Drawn, shape_of, unfold
from caveat.table import Table
from caveat.table.grouping import found_groups, split_groups
from caveat.table.linked import Link, Linked

PEOPLE = Table.from_frame(
    {
        "hh": [1, 1, 1, 2, 3],
        "region": ["N", "N", "N", "S", "S"],
        "age": [3, 40, 38, 71, 9],
        "money": [0, 10, 5, 7, 0],
        "rent": [4, 4, 4, 6, 1],
    }
)
BOTH = split_groups(PEOPLE, found_groups(PEOPLE, "hh"))
ADULT = Expression("age >= 18")
MADE = {
    "groups": Drawn(("number of members", "region", "rent")),
    "members": Drawn(("age", "money"), context=("age",)),
}


def stages(some=None, after=()):
    top = ("number of members", *(n for n in ("region", "rent") if n not in after))
    made = {
        "groups": Drawn(top, after=after),
        "members": Drawn(("age", "money"), context=("age",), some=some),
    }
    return unfold(BOTH, shape_of(BOTH, made))


def cells(table, *names):
    return [table[name].values.tolist() for name in names]


def test_members_know_their_group_and_the_first_of_them():
    found = stages()
    assert cells(found["groups"], "number of members", "region") == [[3, 1, 1], ["N", "S", "S"]]
    assert cells(found["members, first"], "age", "region") == [[3, 71, 9], ["N", "S", "S"]]
    later = found["members, later"]
    assert cells(later, "age", "first.age", "number so far", "rent") == [
        [40, 38], [3, 3], [1, 2], [4, 4],
    ]  # fmt: skip
    assert "previous.age" not in later
    each = found["members, each"]
    assert cells(each, "money", "age", "first.age", "number so far") == [
        [0, 10, 5, 7, 0], [3, 40, 38, 71, 9], [3, 3, 3, 71, 9], [0, 1, 2, 0, 0],
    ]  # fmt: skip


def test_an_original_is_put_in_order_behind_the_first_and_a_release_stands_as_it_was_drawn():
    made = {**MADE, "members": Drawn(("age", "money"), context=("age",), falling="age")}
    shape = shape_of(BOTH, made)
    ages = [
        cells(unfold(BOTH, shape, released=released)["members, each"], "age")[0]
        for released in (False, True)
    ]
    assert ages == [[3, 40, 38, 71, 9], [3, 40, 38, 71, 9]]
    turned = split_groups(PEOPLE.take([0, 2, 1, 3, 4]), found_groups(PEOPLE, "hh"))
    ages = [
        cells(unfold(turned, shape, released=released)["members, each"], "age")[0]
        for released in (False, True)
    ]
    assert ages == [[3, 40, 38, 71, 9], [3, 38, 40, 71, 9]]


def test_a_class_of_the_first_serves_the_same_class_and_nobody_knows_it_of_the_first():
    table = PEOPLE.with_columns({"job": Table.from_frame({"job": list("abcde")})["job"]})
    both = split_groups(table, found_groups(table, "hh"))
    made = {**MADE, "members": Drawn(("age", "job"), context=("age",))}
    each = unfold(both, shape_of(both, made))["members, each"]
    assert cells(each, "job", "first.job") == [list("abcde"), [None, "a", "a", None, None]]


def test_who_meets_a_condition_stands_first_and_who_cannot_takes_no_part():
    found = stages(some=ADULT)
    assert cells(found["members, first"], "age") == [[40, 71]]
    assert found["members, first"]["age"].levels.tolist() == [38, 40, 71]
    assert cells(found["members, later"], "age", "first.age") == [[3, 38], [40, 40]]
    assert found["groups"].n_rows == 2


def test_what_comes_after_the_members_knows_their_sums():
    found = stages(after=("rent",))
    last = found["groups, after"]
    assert cells(last, "rent", "sum.money", "first.age", "sum.age") == [
        [4, 6, 1], [15, 7, 0], [3, 71, 9], [81, 71, 9],
    ]  # fmt: skip
    assert "rent" not in found["members, first"]


def test_dates_are_distances_and_the_previous_row_is_known():
    days = np.array([9, 1, 2, 5]).astype("datetime64[D]")
    visits = Table.from_frame({"who": ["a", "b", "a", "a"], "day": days, "x": list("pqrs")})
    both = Linked(
        {"people": Table.from_frame({"id": ["a", "b"]}), "visits": visits},
        {"people": "id"},
        (Link("visits", "who", "people"),),
        order={"visits": "day"},
    )
    made = {"people": Drawn(("number of visits",)), "visits": Drawn(("day", "x"), context=("x",))}
    found = unfold(both, shape_of(both, made))
    assert found["visits, first"]["day"].cell_numbers.tolist() == [2, 1]
    later = found["visits, later"]
    assert cells(later, "day since the previous", "x", "previous.x") == [
        [3, 4], ["s", "p"], ["r", "s"],
    ]  # fmt: skip
    assert later["previous.day"].cell_numbers.tolist() == [2, 5]


def test_grandchildren_know_all_above_them_and_names_that_clash_are_long():
    tables = {
        "a": Table.from_frame({"id": [1, 2], "x": ["p", "q"]}),
        "b": Table.from_frame({"id": [5, 6], "up": [2, 2], "x": ["r", "s"]}),
        "c": Table.from_frame({"up": [6, 5, 6], "x": ["t", "u", "v"]}),
    }
    both = Linked(tables, {"a": "id", "b": "id"}, (Link("b", "up", "a"), Link("c", "up", "b")))
    made = {
        "a": Drawn(("number of b", "x")),
        "b": Drawn(("number of c", "x")),
        "c": Drawn(("x",)),
    }
    found = unfold(both, shape_of(both, made))
    first = found["c, first"]
    assert cells(first, "x", "b.x", "number of c", "number of b") == [
        ["u", "t"], ["r", "s"], [1, 2], [2, 2],
    ]  # fmt: skip
