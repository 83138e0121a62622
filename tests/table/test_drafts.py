"""Drafts and locks: nobody removes what another one writes, and nothing is open to everybody."""

from __future__ import annotations

import multiprocessing
import os
import stat
import threading
from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.stopping import UNFINISHED
from caveat.table import Table, drafts, write
from caveat.table.drafts import (
    LOCK,
    PREFIX,
    atomic_output,
    clear_up,
    draft_of,
    exclusive,
    make_folder,
    open_private,
    wait_for_writer,
    write_text,
)

POSIX = pytest.mark.skipif(os.name == "nt", reason="there are no such permissions")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def usual():
    """Use the mask of most systems: others may read."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@POSIX
@pytest.mark.usefixtures("usual")
@pytest.mark.parametrize(
    ("confidential", "earlier", "later"),
    [
        (True, None, 0o600),
        (False, None, 0o644),
        (True, 0o644, 0o600),
        (False, 0o600, 0o600),
        (False, 0o640, 0o640),
        (True, 0o400, 0o400),
    ],
)
def test_permissions_follow_from_what_is_written_and_are_never_widened(
    tmp_path: Path, confidential: bool, earlier: int | None, later: int
) -> None:
    target = tmp_path / "x.json"
    if earlier is not None:
        target.write_text("earlier")
        target.chmod(earlier)
    write_text(target, "{}", confidential=confidential, force=True)
    assert mode(target) == later
    assert target.read_text() == "{}"


@POSIX
@pytest.mark.usefixtures("usual")
def test_a_draft_is_private_from_the_first_byte(tmp_path: Path) -> None:
    with atomic_output(tmp_path / "x.csv", confidential=False) as draft:
        assert mode(draft.parent) == 0o700
        assert draft.parent in UNFINISHED
        draft.write_text("a\n")
    assert mode(tmp_path / "x.csv") == 0o644
    with open_private(tmp_path / "log") as file:
        assert mode(tmp_path / "log") == 0o600
        file.write(b"x")
    make_folder(tmp_path / "inside", confidential=True)
    make_folder(tmp_path / "public", confidential=False)
    assert (mode(tmp_path / "inside"), mode(tmp_path / "public")) == (0o700, 0o755)


@POSIX
@pytest.mark.usefixtures("usual")
@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.xlsx", "x.sav"])
def test_a_table_about_single_records_is_private(tmp_path: Path, name: str) -> None:
    table = Table.from_frame({"a": [1, 2]})
    write(table, tmp_path / name)
    assert mode(tmp_path / name) == 0o644
    write(table, tmp_path / name, force=True, confidential=True)
    assert mode(tmp_path / name) == 0o600


def test_of_two_new_files_of_one_name_the_second_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "x.csv"

    def late() -> None:
        with atomic_output(target, confidential=False) as draft:
            draft.write_text("second")
            target.write_text("first")

    with refused("command.output.exists"):
        late()
    assert target.read_text() == "first"
    assert list(tmp_path.iterdir()) == [target]


def test_a_name_that_is_taken_at_the_last_moment_is_not_replaced(tmp_path, monkeypatch) -> None:
    target = tmp_path / "x.csv"
    monkeypatch.setattr("caveat.table.drafts.make_private", lambda *_, **__: target.write_text("1"))
    with refused("command.output.exists"):
        write_text(target, "second", confidential=False)
    assert target.read_text() == "1"


def test_what_lies_beside_a_draft_goes_with_it_and_not_before(tmp_path: Path) -> None:
    with draft_of(tmp_path / "x.sqlite") as draft:
        beside = draft.with_name("x.sqlite-journal")
        beside.write_text("pages")
        assert not clear_up(tmp_path)
        assert beside.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_draft_that_has_lost_its_lock_is_removed_and_a_new_one_is_not(tmp_path: Path) -> None:
    new, lost = tmp_path / f"{PREFIX}new", tmp_path / f"{PREFIX}lost"
    new.mkdir()
    lost.mkdir()
    (lost / "x.csv").write_text("half")
    assert clear_up(tmp_path)
    assert list(tmp_path.iterdir()) == [new]


def test_a_writer_waits_for_another_and_says_so_when_the_time_is_up(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(drafts, "PATIENCE", 0.0)
    target, order = tmp_path / "x.duckdb", []
    with exclusive(target):
        with refused("command.output.busy"), exclusive(target):
            order.append("never")
        with refused("command.output.busy"):
            wait_for_writer(target)
        monkeypatch.setattr(drafts, "PATIENCE", 600.0)

        def second() -> None:
            with exclusive(target):
                order.append("second")

        thread = threading.Thread(target=second)
        thread.start()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    wait_for_writer(target)
    assert list(tmp_path.iterdir()) == []


def hold(target: Path, ready) -> None:
    with exclusive(target):
        ready.set()
        threading.Event().wait()


@pytest.mark.skipif(drafts.fcntl is None, reason="there are no such locks")
def test_the_lock_of_a_killed_writer_is_free_and_goes(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=hold, args=(tmp_path / "x.duckdb", ready), daemon=True)
    process.start()
    assert ready.wait(120)
    (lock,) = tmp_path.iterdir()
    assert not clear_up(tmp_path)
    process.kill()
    process.join()
    wait_for_writer(tmp_path / "x.duckdb")
    assert list(tmp_path.iterdir()) == [lock]
    with exclusive(tmp_path / "x.duckdb"):
        assert list(tmp_path.iterdir()) == [lock]
    assert list(tmp_path.iterdir()) == []


def test_who_clears_up_late_does_not_remove_the_lock_of_the_next_writer(tmp_path: Path) -> None:
    """A file of the same name is another file."""
    lock = drafts._lock_beside(tmp_path / "x.duckdb")
    lock.write_text("")
    with drafts.is_abandoned(lock) as abandoned:
        assert abandoned
    opened = lock.open("rb+")
    lock.unlink()
    lock.write_text("")  # the next writer's
    with opened:
        assert drafts._take(opened.fileno(), False) == (drafts.fcntl is not None)
        assert not drafts._is(opened.fileno(), lock)


def test_where_there_are_no_locks_a_lock_is_a_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(drafts, "fcntl", None)
    monkeypatch.setattr(drafts, "PATIENCE", 0.0)
    target = tmp_path / "x.duckdb"
    with (
        exclusive(target),
        refused("command.output.busy"),
        exclusive(target),
    ):
        pass
    with draft_of(target) as draft:
        assert (draft.parent / LOCK).exists()
    assert list(tmp_path.iterdir()) == []
