"""What is refused before a file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from caveat.errors import CaveatError
from caveat.table.drafts import check_input, check_signs, in_file


@pytest.mark.parametrize(
    ("delimiter", "decimal", "says"),
    [
        (None, ";", "the decimal sign is neither point nor comma; use '.' or ','."),
        (";;", ".", "the delimiter is not one plain character; use ',', ';', '|' or tab."),
        (",", ",", "delimiter and decimal sign are the same; name the delimiter."),
    ],
)
def test_signs_that_cannot_be(delimiter, decimal, says):
    with pytest.raises(CaveatError) as error:
        check_signs(delimiter, decimal)
    assert str(error.value) == says
    check_signs(";", ",")


def test_what_is_no_file(tmp_path):
    (tmp_path / "empty.csv").touch()
    check_input(tmp_path)  # a folder may hold a table in parts
    for name, says in (
        ("no.csv", "there is no such file"),
        ("empty.csv", "the file is empty"),
    ):
        with pytest.raises(CaveatError) as error:
            check_input(tmp_path / name)
        assert error.value.what == says


def test_an_error_names_its_file_once():
    first = in_file(
        CaveatError("wrong", where="line 3", column="a", row=2, code="test.thing.failed"),
        Path("x.csv"),
    )
    assert (first.where, first.column, first.row) == ("x.csv, line 3", "a", 2)
    assert in_file(first, Path("x.csv")).where == "x.csv, line 3"
