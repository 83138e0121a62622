"""The extension decides: which formats there are, and what is said of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.table.source import has_labels, is_text, readable, suffix_of, writable


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
        ("a.doc", "data.format.unknown"),
        ("a.xls", "data.format.unsupported"),
        ("a.sas7bdat", "data.format.unsupported"),
        (".csv", "data.format.unknown"),
    ],
)
def test_others_are_refused(path: str, what: str) -> None:
    with refused(what):
        suffix_of(Path(path), writable())
