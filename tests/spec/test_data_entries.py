"""What can be said about files, columns, groups and tables, and what about the words of it."""

from __future__ import annotations

from caveat.spec.data_entries import COLUMN, DATA, GROUPS, TABLE


def test_what_must_be_there() -> None:
    needed = {
        name: [key for key, entry in group.keys.items() if entry.required]
        for name, group in (("data", DATA), ("column", COLUMN), ("groups", GROUPS),
                            ("table", TABLE))
    }  # fmt: skip
    assert needed == {"data": ["path"], "column": [], "groups": ["key"], "table": ["file"]}


def test_a_table_declares_columns_as_a_file_does() -> None:
    entry = TABLE.keys["columns"].kind
    good = {"income": {"kind": "integer", "missing": [-8]}}
    assert entry.problems(good, ("tables", "t", "columns")) == []
    (problem,) = entry.problems({"income": {"sort": "integer"}}, ("tables", "t", "columns"))
    assert problem.what == "there is no key 'sort' in [tables.t.columns.income]"
