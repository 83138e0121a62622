# mypy: disable-error-code="no-untyped-call"
"""How the loops that numpy cannot do are compiled, announced, shared and kept on disk."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba.core import config, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import cpu_target


class _Announcement(event.Listener):
    """Log one line, the first time in this process that a kernel is compiled which has one."""

    def __init__(self) -> None:
        self.lines: dict[Any, str] = {}
        self.said = False

    def on_start(self, event: event.Event) -> None:
        line = self.lines.get(event.data["dispatcher"])
        if line and not self.said:
            self.said = True
            logging.getLogger("caveat.compiling").warning(line)

    def on_end(self, event: event.Event) -> None:
        pass


_ANNOUNCEMENT = _Announcement()
event.register("numba:compile", _ANNOUNCEMENT)


def announce(function: Any, line: str) -> None:
    """Say `line` before a kernel is compiled; nothing where its machine code is on disk."""
    _ANNOUNCEMENT.lines[function] = line


# -------------------------------------------------------------------------------------------------
# Compile kernels in a second process: numba compiles one function at a time in a process.
#
# Kernels that are needed together are named once, with :func:`share`. Where one of them is about
# to be compiled, another process compiles the rest, by a rehearsal: a tiny piece of the work that
# calls them with the arguments of real use. It leaves its machine code where numba stores it, and
# this process loads it from there. It ends with the process that started it, says nothing, and
# what it fails to do is done here.
#
# ``examples/demo.py`` without stored kernels took 33.3 seconds with it and 46.5 without, on a
# quiet machine with two cores. That is why it exists.


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


# -------------------------------------------------------------------------------------------------
# How the loops that numpy cannot do are compiled, and when stored machine code is too old.


# Looking for a stored kernel loads numba's rules in an order in which every subscript of an array
# is first tried as one of a string, a list and a dictionary. This loads those of arrays first.
cpu_target.typing_context.refresh()


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on the first call, release the interpreter lock, keep the machine code on disk.

    Arguments are arrays, numbers and plain tuples: a named tuple would be looked up by its name
    when the stored code of an older version is read.
    """
    compiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    _forget_older(Path(function.__code__.co_filename).parent, Path(compiled.stats.cache_path))
    _COMPILING.kernels.add(compiled)
    # What numba calls where no code for the arguments is in memory, before it locks its compiler.
    compiled._compile_for_args = partial(_load_or_compile, compiled, compiled._compile_for_args)
    usable: Callable[..., Any] = compiled
    return usable


def _load_or_compile(function: Any, usual: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    wait_or_share(function)
    return usual(*args, **kwargs)


class _Unfinished(JITCodeLibrary):
    """Code that is optimised and turned into machine code where it is written in, not before.

    Otherwise LLVM works on a function again in every function that calls it, and in the callers
    of these: that took as long as everything else.
    """

    @property
    def codegen(self) -> _Unfinished:
        """Itself: the one who asks wants to write an environment to where the machine code is."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""

    def get_pointer_to_function(self, _name: str) -> int:
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _Inside(Compiler):
    """The usual compiler, into an unfinished library."""

    def define_pipelines(self) -> Any:
        name = self.state.func_id.func_qualname
        self.state.library = _Unfinished(self.state.targetctx.codegen(), name)
        return super().define_pipelines()


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels call: written into its caller, without wrappers."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Any = numba.njit(
        error_model="numpy", forceinline=True, pipeline_class=_Inside, **options
    )(function)
    compiled._compile_for_args = _refuse
    usable: Callable[..., Any] = compiled
    return usable


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Write a function into the one kernel that calls it: saves compiling the large ones twice."""
    written: Callable[..., Any] = numba.njit(error_model="numpy", inline="always")(function)
    return written


def _refuse(*_: Any) -> None:
    raise TypeError("only kernels can call this function: there is no machine code of it alone")


class _Compiling(event.Listener):
    """Collect no garbage while a kernel is compiled: nearly all objects live until the end."""

    def __init__(self) -> None:
        self.kernels: set[Any] = set()
        self.depth = 0  # a kernel may call another; numba lets no second thread compile
        self.collected = True

    def on_start(self, event: event.Event) -> None:
        if event.data["dispatcher"] in self.kernels:
            if not self.depth:
                self.collected = gc.isenabled()
                gc.disable()
            self.depth += 1

    def on_end(self, event: event.Event) -> None:
        if event.data["dispatcher"] in self.kernels:
            self.depth -= 1
            if not self.depth and self.collected:
                gc.enable()


_COMPILING = _Compiling()
event.register("numba:compile", _COMPILING)


@cache
def _forget_older(modules: Path, stored: Path) -> None:
    """Remove stored machine code if any module beside the kernels, or of this room, has changed.

    numba asks only about the kernel's own file, not about those of the functions it calls: after an
    upgrade it would go on with the old ones.
    """
    digest = sha256()
    for file in [*sorted(modules.glob("*.py")), *sorted(Path(__file__).parent.glob("*.py"))]:
        digest.update(file.name.encode() + file.read_bytes())
    mark = stored / "modules.sha256"
    with suppress(OSError):  # another process may be doing the same
        if not mark.exists() or mark.read_text() != digest.hexdigest():
            for old in [*stored.glob("*.nbi"), *stored.glob("*.nbc")]:
                old.unlink()
            mark.write_text(digest.hexdigest())
