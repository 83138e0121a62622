"""Tables as a workbook: what is in it, read without the package that wrote it."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.outputs.test_tables import two_tables
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.outputs import shown
from caveat.outputs.shown import Shown, sheet_names, shown_tables, write_workbook

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def sheets(path: Path) -> dict[str, list[list[str | float]]]:
    """Return the cells of each sheet of a workbook; a formula is an error."""
    with zipfile.ZipFile(path) as file:
        texts = [
            "".join(one.itertext()) for one in ET.fromstring(file.read("xl/sharedStrings.xml"))
        ]
        names = [
            one.get("name") for one in ET.fromstring(file.read("xl/workbook.xml")).iter(
                f"{MAIN}sheet"
            )
        ]  # fmt: skip
        out = {}
        for i, name in enumerate(names, 1):
            sheet = ET.fromstring(file.read(f"xl/worksheets/sheet{i}.xml"))
            assert not list(sheet.iter(f"{MAIN}f"))
            assert not list(sheet.iter(f"{MAIN}hyperlink"))
            out[str(name)] = [
                [
                    texts[int(cell[0].text)] if cell.get("t") == "s" else float(cell[0].text)
                    for cell in row
                ]
                for row in sheet.iter(f"{MAIN}row")
            ]
    return out


def test_a_sheet_for_each_table_and_a_legend(tmp_path: Path) -> None:
    cells = two_tables()
    values = 1000 + np.arange(cells.n_cells)
    hidden = np.zeros(cells.n_cells, bool)
    hidden[3] = True
    tables = shown_tables(cells, values, hidden)
    write_workbook(tmp_path / "t.xlsx", tables)
    found = sheets(tmp_path / "t.xlsx")
    assert list(found) == ["Legend", "fine", "coarse"]
    assert found["Legend"][:2] == [
        ["×", "hidden, to protect those who contribute"], ["–", "no such cell"]
    ]  # fmt: skip
    assert found["Legend"][-1] == ["coarse", "coarse, by place"]
    assert found["coarse"][0] == ["coarse, by place"]
    head, (line,) = tables[1].grid()
    assert found["coarse"][1:] == [head, line[1]] == [["Total", "north", "south"], line[1]]
    fine = found["fine"]
    assert fine[1] == ["sex", "Total", "north", "n1", "n2", "south", "s1"]
    assert [row[0] for row in fine[2:]] == ["Total", "f", "m"]
    numbers = [cell for row in fine[2:] for cell in row[1:]]
    assert numbers.count("×") == 1
    assert numbers.count("–") == 1
    assert 1003 not in numbers


def test_a_code_is_never_a_formula_nor_a_number_nor_a_link(tmp_path: Path) -> None:
    codes = (("=1+1",), ("@SUM(A1)",), ("007",), ("https://example.org",), ("",))
    one = Shown("=cmd()", ("+k",), codes, (1, 2.5, None, 4, 5))
    two = Shown("b", ("=k", "j"), (("=2", "x"),), (1,))
    write_workbook(tmp_path / "t.xlsx", [one, two])
    found = sheets(tmp_path / "t.xlsx")
    assert found["=cmd()"] == [
        ["=cmd(), by +k"],
        ["=1+1", "@SUM(A1)", "007", "https://example.org", ""],
        [1, 2.5, "×", 4, 5],
    ]
    assert found["b"][-1] == ["=2", 1]


def test_the_same_tables_are_the_same_bytes(tmp_path: Path) -> None:
    tables = shown_tables(two_tables(), np.zeros(30, int), None, rounded=True)
    for name in ("a.xlsx", "b.xlsx"):
        write_workbook(tmp_path / name, tables)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    assert sheets(tmp_path / "a.xlsx")["Legend"][0][-1].startswith("All numbers are rounded")


def test_names_of_sheets() -> None:
    long = "a" * 40
    found = sheet_names([long, long, "legend", "History", "x[1]:y", "X 1  Y", "'", "a/b", "A?B"])
    assert found[:4] == ["a" * 31, "a" * 27 + " (2)", "legend (3)", "History (4)"]
    assert found[6:] == ["Table 7", "a b", "A B (9)"]
    assert len({name.casefold() for name in found}) == 9
    assert max(map(len, found)) == 31


def test_without_the_package_or_with_too_many_rows_one_sentence(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(shown, "MOST_COLUMNS", 3)
    with refused("outputs.table.too-large", where="table fine"):
        write_workbook(tmp_path / "t.xlsx", shown_tables(two_tables(), np.zeros(30, int), None))
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(CaveatError) as error:
        write_workbook(tmp_path / "t.xlsx", [])
    assert "a workbook needs the package XlsxWriter" in str(error.value)
    assert "pip install 'caveat[excel]'" in str(error.value)
    assert not (tmp_path / "t.xlsx").exists()
