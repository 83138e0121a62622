"""Jobs as processes of their own: how far they are, cancelled, killed; servers that come back."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from tests.app.client import client, csrf

from caveat.app import jobs
from caveat.app.pages import Project, sha256
from caveat.datasets import survey
from caveat.release.opening import opened
from caveat.table import drafts, write

SLOW = """
import sys, time
from pathlib import Path
from caveat.app import job
from caveat.errors import CaveatError

def run(folder, asked, tell):
    tell("first", 0.1)
    tell("second", 0.5)
    if asked.get("wrong"):
        raise CaveatError("this is wrong", where="release.toml, line 3", code="test.thing.failed")
    if asked.get("defect"):
        raise RuntimeError("the income of Anna is 7")
    while "until" in asked and not Path(asked["until"]).exists():
        time.sleep(0.05)
    for _ in range(asked.get("tenths", 0)):
        time.sleep(0.1)
    return {"verdict": "met"}

job.KINDS["run"] = run
job.main(sys.argv[1], Path(sys.argv[2]))
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    found = Project("p", tmp_path / "p")
    found.state.mkdir(parents=True)
    found.spec.write_text('[data]\npath = "x.csv"\n')
    monkeypatch.setattr(jobs, "COMMAND", [sys.executable, "-c", SLOW])
    yield found
    jobs.cancel(found, "run")
    wait(found, "done", "failed", "cancelled", "lost", "none")


def wait(project, *states):
    end = time.monotonic() + 3000
    while (job := jobs.job_of(project, "run"))["state"] not in states:
        assert time.monotonic() < end, job
        time.sleep(0.05)
    return job


def wait_for(project, step):
    end = time.monotonic() + 3000
    while jobs.job_of(project, "run")["step"] != step:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_job_says_how_far_it_is_and_leaves_a_result(project):
    assert jobs.job_of(project, "run")["state"] == "none"
    jobs.start(project, "run", tenths=15)
    assert jobs.job_of(project, "run")["state"] in ("starting", "working")
    wait_for(project, "second")
    job = jobs.job_of(project, "run")
    assert (job["state"], job["share"]) == ("working", 0.5)
    assert job["left"] < 300  # a half was done in no time
    assert wait(project, "done")["share"] == 1
    assert jobs.result_of(project, "run") == {"verdict": "met"}


def test_what_is_left_goes_by_the_pace_and_becomes_less(project):
    now = time.time()
    said = {"format": jobs.FORMAT, "state": "working", "since": now - 90}
    said |= {"from": now - 60, "at": now - 10}
    said |= {"share": 0.25, "step": "fit", "asked": {}}
    (project.state / "run.json").write_text(json.dumps(said))
    lock = drafts.make_locked(project.state / "run.lock")
    try:
        # A quarter took 50 s, ten seconds ago: 150 s were left then, whatever starting took.
        assert jobs.job_of(project, "run")["left"] == pytest.approx(140, abs=8)
        text = client(project.path.parent).get(project.url("job/run")).text
        assert "about 2 min left" in text
        (project.state / "run.json").write_text(
            json.dumps(said | {"at": now - 55, "from": now - 56})
        )
        text = client(project.path.parent).get(project.url("job/run")).text
        assert "longer than was thought" in text
    finally:
        drafts.release(lock)


def test_a_second_one_is_not_started_beside_it(project):
    jobs.start(project, "run", tenths=6000)
    pid = wait(project, "working")["pid"]
    jobs.start(project, "run", tenths=1)
    assert jobs.job_of(project, "run")["pid"] == pid


def test_a_job_is_cancelled(project):
    jobs.start(project, "run", tenths=6000)
    wait_for(project, "second")
    jobs.cancel(project, "run")
    wait(project, "cancelled")
    assert jobs.result_of(project, "run") is None


def test_a_job_that_is_killed_is_seen_and_can_be_started_again(project):
    jobs.start(project, "run", tenths=6000)
    wait_for(project, "second")
    os.kill(jobs.job_of(project, "run")["pid"], signal.SIGKILL)
    wait(project, "lost")
    here = client(project.path.parent)
    assert "was killed before its end" in here.get(project.url("run")).text
    jobs.start(project, "run", tenths=1)
    wait(project, "done")


def test_another_process_with_its_number_is_left_alone(project):
    # The number in the file is somebody else's by now: that of this very test.
    said = {"format": jobs.FORMAT, "state": "working", "since": 1, "step": "fit", "share": 0.5}
    (project.state / "run.json").write_text(json.dumps(said | {"pid": os.getpid()}))
    (project.state / "run.lock").write_text("")
    assert jobs.job_of(project, "run")["state"] == "lost"
    jobs.cancel(project, "run")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '[["state", "working"]]', '{"state": "working", "since": 1}', "[" * 10**5,
     '{"format": 2, "state": "away"}', '{"format": 1, "state": "done", "left": {"x": 1}}'],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_no_job(project, text):
    (project.state / "run.json").write_text(text)
    (project.state / "run-result.json").write_text(text)
    assert jobs.job_of(project, "run")["state"] == "none"
    assert jobs.result_of(project, "run") is None


def test_a_job_that_has_only_just_begun_is_cancelled_too(project):
    jobs.start(project, "run", tenths=6000)
    assert jobs.job_of(project, "run")["state"] in ("starting", "working")
    jobs.cancel(project, "run")
    wait(project, "cancelled")


def test_a_mistake_is_told_and_a_defect_tells_nothing_of_anybody(project):
    jobs.start(project, "run", wrong=True)
    assert wait(project, "failed")["mistakes"] == ["release.toml, line 3: this is wrong."]
    jobs.start(project, "run", defect=True)
    time.sleep(0.1)
    (says,) = wait(project, "failed")["mistakes"]
    end = time.monotonic() + 300
    while "defect" not in says and time.monotonic() < end:
        (says,) = wait(project, "failed")["mistakes"]
    assert says == "this is a defect in Caveat (RuntimeError); please report it"
    assert "Anna" not in client(project.path.parent).get(project.url("run")).text


def test_a_server_that_was_started_again_goes_on(project, tmp_path):
    jobs.start(project, "run", until=str(tmp_path / "go"))
    wait(project, "working")
    again = client(project.path.parent)
    text = again.get(project.url("run")).text
    assert "<progress" in text
    assert "Cancel" in text
    (tmp_path / "go").touch()
    wait(project, "done")
    assert "The last run is done" in again.get(project.url("run")).text


def test_the_page_cancels(project):
    here = client(project.path.parent)
    jobs.start(project, "run", tenths=6000)
    wait_for(project, "second")
    answer = here.post(project.url("run/cancel"), data={"csrf": csrf(here)})
    assert answer.headers["location"].endswith("said=cancelled")
    wait(project, "cancelled")
    assert "The last run was cancelled" in here.get(project.url("run")).text


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def server(folder, port):
    """Start the command; return its process and the address that it prints."""
    command = [sys.executable, "-m", "caveat", "app", str(folder), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return process, process.stdout.readline().removeprefix("open ").strip()


def end(process, sign=signal.SIGKILL):
    process.send_signal(sign)
    rest = process.communicate(timeout=300)[0]
    return process.returncode, rest


def test_a_server_killed_in_the_middle_of_a_job_and_started_again(tmp_path):
    (tmp_path / "x.csv").write_text("age,sex\n" + "".join(f"{i % 60},f\n" for i in range(500)))
    process, address = server(tmp_path, free_port())
    try:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        text = browser.open(address).read().decode()
        here = address.partition("/?")[0]
        secret = text.split('name="csrf" content="')[1].split('"')[0]
        asked = urllib.request.Request(
            f"{here}/open", f"csrf={secret}&file=x.csv".encode(), {"Origin": here}
        )
        assert browser.open(asked).url.endswith("/p/x/look")
    finally:
        assert end(process)[0] == -signal.SIGKILL
    project = Project("x", tmp_path / "x")
    assert jobs.job_of(project, "look")["state"] in ("starting", "working")
    process, address = server(tmp_path, free_port())
    try:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert 'href="/p/x/"' in browser.open(address).read().decode()
        last = time.monotonic() + 3000
        while "500 rows" not in (
            text := browser.open(f"{address.partition('/?')[0]}/p/x/look").read().decode()
        ):
            assert time.monotonic() < last, text
            time.sleep(0.2)
    finally:
        code, rest = end(process, signal.SIGINT)
    assert project.spec.is_file()
    assert code == 130
    assert "Traceback" not in rest
    assert "token" not in rest


def test_a_job_waits_for_the_end_of_the_one_before(project):
    for _ in range(4):
        jobs.start(project, "run", tenths=0)
        wait(project, "done")


# What is killed here is a real run, with the release of an earlier one in the folder.


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A project with a release, and the bytes of all its files."""
    folder = tmp_path_factory.mktemp("real")
    found = Project("survey", folder / "survey")
    found.state.mkdir(parents=True)
    write(survey(rows=300), folder / "survey.csv")
    opened(found.path, ["../survey.csv"], lambda *_: None)
    jobs.start(found, "run")
    wait(found, "done")
    return found


def files_of(project):
    """Return every file of the release, drafts beside it too."""
    beside = [p for p in project.path.rglob("*") if p.is_file() and ".caveat" not in p.parts]
    return {path.relative_to(project.path): path.read_bytes() for path in beside}


def middle_of_a_run(project):
    jobs.start(project, "run")
    end = time.monotonic() + 3000
    while jobs.job_of(project, "run")["step"] not in ("utility", "write"):
        assert time.monotonic() < end, jobs.job_of(project, "run")
        time.sleep(0.02)


def test_a_real_run_that_is_killed_leaves_the_release_before_it(released):
    before = files_of(released)
    middle_of_a_run(released)
    os.kill(jobs.job_of(released, "run")["pid"], signal.SIGKILL)
    wait(released, "lost")
    after = files_of(released)
    assert {name: after[name] for name in before} == before
    here = client(released.path.parent)
    assert "The last run was killed before its end." in here.get(released.url("run")).text
    assert "<iframe" in here.get(released.url("report")).text
    jobs.start(released, "run")  # what the killed one has left is cleared up
    assert wait(released, "done")["said"] != []
    assert set(files_of(released)) == set(before)


def test_a_real_run_that_is_cancelled_leaves_the_release_before_it(released):
    before = files_of(released)
    middle_of_a_run(released)
    jobs.cancel(released, "run")
    wait(released, "cancelled")
    end = time.monotonic() + 300
    while files_of(released) != before:  # it says so first, and then clears up
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_server_killed_in_the_middle_of_a_real_run(released):
    folder = released.path.parent
    process, address = server(folder, free_port())
    try:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        secret = browser.open(address).read().decode().split('name="csrf" content="')[1]
        here = address.partition("/?")[0]
        sent = f"csrf={secret.split(chr(34))[0]}&was={sha256(released.text())}".encode()
        browser.open(urllib.request.Request(f"{here}/p/survey/run", sent, {"Origin": here}))
        wait(released, "working")
    finally:
        assert end(process)[0] == -signal.SIGKILL
    assert jobs.job_of(released, "run")["state"] == "working"
    process, address = server(folder, free_port())
    try:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        browser.open(address)
        page = f"{address.partition('/?')[0]}/p/survey/run"
        assert "This page may be closed: the run goes on." in browser.open(page).read().decode()
        wait(released, "done")
        assert "The last run is done" in browser.open(page).read().decode()
    finally:
        assert "Traceback" not in end(process, signal.SIGINT)[1]
