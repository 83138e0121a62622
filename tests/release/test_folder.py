"""The folder of a release is whole or not there, whatever happens to the run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.release.folder import arrange, release_folder, write_manifest
from caveat.table.identifying import Output

# A run that stops at a step and says so; where asked it stops after the tables were written.
STOPPING = """
import sys, time
from caveat import evidence
from caveat.release import Release
spec, step = sys.argv[1:]
def wait():
    print("here", flush=True)
    time.sleep(600)
if step == "files":
    evidence.text_of = lambda content: wait()
def progress(name, share):
    if name == step:
        wait()
Release.from_toml(spec).run(force=True, progress=progress)
"""


def start(spec: Path, step: str) -> subprocess.Popen:
    """Start a run and return once it has come to the step."""
    run = subprocess.Popen(
        [sys.executable, "-c", STOPPING, str(spec), step], stdout=subprocess.PIPE, text=True,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdout.readline() == "here\n", run.stderr and run.stderr.read()
    return run


def make_release(folder: Path, text: str = "old") -> dict[str, bytes]:
    """Write a release by hand."""
    folder.mkdir()
    fill(folder, {"evidence.json": True}, text)
    return contents(folder)


def fill(draft: Path, confidential: dict[str, bool], text: str = "new") -> None:
    """Write files as a run does: flat, then into their parts."""
    for name in confidential:
        (draft / name).parent.mkdir(exist_ok=True)
        (draft / name).write_text(text)
    outputs = [Output(name, outside="" if secret else "x") for name, secret in confidential.items()]
    write_manifest(draft, arrange(draft, outputs))


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


@pytest.mark.parametrize("step", ["utility", "files"])
def test_a_killed_run_leaves_the_previous_release_and_the_next_clears_up(specification, step):
    spec = specification()
    target = spec.parent / "release"
    before = make_release(target)
    run = start(spec, step)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    assert run.returncode == -signal.SIGKILL
    assert contents(target) == before
    assert len(hidden(spec.parent)) == 1
    with release_folder(target, force=True) as (draft, remarks):
        assert remarks == ["what an interrupted run had left was removed"]
        assert hidden(spec.parent) == [draft.parent.name]
        fill(draft, {"evidence.json": True})
    assert (target / "inside/evidence.json").read_text() == "new"
    assert hidden(spec.parent) == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_behind(specification, sent):
    spec = specification()
    before = make_release(spec.parent / "release")
    code = (
        "import sys; from caveat.cli import run, main; from caveat.release.collect import Steps\n"
        "whole = Steps.step\n"
        "def step(self, name):\n"
        "    if name == 'utility': print('here', flush=True); import time; time.sleep(600)\n"
        "    return whole(self, name)\n"
        "Steps.step = step\n"
        "main()\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code, "run", str(spec), "--force"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert run.stdout is not None
    assert run.stdout.readline() == "here\n"
    os.kill(run.pid, sent)
    _, errors = run.communicate()
    assert run.returncode == 128 + sent
    # A slow run has told of its progress between these lines.
    plan, *_, said = errors.splitlines()
    assert plan.startswith("plan: about ")
    assert said == "caveat: interrupted; nothing was written"
    assert "Traceback" not in errors
    assert contents(spec.parent / "release") == before
    assert hidden(spec.parent) == []


def test_an_error_leaves_everything_as_it_was(tmp_path):
    before = make_release(tmp_path / "release")

    def fail() -> None:
        with release_folder(tmp_path / "release", force=True) as (draft, _):
            (draft / "evidence.json").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert contents(tmp_path / "release") == before
    assert hidden(tmp_path) == []


def test_a_release_that_a_killed_run_had_moved_aside_is_put_back(tmp_path):
    target = tmp_path / "release"
    before = make_release(target)
    target.rename(tmp_path / ".release.caveat-old-0123456789ab")
    with refused("release.folder.exists"), release_folder(target):
        pass
    assert contents(target) == before
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("at_once", [True, False])
def test_a_release_is_replaced_where_names_can_be_exchanged_and_where_not(
    tmp_path, monkeypatch, at_once
):
    if not at_once:
        monkeypatch.setattr("caveat.release.folder._exchange", lambda one, other: False)
    make_release(tmp_path / "release")
    with release_folder(tmp_path / "release", force=True) as (draft, _):
        (draft / "evidence.json").write_text("new")
    assert contents(tmp_path / "release") == {"evidence.json": b"new"}
    assert hidden(tmp_path) == []


def test_a_draft_that_was_left_by_another_release_is_removed_too(tmp_path):
    left = tmp_path / ".caveat-draft-confidential-0123456789ab-other"
    left.mkdir()
    (left / "synthetic-1.csv").write_text("half")
    with release_folder(tmp_path / "release") as (draft, remarks):
        assert remarks == ["what an interrupted run had left was removed"]
        assert hidden(tmp_path) == [draft.parent.name]


def test_two_runs_do_not_write_one_folder(tmp_path):
    with release_folder(tmp_path / "release") as (draft, _):
        with refused("release.folder.conflict"), release_folder(tmp_path / "release"):
            pass
        assert draft.exists()
        (draft / "x").write_text("x")
    assert contents(tmp_path / "release") == {"x": b"x"}


def test_what_no_run_has_written_is_not_replaced(tmp_path):
    target = tmp_path / "release"
    make_release(target)
    (target / "notes of the board.txt").write_text("keep me")
    with refused("release.folder.refused"):
        release_folder(target, force=True).__enter__()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("years")
    with refused("release.folder.refused"):
        release_folder(tmp_path / "thesis", force=True).__enter__()
    (tmp_path / "file").write_text("")
    with refused("release.folder.type"):
        release_folder(tmp_path / "file", force=True).__enter__()
    with refused("command.folder.absent"):
        release_folder(tmp_path / "absent" / "release").__enter__()
    assert (tmp_path / "thesis" / "thesis.tex").read_text() == "years"


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch):
    def refuse(self, *_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with refused("command.output.not-writable"):
        release_folder(tmp_path / "release").__enter__()


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "release").mkdir()
    with release_folder(tmp_path / "release") as (draft, _):
        (draft / "a").write_text("a")
        write_manifest(draft, [Output("a")])
    content = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert [entry["name"] for entry in content["files"]] == ["a"]


FILES = {
    "synthetic-1/patients.csv": False, "synthetic-1/visits.csv": False, "margins/01.csv": False,
    "dictionary.csv": False, "report-external.html": False, "report.html": True,
    "evidence.json": True, "release.toml": True,
}  # fmt: skip


def test_what_may_leave_lies_in_public_and_the_rest_inside(tmp_path: Path) -> None:
    fill(tmp_path, FILES)
    entries = json.loads((tmp_path / "manifest.json").read_text())["files"]
    assert {entry["name"]: entry["confidential"] for entry in entries} == {
        "public/synthetic-1/patients.csv": False, "public/synthetic-1/visits.csv": False,
        "public/margins/01.csv": False, "public/dictionary.csv": False,
        "public/report-external.html": False, "inside/report.html": True,
        "inside/evidence.json": True, "inside/release.toml": True,
    }  # fmt: skip
    assert set(contents(tmp_path)) == {"manifest.json", *(entry["name"] for entry in entries)}
    folders = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*/")}
    assert {name for name in folders if (tmp_path / name).is_dir()} == {
        "inside", "public", "public/margins", "public/synthetic-1",
    }  # fmt: skip


def test_of_a_trial_nothing_lies_in_public(tmp_path: Path) -> None:
    fill(tmp_path, dict.fromkeys(FILES, True))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inside", "manifest.json"]
    assert set(contents(tmp_path / "inside")) == set(FILES)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o027])
def test_inside_is_for_this_user_alone_and_public_follows_the_umask(
    tmp_path: Path, mask: int
) -> None:
    before = os.umask(mask)
    try:
        for _ in range(2):  # the second one replaces the first
            with release_folder(tmp_path / "release", force=True) as (draft, _):
                fill(draft, FILES)
    finally:
        os.umask(before)
    inside, public = tmp_path / "release" / "inside", tmp_path / "release" / "public"
    assert mode(inside) == 0o700
    assert {mode(path) for path in inside.iterdir()} == {0o600}
    assert {mode(path) for path in (public, public / "synthetic-1")} == {0o777 & ~mask}
    files = [path for path in public.rglob("*") if path.is_file()]
    assert {mode(path) for path in files} == {0o666 & ~mask}


@pytest.mark.parametrize(
    "foreign", ["mine.txt", "inside/mine.txt", "public/mine.txt", "public/margins/mine.txt",
                "inside/mine/mine.txt"],
)  # fmt: skip
def test_a_release_is_replaced_unless_it_holds_something_foreign(
    tmp_path: Path, foreign: str
) -> None:
    target = tmp_path / "release"
    for text in ("old", "new"):
        with release_folder(target, force=True) as (draft, _):
            fill(draft, FILES, text)
        assert {held for name, held in contents(target).items() if name != "manifest.json"} == {
            text.encode()
        }
    (target / foreign).parent.mkdir(exist_ok=True)
    (target / foreign).write_text("mine")
    before = contents(target)
    with (
        refused("release.folder.refused"),
        release_folder(target, force=True),
    ):
        pass
    assert contents(target) == before
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("part", ["inside", "public", "public/margins"])
def test_a_part_that_is_a_link_is_not_replaced(tmp_path: Path, part: str) -> None:
    target = tmp_path / "release"
    with release_folder(target) as (draft, _):
        fill(draft, FILES)
    (target / part).rename(tmp_path / "elsewhere")
    (target / part).symlink_to(tmp_path / "elsewhere")
    before = contents(tmp_path / "elsewhere")
    with refused("release.folder.refused"):
        release_folder(target, force=True).__enter__()
    assert contents(tmp_path / "elsewhere") == before


@pytest.mark.parametrize("flat", [False, True])
def test_a_decision_stays_when_the_release_is_made_again(tmp_path: Path, flat: bool) -> None:
    target = tmp_path / "release"
    make_release(target)
    (target / "inside/decision.json").write_text("what the board has said")
    for _ in range(2):
        with release_folder(target, force=True) as (draft, _):
            if flat:  # another command, which has no parts
                (draft / "table.csv").write_text("new")
                write_manifest(draft, [Output("table.csv", outside="a test")])
            else:
                fill(draft, {"evidence.json": True})
        assert (target / ("table.csv" if flat else "inside/evidence.json")).read_text() == "new"
        assert (target / "inside/decision.json").read_text() == "what the board has said"
        assert mode(target / "inside") == 0o700 or os.name != "posix"
