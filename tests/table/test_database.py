"""What files of databases have in common: tables come back, and nothing is half written."""

from __future__ import annotations

import datetime as dt
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError, CaveatWarning
from caveat.table import Column, Kind, Missing, Table, read, write
from caveat.table.database import sql_name, tables_of, write_database
from caveat.table.drafts import check_outputs
from caveat.table.files import write_blocks
from caveat.table.source import source_of

duckdb = pytest.importorskip("duckdb")

SUFFIXES = (".sqlite", ".db", ".duckdb")
EVERY = pytest.mark.parametrize("suffix", SUFFIXES)


def sample() -> Table:
    """Return a table with every kind, and cells that are missing."""
    table = Table.from_frame(
        {
            "n": [1, None, 2**53 + 1],
            "x": [0.1, 1e70, None],
            "b": [True, None, False],
            "t": ["ä'\"", "", "007"],
            "d": np.array(["2024-02-29", "1850-01-01", "NaT"], "M8[D]"),
            "s": np.array(["2024-02-29T10:00:00.25", "NaT", "1850-01-01T00:00"], "M8[us]"),
        }
    )
    codes = Column(np.array([0, 1, 2]), np.array([800]), Kind.INTEGER, (Missing("NA"), Missing(-8)))
    return table.with_columns({"m": codes})


@EVERY
def test_a_table_comes_back(suffix: str, tmp_path: Path) -> None:
    table, target = sample(), f"{tmp_path / 'a'}{suffix}#people"
    write(table, target)
    again = read(target)
    rest = ["m"]
    assert again.drop(rest) == table.drop(rest)
    assert again["m"].values.tolist() == [800, None, -8]  # no word stands among numbers
    assert again["d"].levels.tolist() == [dt.date(1850, 1, 1), dt.date(2024, 2, 29)]
    assert read(target, columns=["x", "n"]).names == ("x", "n")
    with refused("data.column.unknown"):
        read(target, columns=["y"])


@EVERY
def test_a_file_holds_several_tables(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    for name in ("one", "two"):
        write(Table.from_frame({name: [1, 2]}), f"{path}#{name}")
    assert tables_of(path) == ["one", "two"]
    assert read(f"{path}#two").names == ("two",)
    assert read(f"{path}#select one + 1 as more from one")["more"].values.tolist() == [2, 3]
    with refused("database.table.absent"):
        read(path)
    with refused("database.table.unknown"):
        read(f"{path}#three")


@EVERY
def test_a_file_without_a_named_table_is_one_output(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    write(sample(), path)
    assert tables_of(path) == ["data"]
    assert read(path)["n"] == sample()["n"]
    with refused("command.output.exists"):
        write(sample(), path)
    assert list(tmp_path.iterdir()) == [path]


@EVERY
def test_an_existing_table_is_kept(suffix: str, tmp_path: Path) -> None:
    target = f"{tmp_path / 'a'}{suffix}#t"
    write(Table.from_frame({"x": [1]}), target)
    with refused("database.table.exists"):
        write(Table.from_frame({"x": [2]}), target)
    assert read(target)["x"].values.tolist() == [1]

    def blocks() -> Iterator[Table]:
        yield Table.from_frame({"x": [2]})
        raise CaveatError("the disk is full", code="test.thing.failed")

    source = source_of(target)
    assert source is not None
    with refused("test.thing.failed"):
        write_database(source, blocks(), force=True)
    assert read(target)["x"].values.tolist() == [1]
    write(Table.from_frame({"x": [3]}), target, force=True)
    assert read(target)["x"].values.tolist() == [3]
    fresh = source_of(f"{tmp_path / 'b'}{suffix}#t")
    assert fresh is not None
    with refused("test.thing.failed"):
        write_database(fresh, blocks())
    assert not Path(fresh.place).exists()


# No two begin alike: what repeats itself is stored in a shorter form.
IDS = [sha256(str(i).encode()).hexdigest()[:20] for i in range(1900)]


def readable(path: Path) -> int:
    """Count the ids that stand in the bytes of a database or of whatever lies beside it."""
    content = b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))
    return sum(one.encode() in content for one in IDS)


@EVERY
@pytest.mark.parametrize("how", ["alone", "wal", "persist"])
def test_no_replaced_row_can_be_read_in_the_file(suffix: str, how: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    marked = Table.from_frame({"id": IDS[1:]})
    write(Table.from_frame({"y": ["other"]}), f"{path}#other")
    write(marked, f"{path}#t")
    if how != "alone" and suffix != ".duckdb":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA journal_mode = {how}")
            connection.execute("INSERT INTO t VALUES (?)", [IDS[0]])
            connection.commit()
    assert readable(path) > 1000
    write(Table.from_frame({"x": [1, 2]}), f"{path}#t", force=True)
    assert readable(path) == 0
    assert list(tmp_path.iterdir()) == [path]
    assert read(f"{path}#t")["x"].values.tolist() == [1, 2]
    assert read(f"{path}#other")["y"].values.tolist() == ["other"]


def test_rows_that_another_program_still_reads_are_a_remark(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    write(Table.from_frame({"id": IDS}), f"{path}#t")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = wal")
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM t").fetchone()
        with pytest.warns(CaveatWarning, match="another program has the database open"):
            write(Table.from_frame({"x": [1]}), f"{path}#t", force=True)
        assert read(f"{path}#t")["x"].values.tolist() == [1]


def test_everything_else_in_a_duckdb_file_stays_when_a_table_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    write(Table.from_frame({"x": [1]}), f"{path}#t")
    path.chmod(0o640)
    with duckdb.connect(path) as connection:
        connection.execute(
            "CREATE SCHEMA s; CREATE SEQUENCE q START 5; CREATE TABLE p(id INTEGER PRIMARY "
            "KEY DEFAULT nextval('q'), mood ENUM('sad', 'glad'), g INTEGER GENERATED ALWAYS AS "
            "(id+1)); INSERT INTO p (mood) VALUES ('glad'), (NULL); CREATE TABLE c(x INTEGER "
            "REFERENCES p(id)); INSERT INTO c VALUES (5); CREATE TABLE s.t(a VARCHAR); INSERT "
            "INTO s.t VALUES ('in s'); CREATE UNIQUE INDEX i ON s.t(a); CREATE MACRO f(a) AS "
            "a + 1; CREATE VIEW v AS SELECT * FROM t; COMMENT ON COLUMN p.mood IS 'how'"
        )
    write(Table.from_frame({"x": [2, 3]}), f"{path}#t", force=True)
    assert path.stat().st_mode & 0o777 == 0o640
    with duckdb.connect(path) as connection:

        def ask(query: str) -> list[tuple[object, ...]]:
            return list(connection.execute(query).fetchall())

        assert ask("SELECT * FROM p ORDER BY id") == [(5, "glad", 6), (6, None, 7)]
        assert ask("SELECT nextval('q'), f(1)") == [(7, 2)]
        assert ask("SELECT * FROM s.t") == [("in s",)]
        assert ask("SELECT * FROM v ORDER BY x") == [(2,), (3,)]
        assert ask("SELECT comment FROM duckdb_columns() WHERE comment IS NOT NULL") == [("how",)]
        with pytest.raises(duckdb.ConstraintException):
            connection.execute("INSERT INTO c VALUES (99)")
        with pytest.raises(duckdb.ConstraintException):
            connection.execute("INSERT INTO s.t VALUES ('in s')")
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_has_begun_in_a_sqlite_file_is_undone_by_a_reader(tmp_path) -> None:
    path = tmp_path / "a.sqlite"
    write(Table.from_frame({"x": [1, 2]}), f"{path}#t")
    code = (
        "import os, sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_size = 5')\n"
        "c.execute('BEGIN IMMEDIATE')\n"
        "c.execute('DROP TABLE t')\n"
        "c.execute('CREATE TABLE t(y)')\n"
        "c.executemany('INSERT INTO t VALUES (?)', [(f'y{i}',) for i in range(9999)])\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    assert read(f"{path}#t")["x"].values.tolist() == [1, 2]


@EVERY
def test_a_failed_writer_removes_no_file_that_another_one_made(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"

    def blocks() -> Iterator[Table]:
        yield Table.from_frame({"x": [2]})
        # Another program makes the file while this one is at work.
        write(Table.from_frame({"y": [1]}), tmp_path / f"b{suffix}")
        (tmp_path / f"b{suffix}").rename(path)
        raise CaveatError("the disk is full", code="test.thing.failed")

    source = source_of(f"{path}#t")
    assert source is not None
    with refused("test.thing.failed"):
        write_database(source, blocks())
    assert tables_of(path) == ["data"]
    assert list(tmp_path.iterdir()) == [path]


@EVERY
def test_blocks_are_one_table(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caveat.table.files.ROWS_IN_MEMORY", 10)
    parts = [Table.from_frame({"x": np.arange(8) + 8 * k}) for k in range(4)]
    target = f"{tmp_path / 'a'}{suffix}#blocks"
    write_blocks(parts, target)
    assert sorted(read(target)["x"].values.tolist()) == list(range(32))


@EVERY
def test_a_query_only_reads_this_file(suffix: str, tmp_path: Path) -> None:
    target = f"{tmp_path / 'a'}{suffix}"
    write(Table.from_frame({"x": [1]}), f"{target}#t")
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    for query in (
        "select 1; drop table t",
        "select * from t) as q; drop table t; --",
        f"select * from read_csv('{other}')",
        f"select * from '{other}'",
        "select * from pragma_database_list, nothing",
    ):
        with pytest.raises(CaveatError):
            read(f"{target}#{query}")
    assert read(f"{target}#t")["x"].values.tolist() == [1]


@EVERY
def test_an_input_is_never_replaced(suffix: str, tmp_path: Path) -> None:
    target = tmp_path / f"a{suffix}"
    write(Table.from_frame({"x": [1]}), f"{target}#t")
    with refused("database.table.conflict"):
        check_outputs([f"{target}#t"], force=True, inputs=[f"{target}#t"])
    with refused("command.output.conflict"):
        check_outputs([target], force=True, inputs=[f"{target}#t"])
    check_outputs([f"{target}#u"], inputs=[f"{target}#t"])
    with refused("command.folder.absent"):
        check_outputs([f"{tmp_path}/no/a{suffix}#t"])


@EVERY
def test_an_input_is_never_replaced_however_it_is_spelled(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"a{suffix}"
    write(Table.from_frame({"x": [1]}), f"{file}#t")
    link = tmp_path / f"link{suffix}"
    link.symlink_to(file)
    for read_ in (f"{file}#t", f"{file}#main.t", f"{file}#T", str(file)):
        for out in (f"{file}#T", f"{file}#main.t", f'{file}#"t"', f"{link}#t", f"{file}#t"):
            with refused("database.table.conflict"):
                check_outputs([out], force=True, inputs=[read_])
    write(Table.from_frame({"x": [1]}), f"{file}#old")
    check_outputs([f"{file}#OLD"], force=True, inputs=[f"{file}#t"])
    check_outputs([f"{file}#new"], force=True, inputs=[f"{file}#select * from t"])
    with refused("database.table.conflict"):
        check_outputs([f"{file}#OLD"], force=True, inputs=[f"{file}#select * from t"])
    if suffix == ".duckdb":
        with duckdb.connect(str(file)) as connection:
            connection.execute("CREATE VIEW seen AS SELECT * FROM t")
    else:
        import sqlite3

        with sqlite3.connect(file) as lite:
            lite.execute("CREATE VIEW seen AS SELECT * FROM t")
        lite.close()
    with refused("database.table.conflict"):
        check_outputs([f"{file}#t"], force=True, inputs=[f"{file}#seen"])


@EVERY
def test_damage_is_one_sentence(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(b"not a database, but long enough to look at" * 100)
    with refused("data.file.damaged"):
        read(f"{path}#t")
    with refused("data.file.absent"):
        read(f"{tmp_path / 'none'}{suffix}#t")


def test_names_of_tables() -> None:
    assert sql_name('"a ""b"".c".d') == ('a "b".c', "d")
    with refused("database.table.malformed", where="a.b.c"):
        sql_name("a.b.c")


@EVERY
@pytest.mark.parametrize("rows", [3, 20])
def test_a_file_with_a_confidential_table_is_for_this_user_alone(
    suffix: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("caveat.table.files.ROWS_IN_MEMORY", 10)  # more come in blocks
    table = Table.from_frame({"n": range(rows)})

    def modes(path: Path, *, force: bool = False) -> tuple[int, int]:
        """Return the permissions after an ordinary table and after a confidential one."""
        found = []
        for confidential in (False, True):
            name = f"{path}#{'second' if confidential and not force else 'first'}"
            how = {"force": force, "confidential": confidential}
            write_blocks([table.take(np.arange(2)), table.take(np.arange(2, rows))], name, **how)
            found.append(path.stat().st_mode & 0o777)
        return found[0], found[1]

    public = 0o666 & ~_umask()
    assert modes(tmp_path / f"added{suffix}") == (public, 0o600)
    assert modes(tmp_path / f"replaced{suffix}", force=True) == (public, 0o600)
    new = tmp_path / f"new{suffix}"
    write(table, f"{new}#t", confidential=True)
    assert new.stat().st_mode & 0o777 == 0o600


def _umask() -> int:
    found = os.umask(0o022)
    os.umask(found)
    return found
