"""The code makes what it made when frozen.json was written, byte for byte, and refuses the same.

Where something is meant to move: ``make freeze``, and the message of the commit says what and why.
"""

from __future__ import annotations

import pytest
from tests.frozen.cases import CASES, NEEDED
from tests.frozen.freeze import FROZEN, is_here, moved, processor, read
from tests.frozen.harness import collect, in_folder, items_of, place_of, refusal
from tests.frozen.mistakes import GROUPS

from caveat.errors import CaveatError

KNOWN = read()


@pytest.mark.parametrize("name", CASES)
def test_a_case_leaves_what_it_left(name: str) -> None:
    if not is_here(name):
        pytest.skip(f"{NEEDED[name]} is not installed")
    case = CASES[name]
    if case.processor and processor() != KNOWN["processor"]:
        pytest.skip("it was frozen on another kind of processor")
    lines = list(moved(KNOWN["cases"][name], collect(case)))
    assert not lines, "\n".join(lines)


@pytest.mark.parametrize("name", GROUPS)
def test_a_mistake_ends_where_it_ended(name: str) -> None:
    group = GROUPS[name]
    found = {what: refusal(group.files | more, step) for what, (step, more) in group.items()}
    lines = list(moved(KNOWN["mistakes"][name], found))
    assert not lines, "\n".join(lines)
    assert all(one["exit"] == 2 for one in found.values())


def test_everything_that_is_frozen_is_compared() -> None:
    assert FROZEN.stat().st_size < 200_000
    assert set(KNOWN["cases"]) == set(CASES)
    assert {name: set(group) for name, group in KNOWN["mistakes"].items()} == {
        name: set(group.mistakes) for name, group in GROUPS.items()
    }


def test_what_moved_is_named() -> None:
    before = {"a": {"x": "1"}, "b": {"x": "1"}}
    after = {"a": {"x": "2", "y": "1"}}
    assert list(moved(before, after)) == ["changed: a → x", "added: a → y", "gone: b"]


def test_a_place_has_no_words() -> None:
    one = CaveatError(
        "release.seed must be a number",
        where="release.toml, line 4",
        do="mend it",
        code="test.thing.failed",
    )
    other = CaveatError(
        "it is infinite", where="a.csv", column="income", row=1200, code="test.thing.failed"
    )
    assert place_of(one) == "release.toml, line 4, entry release.seed"
    assert place_of(other) == "a.csv, column income, row 1200"


def test_one_byte_moves_one_item() -> None:
    with in_folder({"a.csv": "x\n1\n", "b.json": '{"n": 1.0000000001, "says": "a b c d"}'}) as here:
        before = {path.name: items_of(path) for path in here.iterdir()}
        (here / "a.csv").write_text("x\n2\n")
        (here / "b.json").write_text('{"n": 1.0, "says": "a b c e", "seconds": 3}')
        after = {path.name: items_of(path) for path in here.iterdir()}
    assert set(moved(before, after)) == {
        "changed: a.csv → a.csv", "changed: b.json → b.json: words",
    }  # fmt: skip
