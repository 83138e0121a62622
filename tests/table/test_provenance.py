"""The origin of columns decides what may leave; nothing leaves without an origin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from caveat.table import Table
from caveat.table.identifying import Origin, Output, clear, copied_records, joined, judge


@pytest.mark.parametrize(
    ("origin", "confidential"),
    [(Origin.DRAWN, False), (Origin.LOOKED_UP, False), (Origin.COMPUTED, False),
     (Origin.COPIED, True), (Origin.IDENTIFYING, True)],
)  # fmt: skip
def test_one_column_decides_for_the_file(origin: Origin, confidential: bool) -> None:
    output = Output("synthetic-1.csv", {"age": Origin.DRAWN, "x": origin})
    found = clear(output)
    assert found.confidential is confidential
    assert bool(found.reasons) is confidential
    assert all(reason.startswith("x: ") for reason in found.reasons)
    # The name of a file decides nothing, and a declaration about another column neither.
    assert clear(replace(output, name="evidence.json")) == found
    assert clear(replace(output, public=["age"])) == found
    declared = clear(replace(output, public=["x"]))
    assert not declared.confidential
    assert bool(declared.notes) is confidential


def test_what_has_no_origin_stays_inside() -> None:
    assert clear(Output("synthetic-1.csv")).confidential
    assert not clear(Output("report-external.html", outside="a list allows it")).confidential
    assert clear(Output("a.csv", {"x": Origin.DRAWN}, inside="a trial")).reasons == ("a trial",)


def test_values_of_few_people_stay_inside_unless_they_are_declared() -> None:
    output = Output("by-town.csv", {"town": Origin.COMPUTED}, rare={"town": 2})
    assert clear(output).confidential
    assert not clear(replace(output, public=["town"])).confidential
    assert not clear(replace(output, rare={"town": 0})).confidential


def test_a_reason_tells_what_was_seen_and_no_value() -> None:
    people = Table.from_frame({"mail": [f"p{i}@example.org" for i in range(30)]})
    judged = judge(people)
    origins = copied_records(["mail", "age", "x"], judged, {"x": Origin.DRAWN})
    assert [str(one) for one in origins.values()] == ["identifying", "copied", "drawn"]
    first, second = clear(Output("moved.csv", origins, judged=judged)).reasons
    assert first.startswith("mail: looks like identifiers")
    assert "@" not in first
    assert second.startswith("age: copied")
    many = {f"v{i}": Origin.COPIED for i in range(9)}
    assert "and 3 more" in clear(Output("a.csv", many)).reasons[0]


def test_a_book_is_as_confidential_as_its_worst_sheet() -> None:
    drawn = Output("a", {"x": Origin.DRAWN})
    copied = Output("b", {"x": Origin.COPIED})
    public = replace(copied, public=["x"])
    assert not clear(joined("book", [drawn, public])).confidential
    for parts in ([drawn, copied], [copied, drawn], [public, copied], [copied, public]):
        assert clear(joined("book", parts)).confidential
    rare = Output("c", {"y": Origin.COMPUTED}, rare={"y": 1})
    assert clear(joined("book", [drawn, rare, replace(rare, rare={}, public=["y"])])).confidential
    assert clear(joined("book", [drawn, Output("d", inside="a trial")])).confidential
    assert clear(joined("book", [])).confidential
