"""Commands under a limit on memory (``ulimit -v``): one sentence instead of an abort.

Some libraries abort the process when they get no memory, and no exception can be caught. Where the
system limits memory, the command therefore runs in a process of its own, and the one that was
started waits for it. What libraries write to standard error is held back until the command has
ended; its own messages are shown at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any, NoReturn, TextIO

from caveat.stopping import GIGABYTE, allowed_bytes, reports_shortage, shortage

__all__ = ["defect_log", "is_stopped_by_library", "run_limited", "say_shortage"]

LEAST = 2 * GIGABYTE
"""Bytes of address space: with less, libraries may wait for ever for threads they cannot start."""
CRASHES = ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP")
ENDS = (1, 127)  # of libraries and of the loader, if they get no memory
TAIL = 1 << 16  # bytes of what libraries wrote that are read
END_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class _State:
    """What libraries have written; None while memory is not limited."""

    said: IO[bytes] | None = None


def run_limited(command: Callable[[], None], signals: Sequence[signal.Signals]) -> None:
    """Call a command, where memory is limited in a process of its own.

    Parameters
    ----------
    command
        The command; it ends the process with an exit code.
    signals
        The signals that are passed on to it.
    """
    if allowed_bytes() is None or sys.platform != "linux" or sys.stderr is None:
        command()
        return
    if (allowed_bytes(addresses=True) or LEAST) < LEAST:
        _say(f"caveat: {shortage(LEAST)}\n")
        sys.exit(2)
    import tempfile

    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115, open as long as the process
        process = os.fork()
    except OSError:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        command()
        return
    if process:
        _wait(process, said, signals)
    _separate(said)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    command()


def _separate(said: IO[bytes]) -> None:
    """Separate our own messages from what libraries write to standard error."""
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(END_WITH_PARENT, signal.SIGKILL)
    own = os.dup(2)
    os.dup2(said.fileno(), 2)  # sys.__stderr__ writes there as well
    sys.stderr = os.fdopen(own, "w", buffering=1, encoding=sys.stderr.encoding)
    threading.excepthook = _log_thread
    warnings.showwarning = _log_warning
    _State.said = said


def _log_thread(args: Any) -> None:
    traceback.print_exception(args.exc_value, file=defect_log())


def _log_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    text = warnings.formatwarning(message, category, filename, lineno, line)
    print(text, file=file or defect_log(), end="")


def defect_log() -> TextIO | None:
    """Return where the traceback of a defect is written: it may be for lack of memory only."""
    return sys.stderr if _State.said is None else sys.__stderr__


def is_stopped_by_library() -> bool:
    """Return whether no user interrupted the command: OpenBLAS does so if it gets no thread."""
    text = "" if _State.said is None else _tail(_State.said)
    return "OpenBLAS" in text and reports_shortage(text)


def say_shortage() -> None:
    """Say that there is not enough memory, and nothing of what libraries wrote about it."""
    _say(f"caveat: {shortage()}\n")
    if _State.said is not None:
        os.write(2, b"MemoryError\n")


def _tail(said: IO[bytes]) -> str:
    end = os.fstat(said.fileno()).st_size
    return os.pread(said.fileno(), TAIL, max(0, end - TAIL)).decode(errors="replace")


def _wait(process: int, said: IO[bytes], signals: Sequence[signal.Signals]) -> NoReturn:
    """Wait for the command, and end as it does; a crash ends with a sentence."""

    def pass_on(sign: int, _frame: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(process, sign)

    for sign in signals:
        if signal.getsignal(sign) is not signal.SIG_IGN:
            signal.signal(sign, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    text = _tail(said)
    short = reports_shortage(text)
    crash = next((name for name in CRASHES if code == -getattr(signal, name)), "")
    if crash or (short and code in ENDS):
        before = "" if short else f"the command ended with {crash}, probably because "
        _say(f"caveat: {before}{shortage()}\n")
        sys.exit(2)
    if not short:
        _say(text)
    sys.exit(code if code >= 0 else 128 - code)


def _say(text: str) -> None:
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
