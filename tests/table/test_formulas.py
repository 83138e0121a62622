"""Text that a spreadsheet would compute: said once per file, and defused on request."""

from __future__ import annotations

import csv
import warnings

import polars as pl
import pytest

from caveat.errors import CaveatWarning
from caveat.table import ColumnSchema, Schema, Table, files, read, write
from caveat.table.files import write_blocks

FORMULAS = [
    "=1+1",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("x","y")',
    "+1+1",
    "-2+3",
    "-2-3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1+1",
    "+49 30 1",
    "--x",
]
PLAIN = ["-8", "+48", "-07", "-2.50", "-2,5", "-.5", "-1e-3", "-", "", "a=b", " =1", "'=1", "1-2"]


def rows_of(path, delimiter=","):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


def unwarned(*arguments, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(*arguments, **more)


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_announced_and_escaped(tmp_path, text, ending):
    table = Table.from_frame({"a": [text, "b", text], "n": [-1, 2, 3]})
    path, safe = tmp_path / f"plain.{ending}", tmp_path / f"safe.{ending}"
    with pytest.warns(CaveatWarning) as caught:
        write(table, path)
    (warning,) = caught
    message = str(warning.message)
    assert message.startswith(f"plain.{ending}: 2 text cells begin like a formula")
    assert " in column a; " in message
    assert text not in message
    unwarned(table, safe, escape_formulas=True)
    delimiter = "," if ending == "csv" else "\t"
    assert rows_of(path, delimiter) == [["a", "n"], [text, "-1"], ["b", "2"], [text, "3"]]
    escaped = f"'{text}"
    assert rows_of(safe, delimiter) == [["a", "n"], [escaped, "-1"], ["b", "2"], [escaped, "3"]]


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_is_left_alone(tmp_path, text):
    table = Table.from_frame({"a": [text, "b"]})
    unwarned(table, tmp_path / "a.csv")
    unwarned(table, tmp_path / "b.csv", escape_formulas=True)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_numbers_and_dates_are_never_touched(tmp_path):
    frame = pl.DataFrame({"i": [-5, 7], "x": [-2.5, None], "t": ["-8", "-9"]})
    table = Table.from_frame(frame.with_columns(d=pl.date(2024, 1, pl.Series([1, 2]))))
    unwarned(table, tmp_path / "a.csv", escape_formulas=True)
    assert rows_of(tmp_path / "a.csv")[1] == ["-5", "-2.5", "-8", "2024-01-01"]


def test_names_and_missing_codes_are_cells_too(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("=x,b\n1,a\n=none,c\n", encoding="utf-8")
    schema = Schema({"=x": ColumnSchema(missing={"=none": "nothing"})})
    table = read(source, schema=schema)
    with pytest.warns(CaveatWarning, match="2 text cells begin"):
        write(table, tmp_path / "a.csv")
    unwarned(table, tmp_path / "b.csv", escape_formulas=True)
    assert rows_of(tmp_path / "b.csv") == [["'=x", "b"], ["1", "a"], ["'=none", "c"]]


def test_levels_that_no_cell_has_are_not_announced(tmp_path):
    table = Table.from_frame({"a": ["=1", "b", "c"]})
    unwarned(table.take([1, 2]), tmp_path / "a.csv")


def test_one_note_for_a_file_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ROWS_IN_MEMORY", 3)
    blocks = [Table.from_frame({"a": ["=1", "b"], "c": ["x", text]}) for text in ("y", "@z", "w")]
    with pytest.warns(CaveatWarning) as caught:
        write_blocks(blocks, tmp_path / "a.csv")
    (warning,) = caught
    assert "a.csv: 4 text cells begin" in str(warning.message)
    assert " in columns a, c; " in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_blocks(blocks, tmp_path / "b.csv", escape_formulas=True)
    assert [row[0] for row in rows_of(tmp_path / "b.csv")] == ["a", *["'=1", "b"] * 3]


def test_other_formats_say_nothing(tmp_path):
    unwarned(Table.from_frame({"a": ["=1", "b"]}), tmp_path / "a.parquet", escape_formulas=True)
    assert read(tmp_path / "a.parquet")["a"].levels.tolist() == ["=1", "b"]
