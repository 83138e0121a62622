"""The extension decides: which formats there are, and what is said of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from caveat.errors import CaveatError
from caveat.table.formats import has_labels, is_text, readable, suffix_of, writable


@pytest.mark.parametrize(
    ("path", "suffix"),
    [
        ("a.csv", ".csv"),
        ("A.CSV.GZ", ".csv.gz"),
        ("a.b.sav", ".sav"),
        ("a.xlsx#b.csv", ".xlsx"),
        ("a.db#select 1 as x", ".db"),
        ("postgresql://h/d#t", "postgresql://"),
    ],
)
def test_an_extension_is_found(path: str, suffix: str) -> None:
    assert suffix_of(Path(path), readable()) == suffix
    assert is_text(path) == (".csv" in suffix)
    assert has_labels(path) == (suffix == ".sav")


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("a.doc", "the extension is not known; use one of .csv"),
        ("a.xls", "only workbooks of the format .xlsx"),
        ("a.sas7bdat", "this format can be read but not written"),
        (".csv", "the extension is not known"),
    ],
)
def test_others_are_refused(path: str, what: str) -> None:
    with pytest.raises(CaveatError, match=what):
        suffix_of(Path(path), writable())
