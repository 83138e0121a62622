"""How the loops that numpy cannot do are compiled, and when stored machine code is too old."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba

__all__ = ["kernel"]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on the first call, release the interpreter lock, keep the machine code on disk.

    Arguments are arrays, numbers and plain tuples: a named tuple would be looked up by its name
    when the stored code of an older version is read.
    """
    compiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    _forget_older(Path(function.__code__.co_filename).parent, Path(compiled.stats.cache_path))
    usable: Callable[..., Any] = compiled
    return usable


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
