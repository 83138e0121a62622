"""How a lack of memory is recognised, and the limit that the system sets."""

from __future__ import annotations

import errno
import subprocess
import sys

import pytest

from caveat.stopping import is_memory_short, reports_shortage, shortage

ERRORS = [
    MemoryError(),
    OSError(errno.ENOMEM, "no words"),
    OSError("libparquet.so.2600: failed to map segment from shared object"),
    RuntimeError("can't start new thread"),
    ImportError("numba: Cannot allocate memory"),
]


@pytest.mark.parametrize("error", ERRORS)
def test_what_libraries_raise_for_lack_of_memory(error) -> None:
    assert is_memory_short(error)
    other = ValueError("no module of this name")
    assert not is_memory_short(other)
    other.__cause__ = error
    assert is_memory_short(other)


def test_words_before_an_abort() -> None:
    assert reports_shortage("memory allocation of 786432 bytes failed\n")
    assert reports_shortage("terminate called after throwing an instance of 'std::bad_alloc'")
    assert not reports_shortage("Segmentation fault")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_the_smaller_limit_counts() -> None:
    program = (
        "import resource; from caveat.stopping import allowed_bytes, shortage; "
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)); print(allowed_bytes()); "
        "resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30)); print(allowed_bytes()); "
        "print(shortage())"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second, sentence = done.stdout.splitlines()
    assert (int(first), int(second)) == (4 << 30, 3 << 30)
    assert "ulimit: 3 GB" in sentence


def test_without_a_limit_the_machine_is_named(monkeypatch) -> None:
    monkeypatch.setattr("caveat.stopping.allowed_bytes", lambda: None)
    assert "machine" in shortage()
