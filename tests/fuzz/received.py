"""Project folders that somebody else has sent: a release, its evidence and the state of the app.

One file of a good project is changed, replaced by a link, a pipe or a folder, and everything that
reads it is called. Nothing may be written outside of the project.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from tests.app.client import client, post
from tests.fuzz.harness import flipped
from tests.fuzz.models import _parent, _pick, _places, change_values
from typer.testing import CliRunner

from caveat.app import jobs
from caveat.app.pages import sha256 as text_sha256
from caveat.cli import app
from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.evidence import Decision, evidence_sha256, read
from caveat.privacy import Ledger
from caveat.release import Release
from caveat.release.job_files import FORMAT, STATES, result_text
from caveat.release.opening import held_against_data, opened
from caveat.release.review import changes_tried, decide
from caveat.seeds import ReleaseKey
from caveat.spec.spec import ReleaseSpec
from caveat.table import write

__all__ = ["FILES", "cases", "open_all", "project"]

SPEC = """\
[release]
title = "A survey"
seed = 1

[data]
path = "survey.csv"

[synthesis]
method = "cart"
minbucket = 20
drop = ["person"]

[privacy]
dataset = "survey"

[map]
settings = { minbucket = [20, 40] }
scenario = "a neighbour"
seeds = 1

[[scenario]]
name = "a neighbour"
keys = ["sex", "age"]
targets = ["marital"]

[[scenario]]
name = "everything"
attacker = "strong"
targets = ["marital"]
records = 20

[utility]
measures = ["S_pMSE two-way"]
"""
EVIDENCE, DECISION, MANIFEST = (
    "release/inside/evidence.json",
    "release/inside/decision.json",
    "release/manifest.json",
)
LEDGER, MARK = "ledger.jsonl", "home/generators/arfpy/environment.json"
KEY = "release.key"
JOBS = [
    f".caveat/{kind}{more}.json" for kind in ("look", "check", "run") for more in ("", "-result")
]
FILES = (EVIDENCE, EVIDENCE, DECISION, MANIFEST, LEDGER, LEDGER, MARK, KEY, *JOBS)
"""The files that are changed, some more often than others."""

OUTSIDE = "outside"  # a folder beside the project, with a file that nobody may change
NAMES = ("../../outside/x.csv", "../x.csv", "/", "..", "", "a/b", "x.csv#t", "\0", "a" * 300, "con",
         "postgresql://203.0.113.9/x#t", "\u202egnp.exe")  # fmt: skip


def project(folder: Path) -> None:
    """Write a project with a release, a decision, a ledger and the files of its jobs."""
    write(
        survey(rows=150).select(["person", "sex", "age", "marital", "region"]),
        folder / "survey.csv",
    )
    (folder / "release.toml").write_text(SPEC)
    ReleaseKey.at(folder / KEY)
    outcome = Release.from_toml(folder / "release.toml").run()
    content = read(outcome.folder / "inside/evidence.json")
    made = Decision(evidence_sha256(content), "release", ["A"], "2026-11-17")
    decide(outcome.folder, made)
    shutil.copytree(outcome.folder, folder / "earlier")
    state = folder / ".caveat"
    state.mkdir()
    spec = ReleaseSpec.from_toml(folder / "release.toml")
    used = text_sha256((outcome.folder / "inside/release.toml").read_text())
    results: dict[str, Any] = {
        "look": opened(folder, [], lambda *_: None),
        "check": held_against_data(folder / "release.toml"),
        "run": {"folder": str(outcome.folder), "verdict": "x", "remarks": ["x"],
                "made_from": used, "tried": changes_tried(spec)},
    }  # fmt: skip
    job = {"format": FORMAT, "state": "done", "since": 1.0, "ended": 2.0, "step": "x", "share": 1.0,
           "pid": 4_000_000, "said": ["x"], "mistakes": [], "at": 2.0, "from": 1.0,
           "asked": {"files": ["survey.csv"], "form": {"encoding": "utf-8"}, "sha256": used},
           }  # fmt: skip
    for kind, left in results.items():
        (state / f"{kind}.json").write_text(json.dumps(job))
        (state / f"{kind}-result.json").write_text(result_text(left))
    mark = folder / MARK
    mark.parent.mkdir(parents=True)
    mark.write_text(json.dumps({"pins": [["arfpy==0.1.1"]], "python": "3.13.0", "made": "2026"}))


def cases(folder: Path, count: int) -> Iterator[tuple[str, Any]]:
    """Give projects with one file changed: the folder, which file, and what becomes of it."""
    yield "as it is", (str(folder), "", b"")
    for number in range(count - 1):
        rng = np.random.default_rng([38, number])
        file = FILES[number % len(FILES)]
        whole = (folder / file).read_bytes()
        match int(rng.integers(0, 8)):
            case 0:
                change: Any = _pick(["link", "dangling", "pipe", "folder"], rng)
            case 1:
                change = flipped(whole, rng, most=3)
            case _:
                change = _changed(whole, file, rng)
        yield f"{number} {file} {change if isinstance(change, str) else 'changed'}", (
            str(folder), file, change,
        )  # fmt: skip


def _changed(whole: bytes, file: str, rng: np.random.Generator) -> bytes:
    """Change values of a document, of a ledger those of one line; names often become paths.

    A key is cut, doubled or replaced by a name.
    """
    if file == KEY:
        name = _pick(list(NAMES), rng).encode("utf-8", "surrogatepass")
        return bytes(_pick([whole[: int(rng.integers(0, len(whole)))], whole * 2, name], rng))
    lines = whole.splitlines() if file == LEDGER else [whole]
    at = int(rng.integers(0, len(lines)))
    document = json.loads(lines[at])
    if "pid" in document:  # a job: each state is shown otherwise
        document["state"] = _pick(list(STATES), rng)
    if rng.random() < 0.4:
        texts = [p for p in _places(document) if isinstance(_parent(document, p)[p[-1]], str)]
        for _ in range(3):
            place = _pick(texts, rng)
            _parent(document, place)[place[-1]] = _pick(list(NAMES), rng)
    else:
        change_values(document, rng)
    lines[at] = json.dumps(document).encode()
    return b"\n".join(lines) + b"\n"


def open_all(case: tuple[str, str, bytes | str]) -> None:
    """Call everything that reads the file that was changed."""
    original, file, change = case
    with tempfile.TemporaryDirectory() as name:
        outer = Path(name)
        (outer / OUTSIDE).mkdir()
        (outer / OUTSIDE / "mine").write_text("mine")
        folder = outer / "app" / "project"
        shutil.copytree(original, folder)
        if file:
            _put(folder / file, change, outer / OUTSIDE)
        before = _others(outer)
        os.environ["CAVEAT_HOME"] = str(folder / "home")
        for act in ACTS.get(file, EVERY):
            act(folder)
        assert _others(outer) == before, "something was written outside of the project"


def _put(path: Path, change: bytes | str, outside: Path) -> None:
    path.unlink()
    if isinstance(change, bytes):
        path.write_bytes(change)
    elif change == "pipe":
        os.mkfifo(path)
    elif change == "folder":
        path.mkdir()
    else:
        path.symlink_to(outside / ("mine" if change == "link" else "new"))


def _others(outer: Path) -> dict[str, str]:
    """Return every file outside of the project, with its checksum."""
    inside = outer / "app" / "project"
    return {
        str(path): sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in outer.rglob("*")
        if path != inside and not path.is_relative_to(inside)
    }


def command(*arguments: str) -> None:
    """Run a command; what it raises is a CaveatError, or a defect."""
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, CaveatError | SystemExit):
        raise result.exception


def _commands(folder: Path) -> None:
    release = str(folder / "release")
    for version in ([], ["--external", "--markdown"]):
        command("report", release, *version)
    command("diff", str(folder / "earlier"), release)
    command("check", release)


def _explained(folder: Path) -> None:
    place = ["--release", str(folder / "release"), "--draws", "0"]
    command("explain", str(folder / "release.toml"), "--record", "3", *place)


def _ledger(folder: Path) -> None:
    book = folder / "ledger.jsonl"
    (folder / "table.csv").write_text("sex,count\nf,70\nm,80\n")
    told = ["--ledger", str(book), "--dataset", "survey"]
    command("check", str(folder / "table.csv"), *told)
    command("check", str(folder / "table.csv"), *told, "--publish")
    command("run", str(folder / "release.toml"), "--force")
    with suppress(CaveatError):
        Ledger(book).spent("survey", 1e-6)


def _drawn(folder: Path) -> None:
    command("run", str(folder / "release.toml"), "--force")


def _generators(folder: Path) -> None:
    del folder
    command("generator", "list")
    command("generator", "test", "arfpy")


def _pages(folder: Path) -> None:
    """Open every page of the app, and send what its buttons send."""
    jobs.COMMAND[:] = [sys.executable, "-c", ""]
    found, here = client(folder.parent), "/p/project/"
    at = "project/release"
    steps = ("", "look", "plan", "attackers", "spec", "run", "report", "map", "record", "job/look",
             "job/check", "job/run", "report/page?version=internal", "map?one=0&two=1",
             "map/entries?setting=1")  # fmt: skip
    pages = ["/", "/review", f"/review/release?at={at}", *(f"{here}{step}" for step in steps)]
    pages.append(f"/review/changes?before=project/earlier&after={at}")
    answers = [(address, found.get(address)) for address in pages]
    evidence = folder / "release" / "inside/evidence.json"
    shown = sha256(evidence.read_bytes()).hexdigest() if evidence.is_file() else ""
    forms: dict[str, dict[str, str]] = {
        f"{here}look/decide": {"finding": "0", "choice": "ignore"},
        f"{here}map/choose": {"setting": "1"},
        f"{here}look/again": {},
        f"{here}run/cancel": {},
        f"{here}run": {},
        "/review/decision": {"at": at, "decision": "refuse", "names": "B", "date": "2026-11-18",
                             "conditions": "", "sha256": shown, "replace": "yes", "stands": ""},
    }  # fmt: skip
    decision = folder / "release" / "inside/decision.json"
    if decision.is_file():
        forms["/review/decision"]["stands"] = sha256(decision.read_bytes()).hexdigest()
    for address, form in forms.items():
        now = text_sha256((folder / "release.toml").read_text())
        answers.append((address, post(found, address, **{"was": now, **form})))
    wrong = [
        (address, answer.status_code) for address, answer in answers if answer.status_code >= 500
    ]
    assert not wrong, wrong


EVERY = (_explained, _pages, _commands, _ledger, _generators)
ACTS: dict[str, tuple[Callable[[Path], None], ...]] = {
    EVIDENCE: (_explained, _pages, _commands),
    DECISION: (_pages, _commands),
    MANIFEST: (_pages, _commands),
    LEDGER: (_ledger,),
    MARK: (_generators,),
    KEY: (_drawn,),
    **dict.fromkeys(JOBS, (_pages,)),
}
