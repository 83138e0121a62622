"""Linked tables as flat ones: what rows have beside their own columns, and what it is called."""

from __future__ import annotations

from caveat.table import Table
from caveat.table.linked import Link, Linked, joined_of

PATIENTS = Table.from_frame({"id": ["a", "b", "c"], "sex": ["f", "m", "f"], "day": [7, 8, 9]})
VISITS = Table.from_frame({"no": [1, 2, 3], "patient": ["b", "a", "b"], "day": [9, 5, 4]})
DRUGS = Table.from_frame({"visit": [3, 3, 1], "dose": [10, 20, 30], "code": [1, 2, 1]})
CODES = Table.from_frame({"code": [1, 2], "says": ["x", "y"]})
LINKED = Linked(
    {"drugs": DRUGS, "visits": VISITS, "patients": PATIENTS, "codes": CODES},
    {"patients": "id", "visits": "no", "codes": "code"},
    (
        Link("visits", "patient", "patients"),
        Link("drugs", "visit", "visits"),
        Link("drugs", "code", "codes"),
    ),
    frozenset({"codes"}),
)


def test_rows_have_the_columns_of_all_that_they_belong_to():
    joined = joined_of(LINKED)
    assert joined.tables == ("patients", "visits", "drugs")
    assert (joined.root, joined.key) == ("patients", "id")
    assert joined.names("patients") == ("number of visits", "sex", "patients.day")
    assert joined.names("drugs") == (
        "dose", "code", "number of drugs", "visits.day", "number of visits", "sex", "patients.day",
    )  # fmt: skip
    drugs = joined.table(LINKED, "drugs").to_frame("dict")
    assert drugs["visits.day"].tolist() == [4, 4, 9]
    assert drugs["patients.day"].tolist() == [8, 8, 8]
    assert drugs["number of drugs"].tolist() == [2, 2, 1]
    assert drugs["id"].tolist() == [1, 1, 1]
    patients = joined.table(LINKED, "patients").to_frame("dict")
    assert patients["number of visits"].tolist() == [1, 2, 0]
    assert "id" not in patients


def test_columns_are_found_where_they_are():
    joined = joined_of(LINKED)
    assert joined.home("visits.day") == ("visits", "day")
    assert joined.home("number of drugs") == ("visits", "number of drugs")
    assert joined.holding(["sex"]) == ("patients", "visits", "drugs")
    assert joined.holding(["sex", "visits.day"]) == ("visits", "drugs")
    assert joined.holding(["day"]) == ()
    assert joined.called("day") == ["patients.day", "visits.day"]


def test_what_a_release_lacks_is_left_out():
    without = Linked(
        {"visits": VISITS.drop(["day"]), "patients": PATIENTS},
        {"patients": "id"},
        (Link("visits", "patient", "patients"),),
    )
    assert joined_of(LINKED).table(without, "visits").names == (
        "number of visits", "sex", "patients.day", "id",
    )  # fmt: skip
