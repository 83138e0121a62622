"""Commands under a limit on memory: one sentence and exit code 2, or the whole result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")

MB = 1 << 20
MAIN = "from caveat.cli import main; main()"
# The command line with something else in place of the command.
INSTEAD = "import caveat.cli as cli\ndef work():\n    {}\ncli._run = work\ncli.main()"


def limited(megabytes: int, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * MB, megabytes * MB))

    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.csv"
    rows = [f"{20 + i % 60},{'mf'[i % 2]},r{i % 7},{1000 + i * 37 % 5000}" for i in range(400)]
    path.write_text("\n".join(["age,sex,region,income", *rows, ""]))
    return path


@pytest.mark.parametrize("megabytes", [60, 300, 1000, 1900])
def test_little_memory_is_one_sentence(megabytes, survey, tmp_path) -> None:
    out = tmp_path / "out.csv"
    for arguments in (["look", survey], ["synth", survey, "-o", out]):
        done = limited(megabytes, MAIN, *arguments)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("caveat: ")
        assert "ulimit" in done.stderr
        assert not done.stdout
        assert not out.exists()


@pytest.mark.parametrize("megabytes", [100, 200, 300, 500, 700])
def test_a_library_that_cannot_be_loaded_is_one_sentence(megabytes, survey) -> None:
    least = "from caveat.cli import limited, main; limited.LEAST = 0; main()"
    done = limited(megabytes, least, "look", survey)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "ulimit" in done.stderr


def test_enough_memory_changes_nothing(survey) -> None:
    alone = subprocess.run([sys.executable, "-c", MAIN, "look", survey], capture_output=True)
    done = limited(30_000, MAIN, "look", survey)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == alone.stdout.decode()


@pytest.mark.parametrize(
    ("work", "says"),
    [
        ("import os; os.write(2, b'std::bad_alloc'); os.abort()", "ulimit"),
        ("import os; os.abort()", "SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("import os; os.write(2, b'Memory allocation failed'); os._exit(1)", "ulimit"),
    ],
)
def test_a_crash_is_a_sentence(work, says) -> None:
    done = limited(4000, INSTEAD.format(work))
    assert done.returncode == 2
    assert done.stderr.startswith("caveat: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


@pytest.mark.parametrize("work", ["bytearray(1 << 42)", "raise OSError('Cannot allocate memory')"])
def test_an_error_is_a_sentence(work) -> None:
    done = limited(4000, INSTEAD.format(work).replace("_run", "_check_here"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "ulimit: 3.91 GB" in done.stderr


def test_another_end_stays_as_it_is() -> None:
    said = "import os, sys; os.write(2, b'of a library\\n'); print('ours', file=sys.stderr); "
    done = limited(4000, INSTEAD.format(said + "sys.exit(7)"))
    assert done.returncode == 7
    assert done.stderr.splitlines() == ["ours", "of a library"]
    done = limited(4000, INSTEAD.format("{}['x']").replace("_run", "_check_here"))
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0].startswith("Traceback")
    assert lines[-2:] == [
        "KeyError: 'x'",
        "caveat: this is a defect in Caveat; please report it with the lines above",
    ]


WAITS = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


def started() -> tuple[subprocess.Popen[str], int]:
    """Start a command that waits; return it with the process that does its work."""
    command = ["sh", "-c", 'ulimit -v 4000000; exec "$0" -c "$1"', sys.executable]
    process = subprocess.Popen(
        [*command, INSTEAD.format(WAITS)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def test_signals_reach_the_command() -> None:
    process, worker = started()
    assert worker != process.pid
    process.terminate()
    _, said = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert said == "caveat: interrupted; nothing was written\n"


def test_the_command_ends_with_the_process_that_was_started() -> None:
    process, worker = started()
    process.kill()
    process.communicate()  # ends when nobody holds its streams any more
    for _ in range(600):
        state = Path(f"/proc/{worker}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the command is still there")
