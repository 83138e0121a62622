"""Workbooks in and out: what was typed is what is read, and nothing is computed."""

from __future__ import annotations

import datetime as dt
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.table import Column, Kind, Missing, Table, read, write
from caveat.table.frames import tables_in

xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("fastexcel")

DAY = dt.date(1990, 1, 31)


def book(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    """Write cells as somebody types them."""
    with xlsxwriter.Workbook(path) as made:
        day = made.add_format({"num_format": "dd.mm.yyyy"})
        time = made.add_format({"num_format": "dd.mm.yyyy hh:mm"})
        for name, rows in sheets.items():
            sheet = made.add_worksheet(name)
            for down, row in enumerate(rows):
                for across, value in enumerate(row):
                    if isinstance(value, dt.datetime):
                        sheet.write_datetime(down, across, value, time)
                    elif isinstance(value, dt.date):
                        sheet.write_datetime(down, across, value, day)
                    elif value is not None:
                        sheet.write(down, across, value)
    return path


def test_words_for_missing_stand_among_numbers(tmp_path: Path) -> None:
    rows = [
        [None, None, None, None],
        ["pay", "n", "born", "word"],
        ["NA", 1, DAY, "NA"],
        [1 / 3, "n/a", "NA", "x"],
        [None, "NA", None, None],
        [2, 3, DAY, "y"],
        ["NA", None, None, None],
    ]
    table = read(book(tmp_path / "words.xlsx", {"People": rows}))
    assert [str(table[name].kind) for name in table] == ["numeric", "integer", "date", "category"]
    assert table["pay"].values.tolist() == ["NA", 1 / 3, None, 2.0, "NA"]
    assert table["pay"].missing == (Missing(), Missing("NA"))
    assert table["n"].values.tolist() == [1, "n/a", "NA", 3, None]
    assert table["n"].missing == (Missing(), Missing("NA"), Missing("n/a"))
    assert table["born"].missing == (Missing(), Missing("NA"))
    assert table["word"].values.tolist() == ["NA", "x", None, "y", None]
    with xlsxwriter.Workbook(tmp_path / "broken.xlsx") as made:
        sheet = made.add_worksheet("s")
        sheet.write_column(0, 0, ["a", "NA", 2])
        sheet.write_formula(3, 0, "=1/0", None, "#DIV/0!")
    with refused("data.formula.failed"):
        read(tmp_path / "broken.xlsx")


def test_cells_keep_their_types(tmp_path: Path) -> None:
    seen = dt.datetime(2024, 2, 29, 10, 30)
    rows = [
        ["id", "name", "born", "seen", "pay", "member", "plz", "mixed"],
        [1, "Ann", DAY, seen, 1767.26, True, "01067", 7],
        [2, None, None, None, 2, False, "10115", "x"],
        [3, "Bob", DAY, seen, None, None, None, 2.5],
    ]
    table = read(book(tmp_path / "people.xlsx", {"People": rows}))
    kinds = {name: str(table[name].kind) for name in table}
    assert kinds == {
        "id": "integer", "name": "category", "born": "date", "seen": "datetime",
        "pay": "numeric", "member": "boolean", "plz": "category", "mixed": "category",
    }  # fmt: skip
    assert table["pay"].values.tolist() == [1767.26, 2.0, None]
    assert table["born"].levels.tolist() == [DAY]
    assert table["seen"].levels.tolist() == [seen]
    assert table["plz"].levels.tolist() == ["01067", "10115"]
    assert table["mixed"].values.tolist() == ["7", "x", "2.5"]
    assert table["name"].missing == (Missing(),)
    some = read(tmp_path / "people.xlsx#People", columns=["pay", "id"])
    assert some.names == ("pay", "id")


def test_the_header_is_the_first_row_that_is_filled(tmp_path: Path) -> None:
    rows = [
        [None, None, None, None],
        [None, " net\nincome ", 2020, None],
        [None, 800, 1, None],
        [None, None, 2, None],
        [None, None, None, " "],
    ]
    path = book(tmp_path / "odd.xlsx", {"a": rows[:4]})
    table = read(path)
    assert table.names == ("net income", "2020")
    assert table["net income"].values.tolist() == [800, None]


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([["a", None], [1, 2]], "column B has cells and no name"),
        ([["a", "a"], [1, 2]], "two columns are called 'a'"),
        ([["a"], [1], [None], [2]], "row 3 is empty"),
        ([["a", "b"], [1, "=1/0"]], "cell B2 holds an error"),
        ([], "is empty"),
    ],
)
def test_what_is_wrong_is_named_by_its_cell(
    rows: list[list[Any]], what: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.xlsx"
    if any("=1/0" in row for row in rows):
        with xlsxwriter.Workbook(path) as made:
            sheet = made.add_worksheet("a")
            sheet.write_row(0, 0, ["a", "b"])
            sheet.write_number(1, 0, 1)
            sheet.write_formula(1, 1, "=1/0", None, "#DIV/0!")
    else:
        book(path, {"a": rows})
    with pytest.raises(CaveatError, match=what) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


def test_of_several_sheets_one_is_named(tmp_path: Path) -> None:
    path = book(tmp_path / "b.xlsx", {"one": [["x"], [1]], "two": [["y"], [2]], "empty": []})
    with refused("data.sheet.absent"):
        read(path)
    assert read(f"{path}#two").names == ("y",)
    assert tables_in(path) == [Path(f"{path}#one"), Path(f"{path}#two")]
    assert tables_in(Path(f"{path}#two")) == [Path(f"{path}#two")]
    with refused("data.sheet.unknown"):
        read(f"{path}#three")


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    table = read(book(tmp_path / "h.xlsx", {"a": [["x", "y"]]}))
    assert (table.names, table.n_rows) == (("x", "y"), 0)


def test_passwords_and_old_formats_are_refused(tmp_path: Path) -> None:
    locked = tmp_path / "locked.xlsx"
    locked.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with refused("data.format.unsupported"):
        read(locked)
    old = tmp_path / "old.xls"
    old.write_bytes(b"x")
    with refused("data.format.unsupported"):
        read(old)


def test_damage_is_one_sentence(tmp_path: Path) -> None:
    good = book(tmp_path / "good.xlsx", {"a": [["x", "y"], *([i, f"t{i}"] for i in range(50))]})
    data = good.read_bytes()
    rng = np.random.default_rng(1)
    bad = tmp_path / "bad.xlsx"
    for _ in range(60):
        at = int(rng.integers(len(data)))
        bad.write_bytes(data[:at] + bytes([int(rng.integers(256))]) + data[at + 1 :])
        with suppress(CaveatError):  # whole, or one sentence; anything else fails here
            read(bad)
    bad.write_bytes(data[: len(data) // 2])
    with refused("data.file.damaged"):
        read(bad)


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", bytes(300 << 20))
    with refused("data.file.too-large"):
        read(path)


def test_a_table_comes_back(tmp_path: Path) -> None:
    table = Table.from_frame(
        {
            "n": [1, 2, 3],
            "x": [0.1, 2.5, 1e-7],
            "t": ["=1+1", "007", "+49"],
            "b": [True, False, True],
            "d": np.array(["2024-01-31", "1999-12-31", "2024-01-31"], "datetime64[D]"),
            "s": np.array(["2024-01-31T10:00:01", "1999-12-31T00:00", "2024-01-31"], "M8[us]"),
        }
    )
    codes = Column(np.array([0, 1, 2]), np.array([800]), Kind.INTEGER, (Missing(), Missing(-8)))
    table = table.with_columns({"m": codes})
    write(table, tmp_path / "a.xlsx")
    again = read(tmp_path / "a.xlsx")
    for name in table:
        assert again[name].kind == table[name].kind, name
    assert again["t"].values.tolist() == ["=1+1", "007", "+49"]  # text, and no formula
    assert again["m"].values.tolist() == [800, None, -8]
    assert again.drop(["m"]) == table.drop(["m"])
    write(table, tmp_path / "b.xlsx")
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    with refused("command.output.exists"):
        write(table, f"{tmp_path / 'b.xlsx'}#other")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as packed:
        assert b"<f>" not in packed.read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        ([2**60, 1], "data.value.too-large"),
        (["x" * 40_000, "y"], "data.value.too-long"),
        (np.array(["1850-01-01", "1999-01-01"], "M8[D]"), "data.value.unsupported"),
    ],
)
def test_what_a_cell_cannot_hold_is_refused(cells: Any, what: str, tmp_path: Path) -> None:
    target = tmp_path / "a.xlsx"
    with refused(what):
        write(Table.from_frame({"x": cells}), target)
    assert not target.exists()
    with refused("data.name.unsupported"):
        write(Table.from_frame({"x": [1, 2]}), f"{target}#a:b")


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ((1_048_575, 16_383), "XFD1048576"),
        ((1_048_575, 25), "Z1048576"),
        ((999_999, 199), "GR1000000"),
    ],
)
def test_a_stray_cell_is_named_and_takes_no_memory(cell, says, tmp_path, monkeypatch) -> None:
    path = tmp_path / "stray.xlsx"
    with xlsxwriter.Workbook(path) as made:
        sheet = made.add_worksheet("s")
        sheet.write_column(0, 0, ["a", 1, 2])
        sheet.write(*cell, 3)
    assert path.stat().st_size < 8192
    monkeypatch.setenv("CAVEAT_READ_GIGABYTES", "0.5")  # it would take 0.8 to 550
    with pytest.raises(CaveatError) as caught:
        read(path)
    assert says in caught.value.what
    assert str(path) in str(caught.value.where)


def test_a_wide_or_long_sheet_is_no_stray_cell(tmp_path) -> None:
    table = Table.from_frame({"x": range(3)})
    many = table.with_columns({f"c{i}": table["x"] for i in range(2000)})
    write(many, tmp_path / "wide.xlsx")
    assert read(tmp_path / "wide.xlsx").names == many.names
    sparse: list[list[Any]] = [["a", "b"], *([i, None] for i in range(3000)), [None, 1]]
    assert read(book(tmp_path / "long.xlsx", {"s": sparse})).n_rows == 3001
