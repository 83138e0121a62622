"""Compile kernels in a second process: numba compiles one function at a time in a process.

Kernels that are needed together are named once, with :func:`share`. Where one of them is about to
be compiled, another process compiles the rest, by a rehearsal: a tiny piece of the work that calls
them with the arguments of real use. It leaves its machine code where numba stores it, and this
process loads it from there. It ends with the process that started it, says nothing, and what it
fails to do is done here.

``examples/demo.py`` without stored kernels took 33.3 seconds with it and 46.5 without, on a quiet
machine with two cores. That is why it exists.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, NamedTuple

from numba.core import config

__all__ = ["ALONE", "Rehearsal", "share", "stored", "wait_or_share"]

ALONE = "CAVEAT_COMPILE_ALONE"
"""No process is started to compile where this variable is set."""

PATIENCE = 300.0
"""Seconds after which a kernel is compiled here although another process is at it."""


class Rehearsal(NamedTuple):
    """A program for another process, and the kernels that are compiled by it."""

    program: str
    kernels: Sequence[Any]


_SHARED: dict[Any, Sequence[Rehearsal]] = {}
"""What to rehearse in another process where a kernel is compiled here."""

_OTHERS: dict[Any, subprocess.Popen[bytes]] = {}
"""Kernels that other processes compile."""

_ONE_AT_A_TIME = threading.Lock()


def share(*rehearsals: Rehearsal) -> None:
    """Compile the kernels of these rehearsals in as many processes, from when one is needed."""
    for mine in rehearsals:
        others = [other for other in rehearsals if other is not mine]
        _SHARED.update(dict.fromkeys(mine.kernels, others))


def wait_or_share(function: Any) -> None:
    """Wait for the process that compiles a kernel; if there is none, start those for the others."""
    with _ONE_AT_A_TIME:
        process = _OTHERS.get(function)
        if process is None and not stored(function):
            for program, kernels in _SHARED.get(function, ()):
                if not all(kernel in _OTHERS or stored(kernel) for kernel in kernels):
                    _start(program, kernels)
    if process is not None:
        enough = time.monotonic() + PATIENCE
        while process.poll() is None and not stored(function) and time.monotonic() < enough:
            time.sleep(0.02)
        _OTHERS.pop(function, None)


def stored(function: Any) -> bool:
    """Say whether machine code of a kernel for this processor is in memory or on disk.

    Each kernel has one signature in use, so that no matter which is meant.
    """
    if getattr(function, "overloads", True):
        return True
    files = function._cache._cache_file
    machine = function.targetctx.codegen().magic_tuple()
    with suppress(OSError):
        for (_, built_for, _), name in files._load_index().items():
            # The index is written before the code.
            if built_for == machine and Path(files._data_path(name)).exists():
                return True
    return False


# The parent's end of the pipe is closed by whatever ends the parent.
_CHILD = """
import os, sys, threading
sys.path[:] = {path!r}
def leave():
    sys.stdin.buffer.read()
    os._exit(1)
threading.Thread(target=leave, daemon=True).start()
{program}
os._exit(0)
"""


def _start(program: str, kernels: Sequence[Any]) -> None:
    """Start a process that runs `program` and so compiles `kernels`, where that is possible."""
    alone = bool(os.environ.get(ALONE)) or parent_process() is not None or _processors() < 2
    # Inside another program the executable is that program, not an interpreter.
    if alone or not Path(sys.executable or "").name.lower().startswith("python"):
        return
    environment = {**os.environ, ALONE: "1"}
    folder = getattr(config, "CACHE_DIR", "")
    if folder:
        environment["NUMBA_CACHE_DIR"] = folder
    command = [sys.executable, "-c", _CHILD.format(path=sys.path, program=program)]
    nowhere = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, env=environment
        )
    except (OSError, ValueError):
        return
    atexit.register(_end, process)
    # Nobody else may ask for the process again once it has ended.
    threading.Thread(target=process.wait, daemon=True).start()
    _OTHERS.update(dict.fromkeys(kernels, process))


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()
