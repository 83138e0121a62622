"""Commands are killed at random moments: nothing is half, nothing stays behind, nobody goes on.

CAVEAT_FUZZ=20 in the environment makes 20 times as many kills: 300 in all.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from caveat.compiling.kernels import ALONE
from caveat.datasets import survey
from caveat.release.folder import write_manifest
from caveat.table import Table, read, write
from caveat.table.database import tables_of
from caveat.table.identifying import Output

pytest.importorskip("duckdb")
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="processes are counted as on Linux"
)

FACTOR = int(os.environ.get("CAVEAT_FUZZ", "1"))
KILLS = 2 * FACTOR  # of each command
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
LONGEST = 120  # seconds: a command that hangs

# Says that the interpreter is there, which has signals of its own before that.
# A job in the background of a script would ignore Ctrl-C.
ENTRY = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from caveat.cli import main
os.write(1, b"here\\n")
main()
"""

SPECIFICATION = """
[release]
seed = 1
[data]
path = "survey.csv"
[[scenario]]
name = "a neighbour"
keys = ["sex", "age", "region"]
targets = ["marital"]
[utility]
measures = ["S_pMSE one-way"]
[output]
reports = []
"""

TUNE = """
[data]
path = "survey.csv"
[tune]
seed = 1
seeds = 1
fresh = 1
objective = "S_pMSE one-way"
keys = ["sex", "age"]
targets = ["marital"]
limits = { DiSCO = 60 }
settings = { method = ["cart"], minbucket = [5, 20, 50] }
"""


@dataclass(frozen=True)
class Command:
    """What is called, and the outputs that are replaced by it."""

    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    kept: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


SYNTH = ("synth", "survey.csv", "--seed", "1", "--force", "-o")
COMMANDS = {
    "synth csv": Command(  # so many rows that it writes for a while
        (*SYNTH, "out.csv", "--copies", "2", "--rows", "100000"), ("out-1.csv", "out-2.csv")
    ),
    "synth with model": Command(
        (*SYNTH, "out.parquet", "--model", "new.caveat"), ("out.parquet", "new.caveat")
    ),
    "synth duckdb": Command(
        (*SYNTH, "out.duckdb#t", "--rows", "100000"), ("out.duckdb",)
    ),
    "synth sqlite": Command(
        (*SYNTH, "out.sqlite#t", "--rows", "100000"), ("out.sqlite",)
    ),
    "run": Command(
        ("run", "release.toml", "--date", "2026-01-01", "--force"),
        ("release/inside/evidence.json", "release/inside/synthetic-1.csv",
         "release/manifest.json"),
    ),
    "tune": Command(
        ("tune", "tune.toml", "--json", "found.json", "--force"),
        ("found.json",),
        kept=("tune.tune.json",),
    ),
    "attack": Command(
        ("attack", "strong", "survey.csv", "first.csv", "--model", "first.caveat",
         "--target", "sex", "--json", "found.json", "--records", "records.csv", "--force"),
        ("found.json", "records.csv"),
    ),
}  # fmt: skip


@dataclass
class Bench:
    """A folder of inputs, a folder to work in, and what undisturbed runs give."""

    inputs: Path
    folder: Path
    expected: dict[str, dict[str, bytes]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def start(self, command: Command) -> subprocess.Popen[bytes]:
        """Start a command as the leader of its own group."""
        environment = {**os.environ, **command.environment}
        if command.environment:
            del environment[ALONE]
        return subprocess.Popen(
            [sys.executable, "-c", ENTRY, *command.arguments], cwd=self.folder, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def run(self, command: Command) -> None:
        process = self.start(command)
        _, errors = process.communicate(timeout=LONGEST)
        assert process.returncode == 0, errors.decode()

    def reset(self, command: Command) -> None:
        """Lay the inputs and earlier outputs out."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.inputs, self.folder)
        for name in command.outputs:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            if is_database(name):
                shutil.copy(self.inputs / f"earlier{Path(name).suffix}", self.folder / name)
                continue
            (self.folder / name).write_bytes(EARLIER)
        if (self.folder / "release").exists():
            files = [name for name in command.outputs if "manifest" not in name]
            names = [name.removeprefix("release/") for name in files]
            write_manifest(self.folder / "release", map(Output, names))

    def outputs(self, command: Command) -> dict[str, bytes]:
        return {name: content(self.folder / name) for name in command.outputs}

    def learn(self, name: str) -> None:
        """Run a command undisturbed, once."""
        if name not in self.expected:
            self.reset(COMMANDS[name])
            start = time.monotonic()
            self.run(COMMANDS[name])
            self.seconds[name] = time.monotonic() - start
            self.expected[name] = self.outputs(COMMANDS[name])
            assert not self.left(COMMANDS[name])

    def left(self, command: Command) -> list[str]:
        """Return what is in the folder and should not be."""
        known = {path.name for path in self.inputs.iterdir()} | {*command.kept}
        known |= {Path(name).parts[0] for name in command.outputs}
        return sorted(path.name for path in self.folder.iterdir() if path.name not in known)


EARLIER = b"an earlier output"
OTHER = Table.from_frame({"other": list(range(1000))})


def is_database(name: str) -> bool:
    return name.endswith((".duckdb", ".sqlite"))


def content(path: Path) -> bytes:
    """Return the bytes of a file; of a database, whose bytes differ, what its tables hold."""
    if not is_database(path.name):
        return path.read_bytes()
    tables = {name: read(f"{path}#{name}") for name in tables_of(path)}
    assert tables.pop("other") == OTHER, "another table is damaged"
    (table,) = tables.values()
    if table.names == ("earlier",):
        return EARLIER
    return repr([table[name].values.tolist() for name in table]).encode()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("kills")
    inputs = folder / "inputs"
    inputs.mkdir()
    write(survey(rows=200), inputs / "survey.csv")
    for suffix in ("duckdb", "sqlite"):
        write(OTHER, inputs / f"earlier.{suffix}#other")
        write(Table.from_frame({"earlier": [1, 2]}), inputs / f"earlier.{suffix}#t")
    (inputs / "release.toml").write_text(SPECIFICATION)
    (inputs / "tune.toml").write_text(TUNE)
    here = Bench(inputs, inputs)
    here.run(Command((*SYNTH, "first.csv", "--model", "first.caveat"), ()))
    here.folder = folder / "work"
    yield here
    shutil.rmtree(folder, ignore_errors=True)


def kill(bench: Bench, command: Command, sent: signal.Signals, moment: float) -> tuple[int, str]:
    """Start a command and send a signal at a moment; nobody of its session may go on."""
    process = bench.start(command)
    assert process.stdout is not None
    assert process.stdout.readline() == b"here\n"
    time.sleep(0.01 + moment)
    if process.poll() is None:
        # A terminal sends Ctrl-C to everybody, also to the processes that compile.
        (os.killpg if sent == signal.SIGINT else os.kill)(process.pid, sent)
    _, errors = process.communicate(timeout=LONGEST)
    deadline = time.monotonic() + 300
    while (alive := session(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive, f"{alive} processes go on"
    return process.returncode, errors.decode()


def session(number: int) -> int:
    """Count the living processes of a session."""
    alive = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            alive += int(fields[3]) == number and fields[0] not in "ZX"
    return alive


def judge(bench: Bench, name: str, sent: signal.Signals, code: int, errors: str) -> Counter[str]:
    """Check what a killed command has left, and what the next one leaves."""
    command, expected = COMMANDS[name], bench.expected[name]
    assert "Traceback" not in errors, errors
    assert "Exception ignored" not in errors, errors
    if sent != signal.SIGKILL:
        # The interpreter that has finished the command dies of the signal itself.
        assert code in (128 + sent, -sent, 0), (code, errors)
        assert (code == 128 + sent) == ("caveat: interrupted; " in errors), errors
    found = bench.outputs(command)
    whole = [found[name] == expected[name] for name in expected]
    for output, new in zip(expected, whole, strict=True):
        assert new or found[output] == EARLIER or "manifest" in output, output
    if name == "run":
        assert all(whole) or not any(whole), "a release is replaced as a whole"
    if code in (0, -signal.SIGINT, -signal.SIGTERM):
        assert all(whole)
    for kept in command.kept:
        if (bench.folder / kept).exists():
            json.loads((bench.folder / kept).read_bytes())
    left = bench.left(command)
    assert sent == signal.SIGKILL or not left, left
    if left:
        bench.run(command)
        assert not bench.left(command)
        assert bench.outputs(command) == expected
    outcome = "finished" if code == 0 else "stopped"
    return Counter({outcome: 1, "replaced before": all(whole), "left something": bool(left)})


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_leaves_whole_files_and_nobody(bench: Bench, name: str) -> None:
    bench.learn(name)
    chance, seen = random.Random(f"kills of {name}"), Counter[str]()
    for k in range(KILLS):
        sent = SIGNALS[(k + len(name)) % 3]
        bench.reset(COMMANDS[name])
        moment = (k + chance.random()) / KILLS * bench.seconds[name]
        code, errors = kill(bench, COMMANDS[name], sent, moment)
        seen += judge(bench, name, sent, code, errors) + Counter({sent.name: 1})
    sys.stdout.write(f"{name}, {bench.seconds[name]:.1f} s: {dict(seen)}\n")
    assert seen["stopped"] + seen["finished"] == KILLS


def test_a_command_that_compiles_is_killed_with_its_processes(bench: Bench, tmp_path: Path) -> None:
    name = "synth csv"
    bench.learn(name)
    chance, seen = random.Random("kills of compilers"), Counter[str]()
    for k in range(FACTOR):
        sent = SIGNALS[(k + 1) % 3]
        bench.reset(COMMANDS[name])
        empty = {"NUMBA_CACHE_DIR": str(tmp_path / f"code-{k}")}
        moment = bench.seconds[name] / 2 + 8 * chance.random()
        command = Command(COMMANDS[name].arguments, (), environment=empty)
        code, errors = kill(bench, command, sent, moment)
        seen += judge(bench, name, sent, code, errors) + Counter({sent.name: 1})
    sys.stdout.write(f"compiling: {dict(seen)}\n")
    assert seen["stopped"] + seen["finished"] == FACTOR
