"""Files that are read into code files: the same table, column by column."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.datasets import survey
from caveat.table import ColumnSchema, Kind, Schema, read, write
from caveat.table.code_files import CodeFiles, open_code_files
from caveat.table.files import read_into

SCHEMA = Schema({"income": ColumnSchema(missing={-8: "not asked"})})


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".parquet", ".feather", ".sav", ".dta"])
def test_the_table_is_the_same(tmp_path: Path, suffix: str) -> None:
    path, place = tmp_path / f"survey{suffix}", tmp_path / "work"
    place.mkdir()
    write(survey(rows=300).drop(["person"]), path)
    whole = read(path, schema=SCHEMA)
    kept = read_into(CodeFiles(place), path, schema=SCHEMA)
    assert kept == whole
    assert kept.backend == whole.backend
    assert [c.storage for c in kept.columns.values()] == [c.storage for c in whole.columns.values()]
    assert open_code_files(place) == whole
    assert len(list(place.glob("[0-9]*[0-9].npy"))) == len(whole.names)


def test_columns_that_are_asked_for_come_in_their_order(tmp_path: Path) -> None:
    write(survey(rows=50), tmp_path / "survey.csv")
    (tmp_path / "work").mkdir()
    asked = ["sex", "age"]
    kept = read_into(CodeFiles(tmp_path / "work"), tmp_path / "survey.csv", columns=asked)
    assert kept == read(tmp_path / "survey.csv", columns=asked)
    assert open_code_files(tmp_path / "work").names == ("sex", "age")


def test_declarations_are_checked_as_ever(tmp_path: Path) -> None:
    write(survey(rows=50), tmp_path / "survey.csv")
    (tmp_path / "work").mkdir()
    unknown = Schema({"nobody": ColumnSchema(kind=Kind.NUMERIC)})
    with refused("data.column.unknown", column="nobody"):
        read_into(CodeFiles(tmp_path / "work"), tmp_path / "survey.csv", schema=unknown)
