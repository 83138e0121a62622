"""DuckDB: comments and enumerations stay, and a file is read by one program at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from caveat.table import read, write

duckdb = pytest.importorskip("duckdb")


def test_labels_and_enumerations_stay_in_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE t (m ENUM('sad', 'it''s ok', 'happy'), d DECIMAL(10,2), u UUID)")
        made.execute("INSERT INTO t VALUES ('happy', 1.50, uuid()), (NULL, NULL, NULL)")
        made.execute("COMMENT ON COLUMN t.d IS 'Price in €'")
    table = read(f"{path}#t")
    assert table["m"].levels.tolist() == ["sad", "it's ok", "happy"]
    assert table["d"].label == "Price in €"
    write(table.drop(["u"]), f"{path}#copy")
    assert read(f"{path}#copy") == table.drop(["u"])
    with duckdb.connect(str(path)) as made:
        rows = made.execute("SELECT column_name, data_type FROM duckdb_columns() "
                            "WHERE table_name = 'copy'").fetchall()  # fmt: skip
    assert rows == [("m", "ENUM('sad', 'it''s ok', 'happy')"), ("d", "DECIMAL(10,2)")]
