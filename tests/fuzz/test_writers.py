"""Several processes write at once: what was reported as written is there, and nothing else is left.

CAVEAT_FUZZ=20 in the environment makes 20 times as many races: 200 in all.
"""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.fuzz.harness import FACTOR

from caveat.errors import CaveatError
from caveat.table import Table, read, write
from caveat.table.database import tables_of

pytest.importorskip("duckdb")

WRITERS = 3
RACES = max(1, round(2 * FACTOR))  # of each kind
START = 120.0  # seconds: to import everything, on a machine with other work
LONGEST = 600.0  # seconds: a writer that hangs

# What is there before, what each writer names, and whether it may replace.
KINDS = {
    "new DuckDB file": ("x.duckdb", "", "t{}", False),
    "table of a DuckDB file": ("x.duckdb", "t0 t1 old", "t{}", True),
    "new SQLite file": ("x.sqlite", "", "t{}", False),
    "table of an SQLite file": ("x.sqlite", "t0 old", "t{}", True),
    "one name": ("x.duckdb", "old", "same", False),
}


def content(writer: int, rows: int) -> Table:
    return Table.from_frame({"id": [f"{writer}-{row}" for row in range(rows)]})


def serve(pipe: Connection, writer: int) -> None:
    """Write what is asked for, and say how it ended."""
    import duckdb  # noqa: F401 - so that no race is decided by loading it

    pipe.send("ready")
    while (asked := pipe.recv()) is not None:
        target, rows, force = asked
        try:
            write(content(writer, rows), target, force=force)
            pipe.send("written")
        except CaveatError as error:
            pipe.send(f"refused: {error}")
        except BaseException as error:
            pipe.send(f"failed: {error!r}")


@pytest.fixture(scope="module")
def writers() -> Iterator[list[Connection]]:
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for number in range(WRITERS):
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, number), daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    for pipe in pipes:
        assert pipe.poll(START)
        assert pipe.recv() == "ready"
    yield pipes
    for pipe, process in zip(pipes, processes, strict=True):
        pipe.send(None)
        process.join()


@pytest.mark.parametrize("kind", KINDS)
def test_no_writer_removes_what_another_one_has_written(
    writers: list[Connection], kind: str, tmp_path: Path
) -> None:
    file, before, named, force = KINDS[kind]
    chance = random.Random(f"races for {kind}")
    for race in range(RACES):
        folder = tmp_path / str(race)
        folder.mkdir()
        path = folder / file
        for name in before.split():
            write(content(9, 500), f"{path}#{name}")
        # Sometimes so many rows that SQLite writes to the file before the end.
        rows = [chance.choice([10, 3_000, 60_000]) for _ in writers]
        for number, pipe in enumerate(writers):
            pipe.send((f"{path}#{named.format(number)}", rows[number], force))
        assert all(pipe.poll(LONGEST) for pipe in writers)
        said = [pipe.recv() for pipe in writers]
        won = [number for number, word in enumerate(said) if word == "written"]
        assert all(word == "written" or word.startswith("refused: ") for word in said), said
        assert len(won) == (1 if named == "same" else WRITERS), said
        assert {*tables_of(path)} == {*before.split(), *(named.format(n) for n in won)}
        for number in won:
            there = read(f"{path}#{named.format(number)}")
            assert (
                there["id"].values.tolist() == content(number, rows[number])["id"].values.tolist()
            )
        if "old" in before:
            assert read(f"{path}#old").n_rows == 500
        assert [entry.name for entry in folder.iterdir()] == [file]
