"""Compile kernels in another process: numba compiles one function at a time in a process.

The other process leaves its machine code where numba stores it, and this one loads it from there.
It ends with the process that started it, says nothing, and what it fails to do is done here.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from numba.core import config

__all__ = ["ALONE", "compile_elsewhere", "missing", "stored", "wait"]

ALONE = "CAVEAT_COMPILE_ALONE"
"""No process is started to compile where this variable is set."""

PATIENCE = 300.0
"""Seconds after which a kernel is compiled here although another process is at it."""


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


def missing(kernels: Iterable[Any]) -> bool:
    """Say whether there is a kernel without machine code that nobody compiles yet."""
    return not all(kernel in _ELSEWHERE or stored(kernel) for kernel in kernels)


_ELSEWHERE: dict[Any, subprocess.Popen[bytes]] = {}
"""Kernels that other processes compile."""

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


def compile_elsewhere(program: str, kernels: Iterable[Any]) -> bool:
    """Start a process that runs `program` and so compiles `kernels`; say whether it started.

    The first call of one of them waits until its machine code is on disk. Where the process fails,
    or cannot be started, it is compiled here.
    """
    alone = bool(os.environ.get(ALONE)) or parent_process() is not None or _processors() < 2
    # Inside another program the executable is that program, not an interpreter.
    if alone or not Path(sys.executable or "").name.lower().startswith("python"):
        return False
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
        return False
    atexit.register(_end, process)
    # Nobody else may ask for the process again once it has ended.
    threading.Thread(target=process.wait, daemon=True).start()
    _ELSEWHERE.update(dict.fromkeys(kernels, process))
    return True


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def wait(function: Any) -> None:
    """Wait until the process that compiles a kernel has done so, or has ended."""
    process = _ELSEWHERE.get(function)
    if process is None:
        return
    enough = time.monotonic() + PATIENCE
    while process.poll() is None and not stored(function) and time.monotonic() < enough:
        time.sleep(0.02)
    _ELSEWHERE.pop(function, None)
