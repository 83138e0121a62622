"""How the loops that numpy cannot do are compiled, and when stored machine code is too old."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core import event

__all__ = ["kernel"]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on the first call, release the interpreter lock, keep the machine code on disk.

    Arguments are arrays, numbers and plain tuples: a named tuple would be looked up by its name
    when the stored code of an older version is read.
    """
    compiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    _forget_older(Path(function.__code__.co_filename).parent, Path(compiled.stats.cache_path))
    _COMPILING.kernels.add(compiled)
    usable: Callable[..., Any] = compiled
    return usable


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
event.register("numba:compile", _COMPILING)  # type: ignore[no-untyped-call]


@cache
def _forget_older(modules: Path, stored: Path) -> None:
    """Remove the indices of stored machine code if any module beside the kernels has changed.

    numba asks only about the kernel's own file, not about those of the functions it calls: after an
    upgrade it would go on with the old ones.
    """
    digest = sha256()
    for file in sorted(modules.glob("*.py")):
        digest.update(file.name.encode() + file.read_bytes())
    mark = stored / "modules.sha256"
    with suppress(OSError):  # another process may be doing the same
        if not mark.exists() or mark.read_text() != digest.hexdigest():
            for index in stored.glob("*.nbi"):
                index.unlink()
            mark.write_text(digest.hexdigest())
