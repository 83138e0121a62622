"""Work in processes of its own: long work, and short work that is answered over a pipe."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from caveat.app.pages import Project
from caveat.documents import path_below
from caveat.errors import CaveatError
from caveat.release.job_files import FORMAT, read_job, read_result, remove_links
from caveat.table.drafts import is_abandoned, open_private, write_text

PATIENCE = 10.0  # seconds until a job that begins can be told to stop
STARTING = 60.0  # seconds until a job that has not said a word is given up
LOCK = "{}.lock"
COMMAND = [sys.executable, "-m", "caveat.app.job"]


def start(project: Project, kind: str, **asked: Any) -> None:
    """Start a job of a project, unless one of this kind is at work.

    Parameters
    ----------
    project
        The project.
    kind
        A function of :mod:`caveat.app.job`.
    asked
        What it is told, as plain values.
    """
    if job_of(project, kind)["state"] in ("starting", "working"):
        return
    project.state.mkdir(mode=0o700, exist_ok=True)
    remove_links(project.state, kind)
    state = {"format": FORMAT, "state": "starting", "since": time.time(), "asked": asked}
    write_text(_file(project, kind), json.dumps(state), confidential=True, force=True)
    log = open_private(project.state / f"{kind}.log")
    with log:
        job = subprocess.Popen(
            [*COMMAND, kind, str(project.path)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    # Somebody has to hear that it has ended.
    threading.Thread(target=job.wait, daemon=True).start()


def job_of(project: Project, kind: str) -> dict[str, Any]:
    """Return what is known about the last job of a kind; its state is "none" if there was none.

    States are starting, working, done, failed, cancelled, and lost for one that was killed.
    """
    now = time.time()
    job: dict[str, Any] = {"state": "none", "since": now, "step": "starting", "share": 0.0}
    job |= {"said": [], "mistakes": [], "asked": {}}
    job |= read_job(project.state, kind)
    job["seconds"] = max(job.get("ended", now) - job["since"], 0.0)
    if job["state"] == "starting" and now - job["since"] > STARTING:
        job["state"] = "lost"
    elif job["state"] == "working" and not _lives(project, kind):
        # It may have ended between the two looks.
        again = read_job(project.state, kind)
        job |= again if again.get("state") != "working" else {"state": "lost"}
    if job["state"] == "working" and job["share"] and {"from", "at"} <= {*job}:
        left = (job["at"] - job["from"]) * (1 - job["share"]) / job["share"]
        job["left"] = left - (now - job["at"])  # below nothing: it takes longer than was thought
    return job


def cancel(project: Project, kind: str) -> None:
    """Tell a job to stop; what it has written until then is removed by itself."""
    end = time.monotonic() + PATIENCE
    while (job := job_of(project, kind))["state"] == "starting" and time.monotonic() < end:
        time.sleep(0.05)  # it cannot hear yet
    if job["state"] == "working" and "pid" in job:  # its process is the one that holds the lock
        with suppress(ProcessLookupError):
            os.kill(job["pid"], signal.SIGTERM)


def result_of(project: Project, name: str) -> Any:
    """Return what a job has left for the pages; None if there is nothing that can be read."""
    return read_result(project.state, name)


def _lives(project: Project, kind: str) -> bool:
    try:
        with is_abandoned(path_below(project.state, LOCK.format(kind))) as abandoned:
            return not abandoned
    except (CaveatError, OSError):
        return False


def _file(project: Project, kind: str) -> Path:
    return project.state / f"{kind}.json"


# -------------------------------------------------------------------------------------------------
# Short work in a process of its own, answered over a pipe: the server stays small.


async def answer(kind: str, *asked: str, limit: float = 60.0) -> Any:
    """Return what the work of a kind comes to in ``limit`` seconds: :mod:`caveat.release.asked`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "caveat.release.asked", kind, *asked,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        text, _ = await asyncio.wait_for(process.communicate(), limit)
    except TimeoutError:
        do, code = "use the command line, which has no limit", "app.work.timeout"
        raise CaveatError(f"this takes longer than {limit:g} seconds", do=do, code=code) from None
    finally:  # nobody waits any more, whatever has happened
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"the work called {kind} has failed")
    found = json.loads(text)
    if "mistake" in found:
        raise CaveatError(found["mistake"].removesuffix("."), code=found["code"])  # it puts its own
    return found["answer"]
