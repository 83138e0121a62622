"""Where commands work: nothing confidential outlives them, even if their caller was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.stopping import UNFINISHED
from caveat.table.drafts import DAY
from caveat.table.frames import PREFIX, workplace

STAYS = """
import sys, time
from caveat.table.frames import workplace
with workplace() as folder:
    (folder / "data.parquet").write_text("confidential")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_private_and_gone_afterwards(place: Path) -> None:
    with workplace() as folder:
        assert folder.parent == place
        assert folder in UNFINISHED
        assert os.name == "nt" or folder.stat().st_mode & 0o077 == 0
    assert list(place.iterdir()) == []
    assert folder not in UNFINISHED


@pytest.mark.skipif(os.name == "nt", reason="there are no such locks")
def test_what_a_killed_caller_left_goes_and_what_is_in_use_stays(place: Path) -> None:
    caller = subprocess.Popen([sys.executable, "-c", STAYS], stdout=subprocess.PIPE, text=True)
    try:
        assert caller.stdout is not None
        left = Path(caller.stdout.readline().strip())
        with workplace() as mine, workplace():
            assert left.is_dir()
            assert mine.is_dir()
    finally:
        caller.send_signal(signal.SIGKILL)
        caller.communicate()
    assert (left / "data.parquet").exists()
    with workplace() as mine:
        assert list(place.iterdir()) == [mine]


def test_what_is_not_ours_or_just_begins_stays(place: Path) -> None:
    begins, other = place / f"{PREFIX}begins", place / "caveat-else"
    begins.mkdir()
    other.mkdir()
    (place / f"{PREFIX}link").symlink_to(other, target_is_directory=True)
    with workplace():
        assert begins.is_dir()
    old = begins.stat().st_mtime - 2 * DAY
    os.utime(begins, (old, old))
    with workplace():
        assert not begins.exists()
    assert other.is_dir()
    assert (place / f"{PREFIX}link").is_symlink()


def test_it_is_made_where_it_is_told_to_or_refused(place: Path) -> None:
    shared = place / "shared"
    shared.mkdir()
    with workplace(shared) as folder:
        assert folder.parent == shared
    assert list(shared.iterdir()) == []
    with (
        refused("command.folder.absent"),
        workplace(place / "elsewhere"),
    ):
        pass
