"""Outputs are whole or not there, under every name and whatever the disk says."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.release.folder import release_folder
from caveat.synthesis import Synthesizer, save
from caveat.table import Table, read, write
from caveat.table.drafts import (
    PREFIX,
    atomic_output,
    check_output,
    check_outputs,
    draft_of,
    make_folder,
    write_text,
)
from caveat.table.source import writable

TABLE = Table.from_frame({"a": list(range(60)), "b": ["x", "y", "z"] * 20})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    file, link = tmp_path / "there" / "file.dat", tmp_path / "here" / "link.csv.gz"
    file.write_text("old")
    link.symlink_to(Path("..") / "there" / "file.dat")
    with refused("command.output.exists"):
        write(TABLE, link)
    write(TABLE, link, force=True)
    assert link.is_symlink()
    assert file.read_bytes()[:2] == b"\x1f\x8b"  # the name that was given decides the format
    assert read(link) == TABLE
    assert names(tmp_path / "here") == ["link.csv.gz"]
    assert names(tmp_path / "there") == ["file.dat"]


def test_links_to_nothing_and_in_circles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "nothing.csv").symlink_to("gone.csv")
    (tmp_path / "circle.csv").symlink_to("circle.csv")
    for force in (False, True):
        with refused("command.output.type"):
            check_output(tmp_path / "nothing.csv", force=force)
        with refused("command.name.unsupported"):
            check_output(tmp_path / "circle.csv", force=force)
        with refused("release.folder.absent"):
            release_folder(tmp_path / "nothing.csv", force=force).__enter__()
    assert names(tmp_path) == ["circle.csv", "nothing.csv"]


def test_devices_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", Path("/dev/null"), Path("/dev/full")):
        with refused("command.output.type"):
            check_output(path, force=True)
    for path in ("", ".", tmp_path, "/"):
        with refused("command.output.type"):
            check_output(path, force=True)
    with refused("command.folder.absent"):
        check_output(tmp_path / "pipe.csv" / "x.csv")


@pytest.mark.parametrize("name", ["x" * 251 + ".csv", "ü" * 125 + "x.csv", "a." + "b" * 253])
def test_the_longest_names_work(tmp_path: Path, name: str) -> None:
    assert len(name.encode()) == 255
    write_text(tmp_path / name, "text", confidential=False)
    assert names(tmp_path) == [name]
    with release_folder(tmp_path / f"y{name[1:]}") as (draft, _):
        (draft / "x").write_text("x")
    with release_folder(tmp_path / f"z{name[1:]}") as (draft, _):
        pass
    assert len(names(tmp_path)) == 3


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("x" * 252 + ".csv", "the name cannot be used (File name too long)"),
        ("a\0b.csv", "the name holds a NUL"),
        ("a\udcffb.csv", "the name is not UTF-8"),
    ],
)
def test_names_that_no_file_can_have(tmp_path: Path, name: str, says: str) -> None:
    calls = (
        lambda path: write(TABLE, path, force=True),
        read,
        lambda path: release_folder(path, force=True).__enter__(),
        lambda path: make_folder(path, confidential=False),
        lambda path: write_text(path / "x.json", "", confidential=False),
    )
    for call in calls:
        with pytest.raises(CaveatError) as caught:
            call(tmp_path / name)
        assert says in str(caught.value)
        assert "\0" not in str(caught.value)
    assert names(tmp_path) == []


def test_a_folder_around_it_may_have_such_a_name(tmp_path: Path, monkeypatch) -> None:
    try:
        (tmp_path / "\udcff").mkdir()
    except OSError:
        pytest.skip("the file system allows UTF-8 only")
    monkeypatch.chdir(tmp_path / "\udcff")
    with refused("command.name.malformed"):
        write(TABLE, "x.csv")


def test_text_that_is_not_utf8_is_one_sentence(tmp_path: Path) -> None:
    with refused("command.name.malformed"):
        write_text(tmp_path / "x.toml", 'path = "\udcff.csv"', confidential=False)
    assert names(tmp_path) == []


@contextmanager
def small_files() -> Iterator[None]:
    """Let files grow to 100 bytes: the disk is full. That holds for the log of the tests too."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("suffix", writable())
def test_a_full_disk_leaves_the_earlier_file(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"x{suffix}"
    target.write_text("old")
    long = Table.from_frame({"a": [i * 7919 % 10007 / 7 for i in range(5000)]})
    with small_files(), pytest.raises(CaveatError, match=f"x{suffix}: cannot be written"):
        write(long, target, force=True)
    assert target.read_text() == "old"
    assert names(tmp_path) == [target.name]


def test_a_full_disk_and_a_model_or_a_release(tmp_path: Path) -> None:
    model = Synthesizer(seed=1).fit(Table.from_frame({"b": ["x", "y"] * 30, "c": [1, 2, 3] * 20}))
    with (
        small_files(),
        pytest.raises(CaveatError, match=r"m\.caveat: cannot be written \(File too large\)"),
    ):
        save(model, tmp_path / "m.caveat")
    with (
        small_files(),
        pytest.raises(CaveatError, match=r"release: cannot be written \(File too large\)"),
        release_folder(tmp_path / "release") as (draft, _),
    ):
        (draft / "x").write_text("x" * 200)
    assert names(tmp_path) == []


def test_a_folder_that_may_not_be_written_to(tmp_path: Path, monkeypatch) -> None:
    """Said at once; and where the system says it later, the same."""
    for call in (
        lambda: check_output(tmp_path / "x.csv"),
        lambda: release_folder(tmp_path / "release").__enter__(),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(os, "access", lambda *_: False)
            with refused("command.folder.not-writable"):
                call()
    denied = PermissionError(errno.EACCES, "Permission denied")

    def refuse(*_: object, **__: object) -> None:
        raise denied

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)  # it hid the message
    for call in (
        lambda: write_text(tmp_path / "x.json", "{}", confidential=False),
        lambda: release_folder(tmp_path / "release").__enter__(),
        lambda: make_folder(tmp_path / "charts", confidential=False),
    ):
        with pytest.raises(CaveatError, match=r"\(Permission denied\)"):
            call()


def test_inputs_are_refused_by_whatever_path(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("x")
    os.link(data, tmp_path / "hard.csv")
    (tmp_path / "link.csv").symlink_to(data)
    for name in ("data.csv", "hard.csv", "link.csv"):
        with refused("command.output.conflict"):
            check_output(tmp_path / name, force=True, inputs=[None, data])
    check_output(tmp_path / "new.csv", inputs=[data, tmp_path / "not there", "\0"])
    with refused("command.output.duplicate"):
        check_outputs([data, None, tmp_path / "hard.csv"], force=True)


def hold(target: Path, ready: multiprocessing.Event) -> None:
    with atomic_output(target, confidential=False) as draft:
        draft.write_text("half")
        ready.set()
        time.sleep(600)


def test_what_a_killed_process_leaves_is_removed_by_the_next_and_only_that(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=hold, args=(tmp_path / "model.caveat", ready), daemon=True)
    process.start()
    assert ready.wait(60)
    (draft,) = names(tmp_path)
    assert draft.startswith(".caveat-draft-confidential-")
    assert draft.endswith("-model.caveat")
    write_text(tmp_path / "x.json", "{}", confidential=False)  # the other one lives
    assert names(tmp_path) == [draft, "x.json"]
    process.kill()
    process.join()
    assert names(tmp_path) == [draft, "x.json"]
    write_text(tmp_path / "y.json", "{}", confidential=False)
    assert names(tmp_path) == ["x.json", "y.json"]


def test_links_and_folders_that_look_like_drafts_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x")
    (tmp_path / f"{PREFIX}link").symlink_to("data.csv")
    (tmp_path / f"{PREFIX}folder").mkdir()
    with draft_of(tmp_path / "y"):
        assert len(names(tmp_path)) == 4
    assert len(names(tmp_path)) == 3


def test_where_there_are_no_locks_a_draft_is_old_after_a_day(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("caveat.table.drafts.fcntl", None)
    for name, age in (("young", 3600), ("old", 2 * 24 * 3600)):
        (tmp_path / f"{PREFIX}{name}").write_text("x")
        os.utime(tmp_path / f"{PREFIX}{name}", (time.time() - age,) * 2)
    write_text(tmp_path / "x.json", "{}", confidential=False)
    assert names(tmp_path) == [f"{PREFIX}young", "x.json"]
