"""What leaves as it is is said in words, and nothing is claimed of tables made elsewhere."""

from __future__ import annotations

from typing import Any

from caveat.report.verdict import unprotected


def evidence(columns: list[dict[str, Any]] | None, **synthesis: Any) -> dict[str, Any]:
    names = [c["name"] for c in columns or () if c["method"] != "drop"]
    release = {"columns": names or ["a"], "synthesised_by": "caveat", "labels": {}}
    made = None if columns is None else {"columns": columns, **synthesis}
    return {"release": release, "synthesis": made}


def column(name: str, method: str, *predictors: str) -> dict[str, Any]:
    return {"name": name, "method": method, "predictors": list(predictors)}


def test_nothing_is_copied_where_all_are_drawn() -> None:
    (line,) = unprotected(evidence([column("a", "guarded"), column("b", "guarded", "a")]))
    assert line == (
        "Copied or not protected",
        "No column. Of the released columns all are drawn from models.",
    )


def test_copied_and_looked_up_columns_and_ranges_are_named() -> None:
    columns = [column("a", "copy"), column("b", "guarded"), column("c", "lookup", "b")]
    found = dict(unprotected(evidence(columns, assumed_public=["b: range 0 to 9 by 1"])))
    assert list(found) == ["Copied columns", "Looked up in the original", "Undeclared ranges"]
    assert found["Copied columns"].startswith("a: copied from the original and not protected")
    assert found["Looked up in the original"].startswith(
        "c: each value as in the original for its b"
    )
    assert found["Undeclared ranges"].startswith("1 column (b). The ends were read off the data")


def test_of_tables_made_elsewhere_nothing_is_known() -> None:
    (line,) = unprotected(evidence(None))
    assert line == ("Copied or not protected", "Not known: the tables were made elsewhere.")


RARE = {
    "below": 5,
    "columns": [
        {"column": "a", "how": "pooled", "levels": 3, "records": 7},
        {"column": "b", "how": "kept", "levels": 2, "records": 4},
    ],
    "people_kept": 4,
    "people_at_threshold": 10,
}


def test_the_first_line_says_what_was_done_to_rare_levels() -> None:
    content = evidence([column("a", "guarded"), column("b", "guarded")])
    content["release"]["rare_levels"] = RARE
    title, text = next(unprotected(content))
    assert title == "Rare levels"
    for part in (
        "3 levels of a pooled into one level",
        "2 levels of b released all the same",
        "4 people is certain",
        "10 people have a level that exactly 5 have",
    ):
        assert part in text


def test_without_counts_the_columns_are_named() -> None:
    content = evidence([column("a", "guarded")])
    outside = [{"column": "a", "how": "pooled"}]
    content["release"]["rare_levels"] = {"below": 5, "columns": outside}
    found = dict(unprotected(content))
    assert (
        found["Rare levels"] == "Fewer than 5 people have them: levels of a pooled into one level."
    )


def test_without_rare_levels_nothing_is_said_of_them() -> None:
    content = evidence([column("a", "guarded")])
    content["release"]["rare_levels"] = {"below": 5, "columns": []}
    assert "Rare levels" not in dict(unprotected(content))


def test_people_who_hold_an_end_are_counted_on_page_one() -> None:
    content = evidence([column("b", "guarded")], assumed_public=["b: range 0 to 9 by 1"])
    content["release"]["range_ends"] = {"columns": ["b"], "people": 2, "proven": 1}
    text = dict(unprotected(content))["Undeclared ranges"]
    assert "2 people hold an end alone; a released value beyond it proves 1 of them" in text
