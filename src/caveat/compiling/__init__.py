"""Everything that touches numba's insides, and why it does.

numba compiles the loops that numpy cannot do. What it offers to everybody is used everywhere; what
only its own code knows is used in this room and nowhere else, because any minor version of numba
may change it. Therefore numba is capped in ``pyproject.toml`` at the minor these modules are tested
with, and moving the cap means running the tests of this room.

`kernels`
    Functions are compiled once for an installation: numba's stored code is thrown away when a
    module beside it changes, of which numba knows nothing. Functions inside kernels are optimised
    where they are written in and not alone before: half the time of compiling.
    numba compiles one function at a time in a process. Kernels that are needed together are shared
    with a second process: the demonstration in ``examples/`` takes 33 seconds on a fresh machine
    instead of 47.
    One line says that something is compiled, so that nobody takes the wait for the work.
`intrinsics`
    Instructions of the processor that no loop in Python is compiled to.
"""

from caveat.compiling.intrinsics import fetch, trailing_zeros, unowned
from caveat.compiling.kernels import Rehearsal, announce, inner, kernel, part, share

__all__ = [
    "Rehearsal", "announce", "fetch", "inner", "kernel", "part", "share", "trailing_zeros",
    "unowned",
]  # fmt: skip
