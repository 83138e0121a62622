"""The lock: one holder, no holder after a death, and an error where there are no locks."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.refusals import refused

from caveat.privacy import ledger
from caveat.privacy.ledger import locked


class Windows:
    """What Windows has instead: a lock on the first byte."""

    LK_NBLCK = 2

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[int, int]] = []

    def locking(self, _opened: int, mode: int, size: int) -> None:
        self.calls.append((mode, size))
        if self.answers:
            code = self.answers.pop(0)
            raise OSError(code, os.strerror(code))


def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    order = []

    def second() -> None:
        with locked(tmp_path / "lock"):
            order.append("second")

    with locked(tmp_path / "lock"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert (tmp_path / "lock").read_bytes() == b""


def test_an_error_inside_gives_it_up(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "lock"):
        _ = 1 / 0
    with locked(tmp_path / "lock"):
        pass


def test_waiting_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "PATIENCE", 0.1)
    with (
        locked(tmp_path / "lock"),
        refused("privacy.lock.timeout"),
        locked(tmp_path / "lock"),
    ):
        pass


def test_windows_has_another_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    windows: Any = Windows(errno.EACCES, errno.EACCES)
    monkeypatch.setattr(ledger, "fcntl", None)
    monkeypatch.setattr(ledger, "msvcrt", windows)
    with locked(tmp_path / "lock"):
        assert windows.calls == [(2, 1)] * 3  # twice somebody had it


@pytest.mark.parametrize("system", [None, Windows(errno.ENOLCK)])
def test_without_locks_nothing_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: Any
) -> None:
    monkeypatch.setattr(ledger, "fcntl", None)
    monkeypatch.setattr(ledger, "msvcrt", system)
    with (
        refused("privacy.lock.unsupported"),
        locked(tmp_path / "lock"),
    ):
        pytest.fail("went on without a lock")
