"""What `make check` and `.ci/run` do besides the tests: audit of versions, content of the wheel."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FINE = {"name": "a", "version": "1.0", "vulns": []}
FLAWED = {"name": "b", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}
UNKNOWN = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "code", "words"),
    [
        ([FINE], 0, "1 pinned packages without known vulnerabilities"),
        ([FINE, UNKNOWN], 0, "1 pinned packages without known vulnerabilities; not known there: c"),
        ([UNKNOWN], 0, "not audited: the vulnerability service knows none of the pinned packages"),
        ([FINE, FLAWED], 1, "known vulnerabilities:\nb 2.0: PYSEC-1, mended in 2.1"),
        ([UNKNOWN, FLAWED], 1, "known vulnerabilities:\nb 2.0: PYSEC-1, mended in 2.1"),
    ],
)
def test_the_audit_fails_for_vulnerabilities_only(packages, code, words):
    assert script("audit").judge(json.dumps({"dependencies": packages})) == (code, words)


@pytest.mark.parametrize("report", ["", "no json", "[]", "{}"])
def test_the_audit_says_that_it_could_not_be_made(report):
    assert script("audit").judge(report) == (
        0,
        "not audited: the vulnerability service does not answer",
    )


def test_an_audit_that_hangs_or_breaks_is_given_up():
    ask = script("audit").ask
    assert ask([sys.executable, "-c", "import time; time.sleep(60)"], 0.5) == ""
    assert ask([sys.executable, "-c", "print('{}'); raise SystemExit(1)"]) == "{}\n"


def test_files_that_a_wheel_lacks_are_named(tmp_path):
    source = tmp_path / "caveat"
    (source / "report" / "__pycache__").mkdir(parents=True)
    for name in ("a.py", "report/page.html", "report/__pycache__/a.pyc"):
        (source / name).write_text("x")
    with zipfile.ZipFile(tmp_path / "c.whl", "w") as wheel:
        wheel.writestr("caveat/a.py", "x")
    missing = script("wheel_files").missing
    assert missing(source, tmp_path / "c.whl") == ["caveat/report/page.html"]


def test_constraints_are_names_and_versions_and_numba_is_capped_at_its_minor():
    pins = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", pin) for pin in pins)
    assert pins == sorted(pins, key=lambda pin: pin.partition("==")[0].lower())
    (numba,) = (pin.removeprefix("numba==") for pin in pins if pin.startswith("numba=="))
    major, minor, *_ = map(int, numba.split("."))
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    (needed,) = (need for need in needs if need.startswith("numba"))
    assert needed.endswith(f",<{major}.{minor + 1}")
