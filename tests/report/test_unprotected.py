"""What leaves as it is is said in words, and nothing is claimed of tables made elsewhere."""

from __future__ import annotations

from typing import Any

from caveat.report.unprotected import unprotected


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
    assert found["Undeclared ranges"].startswith("1 column (b). The lowest and the highest value")


def test_of_tables_made_elsewhere_nothing_is_known() -> None:
    (line,) = unprotected(evidence(None))
    assert line == ("Copied or not protected", "Not known: the tables were made elsewhere.")
