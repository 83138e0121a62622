"""Tables that belong together: what is checked, and who stands where."""

from __future__ import annotations

import re

import numpy as np
import pytest

from caveat.errors import CaveatError
from caveat.table import Table
from caveat.table.linked import Link, Linked

PATIENTS = Table.from_frame({"id": ["a", "b", "c"], "sex": ["f", "m", "f"]})
VISITS = Table.from_frame({"no": [1, 2, 3], "patient": ["b", "a", "b"], "day": [9, 5, 4]})
LINK = Link("visits", "patient", "patients")


def linked(**changes):
    given = {
        "tables": {"visits": VISITS, "patients": PATIENTS},
        "keys": {"patients": "id", "visits": "no"},
        "links": (LINK,),
        **changes,
    }
    return Linked(**given)


def test_parents_come_first_and_children_stand_in_order():
    both = linked(order={"visits": "day"})
    assert both.sequence == ("patients", "visits")
    assert both.children_of("patients") == ("visits",)
    assert both.parent_rows("visits").tolist() == [1, 0, 1]
    rows, places = both.arranged("visits")
    assert rows.tolist() == [1, 2, 0]
    assert places.tolist() == [0, 0, 1]


def test_without_an_order_rows_stay_as_they_are_and_a_minus_turns_it_round():
    assert linked().arranged("visits")[0].tolist() == [1, 0, 2]
    assert linked(order={"visits": "-day"}).arranged("visits")[0].tolist() == [1, 0, 2]
    assert linked(order={"visits": "day"}).arranged("visits")[0].tolist() == [1, 2, 0]


def of_visits(**columns):
    return {"patients": PATIENTS, "visits": Table.from_frame({"no": [1, 2, 3], **columns})}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tables": of_visits(patient=["b", "x", "y"])}, "2 rows of visits have no parent"),
        ({"tables": of_visits(patient=["b", None, "a"])}, "1 rows have no key of patients"),
        ({"keys": {"visits": "no"}}, "patients has no key that others could refer to"),
        ({"keys": {"patients": "sex"}}, "1 keys stand in more than one row"),
        ({"keys": {"patients": "nr"}}, "there is no column 'nr'"),
        ({"links": (Link("visits", "patient", "people"),)}, "there is no table 'people'"),
        (
            {"links": (LINK, Link("patients", "id", "visits"))},
            "are parents of each other",
        ),
        ({"links": (LINK, Link("visits", "day", "patients"))}, "the table has two parents"),
        ({"links": (LINK, Link("visits", "no", "visits"))}, "the table is linked to itself"),
        ({"tables": {}}, "there is no table"),
    ],
)
def test_bad_input_is_one_sentence(changes, says):
    with pytest.raises(CaveatError, match=re.escape(says)):
        linked(**changes)


def test_a_second_parent_may_be_a_public_list():
    codes = Table.from_frame({"code": [1, 2, 3], "says": ["x", "y", "z"]})
    both = linked(
        tables={"visits": VISITS, "patients": PATIENTS, "codes": codes},
        keys={"patients": "id", "codes": "code"},
        links=(LINK, Link("visits", "no", "codes")),
        lookups=frozenset({"codes"}),
    )
    assert both.sequence == ("patients", "visits")
    assert both.parent_of("visits") == LINK


def test_a_part_has_whole_groups_and_no_level_of_the_others():
    part = linked().only(np.array([False, True, True]))
    assert part.tables["patients"]["id"].levels.tolist() == ["b", "c"]
    assert part.tables["visits"].to_frame("dict")["no"].tolist() == [1, 3]
    assert part.tables["visits"]["patient"].levels.tolist() == ["b"]
    assert part.parent_rows("visits").tolist() == [0, 0]
    assert part.owners["visits"].tolist() == [0, 0]
