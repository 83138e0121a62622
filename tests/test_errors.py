"""Errors carry what they are about, and a specification finds the line from that."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from caveat.errors import CaveatError, Mistakes, about
from caveat.spec.document import Document

TEXT = """\
[synthesis]
rules = [
  "age <= 99",
  "if age < 18 then married = 'no'",
]
[columns."a, row 3"]
kind = "numeric"
"""


@pytest.fixture
def document(tmp_path: Path) -> Document:
    path = tmp_path / "release.toml"
    path.write_text(TEXT, "utf-8")
    return Document.read(path)


def test_the_place_is_made_of_its_parts() -> None:
    error = CaveatError(
        "it is infinite",
        where="a.csv",
        column="pay",
        row=1234,
        do="mend it",
        code="test.thing.failed",
    )
    assert (error.where, error.column, error.row, error.entry) == ("a.csv", "pay", 1234, ())
    assert str(error) == "a.csv, column pay, row 1,234: it is infinite; mend it."
    assert CaveatError("no", code="test.thing.failed").place == ""


def test_the_line_follows_from_the_entry_and_not_from_the_words(document: Document) -> None:
    with (
        pytest.raises(CaveatError) as caught,
        document.at("synthesis"),
        about("rules", 1),
    ):
        raise CaveatError("'rules' is no word", where="rule 'age <= 99'", code="test.thing.failed")
    assert str(caught.value) == "release.toml, line 4: synthesis.rules: 'rules' is no word."


def test_the_entry_that_is_named_first_counts() -> None:
    with pytest.raises(CaveatError) as caught, about("derived"), about("rules", 0):
        raise CaveatError("no", code="test.thing.failed")
    assert caught.value.entry == ("rules", 0)


def test_any_name_of_a_column_and_any_row_are_found(document: Document) -> None:
    with pytest.raises(CaveatError) as caught, document.reading(Path("a.csv")):
        raise CaveatError(
            "it is no number", where="a.csv", column="a, row 3", row=12345, code="test.thing.failed"
        )
    expected = "release.toml, line 6: columns.a, row 3, row 12,345: it is no number."
    assert str(caught.value) == expected


def column(name: str) -> None:
    raise CaveatError(f"there is no column {name}", where="release.toml", code="test.thing.failed")


def gather(*checks: Callable[[], None]) -> None:
    with Mistakes() as mistakes:
        for check in checks:
            with mistakes.caught():
                check()


def test_all_mistakes_are_one_error_and_each_is_said_once():
    both = partial(gather, partial(column, "sex"), partial(column, "age"), partial(column, "sex"))
    with pytest.raises(CaveatError) as raised:
        both()
    assert str(raised.value).splitlines() == [
        "release.toml: there is no column sex.",
        "release.toml: there is no column age.",
    ]
    with pytest.raises(CaveatError) as outer:
        gather(partial(column, "x"), both)  # those of an inner check stand beside the others
    assert len(str(outer.value).splitlines()) == 3
    gather(lambda: None)


def test_a_defect_is_no_mistake_of_the_users():
    with pytest.raises(ZeroDivisionError):
        gather(partial(column, "x"), lambda: 1 // 0)


SOURCE = Path(__file__).parent.parent / "src" / "caveat"
CODE = re.compile(r"[a-z]+\.[a-z]+\.[a-z]+(-[a-z]+)*")
PROBLEMS = {
    "absent", "busy", "changed", "confidential", "conflict", "constant", "damaged", "duplicate",
    "empty", "exists", "failed", "infinite", "interrupted", "malformed", "mismatch",
    "not-installed", "not-writable", "range", "refused", "timeout", "too-few", "too-large",
    "too-long", "too-many", "too-small", "type", "undeclared", "undefined", "unknown", "unreadable",
    "unsupported", "unused",
}  # fmt: skip


def test_every_code_has_a_subject_a_thing_and_a_known_problem() -> None:
    codes = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "code":
                codes |= {c.value for c in ast.walk(node) if isinstance(c, ast.Constant)}
    codes = {code for code in codes if isinstance(code, str) and "." in code and code[-1] != "."}
    assert len(codes) > 300
    assert {code for code in codes if not CODE.fullmatch(code)} == set()
    assert {code.rsplit(".", 1)[1] for code in codes} <= PROBLEMS


def test_a_terminal_shows_the_code_of_each_mistake() -> None:
    with pytest.raises(CaveatError) as raised:
        gather(partial(column, "sex"), partial(column, "age"))
    lines = raised.value.with_codes.splitlines()
    assert [line.split(" ")[-1] for line in lines] == ["[test.thing.failed]"] * 2
