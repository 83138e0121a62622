"""The reviewer's page: what the evidence of a release says, two releases, and the decision.

It reads evidence and never data, and shows nothing of single records.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from caveat.app.drawing import specs_of
from caveat.app.pages import Form, folder_of, form_of, go, page
from caveat.errors import CaveatError

__all__ = ["ROUTES", "evidence_of", "releases_in"]

EVIDENCE = "evidence.json"
DEEPEST = 2  # folders below that of the app: a project, and the release in it
Shown = dict[str, Any]


def releases_in(folder: Path) -> dict[str, Path]:
    """Return the folders with evidence by their names in addresses; links that lead out are not."""
    found: dict[str, Path] = {}

    def search(path: Path, depth: int) -> None:
        file = path / EVIDENCE
        if file.is_file() and file.resolve() == path.resolve() / EVIDENCE:
            found[path.relative_to(folder).as_posix()] = path
        for below in sorted(path.iterdir() if depth else (), key=lambda p: p.name.casefold()):
            inside = below.is_dir() and not below.is_symlink() and not below.name.startswith(".")
            if inside:
                search(below, depth - 1)

    search(folder, DEEPEST)
    return found


def evidence_of(request: Request, at: str) -> Path:
    """Return the folder of a release that an address names: one of those that are listed."""
    found = releases_in(folder_of(request)).get(at)
    if found is None:
        raise HTTPException(404, "there is no evidence at this place")
    return found


async def releases(request: Request) -> Response:
    """List the releases that can be reviewed."""
    found = await run_in_threadpool(releases_in, folder_of(request))
    return page(request, "releases.html.j2", releases=list(found), folder=folder_of(request))


async def release(request: Request) -> Response:
    """Show what the evidence of a release says, and the decision about it."""
    at = request.query_params.get("at", "")
    names = await run_in_threadpool(_shown, evidence_of(request, at))
    return page(request, "review.html.j2", at=at, wrong="", form=Form({}), **names)


async def changes(request: Request) -> Response:
    """Show two releases side by side."""
    asked = [request.query_params.get(name, "") for name in ("before", "after")]
    paths = [evidence_of(request, at) for at in asked]
    names = await run_in_threadpool(_compared, paths, asked)
    return page(request, "changes.html.j2", **names)


async def decide(request: Request) -> Response:
    """Write a decision down, with the hash of the evidence that it was made on."""
    form = await form_of(request)
    at = form.get("at")
    path = evidence_of(request, at)
    try:
        await run_in_threadpool(_decide, path, form)
    except CaveatError as error:
        names = await run_in_threadpool(_shown, path)
        return page(
            request, "review.html.j2", 400, at=at, wrong=str(error), form=form, **names
        )  # fmt: skip
    return go(f"/review/release?{urlencode({'at': at})}", "decided")


def _shown(path: Path) -> Shown:
    """Return what the page shows; rooms are opened when somebody reviews."""
    from caveat import evidence
    from caveat.report.board import board_section
    from caveat.report.disagreement import disagreements
    from caveat.report.findings import findings
    from caveat.report.promise import is_withheld

    content = evidence.read(path / EVIDENCE)
    decision, broken = None, ""
    try:
        decision = evidence.decision_beside(path / EVIDENCE)
    except CaveatError as error:
        broken = str(error)
    section = board_section(content, decision, external=False)
    return {
        "title": content["release"]["title"],
        "blocks": section.blocks,
        "specs": specs_of(section.blocks),
        "findings": findings(content),
        "remarks": [] if is_withheld(content) else disagreements(content),
        "sha256": evidence.evidence_sha256(content),
        "decision": decision,
        "broken": broken,
        "stands": _stands(path),
        "choices": evidence.DECISIONS,
        "today": dt.date.today().isoformat(),
    }


def _compared(paths: list[Path], asked: list[str]) -> Shown:
    from caveat import evidence
    from caveat.release.difference import diff_releases
    from caveat.report.board import board_section
    from caveat.report.difference import difference_page

    before, after = paths
    # Their names in this folder: where that is on the machine says nothing.
    found = difference_page({**diff_releases(before, after), "names": asked})
    sides = []
    for path, at in zip(paths, asked, strict=True):
        content = evidence.read(path / EVIDENCE)
        blocks = [b for b in board_section(content, None, external=False).blocks if b.kind != "box"]
        sides.append({"at": at, "title": content["release"]["title"], "blocks": blocks[:2]})
    return {"sides": sides, "found": found}


def _stands(path: Path) -> str:
    """Return the hash of the decision that lies there; nothing if there is none."""
    from caveat.evidence import DECISION

    try:
        return hashlib.sha256((path / DECISION).read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def _decide(path: Path, form: Form) -> None:
    """Write the decision, unless evidence or decision are others than those that were shown."""
    from caveat import evidence

    own = evidence.evidence_sha256(evidence.read(path / EVIDENCE))
    if form.get("sha256") != own:
        raise CaveatError(
            "the evidence has become another one since the page was loaded",
            do="read what it says now, then decide",
        )
    if form.get("stands") != _stands(path):
        raise CaveatError(
            "somebody has decided since the page was loaded", do="read that decision first"
        )
    if form.get("stands") and "replace" not in form:
        raise CaveatError(
            "there is a decision already", do="say that it is to be replaced, and send it again"
        )
    decision = evidence.Decision(
        own,
        form.get("decision"),
        _lines(form.get("names")),
        form.get("date"),
        _lines(form.get("conditions")),
        form.get("next_review") or None,
    )
    evidence.write_decision(path / evidence.DECISION, decision, force="replace" in form)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


ROUTES = [
    Route("/review", releases),
    Route("/review/release", release),
    Route("/review/changes", changes),
    Route("/review/decision", decide, methods=["POST"]),
]
