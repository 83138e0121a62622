"""Kernels that another process compiles."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from caveat.compiling import kernels
from caveat.compiling.kernels import ALONE
from caveat.tree import Job, Predictors, grow_many
from caveat.tree._growing import grow_classes, grow_numbers
from caveat.tree._leaves import finish

pytestmark = pytest.mark.skipif(kernels._processors() < 2, reason="there is one processor")

TOY = """
from caveat.compiling import kernel

@kernel
def double(x):
    return 2 * x

@kernel
def triple(x):
    return 3 * x
"""
USE = """
import sys
from caveat.compiling import Rehearsal, share
from caveat.compiling.kernels import _OTHERS, stored
from toy import double, triple
{before}
share(Rehearsal("", [double]), Rehearsal({program!r}, [triple]))
print(double(21), triple in _OTHERS, triple(14))
print(sum(triple.stats.cache_hits.values()), stored(triple))
"""
CALL = "print('noise')\nfrom toy import triple\ntriple(1)"


def surroundings(folder: Path, **more: str) -> dict[str, str]:
    usual = {name: value for name, value in os.environ.items() if name != ALONE}
    return {**usual, "NUMBA_CACHE_DIR": str(folder / "stored"), **more}


def run(folder: Path, program: str, **more: str) -> list[str]:
    """Run a program with no word on the error stream; return what it says."""
    if not (folder / "toy.py").exists():  # a new file is compiled again
        (folder / "toy.py").write_text(TOY)
    (folder / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, folder / "program.py"],
        env=surroundings(folder, **more),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_a_kernel_compiled_by_another_process_is_loaded(tmp_path: Path) -> None:
    use = USE.format(before="", program=CALL)
    assert run(tmp_path, use) == ["42", "True", "42", "1", "True"]
    # Now it is on disk: nobody asks for a process.
    assert run(tmp_path, use) == ["42", "False", "42", "1", "True"]


@pytest.mark.parametrize(
    ("before", "program", "more", "started"),
    [
        ("", "raise RuntimeError", {}, "True"),
        ("", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)", {}, "True"),
        ("", "this is no program", {}, "True"),
        ("sys.executable = '/no/such/python'", CALL, {}, "False"),
        ("sys.executable = None", CALL, {}, "False"),
        ("sys.executable = '/bin/sh'", CALL, {}, "False"),
        ("", CALL, {ALONE: "1"}, "False"),
    ],
)
def test_what_another_process_fails_to_compile_is_compiled_here(
    tmp_path: Path, before: str, program: str, more: dict[str, str], started: str
) -> None:
    said = run(tmp_path, USE.format(before=before, program=program), **more)
    assert said == ["42", started, "42", "0", "True"]


def test_kernels_that_are_not_compiled_count_as_stored(tmp_path: Path) -> None:
    use = "from toy import triple\nfrom caveat.compiling import kernels as b\n"
    use += "print(b.stored(triple))"
    assert run(tmp_path, use, NUMBA_DISABLE_JIT="1") == ["True"]


SLOW = """
import time
from caveat.compiling.kernels import _OTHERS, _start
_start("import time; time.sleep(1000)", ["a kernel"])
print(_OTHERS["a kernel"].pid, flush=True)
time.sleep({seconds})
"""


@pytest.mark.parametrize("sent", [None, signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_one_that_started_it(
    tmp_path: Path, sent: signal.Signals | None
) -> None:
    (tmp_path / "program.py").write_text(SLOW.format(seconds=0 if sent is None else 1000))
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "program.py"],
        env=surroundings(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        if sent is not None:
            parent.send_signal(sent)
        parent.wait(300)
    enough = time.monotonic() + 300
    while _alive(child):
        assert time.monotonic() < enough, "the process is still there"
        time.sleep(0.05)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


BOTH_KINDS = """
import numpy as np
from numba.core import event
from caveat.tree import Job, Predictors, grow_many

compiled = []

class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
rng = np.random.default_rng(1)
columns = [rng.integers(0, n, 300).astype(np.uint8) for n in (4, 9, 5)]
table = Predictors(columns[:2], [4, 9], [True, False])
jobs = [Job(predictors=table, response_codes=columns[2], n_levels=5, values=values)
        for values in (np.arange(5.0), None)]
trees = grow_many(jobs)
"""


def test_two_processes_compile_two_kinds_of_trees(tmp_path: Path) -> None:
    program = BOTH_KINDS + (
        "for tree in trees:\n    print(*tree.feature, *tree.threshold, *tree.rows)\n"
        "print(*sorted({'grow_classes', 'grow_numbers', 'finish', 'search_numbers'}"
        " & set(compiled)))\n"
    )
    (tmp_path / "program.py").write_text(program)
    command, more = [sys.executable, tmp_path / "program.py"], surroundings(tmp_path)
    first, again = (
        subprocess.run(command, env=more, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    # The search for numbers, and what comes after growing, were compiled by the other process.
    assert first.stdout.splitlines()[2:] == ["grow_classes"]
    assert first.stderr.count("\n") == 1
    assert first.stderr.startswith("Compiling the tree engine: up to")
    assert again.stdout.splitlines()[2:] == [""]
    assert again.stderr == ""
    here: dict[str, object] = {}
    exec(BOTH_KINDS, here)
    trees = [
        " ".join(str(x) for x in (*tree.feature, *tree.threshold, *tree.rows))
        for tree in here["trees"]  # type: ignore[attr-defined]
    ]
    assert first.stdout.splitlines()[:2] == again.stdout.splitlines()[:2] == trees
    names = {file.name.split("-")[0] for file in (tmp_path / "stored").rglob("*.nbi")}
    assert {"_growing.grow_classes", "_growing.grow_numbers", "_leaves.finish"} <= names


def test_nothing_is_started_for_what_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = (np.arange(40) % 4).astype(np.uint8)
    table = Predictors([codes], [4], [True])
    numbers = Job(predictors=table, response_codes=codes, n_levels=4, values=np.arange(4.0))
    classes = Job(predictors=table, response_codes=codes, n_levels=4)
    for tree in grow_many([numbers, classes]):
        tree.draw(table, np.zeros(40))
        tree.shares(table, codes)
    monkeypatch.setattr(kernels, "_start", lambda *_: pytest.fail("a process"))
    for kernel in (grow_numbers, grow_classes, finish):
        kernels.wait_or_share(kernel)
