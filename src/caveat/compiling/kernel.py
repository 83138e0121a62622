# mypy: disable-error-code="no-untyped-call"
"""How the loops that numpy cannot do are compiled, and when stored machine code is too old."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core import config, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import cpu_target

from caveat.compiling.background import wait_or_share

__all__ = ["inner", "kernel", "part"]

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
