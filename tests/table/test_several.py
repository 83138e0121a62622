"""Several tables into one folder, and out of one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from caveat.table import Table, read
from caveat.table.frames import tables_in, write_several


def test_sheets_and_tables_share_their_file(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    pytest.importorskip("xlsxwriter")
    tables = {
        name: Table.from_frame({"x": [k, 2]})
        for k, name in enumerate(
            ("a.xlsx#one", "b.csv", "a.xlsx#two", "c.sqlite#three", "c.sqlite#four")
        )
    }
    assert write_several(tables, tmp_path) == ["a.xlsx", "b.csv", "c.sqlite"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.xlsx", "b.csv", "c.sqlite"]
    for name, table in tables.items():
        assert read(tmp_path / name) == table
    assert tables_in(tmp_path / "a.xlsx") == [tmp_path / "a.xlsx#one", tmp_path / "a.xlsx#two"]
    assert tables_in(tmp_path / "b.csv") == [tmp_path / "b.csv"]
