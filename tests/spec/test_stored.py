"""The stored table of entries refuses what the table itself refuses, in the same words."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spec.broken import GOOD

from caveat.errors import CaveatError
from caveat.spec._kinds import Choice, Key, Many, Text, form_of, stored_table
from caveat.spec.document import PARTS, Document
from caveat.spec.entries import SPECIFICATION

CASES = {
    "a key": ("[release]", "[release]\ntitel = 'x'"),
    "a section": ("[release]", "[relase]"),
    "a measure": ("DiSCO = ", "DiSKO = "),
    "a kind": ("[release]", "[release]\ncopies = 'two'"),
}


def problem(text: str, folder: Path, table: object) -> str:
    path = folder / "release.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(CaveatError) as error:
        Document.read(path).check(None, table)  # type: ignore[arg-type]
    return str(error.value)


@pytest.mark.parametrize("case", CASES)
def test_both_say_the_same(case: str, tmp_path: Path) -> None:
    right, wrong = CASES[case]
    assert right in GOOD
    text = GOOD.replace(right, wrong, 1)
    assert problem(text, tmp_path, stored_table()) == problem(text, tmp_path, None)


def test_what_is_right_is_right(tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text(GOOD, "utf-8")
    Document.read(path).check(None, stored_table())
    Document.read(path).check(PARTS, stored_table())


def test_forms_and_words_of_every_key_are_stored() -> None:
    assert form_of(stored_table().keys) == form_of(SPECIFICATION.keys)
    assert stored_table().words == SPECIFICATION.words
    for name, key in SPECIFICATION.keys.items():
        assert stored_table().keys[name].kind.words == key.kind.words


def test_a_form_holds_what_is_not_usual() -> None:
    key = Key(Many(Choice(("a", "b"), "letter"), "letters"), "Some letters.", ("a",))
    form = ["Key", {"kind": ["Many", {"item": ["Choice", {"among": ["a", "b"], "noun": "letter"}],
                                      "noun": "letters"}]}]  # fmt: skip
    assert form_of(key) == form
    assert form_of(Text()) == ["Text", {}]
