"""How kernels are compiled."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core.codegen import JITCodeLibrary

from caveat.compiling import inner, kernel


@pytest.mark.parametrize("step", ["_optimize_final_module", "_finalize_specific"])
def test_inner_functions_are_optimised_and_made_machine_code_in_their_callers_only(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    worked_on = []
    usual = getattr(JITCodeLibrary, step)

    def note(library):
        worked_on.append(library.name)
        usual(library)

    monkeypatch.setattr(JITCodeLibrary, step, note)

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
    with pytest.raises(TypeError, match="only kernels"):
        twice(1.5)
    assert worked_on[-1].endswith("outer")
    assert not any(name.endswith(("twice", "four_times")) for name in worked_on)


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_again_once_a_kernel_is_compiled(
    monkeypatch: pytest.MonkeyPatch, collecting: bool
) -> None:
    seen = []
    usual = JITCodeLibrary._finalize_specific

    def note(library):
        seen.append(gc.isenabled())
        usual(library)

    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", note)

    @kernel
    def first(x):
        return x + 1

    @kernel
    def second(x):
        return first(x) + 1

    @kernel
    def wrong(x):
        return x.no_such_thing

    if not collecting:
        gc.disable()
    try:
        assert second(1) == 3
        with pytest.raises(numba.TypingError):
            wrong(1)
        assert gc.isenabled() == collecting
    finally:
        gc.enable()
    assert len(seen) >= 2
    assert not any(seen)


def run(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own that stores its kernels in this folder."""
    script = folder / "program.py"
    if not script.exists() or script.read_text() != program:  # a new file is compiled again
        script.write_text(program)
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, script], env=surroundings, check=True, capture_output=True, text=True
    )


TWO_KERNELS = """
from caveat.compiling import announce, kernel

@kernel
def first(x):
    return x + 1

@kernel
def second(x):
    return x + 2

announce(first, "first line")
first(1), first(1.0)
announce(second, "second line")
second(1)
"""


def test_one_line_says_that_something_is_compiled_and_none_once_it_is_on_disk(
    tmp_path: Path,
) -> None:
    said = [run(tmp_path, TWO_KERNELS).stderr for _ in range(2)]
    assert said == ["first line\n", ""]


ORDER = """
import operator
import numpy as np
from numba.core.registry import cpu_target
from caveat.compiling import kernel

@kernel
def first_of(x):
    return x[0]

first_of(np.zeros(1))
rules = cpu_target.typing_context.resolve_value_type(operator.getitem).templates
print(*(hasattr(rule, "_overload_func") for rule in rules))
"""


def test_the_rules_for_arrays_are_tried_first(tmp_path: Path) -> None:
    found = run(tmp_path, ORDER).stdout.split()
    assert found == sorted(found)
    assert {"False", "True"} == set(found)


def test_stored_code_is_forgotten_when_a_module_beside_the_kernel_changes(
    tmp_path: Path,
) -> None:
    (tmp_path / "part.py").write_text(
        "from caveat.compiling import inner\n\n@inner\ndef step(x):\n    return x + 1\n"
    )
    (tmp_path / "whole.py").write_text(
        "from caveat.compiling import kernel\nfrom part import step\n\n"
        "@kernel\ndef walk(x):\n    return step(step(x))\n"
    )
    use = "from whole import walk\nprint(walk(1), sum(walk.stats.cache_hits.values()))\n"
    said = [run(tmp_path, use).stdout for _ in range(2)]
    assert said == ["3 0\n", "3 1\n"]
    part = tmp_path / "part.py"
    part.write_text(part.read_text().replace("x + 1", "x + 10"))
    assert run(tmp_path, use).stdout == "21 0\n"
