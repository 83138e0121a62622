"""How kernels are compiled."""

from __future__ import annotations

import numba
from numba.core.codegen import JITCodeLibrary

from caveat.tree._kernel import inner


def test_inner_functions_are_optimised_in_their_callers_only(monkeypatch):
    optimised = []
    usual = JITCodeLibrary._optimize_final_module

    def note(library):
        optimised.append(library.name)
        usual(library)

    monkeypatch.setattr(JITCodeLibrary, "_optimize_final_module", note)

    @inner
    def twice(x):
        return 2 * x

    @inner
    def four_times(x):
        return twice(twice(x))

    @numba.njit
    def outer(x):
        return four_times(x) + 1

    assert outer(10) == 41
    assert optimised[-1].endswith("outer")
    assert not any(name.endswith(("twice", "four_times")) for name in optimised)
