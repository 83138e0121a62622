"""DuckDB: comments and enumerations stay, and a file is read by one program at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused

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


def test_long_numbers_stay_apart_or_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute(
            "CREATE TABLE t AS SELECT (100000000000000000 + i)::DECIMAL(20,0) AS key, "
            "(100000000000000000 + i)::HUGEINT AS huge, (i / 4)::DECIMAL(20,2) AS price, "
            "(100000000000 + i / 100)::DOUBLE::DECIMAL(20,2) AS wide, "
            "12345678901234567.25::DECIMAL(20,2) + (i / 100)::DECIMAL(20,2) AS lost "
            "FROM range(600) AS r(i)"
        )
    kept = read(f"{path}#t", columns=["key", "huge", "price", "wide"])
    keys = [10**17 + i for i in range(600)]
    assert kept["key"].levels.tolist() == keys
    assert kept["huge"].levels.tolist() == keys
    assert kept["price"].levels.tolist()[:3] == [0.0, 0.25, 0.5]
    assert len(kept["wide"].levels) == 600
    with refused("data.value.too-long", column="lost"):
        read(f"{path}#t")
    write(kept, f"{path}#copy")
    with duckdb.connect(str(path)) as made:
        assert made.execute("SELECT count(*) FROM t JOIN copy USING (key, price)").fetchone() == (
            600,
        )
