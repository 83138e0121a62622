"""Signals end a command quietly, are never lost, and nothing is replaced after one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from caveat import stopping

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals as on Unix")

BOTH = pytest.mark.parametrize("sent", stopping.SIGNALS)

# A command that does what a test says, inside the real entry.
PROGRAM = """
import ctypes, os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # not as in the background of a script
import caveat.cli
from pathlib import Path
from caveat.table.drafts import write_text, atomic_output
def here():
    print("here", flush=True)
def command():
{body}
caveat.cli.app = command
caveat.cli.main()
"""


def start(body: str, folder: Path) -> subprocess.Popen[str]:
    """Start a command and return when it says so."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(body=lines)],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n", process.stderr and process.stderr.read()
    return process


def stop(process: subprocess.Popen[str], sent: signal.Signals) -> str:
    process.send_signal(sent)
    _, errors = process.communicate(timeout=300)  # what is interrupted waits for 600
    assert process.returncode == 128 + sent, errors
    assert errors.count("\n") == 1, errors
    assert errors.startswith("caveat: interrupted; ")
    return errors


@BOTH
def test_work_in_other_threads_is_not_waited_for(tmp_path: Path, sent: signal.Signals) -> None:
    process = start(
        """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    pool.submit(time.sleep, 600)
    here()
""",
        tmp_path,
    )
    assert stop(process, sent) == "caveat: interrupted; nothing was written\n"


@BOTH
def test_a_signal_inside_a_callback_is_not_lost(tmp_path: Path, sent: signal.Signals) -> None:
    """As the compiler calls Python: the exception is swallowed there."""
    process = start(
        """
@ctypes.CFUNCTYPE(None)
def callback():
    here()
    time.sleep(3)
callback()
time.sleep(600)
""",
        tmp_path,
    )
    stop(process, sent)


def test_nothing_is_replaced_after_a_signal_that_was_swallowed(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("earlier")
    process = start(
        """
try:
    here()
    time.sleep(600)
except BaseException:
    write_text("x.json", "new", confidential=False, force=True)
print("replaced", flush=True)
""",
        tmp_path,
    )
    stop(process, signal.SIGTERM)
    assert (tmp_path / "x.json").read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_drafts_of_other_threads_are_removed(tmp_path: Path) -> None:
    process = start(
        """
def work():
    with atomic_output("x.json", confidential=False) as draft:
        draft.write_text("half")
        here()
        time.sleep(600)
threading.Thread(target=work).start()
time.sleep(600)
""",
        tmp_path,
    )
    assert len(list(tmp_path.iterdir())) == 1
    stop(process, signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []


def test_what_was_complete_before_is_said(tmp_path: Path) -> None:
    process = start(
        """
write_text("x.json", "{}", confidential=False)
here()
time.sleep(600)
""",
        tmp_path,
    )
    assert "complete before that: x.json" in stop(process, signal.SIGINT)
    assert (tmp_path / "x.json").read_text() == "{}"


def test_impatience_is_quiet_too(tmp_path: Path) -> None:
    process = start("here()\ntime.sleep(600)", tmp_path)
    for _ in range(5):
        process.send_signal(signal.SIGINT)
    stop(process, signal.SIGINT)


@BOTH
def test_loading_the_libraries_is_interrupted_quietly(tmp_path: Path, sent) -> None:
    """The entry loads nothing large by itself, and hears signals before anything else is loaded."""
    code = (
        "import os, signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from caveat.cli import main; os.write(1, b'here\\n'); main()"
    )
    for moment in (0.01, 0.1, 0.3, 0.6):
        process = subprocess.Popen(
            [sys.executable, "-c", code, "measures"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        time.sleep(moment)
        stop(process, sent)
    code = "import sys, caveat.cli; sys.exit('numpy' in sys.modules or 'typer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_signal_that_the_caller_ignores_is_ignored(tmp_path: Path) -> None:
    code = (
        "import signal, os, caveat.cli; signal.signal(signal.SIGINT, signal.SIG_IGN);"
        "caveat.cli.app = lambda: os.kill(os.getpid(), signal.SIGINT); caveat.cli.main()"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_program_that_uses_the_library_keeps_its_signals() -> None:
    import caveat.cli
    from caveat import stopping

    before = signal.getsignal(signal.SIGTERM)
    with stopping.obey():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
    assert stopping.told() is None
    assert caveat.cli.app is not None
