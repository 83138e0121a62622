"""What long work needs: an end when told, limits on memory, and to say how far it is."""

from __future__ import annotations

import _thread
import errno
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

Progress = Callable[[str, float], None]
"""Called with the name of the step that goes on and the share of the whole that is done."""


# -------------------------------------------------------------------------------------------------
# Limits on memory: how much the process may use, and how its lack is recognised.
#
# Nothing large is loaded with this module: it is used where memory is short.


GIGABYTE = 2**30
# How libraries report it, in an exception or on standard error before they abort.
WORDS = (
    "memory allocation", "allocate", "malloc", "bad_alloc", "out of memory", "memoryerror",
    "failed to map segment", "can't start new thread", "thread creation failed",
    "resource temporarily unavailable",
)  # fmt: skip


def allowed_bytes(*, addresses: bool = False) -> int | None:
    """Return the memory that the system allows the process; None for no limit.

    Parameters
    ----------
    addresses
        Whether only the limit on address space counts (``ulimit -v``), and not the one on data
        (``ulimit -d``).
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    which = (resource.RLIMIT_AS,) if addresses else (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    limits = [resource.getrlimit(one)[0] for one in which]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def reports_shortage(text: str) -> bool:
    """Return whether the words of a library say that it got no memory."""
    text = text.lower()
    return any(words in text for words in WORDS)


def is_memory_short(error: BaseException) -> bool:
    """Return whether an error, or what caused it, is a lack of memory."""
    each: BaseException | None = error
    while each is not None:
        if isinstance(each, MemoryError) or reports_shortage(str(each)):
            return True
        if isinstance(each, OSError) and each.errno == errno.ENOMEM:
            return True
        each = each.__cause__ or each.__context__
    return False


def shortage(least: int = 0) -> str:
    """Return the sentence for a command that needs more memory than there is.

    Parameters
    ----------
    least
        The bytes that every command needs, if not even those are allowed.
    """
    allowed = allowed_bytes()
    if allowed is None:
        return (
            "the memory of this machine is not enough for this command; use fewer rows or columns, "
            "or a larger machine."
        )
    more = f"{least / GIGABYTE:,.3g} GB or more" if least else "more, or use fewer rows or columns"
    return (
        f"the memory that the shell allows (ulimit: {allowed / GIGABYTE:,.3g} GB) is not enough "
        f"for this command; allow {more}."
    )


# -------------------------------------------------------------------------------------------------
# Stop when told to: Ctrl-C, the end of a job and of a terminal are one thing, and none is lost.
#
# The command line asks for it; a program that uses the library keeps its own signals. An
# exception from a signal is swallowed where it is raised inside a callback of the compiler. It is
# therefore remembered, raised again until it gets through, and nothing is replaced once it has
# been heard.


SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Ctrl-C, the end of a job, and a terminal that closes."""

AGAIN = 1.0
"""Seconds after which the signal is raised again if the process is still there."""

UNFINISHED: set[Path] = set()
"""Drafts that somebody is writing; they are removed if the process is stopped."""

WRITTEN: dict[Path, None] = {}
"""What this process has given its final name, to be said if it is stopped after that."""


class Stopped(BaseException):
    """The process was told to stop.

    Not a KeyboardInterrupt, which other libraries take for an answer to a question of theirs.
    """


class _State:
    """What is known about the signal."""

    told: int | None = None
    held = 0
    raised = 0.0


def told() -> int | None:
    """Return the signal that the process has been told to stop with."""
    return _State.told


def stop_if_told() -> None:
    """Raise the exception again if the process was told to stop: before anything is replaced."""
    if _State.told is not None:
        raise Stopped


@contextmanager
def held() -> Iterator[None]:
    """Let nothing be interrupted inside: renaming, and clearing up. It must be short."""
    mine = threading.current_thread() is threading.main_thread()  # only there signals are raised
    _State.held += mine
    try:
        yield
    finally:
        _State.held -= mine


@contextmanager
def obey() -> Iterator[None]:
    """Raise `Stopped` in the main thread when a signal says so."""
    before = {
        sign: signal.signal(sign, _hear)
        for sign in SIGNALS
        if signal.getsignal(sign) is not signal.SIG_IGN  # a script's job in the background
    }
    hook, sys.unraisablehook = sys.unraisablehook, _say_other
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for sign, handler in before.items():
            signal.signal(sign, handler)


@contextmanager
def going_on_from(kept: Path | None) -> Iterator[None]:
    """Say, if the process is stopped inside, where the same command goes on."""
    try:
        yield
    except Stopped as stop:
        if kept is not None:
            stop.add_note(f"the same command goes on from {kept}")
        raise


def end(sentence: str) -> NoReturn:
    """Say one sentence and leave at once: threads that still work are not waited for."""
    with held():
        for draft in list(UNFINISHED):
            shutil.rmtree(draft, ignore_errors=True)
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        with suppress(OSError, ValueError):
            sys.stderr.write(f"caveat: {sentence}\n")
            sys.stderr.flush()
        # The other processes end with this one: the pipe to them closes.
        os._exit(128 + (_State.told or signal.SIGINT))


def _hear(sign: int, _frame: object) -> None:
    if _State.told is None:
        _State.told = sign
        threading.Thread(target=_repeat, args=(signal.Signals(sign),), daemon=True).start()
    now = time.monotonic()
    # Two signals at once, as a terminal and a script may send them, are one.
    if not _State.held and now - _State.raised > AGAIN / 2:
        _State.raised = now
        raise Stopped


def _repeat(sign: signal.Signals) -> None:
    while True:
        time.sleep(AGAIN)
        main = threading.main_thread().ident
        if hasattr(signal, "pthread_kill") and main is not None:
            signal.pthread_kill(main, sign)  # a real one also ends the main thread's waiting
        else:
            _thread.interrupt_main(sign)


def _say_other(unraisable: sys.UnraisableHookArgs) -> None:
    """Say what went wrong where no exception can be raised, but not that we were told to stop."""
    if not isinstance(unraisable.exc_value, Stopped):
        sys.__unraisablehook__(unraisable)
