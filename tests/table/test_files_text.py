"""Delimited text: types by the whole file, quotation marks, and the same fields back."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.refusals import refused
from tests.table.strategies import SIZED

from caveat.table import ColumnSchema, Kind, Missing, Schema, Table, read, write

# Any text is written here; that some of it begins like a formula is said in test_formulas.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*begins? like a formula:caveat.errors.CaveatWarning"
)


@pytest.fixture
def table_of(tmp_path):
    """Write text or bytes to a file and read it as a table."""

    def make(content: str | bytes, name: str = "x.csv", **options) -> Table:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(path, **options)

    return make


def fields(path: Path, delimiter: str = ",") -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


# One column each: what its cells are, the kind, the values.
KINDS = {
    "integers": (["1", "-2", "0"], Kind.INTEGER, [1, -2, 0]),
    "integers with gaps": (["1", "", "3"], Kind.INTEGER, [1, None, 3]),
    "decimals": (["1", "2.5", ".5"], Kind.NUMERIC, [1.0, 2.5, 0.5]),
    "exponents": (["1e3", "2.5E-1", "7"], Kind.NUMERIC, [1000.0, 0.25, 7.0]),
    "whole decimals": (["1.0", "2.0", ""], Kind.INTEGER, [1, 2, None]),
    "leading zeros": (["007", "1", "2"], Kind.CATEGORY, ["007", "1", "2"]),
    "plus sign": (["+48", "1", "2"], Kind.CATEGORY, ["+48", "1", "2"]),
    "thousands": (['"1,000"', "1", "2"], Kind.CATEGORY, ["1,000", "1", "2"]),
    "blanks around": ([" 1", "2 ", "3"], Kind.INTEGER, [1, 2, 3]),
    "64 bits": (["9223372036854775807", "-9223372036854775808", "0"], Kind.INTEGER,
                [2**63 - 1, -(2**63), 0]),
    "more than 64 bits": (["9223372036854775808", "1", "2"], Kind.CATEGORY,
                          ["9223372036854775808", "1", "2"]),
    "not exact as floats": (["9007199254740993", "0.5", "1"], Kind.CATEGORY,
                            ["9007199254740993", "0.5", "1"]),
    "truth": (["TRUE", "False", "true"], Kind.BOOLEAN, [True, False, True]),
    "truth with gaps": (["true", "", "false"], Kind.BOOLEAN, [True, None, False]),
    "yes and no are words": (["yes", "no", "yes"], Kind.CATEGORY, ["yes", "no", "yes"]),
    "dates": (["2024-02-29", "1899-12-31", ""], Kind.DATE,
              [np.datetime64("2024-02-29"), np.datetime64("1899-12-31"), None]),
    "no such day": (["2023-02-29", "2024-01-01", ""], Kind.CATEGORY,
                    ["2023-02-29", "2024-01-01", None]),
    "dates of other countries": (["31.12.2024", "01.01.2024", ""], Kind.DATE,
                                 [np.datetime64("2024-12-31"), np.datetime64("2024-01-01"), None]),
    "dates that may be two": (["3/12/2024", "4/11/2024", ""], Kind.CATEGORY,
                              ["3/12/2024", "4/11/2024", None]),
    "times": (["2024-01-01T10:30", "2024-01-01T00:00", ""], Kind.DATETIME,
              [np.datetime64("2024-01-01T10:30", "us"), np.datetime64("2024-01-01", "us"), None]),
    "time zones are text": (["2024-01-01T10:30Z", "2024-01-01T10:31Z", ""], Kind.CATEGORY,
                            ["2024-01-01T10:30Z", "2024-01-01T10:31Z", None]),
    "a word": (["1", "2", "x"], Kind.CATEGORY, ["1", "2", "x"]),
    "NA among numbers": (["1", "NA", ""], Kind.INTEGER, [1, "NA", None]),
    "NaN among numbers": (["0.5", "nan", "."], Kind.NUMERIC, [0.5, "nan", "."]),
    "NA among words": (["a", "NA", ""], Kind.CATEGORY, ["a", "NA", None]),
    "nothing": (["", "", ""], Kind.CATEGORY, [None, None, None]),
}  # fmt: skip


@pytest.mark.parametrize("case", KINDS)
def test_kind_and_values(case, table_of, tmp_path) -> None:
    cells, kind, values = KINDS[case]
    table = table_of("n,x\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)))
    assert table["x"].kind is kind
    assert table["x"].values.tolist() == values
    write(table, tmp_path / "back.csv")
    # Blanks around numbers and mixed cases of truth values are the only things not kept.
    original = [cell.strip('" ') for cell in cells]
    written = [row[1] for row in fields(tmp_path / "back.csv")[1:]]
    if case == "truth":
        original = [cell.upper() for cell in original]
    if case == "dates of other countries":  # written so again on request only
        original = ["2024-12-31", "2024-01-01", ""]
    if case in ("decimals", "exponents"):
        assert [float(cell) for cell in written] == [float(cell) for cell in original]
    else:
        assert written == original
    assert read(tmp_path / "back.csv") == table


def test_missing_words_are_ways_to_be_missing(table_of) -> None:
    x = table_of("n,x\n1,2\n2,NA\n3,\n4,N/A\n")["x"]
    assert x.missing == (Missing(), Missing("N/A"), Missing("NA"))
    assert x.is_missing.tolist() == [False, True, True, True]


def test_a_letter_in_the_last_row_decides(table_of) -> None:
    rows = 200_000
    table = table_of("x,y\n" + "1,2\n" * (rows - 1) + "x,2\n")
    assert table.n_rows == rows
    assert table["x"].kind is Kind.CATEGORY
    assert table["x"].counts.tolist() == [rows - 1, 1]
    assert table["x"].values[-1] == "x"
    assert table["y"].levels.tolist() == [2]


def test_quoted_numbers_are_text_where_other_cells_are_not_quoted(table_of) -> None:
    table = table_of('age,code,name\n31,"-8","Ann"\n47,"2","Bob"\n')
    assert table["code"].kind is Kind.CATEGORY
    assert table["code"].values.tolist() == ["-8", "2"]


def test_quotation_marks_everywhere_say_nothing(table_of) -> None:
    table = table_of('"age","name"\n"31","Ann"\n"","Bob"\n"47",""\n')
    assert table["age"].kind is Kind.INTEGER
    assert table["age"].values.tolist() == [31, None, 47]
    assert table["name"].missing == (Missing(),)


def test_quoted_dates_and_truth_values_keep_their_kind(table_of) -> None:
    table = table_of('n,day,ok\n1,"2024-01-01","true"\n2,"2024-01-02","false"\n')
    assert [table[name].kind for name in table] == [Kind.INTEGER, Kind.DATE, Kind.BOOLEAN]


def test_empty_text_and_empty_cell_stay_apart(table_of, tmp_path) -> None:
    table = table_of('n,x\n1,\n2,""\n3,a\n')
    assert table["x"].values.tolist() == [None, "", "a"]
    assert table["x"].missing == (Missing(), Missing(""))
    write(table, tmp_path / "back.csv")
    assert (tmp_path / "back.csv").read_text() == 'n,x\n1,\n2,""\n3,a\n'


@pytest.mark.parametrize(
    ("text", "style"),
    [("0.50,1.25,3.00", "fixed"), ("1.0,2.25,3.5", "point"), ("1,2.25,3.5", "shortest")],
)
def test_decimals_come_back_as_they_were(text, style, table_of, tmp_path) -> None:
    cells = text.split(",")
    table = table_of("n,x\n" + "".join(f"1,{cell}\n" for cell in cells))
    write(table, tmp_path / "back.csv")
    assert [row[1] for row in fields(tmp_path / "back.csv")[1:]] == cells


def test_values_that_do_not_fit_the_old_decimals_are_written_in_full(table_of, tmp_path) -> None:
    table = table_of("n,x\n1,0.50\n2,1.25\n")
    x = replace(table["x"], levels=np.array([0.5, 1.125]))
    write(table.with_columns({"x": x}), tmp_path / "back.csv")
    assert [row[1] for row in fields(tmp_path / "back.csv")[1:]] == ["0.5", "1.125"]


@pytest.mark.parametrize(
    "stamp", ["2024-01-01T10:30", "2024-01-01 10:30:05", "2024-01-01T10:30:05.250",
              "2024-01-01T10:30:05.123456", "2024-01-01 10:30:05.123456789"],
)  # fmt: skip
def test_times_come_back_as_they_were(stamp, table_of, tmp_path) -> None:
    table = table_of(f"n,x\n1,{stamp}\n")
    assert table["x"].kind is Kind.DATETIME
    assert table["x"].levels[0] == np.datetime64(stamp)
    write(table, tmp_path / "back.csv")
    assert fields(tmp_path / "back.csv")[1][1] == stamp


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found(delimiter, table_of) -> None:
    lines = [["a", "b c", "d"], ["1", "x", "2.5"], ["2", "y", "3.5"]]
    table = table_of("\n".join(delimiter.join(line) for line in lines), "x.txt")
    assert table.names == ("a", "b c", "d")
    assert table["d"].levels.tolist() == [2.5, 3.5]


def test_delimiter_inside_quotes_does_not_count(table_of) -> None:
    table = table_of('a;b\n"1,2,3";x\n"4,5,6";y\n')
    assert table.names == ("a", "b")
    assert table["a"].values.tolist() == ["1,2,3", "4,5,6"]


def test_decimal_comma(table_of, tmp_path) -> None:
    table = table_of("x;y;z\n1,5;1.234;2\n-2;5.678;NA\n", decimal=",")
    assert table["x"].values.tolist() == [1.5, -2.0]
    assert table["y"].values.tolist() == [1234, 5678]  # points can only group thousands there
    assert table["z"].values.tolist() == [2, "NA"]
    mixed = table_of("x;y\n1,5;1\nNA;2\n", decimal=",")
    assert mixed["x"].values.tolist() == [1.5, "NA"]


@pytest.mark.parametrize(
    ("encoding", "codec"),
    [("utf-8", "utf-8"), ("utf-8", "utf-8-sig"), ("utf-8-sig", "utf-8-sig"),
     ("latin-1", "latin-1"), ("cp1252", "cp1252"), ("utf-16", "utf-16")],
)  # fmt: skip
def test_encodings(encoding, codec, table_of) -> None:
    table = table_of("größe,x\nstraße,1\n".encode(codec), encoding=encoding)
    assert table.names == ("größe", "x")
    assert table["größe"].levels.tolist() == ["straße"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(line_end, last, table_of) -> None:
    content = line_end.join(["a,b", "1,x", "2,y"]) + (line_end if last else "")
    table = table_of(content.encode())
    assert table["a"].values.tolist() == [1, 2]
    assert table["b"].values.tolist() == ["x", "y"]


def test_header_only_and_blank_lines_at_the_end(table_of) -> None:
    assert table_of("a,b\n").names == ("a", "b")
    assert table_of("a,b").n_rows == 0
    assert table_of("a,b\n1,2\n\n\n").n_rows == 1


def test_one_column_with_empty_cells(table_of, tmp_path) -> None:
    table = table_of("a\n1\n\n3\n\n")
    assert table["a"].values.tolist() == [1, None, 3, None]
    write(table, tmp_path / "back.csv")
    assert (tmp_path / "back.csv").read_text() == "a\n1\n\n3\n\n"


def test_line_breaks_and_quotation_marks_inside_fields(table_of, tmp_path) -> None:
    content = 'n,x\n1,"a\nb"\n2,"say ""hi"", then go"\n3,c\n'
    table = table_of(content)
    assert table["x"].values.tolist() == ["a\nb", 'say "hi", then go', "c"]
    write(table, tmp_path / "back.csv")
    assert (tmp_path / "back.csv").read_text() == content


@pytest.mark.parametrize("name", ['a"b', '"', 'say ""hi""', 'a,"b"', 'line\n"two"'])
def test_names_may_hold_quotation_marks(name, tmp_path) -> None:
    table = Table.from_frame({"x": [1, 2], name: ["a", "b"], "y": [3, 4]})
    write(table, tmp_path / "x.csv")
    assert read(tmp_path / "x.csv") == table
    assert read(tmp_path / "x.csv", columns=[name]).names == (name,)


@pytest.mark.parametrize("suffix", [".csv.gz", ".tsv.zst", ".txt.gz", ".tsv", ".txt"])
def test_compressed_and_tabbed_text(suffix, tmp_path) -> None:
    table = Table.from_frame({"x": [1, 2], "y": ["a,b", "c\td"]})
    write(table, tmp_path / f"x{suffix}")
    assert read(tmp_path / f"x{suffix}") == table
    if suffix.endswith(".gz"):
        with gzip.open(tmp_path / f"x{suffix}", "rt") as file:
            assert file.readline().split() == (["x,y"] if suffix.startswith(".csv") else ["x", "y"])


def test_columns_can_be_chosen(table_of) -> None:
    table = table_of("a,b,c\n1,x,2.5\n", columns=["c", "a"])
    assert table.names == ("c", "a")
    assert table["c"].values.tolist() == [2.5]


def test_schema_is_read_from_the_raw_text(table_of) -> None:
    schema = Schema(
        {
            "icd": ColumnSchema(kind=Kind.CATEGORY),
            "region": ColumnSchema(kind=Kind.CATEGORY),
            "phone": ColumnSchema(kind=Kind.TEXT),
            "day": ColumnSchema(kind=Kind.DATE, date_format="%d.%m.%Y"),
            "income": ColumnSchema(kind=Kind.INTEGER, missing={"-8": "not asked"}),
        }
    )
    table = table_of(
        'icd,region,phone,day,income,n\n250.10,10,12,31.12.2024,"-8",1\n7.0,2,13,,"800",2\n',
        schema=schema,
    )
    assert table["icd"].values.tolist() == ["250.10", "7.0"]
    assert table["region"].levels.tolist() == [2, 10]
    assert table["phone"].values.tolist() == ["12", "13"]
    assert table["day"].values.tolist() == [np.datetime64("2024-12-31"), None]
    assert table["income"].values.tolist() == [-8, 800]
    assert table["income"].missing == (Missing(-8, "not asked"),)


def test_numbers_with_missing_words_are_numbers_in_frames(table_of) -> None:
    frame = table_of("x,y\n1,2.5\nNA,.\n").to_frame("polars")
    assert frame["x"].to_list() == [1, None]
    assert frame.schema == {"x": pl.Int64, "y": pl.Float64}


def test_social_diagnosis_keeps_every_field(shared, tmp_path) -> None:
    path = shared / "data" / "sd2011.csv"
    table = read(path)
    assert (table.n_rows, len(table.names)) == (5000, 35)
    assert table["wkabdur"].kind is Kind.CATEGORY
    assert table["income"].kind is Kind.INTEGER
    assert table["bmi"].kind is Kind.NUMERIC
    assert int(table["income"].is_missing.sum()) == 683
    write(table, tmp_path / "back.csv")
    assert fields(tmp_path / "back.csv") == fields(path)


CELL = st.one_of(
    st.sampled_from(["", "1", "-8", "2.50", "007", "NA", "true", "2024-01-31", "1e5", "inf", '"']),
    st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=5),
)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 3).flatmap(
        lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1, max_size=6)
    )
)
@example([["", "a"], ["1", ""]])
def test_text_columns_come_back_as_text(tmp_path_factory, rows) -> None:
    """Beside a column of numbers, any text comes back as that text or as what it says."""
    path = tmp_path_factory.getbasetemp() / "any.csv"
    names = [f"c{i}" for i in range(len(rows[0]))]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    table = Table.from_frame(frame.with_columns(n=pl.lit(1)))
    write(table, path, force=True)
    again = read(path)
    for name in names:
        column, back = table[name], again[name]
        if back.kind in (Kind.DATE, Kind.DATETIME, Kind.BOOLEAN):
            continue
        assert back.values.tolist() == column.values.tolist()


NUMBER = st.one_of(st.integers(-(2**63), 2**63 - 1), SIZED)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.none(), NUMBER), min_size=1, max_size=8), st.booleans())
def test_numbers_come_back_exactly(tmp_path_factory, values, as_float) -> None:
    path = tmp_path_factory.getbasetemp() / "numbers.csv"
    numbers = [float(v) if v is not None and as_float else v for v in values]
    numbers = [v if as_float or v is None else int(v) % 2**63 for v in numbers]
    series = pl.Series(numbers, dtype=pl.Float64 if as_float else pl.Int64)
    table = Table.from_frame(pl.DataFrame({"x": series}))
    write(table, path, force=True)
    back = read(path)["x"]
    if any(v is not None for v in numbers):
        assert back.values.tolist() == table["x"].values.tolist()


def test_reader_agrees_with_the_csv_module(tmp_path_factory) -> None:
    """The fields are those of Python's own reader, on text with every special character."""
    path = tmp_path_factory.getbasetemp() / "special.csv"

    @settings(max_examples=100, deadline=None)
    @given(
        st.lists(
            st.tuples(st.text('ab",;\n |', max_size=4), st.text("a, \t", max_size=3)),
            min_size=1,
            max_size=5,
        )
    )
    def check(rows) -> None:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([("n", "x", "y"), *((1, *r) for r in rows)])
        path.write_text(out.getvalue(), encoding="utf-8", newline="")
        table = read(path, delimiter=",")
        for i, name in enumerate(["x", "y"]):
            assert [value or "" for value in table[name].values] == [row[i] for row in rows]

    check()


def test_reading_text_is_quick_to_start() -> None:
    """Importing the package does not pay for a compiler that only text files need."""
    code = "import sys, caveat.table; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_infinite_values_are_refused_with_column_and_row(table_of) -> None:
    with refused("data.value.infinite", column="x", row=2):
        table_of("n,x\n1,2\n2,-inf\n")
    with refused("data.value.infinite", column="x", row=1):
        table_of("n,x\n1,1e999\n")
    assert table_of("n,x\n1,inf\n2,a\n")["x"].levels.tolist() == ["a", "inf"]
