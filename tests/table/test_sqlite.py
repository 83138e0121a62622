"""SQLite: every cell has a type of its own."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.table import Kind, Table, read, write


def test_cells_of_sqlite_need_not_be_alike(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE t (a INTEGER, b, day DATE, flag BOOLEAN, no BLOB)")
        made.execute("INSERT INTO t VALUES (1, 'x', '2024-02-29', 1, 1), (2.5, 7, 'soon', 0, 2)")
    made.close()
    table = read(path)
    assert table["a"].values.tolist() == [1.0, 2.5]
    assert table["b"].values.tolist() == ["x", "7"]
    assert table["day"].kind is Kind.CATEGORY  # not all of them are days
    assert table["flag"].values.tolist() == [True, False]
    with sqlite3.connect(path) as made:
        made.execute("UPDATE t SET no = x'00'")
    made.close()
    with refused("data.type.unsupported", column="no"):
        read(path)


def test_a_writer_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sqlite"
    write(Table.from_frame({"x": [1]}), f"{path}#t")
    other = sqlite3.connect(path, isolation_level=None)
    connect = sqlite3.connect
    monkeypatch.setattr(
        "caveat.table._sqlite.sqlite3.connect", lambda *a, **k: connect(*a, timeout=0, **k)
    )
    try:
        other.execute("BEGIN EXCLUSIVE")
        with refused("database.file.busy"):
            write(Table.from_frame({"x": [2]}), f"{path}#u")
    finally:
        other.close()
    assert read(f"{path}#t")["x"].values.tolist() == [1]


def test_long_whole_numbers_among_decimals_are_refused_by_their_column(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [(2**60 + 1,), (1.5,)])
    connection.close()
    with refused("data.value.too-long", column="x") as told:
        read(f"{file}#t")
    assert "115292150460684" not in str(told.value)
