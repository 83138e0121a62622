"""Numbers and dates as people write them: read where they can mean one thing only."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from caveat.table import Column, ColumnSchema, Kind, Missing, Schema, read, write
from caveat.table.files import form_of
from caveat.table.written import NumberForm, number_form


def column(cells: list[str], folder: Path, kind: Kind | None = None, **form: Any) -> Column:
    """Read cells as the second column of a file with semicolons."""
    path = folder / "x.csv"
    path.write_text("n;x\n" + "".join(f"{i};{cell}\n" for i, cell in enumerate(cells)))
    schema = Schema({"x": ColumnSchema(kind=kind)}) if kind else None
    return read(path, schema=schema, delimiter=";", **form)["x"]


@pytest.mark.parametrize(
    ("cells", "values", "storage"),
    [
        (["1.767,26", "12,50", "-3.000,00"], [1767.26, 12.5, -3000.0], "text:decimals=2;.,"),
        (["1,767.26", "12.5"], [1767.26, 12.5], "text:point;,."),
        (["1 767,26", "12"], [1767.26, 12], "text:;\u0020,"),
        (["1\u00a0767", "12"], [1767, 12], "text:;\u00a0,"),
        (["1'767.25", "0.50"], [1767.25, 0.5], "text:decimals=2;'."),
        (["1.234.567", "12"], [1234567, 12], "text:;.,"),
        (["0,31", "12,05"], [0.31, 12.05], "text:decimals=2;,"),
    ],
)
def test_numbers(cells: list[str], values: list[Any], storage: str, tmp_path: Path) -> None:
    found = column(cells, tmp_path)
    assert found.values.tolist() == values
    assert found.kind.is_number
    assert found.storage == storage
    again = tmp_path / "again.csv"
    write(read(tmp_path / "x.csv", delimiter=";"), again)
    assert read(again)["x"].values.tolist() == values  # plain numbers are written


@pytest.mark.parametrize(
    "cells",
    [
        ["1,234", "5,678"],  # thousands, or three decimals
        ["1,2", "2,3"],  # decimals, or two answers
        ["1.767,26", "x"],
        ["1767,26", "1.767,261.2"],
        ["01.767,26", "0.012,5"],
        ["1.2.3", "2.3.4"],
        ["007", "010"],
    ],
)
def test_what_may_be_something_else_stays_text(cells: list[str], tmp_path: Path) -> None:
    found = column(cells, tmp_path)
    assert found.kind is Kind.CATEGORY
    assert found.values.tolist() == cells


def test_a_declaration_decides(tmp_path: Path) -> None:
    assert column(["1,234", "5,678"], tmp_path, Kind.INTEGER).values.tolist() == [1234, 5678]
    assert column(["1.234", "5.678"], tmp_path, decimal=",").values.tolist() == [1234, 5678]
    text = ["1.767,26", "12,50"]
    assert column(text, tmp_path, Kind.CATEGORY).values.tolist() == text
    days = ["31.01.1990", "01.02.1990"]
    assert column(days, tmp_path, Kind.TEXT).values.tolist() == days


@pytest.mark.parametrize("proof", ["1.193,20", "0,31", "1.234.567"])
def test_a_decimal_comma_elsewhere_says_that_points_are_thousands(
    proof: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    text = f"Lohn;Umsatz;Fläche\n{proof};47.955;0.120\n{proof};950;1.200\n{proof};NA;\n"
    path.write_text(text)
    for wanted in (None, ["Umsatz", "Fläche"], ["Umsatz"]):  # whatever else is read
        table = read(path, columns=wanted)
        assert table["Umsatz"].values.tolist() == [47955, 950, "NA"]
        assert table["Umsatz"].storage == "text:;.,"
    assert read(path)["Fläche"].values.tolist() == [0.12, 1.2, None]  # 0.120 is no thousand
    write(read(path, columns=["Umsatz"]), tmp_path / "b.csv", form=form_of(path))
    assert (tmp_path / "b.csv").read_text() == "Umsatz\n47.955\n950\nNA\n"
    schema = Schema({"Umsatz": ColumnSchema(kind=Kind.NUMERIC)})
    assert read(path, schema=schema)["Umsatz"].values.tolist() == [47.955, 950, "NA"]


@pytest.mark.parametrize("other", ["1,193.20", "1 767", "12", "a"])
def test_points_are_decimals_where_nothing_says_otherwise(other: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"a;b\n{other};47.955\n{other};950\n")
    assert read(path)["b"].values.tolist() == [47.955, 950]


def test_words_for_missing_are_kept(tmp_path: Path) -> None:
    found = column(["1.767,26", "NA", "", "2,00"], tmp_path)
    assert found.missing == (Missing(), Missing("NA"))
    assert found.values.tolist() == [1767.26, "NA", None, 2.0]


def test_marks_that_a_comma_needs_do_not_say_text(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('n,x\n1,"1,767.26"\n2,"2,000.10"\n')
    assert read(path)["x"].values.tolist() == [1767.26, 2000.1]
    path.write_text('n;x\n1;"1.767,26"\n2;"2.000,10"\n')
    assert read(path)["x"].kind is Kind.CATEGORY


@pytest.mark.parametrize(
    ("cells", "form", "first"),
    [
        (["31.01.1990", "1.2.1990"], "%d.%m.%Y", dt.date(1990, 1, 31)),
        (["31/01/1990", "01/02/1990"], "%d/%m/%Y", dt.date(1990, 1, 31)),
        (["01/31/1990", "01/02/1990"], "%m/%d/%Y", dt.date(1990, 1, 31)),
        (
            ["31.01.1990 10:30", "01.02.1990 00:00"],
            "%d.%m.%Y %H:%M",
            dt.datetime(1990, 1, 31, 10, 30),
        ),
    ],
)
def test_dates(cells: list[str], form: str, first: Any, tmp_path: Path) -> None:
    found = column(cells, tmp_path)
    assert found.values[0].tolist() == first
    assert found.storage == f"text:{form}"


def test_a_number_is_written_as_it_came() -> None:
    form = number_form("text:decimals=2;.,")
    assert form == NumberForm(".", ",")
    assert [form.written(text) for text in ("1767.26", "-12.50", "1234567", "1e+30")] == [
        "1.767,26",
        "-12,50",
        "1.234.567",
        "1e+30",
    ]
    assert number_form("text:decimals=2") is None
