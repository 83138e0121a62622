"""What can be said about files, columns, groups and tables, and what about the words of it."""

from __future__ import annotations

from typing import Any

import pytest

from caveat.spec._kinds import Choice, Either, EntryKind, Many, Named, Number, Text, Whole
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


@pytest.mark.parametrize(
    ("kind", "value", "code"),
    [
        (Text(), 1, "spec.entry.type"),
        (Text(filled=True), " ", "spec.entry.empty"),
        (Whole(1), True, "spec.entry.type"),
        (Whole(1), 0, "spec.entry.range"),
        (Number(), "1", "spec.entry.type"),
        (Number(), float("inf"), "spec.entry.range"),
        (Many(Text(), "names", least=1), "x", "spec.entry.type"),
        (Many(Text(), "names", least=1), [], "spec.entry.empty"),
        (Many(Text(), "names", exactly=2), ["x"], "spec.entry.range"),
        (Choice(("x", "z"), "word"), "y", "spec.value.unknown"),
        (Named(Text(), "words", Choice(("x", "z"), "word")), {"y": ""}, "spec.entry.unknown"),
        (Either((Choice(("all",), "choice"), Whole(1))), 0, "spec.entry.range"),
        (Either((Whole(1), Choice(("all",), "choice"))), "some", "spec.value.unknown"),
        (Either((Whole(1), Choice(("all",), "choice"))), [], "spec.entry.type"),
        (GROUPS, {}, "spec.entry.absent"),
        (GROUPS, {"key": "x", "keys": "x"}, "spec.entry.unknown"),
    ],
)
def test_what_is_wrong_has_a_code(kind: EntryKind, value: Any, code: str) -> None:
    assert [problem.code for problem in kind.problems(value, ("x",))] == [code]
