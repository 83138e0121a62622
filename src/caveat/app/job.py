"""``python -m caveat.app.job KIND FOLDER``: one piece of long work for the pages of a project.

Each kind is a function of the folder and of what it was asked; it tells how far it is, and what it
returns is stored for the pages. Mistakes of the user are stored too, each with its line.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from caveat import stopping
from caveat.errors import CaveatError, CaveatWarning
from caveat.release.job_files import read_job, remove_links, result_text

__all__ = ["main"]

EVERY = 0.5  # seconds between two words about how far it is
PATIENCE = 20.0  # seconds for the job before to end, which has said all that it had to say
Tell = Callable[[str, float], None]


class Journal:
    """What the pages hear of a job."""

    def __init__(self, folder: Path, kind: str) -> None:
        remove_links(folder, kind)
        self.file = folder / f"{kind}.json"
        self.said = read_job(folder, kind)
        self.lock = threading.Lock()
        self.new = False  # whether something was said that is not written yet
        self.held = _locked(folder / f"{kind}.lock")
        threading.Thread(target=self._keep, daemon=True).start()

    def tell(self, step: str, share: float) -> None:
        """Say how far it is."""
        now = time.time()
        with self.lock:
            self.said |= {"step": step, "share": round(share, 4), "at": now}
            if not share or "from" not in self.said:  # the pace since then says what is left
                self.said["from"] = now
            self.new = True

    def _keep(self) -> None:
        while True:
            time.sleep(EVERY)
            with self.lock:
                if self.new:
                    self._write()

    def say(self, state: str, **more: Any) -> None:
        """Say that something has happened."""
        with self.lock:
            self.said |= {"state": state, **more}
            self._write()

    def _write(self) -> None:
        self.new = False
        draft = self.file.with_suffix(".new")
        with stopping.held():  # also that it was told to stop is written
            draft.touch(mode=0o600)
            draft.write_text(json.dumps(self.said), encoding="utf-8")
            draft.replace(self.file)


def _locked(path: Path) -> int | None:
    """Lock a file as long as this process lives; one that has just ended is waited for."""
    from caveat.table import drafts

    end = time.monotonic() + PATIENCE
    while path.exists():
        with drafts.is_abandoned(path) as free:
            if free:
                path.unlink()
                break
        if time.monotonic() > end:
            raise SystemExit("another job of this kind is at work")
        time.sleep(0.05)
    return drafts.make_locked(path)


def main(kind: str, folder: Path) -> None:
    """Do the work of a kind, and leave a journal of it."""
    import os

    state = folder / ".caveat"
    journal = Journal(state, kind)
    try:
        with stopping.obey(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CaveatWarning)
            journal.say("working", pid=os.getpid(), share=0.0)
            left = KINDS[kind](folder, journal.said["asked"], journal.tell)
        from caveat.table.drafts import write_text

        text = result_text(left)
        write_text(state / f"{kind}-result.json", text, confidential=True, force=True)
        notes = [str(w.message) for w in caught if issubclass(w.category, CaveatWarning)]
        journal.say("done", share=1.0, ended=time.time(), said=notes)
    except CaveatError as error:
        journal.say("failed", ended=time.time(), mistakes=str(error).splitlines())
    except (stopping.Stopped, KeyboardInterrupt):
        journal.say("cancelled", ended=time.time())
        stopping.end("cancelled")
    except BaseException as error:
        if stopping.told() is not None:  # a library has taken the signal for its own
            journal.say("cancelled", ended=time.time())
            stopping.end("cancelled")
        # The words of such an error may hold values: they are in the log of the job only.
        says = f"this is a defect in Caveat ({type(error).__name__}); please report it"
        journal.say("failed", ended=time.time(), mistakes=[says])
        raise


def look(folder: Path, asked: Mapping[str, Any], tell: Tell) -> Any:
    """Look at the data; write a starter specification unless there is one."""
    from caveat.release.opening import example, opened

    if asked.get("example"):
        tell("simulating", 0.05)
        asked = {**asked, "files": [example(folder, asked["example"])]}
    return opened(folder, asked.get("files") or [], tell, asked.get("form"))


def check(folder: Path, asked: Mapping[str, Any], tell: Tell) -> Any:
    """Hold the specification against the data, and say what it comes to."""
    from caveat.release.opening import held_against_data

    del asked
    tell("read", 0.1)
    return held_against_data(folder / "release.toml")


def run(folder: Path, asked: Mapping[str, Any], tell: Tell) -> Any:
    """Make the release."""
    tell("starting", 0.0)
    from caveat.app.pages import sha256
    from caveat.evidence.file import SPEC
    from caveat.release import Release
    from caveat.release.review import changes_tried
    from caveat.report.verdict import headline
    from caveat.seeds import TRIAL

    release = Release.from_toml(folder / "release.toml")
    outcome = release.run(force=True, progress=tell, anyway=bool(asked.get("anyway")))
    return {
        "folder": str(outcome.folder),
        "verdict": headline(outcome.evidence),
        "trial": TRIAL if outcome.evidence["trial"] else "",
        "remarks": list(outcome.evidence["remarks"]),
        "made_from": sha256((outcome.folder / SPEC).read_text("utf-8")),
        "tried": changes_tried(release.spec),
    }


KINDS = {"look": look, "check": check, "run": run}

if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
