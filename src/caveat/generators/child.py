"""Run a command with limits, and say what it took.

The memory that counts is what the processes hold, not what they reserve: programs that compute on
tensors reserve far more address space than they ever use. So it is looked at many times a second,
and everything that the command started is ended as soon as it is too much.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Ended", "Limits", "Usage", "run"]

PAUSE = 0.25
"""Seconds between two looks at a command."""
LONGEST_LOG = 50_000_000
"""Bytes that a command may print."""
MEGABYTE = 1_000_000
ROUNDS = 100


@dataclass(frozen=True)
class Limits:
    """What a command may use.

    Parameters
    ----------
    seconds
        Wall time.
    megabytes
        Memory that all its processes hold together, in millions of bytes.
    cores
        Threads of its numerical libraries.
    """

    seconds: float = 3600
    megabytes: float = 8000
    cores: int = 1


@dataclass(frozen=True)
class Usage:
    """What a command took.

    Parameters
    ----------
    cpu_seconds
        Time on the processors, of all its processes that it waited for; None where the system does
        not say.
    peak_megabytes
        The most memory that its processes held together.
    wall_seconds
        Time from start to end.
    """

    cpu_seconds: float | None
    peak_megabytes: float
    wall_seconds: float


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Parameters
    ----------
    reason
        Why it failed; empty if it did not.
    usage
        What it took.
    code
        The reason for programs, as for :class:`CaveatError`; empty if it did not fail.
    """

    reason: str
    usage: Usage
    code: str


def run(
    command: Sequence[str], folder: Path, log: Path, environment: Mapping[str, str], limits: Limits
) -> Ended:
    """Run a command in a folder until it ends or exceeds a limit.

    Its standard input is a pipe that nothing is written to: when it closes, Caveat is gone.
    """
    begun = time.monotonic()
    with log.open("wb") as printed:
        process = subprocess.Popen(
            list(command), cwd=folder, env=dict(environment), stdin=subprocess.PIPE,
            stdout=printed, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    watched = _Watched(process)
    try:
        reason, code = watched.until_the_end(limits, log, begun)
    finally:
        watched.end()
    taken = time.monotonic() - begun
    usage = Usage(watched.cpu_seconds, watched.peak / MEGABYTE, taken)
    if not reason and process.returncode:
        reason, code = _said(process.returncode), "generator.command.failed"
    return Ended(reason, usage, code)


class _Watched:
    """A process that was started, with everything that it starts itself."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.cpu_seconds: float | None = None
        self.peak = 0.0
        self.pause = 0.005

    def until_the_end(self, limits: Limits, log: Path, begun: float) -> tuple[str, str]:
        """Wait; return why it was ended before its time, with a code; empty if it was not."""
        while not self._is_over():
            self.peak = max(self.peak, float(sum(rss for _, rss in _session(self.process.pid))))
            if self.peak > limits.megabytes * MEGABYTE:
                what = f"it needed more memory than its limit of {limits.megabytes:,.0f} MB"
                return what, "generator.memory.too-large"
            if time.monotonic() - begun > limits.seconds:
                what = f"it did not end within its limit of {limits.seconds:,.0f} seconds"
                return what, "generator.command.timeout"
            if log.stat().st_size > LONGEST_LOG:
                return "it printed without end", "generator.log.too-large"
            time.sleep(self.pause)
            self.pause = min(PAUSE, self.pause * 1.5)  # short commands need not wait
        return "", ""

    def _is_over(self) -> bool:
        """Whether it has ended. Its number stays its own until all that it started has ended."""
        if self.process.returncode is None and hasattr(os, "waitid"):
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.process.pid, how) is not None
        return self.process.returncode is not None or self._has_taken(os.WNOHANG)

    def _has_taken(self, how: int) -> bool:
        """Note how it ended and what it took; say whether it has ended."""
        if not hasattr(os, "wait4"):
            return self.process.poll() is not None
        pid, status, used = os.wait4(self.process.pid, how)
        if pid:
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_seconds = used.ru_utime + used.ru_stime
            # Its own account of its memory begins with ours, from which it was split off.
        return bool(pid)

    def end(self) -> None:
        """End what is left of it: the process, and all that stayed in its session."""
        if self.process.returncode is None:
            self._kill()
            if not self._has_taken(0):
                self.process.wait()
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()

    def _kill(self) -> None:
        if not hasattr(os, "killpg"):
            self.process.kill()
            return
        for _ in range(ROUNDS):  # one may have started another one meanwhile
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            left = [pid for pid, _ in _session(self.process.pid)]
            if not left:
                return
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)


def _session(leader: int) -> Iterator[tuple[int, int]]:
    """Return the processes of a session with the bytes that each holds in memory."""
    if Path("/proc/self/stat").exists():
        yield from _from_proc(leader)
    elif os.name == "posix":
        yield from _from_ps(leader)


def _from_proc(leader: int) -> Iterator[tuple[int, int]]:
    page = os.sysconf("SC_PAGE_SIZE")
    for entry in os.listdir("/proc"):  # noqa: PTH208 - many times a second
        if entry.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                # The name of the program, in brackets, may itself hold brackets and spaces.
                fields = Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()
                if int(fields[3]) == leader and fields[0] not in (b"Z", b"X"):
                    yield int(entry), int(fields[21]) * page


def _from_ps(leader: int) -> Iterator[tuple[int, int]]:
    listed: Any = subprocess.run(
        ["ps", "-A", "-o", "pid=,pgid=,rss="], capture_output=True, check=False, text=True
    )
    for line in listed.stdout.splitlines():
        pid, group, kilobytes = (int(part) for part in line.split())
        if group == leader:
            yield pid, kilobytes * 1024


def _said(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return f"it was ended by the signal {signal.Signals(-code).name}"
    return f"it ended with code {code}"
