"""Readers in a child process: limits of time and memory, crashes, and what comes back."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caveat.errors import CaveatError, CaveatWarning
from caveat.table import Column, Table, child, read, write
from caveat.table.frames import tables_in

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")

BUSY = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT 1 FROM t) SELECT count(*) AS n FROM t"
FOREVER = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t"
MANY = "SELECT repeat('a long text', 1000) || generate_series(1, 1000000000) AS w"


@pytest.fixture
def fresh(monkeypatch):
    """Let no child of an earlier test be used."""
    child._end_idle()
    yield monkeypatch
    child._end_idle()


@pytest.fixture
def briefly(fresh):
    """Allow a second and a half, which no endless query keeps to, however fast the machine is."""
    fresh.setenv(child.SECONDS, "1.5")
    return fresh


def refusal(path) -> CaveatError:
    with pytest.raises(CaveatError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return caught.value


def is_late(error: CaveatError) -> bool:
    return "not read within 1.5 seconds" in error.what and child.SECONDS in (error.do or "")


def is_large(error: CaveatError) -> bool:
    return "GB of memory" in error.what and child.GIGABYTES in (error.do or "")


def sqlite(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def duck(path: Path, *statements: str) -> None:
    connection = pytest.importorskip("duckdb").connect(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("query", [BUSY, FOREVER])
@pytest.mark.parametrize(("suffix", "fill"), [(".db", sqlite), (".duckdb", duck)])
def test_endless_views_and_queries_of_a_received_file(
    query, suffix, fill, tmp_path, briefly
) -> None:
    path = tmp_path / f"x{suffix}"
    fill(path, "CREATE TABLE fine (a integer)", "INSERT INTO fine VALUES (1)",
         f"CREATE VIEW v AS {query}")  # fmt: skip
    assert is_late(refusal(f"{path}#v"))
    assert is_late(refusal(f"{path}#{query}"))
    briefly.delenv(child.SECONDS)
    assert [part.name for part in tables_in(path)] == [f"{path.name}#fine", f"{path.name}#v"]
    assert read(f"{path}#fine").n_rows == 1
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("query", [BUSY, FOREVER, "SELECT pg_sleep(1000)::text AS x"])
def test_endless_views_and_queries_of_a_server(query, server, briefly) -> None:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with dbapi.connect(server, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA public CASCADE")
        cursor.execute("CREATE SCHEMA public")
        cursor.execute(f"CREATE VIEW v AS {query}")
        assert is_late(refusal(f"{server}#v"))
        assert is_late(refusal(f"{server}#{query}"))
        # The server does not go on with it.
        busy = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query ~ ' FROM '"
        for _ in range(600):
            cursor.execute(busy)
            if cursor.fetchone()[0] <= 1:
                break
            time.sleep(0.1)
        else:
            pytest.fail("the server still works on it")


@linux
def test_rows_without_end_take_no_more_memory_than_allowed(server, tmp_path, fresh) -> None:
    fresh.setenv(child.GIGABYTES, "0.4")
    assert is_large(refusal(f"{server}#{MANY}"))
    texts = "SELECT repeat('a long text', 1000) || range AS w FROM range(1000000000)"
    duck(tmp_path / "x.duckdb", f"CREATE VIEW v AS {texts}", f"CREATE VIEW s AS {texts} ORDER BY w")
    assert is_large(refusal(f"{tmp_path}/x.duckdb#v"))
    assert is_large(refusal(f"{tmp_path}/x.duckdb#s"))
    rows = FOREVER.replace("SELECT n FROM t", "SELECT hex(zeroblob(100000)) || n AS w FROM t")
    sqlite(tmp_path / "x.db", f"CREATE VIEW v AS {rows} LIMIT 20000")
    assert is_large(refusal(f"{tmp_path}/x.db#v"))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["x.db", "x.duckdb"]


@linux
def test_a_large_table_of_any_format_needs_a_larger_limit(tmp_path, fresh) -> None:
    rng = np.random.default_rng(1)
    numbers = pa.table({"x": rng.normal(size=4_000_000), "y": rng.normal(size=4_000_000)})
    pq.write_table(numbers, tmp_path / "x.parquet")
    with pa.ipc.new_file(str(tmp_path / "x.arrow"), numbers.schema) as out:
        out.write_table(numbers)
    for suffix in ("parquet", "arrow"):
        fresh.setenv(child.GIGABYTES, "0.25")
        assert is_large(refusal(tmp_path / f"x.{suffix}"))
        fresh.setenv(child.GIGABYTES, "4")
        assert read(tmp_path / f"x.{suffix}", columns=["y"]).n_rows == 4_000_000


@linux
def test_a_limit_that_the_shell_imposes_is_named(tmp_path) -> None:
    write(Table.from_frame({"x": [1, 2]}), tmp_path / "x.parquet")
    program = (
        "import resource, sys; from pathlib import Path; "
        "from caveat.table.child import limits_of; path = Path(sys.argv[1]); "
        "before = limits_of(path); "
        "resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30)); "
        "after = limits_of(path); print(before.imposed, after.imposed, after.gigabytes); "
        "print(after.too_large().what)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "x.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    numbers, what = done.stdout.splitlines()
    assert numbers == "False True 3.0"
    assert "ulimit" in what


@pytest.mark.parametrize("variable", [child.SECONDS, child.GIGABYTES])
@pytest.mark.parametrize("wrong", ["much", "0", "-1", "nan"])
def test_limits_are_positive_numbers(variable, wrong, tmp_path, monkeypatch) -> None:
    write(Table.from_frame({"x": [1, 2]}), tmp_path / "x.parquet")
    monkeypatch.setenv(variable, wrong)
    assert f"{variable} is not a positive number" in refusal(tmp_path / "x.parquet").what


def test_without_limits(tmp_path, monkeypatch) -> None:
    write(Table.from_frame({"x": [1, 2]}), tmp_path / "x.parquet")
    monkeypatch.setenv(child.SECONDS, "inf")
    monkeypatch.setenv(child.GIGABYTES, "inf")
    assert read(tmp_path / "x.parquet").n_rows == 2


PROGRAMS = {
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": "crashed",
    "import os; os.abort()": "crashed",
    "import sys; sys.exit(3)": "crashed",
    "print('12345678 more than nothing')": "crashed",
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": "GB of memory",
    "import os; os.write(2, b'memory allocation of 99 bytes failed'); os.abort()": "GB of memory",
    "import os; os.write(2, b'std::bad_alloc'); os.abort()": "GB of memory",
}


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_reader_that_dies(program, tmp_path, fresh) -> None:
    path = tmp_path / "x.sav"
    write(Table.from_frame({"x": [1.5, 2.5]}), path)
    fresh.setattr(child, "PROGRAM", program)
    error = refusal(path)
    assert PROGRAMS[program] in error.what
    assert error.where == str(path)
    fresh.undo()
    assert read(path).n_rows == 2


def test_a_child_reads_several_files_unless_one_was_odd(tmp_path, fresh) -> None:
    write(Table.from_frame({"x": [1.5, 2.5]}), tmp_path / "x.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no more")
    pids = []
    for name in ("x", "x", "bad", "x"):
        try:
            read(tmp_path / f"{name}.parquet")
        except CaveatError:
            assert not child._IDLE
            continue
        pids.append(child._IDLE[0].process.pid)
    assert pids[0] == pids[1] != pids[2]


def test_a_child_that_is_gone_is_replaced(tmp_path, fresh) -> None:
    write(Table.from_frame({"x": [1.5, 2.5]}), tmp_path / "x.parquet")
    read(tmp_path / "x.parquet")
    child._IDLE[0].process.kill()
    child._IDLE[0].process.wait()
    assert read(tmp_path / "x.parquet").n_rows == 2


VARIED = {
    "whole": [1, None, 3, 4],
    "number": [0.1, -1e75, None, 1e-75],
    "text": ["a", "\u00e9\U0001f600", None, "a"],
    "day": pa.array([0, 20000, None, -5], pa.date32()),
    "moment": pa.array([0, 1_600_000_000_123_000, None, 7000], pa.timestamp("us")),
    "truth": [True, False, None, True],
    "empty": pa.nulls(4, pa.float64()),
}
FORMS = (".parquet", ".arrow", ".sav", ".dta", ".xlsx", ".db", ".duckdb")


def fields(column: Column) -> dict[str, object]:
    arrays = {"codes": column.codes, "levels": column.levels}
    found: dict[str, object] = {
        name: (array.dtype.str, array.tolist()) for name, array in arrays.items()
    }
    others = ("kind", "missing", "label", "value_labels", "storage")
    return {**found, **{name: getattr(column, name) for name in others}}


@pytest.mark.parametrize("suffix", FORMS)
def test_a_column_is_the_same_as_read_in_this_process(suffix, tmp_path) -> None:
    if suffix == ".xlsx":
        pytest.importorskip("fastexcel")
    if suffix == ".duckdb":
        pytest.importorskip("duckdb")
    path = tmp_path / f"x{suffix}"
    varied = Table.from_frame(pa.table(VARIED))
    kind = replace(varied["text"], label="a label")
    write(varied.with_columns({"text": kind}), path)
    here = child._do("read", path, suffix, None, lambda _, column: column)
    there = read(path)
    assert there.names == here.names
    assert there.backend == here.backend
    for name in here:
        assert fields(there[name]) == fields(here[name])
        assert there[name].codes.tobytes() == here[name].codes.tobytes()


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_labels_and_missing_codes_are_the_same(suffix, tmp_path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pytest.importorskip("pandas").DataFrame({"x": [1.0, 2.0, -9.0], "s": ["a", "b", "a"]})
    path = tmp_path / f"x{suffix}"
    if suffix == ".sav":
        labels = {"x": {1.0: "one", -9.0: "refused"}}
        pyreadstat.write_sav(
            frame, path, variable_value_labels=labels, missing_ranges={"x": [-9.0]}
        )
    else:
        pyreadstat.write_dta(frame, path, variable_value_labels={"x": {1: "one", 2: "two"}})
    here = child._do("read", path, suffix, None, lambda _, column: column)
    assert here["x"].value_labels
    for name in here:
        assert fields(read(path)[name]) == fields(here[name])


def test_threads_read_at_the_same_time(tmp_path, fresh) -> None:
    for k in range(4):
        write(Table.from_frame({"x": [k] * 3}), tmp_path / f"{k}.parquet")
    found: dict[int, list[int]] = {}

    def work(k: int) -> None:
        found[k] = read(tmp_path / f"{k}.parquet")["x"].values.tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {k: [k] * 3 for k in range(4)}


def test_a_relative_path_and_the_environment_are_those_of_the_moment(tmp_path, fresh) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write(Table.from_frame({folder: [1]}), tmp_path / folder / "x.parquet")
        fresh.chdir(tmp_path / folder)
        assert read("x.parquet").names == (folder,)
    fresh.setenv("CAVEAT_EXPANSION", "none")
    assert "CAVEAT_EXPANSION" in refusal("x.parquet").what


def test_warnings_of_the_child_are_given_here(tmp_path) -> None:
    (tmp_path / "p").mkdir()
    for name, rows in (("part-1", [1, 2]), ("part-2", [])):
        part = pa.table({"x": pa.array(rows, pa.int64())})
        pq.write_table(part, tmp_path / "p" / f"{name}.parquet")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert read(tmp_path / "p").n_rows == 2
    assert [w.category for w in caught] == [CaveatWarning]


ORPHAN = """
import sys, threading
from caveat.table import child, read
threading.Timer(1.5, lambda: print(made[0].process.pid, flush=True)).start()
made, usual = [], child._Child
def kept():
    made.append(usual())
    return made[-1]
child._Child = kept
read(sys.argv[1])
"""


@linux
def test_a_child_does_not_outlive_its_parent(tmp_path) -> None:
    sqlite(tmp_path / "x.db", f"CREATE VIEW v AS {BUSY}")
    command = [sys.executable, "-c", ORPHAN, f"{tmp_path}/x.db#v"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)
        parent.kill()
    for _ in range(600):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return  # nobody collects it here
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the child is still there")


def test_a_defect_of_a_reader_names_the_place_and_no_value(tmp_path, fresh) -> None:
    error = child._error({"defect": "KeyError\n  File x"}, child.Limits(1, 1))
    assert isinstance(error, RuntimeError)
    assert "KeyError" in str(error)
