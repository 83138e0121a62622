"""Generators in other processes: what they are given, and everything that can go wrong."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from tests.generators.conformance import check_generator, people
from tests.generators.stub import GOOD, stub
from tests.refusals import refused

from caveat.generators import GeneratorError, Limits, ProcessGenerator
from caveat.table import Table

TABLE = Table.from_frame({"sex": ["f", "m"] * 50, "age": np.arange(100) % 40, "pay": [1.5] * 100})


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("CAVEAT_HOME", str(folder))
    return folder


def failure(generator: ProcessGenerator, table: Table = TABLE) -> GeneratorError:
    with pytest.raises(GeneratorError) as caught:
        generator.fit(table, 1).sample(copies=2)
    assert str(caught.value).startswith(f"generator {generator.name}")
    return caught.value


def test_a_process_keeps_the_contract(tmp_path: Path) -> None:
    check_generator(stub(tmp_path), people())


def test_a_generator_without_a_seed_says_so(tmp_path: Path) -> None:
    fresh = "rng = np.random.default_rng()\n" + GOOD
    check_generator(stub(tmp_path, fresh, is_seeded=False), people())


def test_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request, a private folder, and nothing of the environment that may be a secret."""
    monkeypatch.setenv("SECRET_TOKEN", "x")
    seen = tmp_path / "seen.json"
    look = f"""
request["mode"] = oct(path.parent.stat().st_mode & 0o777)
request["folder"] = str(path.parent)
request["variables"] = sorted(os.environ)
request["threads"] = os.environ["OMP_NUM_THREADS"]
Path({str(seen)!r}).write_text(json.dumps(request))
"""
    made = stub(tmp_path, look + GOOD, settings={"epsilon": 0.1}, limits=Limits(cores=3))
    fitted = made.fit(TABLE, 2**80 + 5)
    fitted.sample(rows=7, copies=2)
    told = json.loads(seen.read_text())
    assert (told["version"], told["rows"], told["copies"]) == (1, 7, 2)
    assert told["settings"] == {"epsilon": 0.1}
    assert told["out"] == ["synthetic-1.parquet", "synthetic-2.parquet"]
    assert 0 <= told["seed"] < 2**31
    assert told["schema"][0] == {
        "name": "sex", "kind": "category", "missing": [], "levels": ["f", "m"],
    }  # fmt: skip
    assert told["schema"][1] == {
        "name": "age", "kind": "integer", "missing": [], "low": 0, "high": 39,
    }  # fmt: skip
    assert told["schema"][2]["decimals"] == 1
    assert told["mode"] == "0o700"
    assert not Path(told["folder"]).exists()
    assert "SECRET_TOKEN" not in told["variables"]
    assert told["threads"] == "3"
    (used,) = fitted.usage
    assert used.cpu_seconds is not None
    assert 0 < used.cpu_seconds < 60
    assert 10 < used.peak_megabytes < 2000


def test_the_command_is_not_there(tmp_path: Path) -> None:
    missing = ProcessGenerator("mine", (str(tmp_path / "nothing"),))
    assert "its command is not there; check the path" in str(failure(missing))
    plain = tmp_path / "plain"
    plain.write_text("not executable")
    assert "its command may not be run" in str(failure(ProcessGenerator("mine", (str(plain),))))


def test_it_takes_too_long_and_all_it_started_is_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    body = f"""
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
Path({str(pids)!r}).write_text(f"{{os.getpid()}} {{child.pid}}")
time.sleep(1000)
"""
    begun = time.monotonic()
    found = failure(stub(tmp_path, body, limits=Limits(seconds=10)))
    assert "it did not end within its limit of 10 seconds" in str(found)
    assert time.monotonic() - begun < 600
    for pid in map(int, pids.read_text().split()):
        for _ in range(2000):
            if not is_running(pid):
                break
            time.sleep(0.05)
        assert not is_running(pid)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_it_leaves_behind_is_ended_too(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    body = f"""
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
Path({str(pids)!r}).write_text(str(child.pid))
"""
    stub(tmp_path, body + GOOD).fit(TABLE, 1).sample()
    assert not is_running(int(pids.read_text()))


def test_it_needs_too_much_memory(tmp_path: Path) -> None:
    body = "held = [np.ones(10_000_000) for _ in range(12)]\ntime.sleep(600)\n"
    found = failure(stub(tmp_path, body, limits=Limits(seconds=600, megabytes=400)))
    assert "it needed more memory than its limit of 400 MB" in str(found)


def test_it_fails_and_its_words_stay_in_a_private_file(tmp_path: Path, own_home: Path) -> None:
    body = 'print("record 17: Ann, 31", flush=True)\nsys.exit(5)\n'
    found = failure(stub(tmp_path, body))
    assert "it ended with code 5; what it printed is in " in str(found)
    assert "Ann" not in str(found)
    assert found.log is not None
    assert found.log.parent == own_home / "logs"
    assert found.log.read_text() == "record 17: Ann, 31\n"
    assert found.log.stat().st_mode & 0o777 == 0o600
    assert found.log.parent.stat().st_mode & 0o777 == 0o700


def test_it_prints_garbage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = "sys.stdout.buffer.write(bytes(range(256)) * 4000)\n"
    assert len(stub(tmp_path, noise + GOOD).fit(TABLE, 1).sample()) == 1
    wrong = noise + '(path.parent / request["out"][0]).write_bytes(bytes(range(256)))\n'
    found = failure(stub(tmp_path, wrong))
    assert "what it wrote is not a table in Parquet" in str(found)
    monkeypatch.setattr("caveat.generators.process.LONGEST_LOG", 100_000)
    endless = "while True:\n    print('x' * 10_000)\n"
    assert "it printed without end" in str(failure(stub(tmp_path, endless)))


def test_it_crashes(tmp_path: Path) -> None:
    found = failure(stub(tmp_path, "import signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"))
    assert "it was ended by the signal SIGSEGV" in str(found)
    assert found.log is None


WRONG = {
    "it ended without writing a table": "",
    "column age: it did not return this column": "one = shuffled().drop(['age'])",
    "it returned 1 columns that the original has not":
        "one = shuffled().append_column('more', pa.array(range(request['rows'])))",
    "it returned 3 rows where 100 were asked for": "one = shuffled().slice(0, 3)",
    "column sex, row 2: 1 of its cells hold a level that the original has not":
        "one = shuffled().set_column(0, 'sex', pa.array(['f', 'secret', *['m'] * 98]))",
    "column sex, row 1: 1 cells are empty or NaN, and the original has none":
        "one = shuffled().set_column(0, 'sex', pa.array([None, *['m'] * 99]))",
    "column pay, row 100: 1 cells are empty or NaN, and the original has none":
        "one = shuffled().set_column(2, 'pay', pa.array([*[1.0] * 99, float('nan')]))",
    "column pay, row 1: a number is not finite":
        "one = shuffled().set_column(2, 'pay', pa.array([float('inf'), *[1.0] * 99]))",
    "column age: its values are no numbers":
        "one = shuffled().set_column(1, 'age', pa.array(['young'] * 100))",
    "column age: a whole number is too large":
        "one = shuffled().set_column(1, 'age', pa.array([1e300] * 100))",
}  # fmt: skip


@pytest.mark.parametrize("says", WRONG)
def test_it_returns_something_else(says: str, tmp_path: Path) -> None:
    body = WRONG[says] and WRONG[says] + "\nfor name in request['out']:\n    write(one, name)\n"
    found = str(failure(stub(tmp_path, body)))
    assert says in found
    assert "secret" not in found
    assert "young" not in found


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    with refused("data.table.empty"):
        stub(tmp_path).fit(TABLE.take(slice(0, 0)), 1)


def test_nothing_is_left_in_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    stub(tmp_path).fit(TABLE, 1).sample()
    failure(stub(tmp_path, "sys.exit(1)"))
    assert list((tmp_path / "temporary").iterdir()) == []


def test_values_are_not_printed(tmp_path: Path) -> None:
    assert repr(stub(tmp_path).fit(TABLE, 1)) == "<FittedProcess: table of 100, seed 1, usage of 0>"
