"""After a run: its report, the map, one record explained, and the reviewer's page."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from caveat.app import jobs
from caveat.app.pages import FRAME, folder_of, form_of, go, page, project_of, sha256, stamp
from caveat.app.steps import BUSY, checked, mistakes_in, save, shown
from caveat.errors import CaveatError
from caveat.evidence.file import EVIDENCE, INSIDE, MANIFEST, SPEC, listed, place_in
from caveat.spec._kinds import Entry
from caveat.spec.document import content_of, edited, entry_in
from caveat.spec.forms import DIAL, Form, allow_servers, mapped, unmapped

VERSIONS = {"internal": "report.html", "external": "report-external.html"}
WORDS = {"internal": "Inside: confidential", "external": "For others"}


async def run(request: Request) -> Response:
    """Show how far the run is, or what the last one has left; start one."""
    project = project_of(request)
    if request.method == "POST":
        form = await form_of(request)
        if form.get("was") != sha256(project.text()):
            raise HTTPException(409, "release.toml was changed since this page was loaded: see it")
        if mistakes_in(project):
            raise HTTPException(400, "release.toml has mistakes: its page says which")
        if project.target is None:
            raise HTTPException(400, "folder in [output] leads out of the project: choose another")
        allow_servers(project.text())  # the page names them above the button
        jobs.start(project, "run", anyway="anyway" in form)
        return go(project.url("run"))
    job = jobs.job_of(project, "run")
    busy = job["state"] in BUSY
    folder = project.release
    check = {"state": "none"} if busy else checked(project)
    names: dict[str, Any] = {
        "job": job,
        "check": check,
        "result": {"verdict": "", "trial": ""} | (jobs.result_of(project, "run") or {}),
        "plan": jobs.result_of(project, "check") if check["state"] == "done" else None,
        "fresh": project.is_fresh,
        "exists": folder is not None,
    }
    return shown(request, "run.html.j2", project, **names)


async def cancel(request: Request) -> Response:
    """Stop the run; what was there before stays."""
    project = project_of(request)
    await form_of(request)
    await run_in_threadpool(jobs.cancel, project, "run")
    return go(project.url("run"), "cancelled")


async def report(request: Request) -> Response:
    """Show the report in a frame that can reach nothing."""
    project = project_of(request)
    folder, asked = project.release, request.query_params.get("version", "internal")
    there = [v for v, file in VERSIONS.items() if folder and place_in(folder, file).is_file()]
    names: dict[str, Any] = {
        "versions": [(version, WORDS[version]) for version in there],
        "chosen": asked if asked in there else next(iter(there), ""),
        "fresh": project.is_fresh,
        "files": [(n, f.get("confidential", True)) for n, f in listed(folder or Path()).items()],
        "where": folder,
    }
    return page(request, "report.html.j2", project=project, **names)


async def report_page(request: Request) -> Response:
    """Return the report itself."""
    project = project_of(request)
    folder, asked = project.release, request.query_params.get("version", "")
    if folder is None or asked not in VERSIONS:
        raise HTTPException(404, "there is no such report")
    path = place_in(folder, VERSIONS[asked])
    if not path.is_file() or not path.resolve().is_relative_to(project.path.resolve()):
        raise HTTPException(404, "there is no such report")
    return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": FRAME})


RUN_ROUTES = [
    Route("/p/{name}/run", run, methods=["GET", "POST"]),
    Route("/p/{name}/run/cancel", cancel, methods=["POST"]),
    Route("/p/{name}/report", report),
    Route("/p/{name}/report/page", report_page),
]


# -------------------------------------------------------------------------------------------------
# The map as a tool: settings that were tried, two of them compared, one of them chosen.
#
# Charts are drawn in the browser from specifications in the page.


CHOOSING = asyncio.Lock()


async def scripts(request: Request) -> Response:
    """Return the scripts that draw charts; the first who asks waits for them."""
    state = request.app.state
    if not hasattr(state, "scripts"):
        state.scripts = await jobs.answer("scripts")
    return Response(state.scripts, media_type="text/javascript")


@lru_cache(maxsize=8)
def _drawn(folder: Path | None, _: tuple[int, ...]) -> dict[str, Any]:
    from caveat.release.review import settings_in
    from caveat.report.render import specs_of

    figure, settings = settings_in(folder)
    return {"figure": figure, "tried": settings, "specs": specs_of([figure] if figure else [])}


async def tried(request: Request) -> Response:
    """Show the settings that were tried, one or two of them with their numbers."""
    project = project_of(request)
    folder = project.release
    found = await run_in_threadpool(_drawn, folder, stamp(folder, EVIDENCE))
    asked = dict.fromkeys(request.query_params.get(which, "") for which in ("one", "two"))
    picked = [int(i) for i in asked if i in map(str, range(len(found["tried"])))]
    content = content_of(project.text()) or {}
    now = {name: entry_in(content, ("synthesis", name)) for name in ("method", "guard")}
    return shown(request, "map.html.j2", project, picked=picked, now=now, dial=DIAL, **found)


async def entries(request: Request) -> Response:
    """Show what a setting that was tried would write; a part of the page, which need not wait."""
    changes = await _changes(request, request.query_params.get("setting", ""))
    return page(request, "entries.html.j2", changes=changes)


async def choose(request: Request) -> Response:
    """Write a setting that was tried, or a position of the dial, into the specification."""
    project, form = project_of(request), await form_of(request)
    guard = form.get("guard")
    if "ask" in form:
        new = mapped if form.get("ask") == "yes" else unmapped
        return await save(request, project, form, new, "map")
    changes: dict[Entry, Any] = {("synthesis", "method"): "guarded", ("synthesis", "guard"): guard}
    if guard not in DIAL:
        changes = await _changes(request, form.get("setting"))
    return await save(request, project, form, lambda text: edited(text, changes), "map")


async def _changes(request: Request, setting: str) -> dict[Entry, Any]:
    """Return what a setting would change: as the run has left it, or found out again, once."""
    project, state = project_of(request), request.app.state
    folder, known = project.release, []
    if folder is not None:
        spec = folder / SPEC
        now = sha256(spec.read_text("utf-8", "replace"))
        left = jobs.result_of(project, "run") or {}
        async with CHOOSING:  # two that are compared ask at the same time
            if left.get("made_from") != now:
                left = getattr(state, "tried", {})
            if left.get("made_from") != now:
                found = await jobs.answer("settings", str(spec))
                state.tried = left = {"made_from": now, "tried": found}
        known = left.get("tried", [])
    if setting not in map(str, range(len(known))):
        raise HTTPException(404, "there is no such setting on the map")
    return {tuple(entry): value for entry, value in known[int(setting)]}


MAP_ROUTES = [
    Route("/static/vega.js", scripts),
    Route("/p/{name}/map", tried),
    Route("/p/{name}/map/entries", entries),
    Route("/p/{name}/map/choose", choose, methods=["POST"]),
]


# -------------------------------------------------------------------------------------------------
# One record explained, and the first rows of both tables: in a page, and written nowhere.


RECORD_LIMIT = 600.0  # seconds
EXPLAINING = asyncio.Semaphore(1)  # it takes all cores


async def record(request: Request) -> Response:
    """Ask for a row; show what is known about it to somebody who may see it."""
    project, form, wrong = project_of(request), Form({}), ""
    content, found = None, None
    if request.method == "POST":
        form = await form_of(request)
        try:
            if "allowed" not in form:
                do, code = "say that you may see it", "app.record.refused"
                raise CaveatError("this page is about a single person", do=do, code=code)
            told = (str(project.spec), form.get("row"), "yes" if "values" in form else "no")
            async with EXPLAINING:
                content = await jobs.answer("explain", *told, limit=RECORD_LIMIT)
        except CaveatError as error:
            wrong = str(error)
    if content is not None:
        from caveat.report.pages import explain_page

        found = explain_page(content)
    # Without a release there is nothing to explain, which the answer says.
    stale = project.release is not None and not project.is_fresh
    names: dict[str, Any] = {"form": form, "found": found, "wrong": wrong, "stale": stale}
    return page(request, "record.html.j2", project=project, **names)


async def preview(request: Request) -> Response:
    """Show the first rows of the original and of the release to somebody who may see them."""
    project, found, wrong = project_of(request), None, ""
    if request.method == "POST" and "allowed" in await form_of(request):
        try:
            found = await jobs.answer("preview", str(project.spec))
        except CaveatError as error:
            wrong = str(error)
    return page(request, "preview.html.j2", project=project, found=found, wrong=wrong)


RECORD_ROUTES = [
    Route("/p/{name}/record", record, methods=["GET", "POST"]),
    Route("/p/{name}/preview", preview, methods=["GET", "POST"]),
]


# -------------------------------------------------------------------------------------------------
# The reviewer's page: what the evidence of a release says, two releases, and the decision.
#
# It reads evidence and never data, and shows nothing of single records. Rooms are opened in a
# thread, by the first who reviews.


REVIEW_LIMIT = 300.0  # seconds
DECIDING = threading.Lock()


def _listed(folder: Path) -> dict[str, Path]:
    from caveat.release.review import releases_in

    return releases_in(folder)


def _place(request: Request, at: str) -> Path:
    """Return the folder of a release that an address names: one of those that are listed."""
    found = _listed(folder_of(request)).get(at)
    if found is None:
        raise HTTPException(404, "there is no evidence at this place")
    return found


async def releases(request: Request) -> Response:
    """List the releases that can be reviewed."""
    found = await run_in_threadpool(_listed, folder_of(request))
    return page(request, "releases.html.j2", releases=list(found), folder=folder_of(request))


def _reviewed(request: Request, at: str) -> dict[str, Any]:
    place = _place(request, at)
    files = (EVIDENCE, f"{INSIDE}/decision.json", MANIFEST, f"{INSIDE}/report.html")
    return {"at": at, **_read(place, stamp(place, *files))}


@lru_cache(maxsize=8)
def _read(place: Path, _: tuple[int, ...]) -> dict[str, Any]:
    from caveat.evidence import DECISIONS
    from caveat.release.review import review_of
    from caveat.report.render import specs_of

    found = review_of(place)
    return {"found": found, "choices": DECISIONS, "specs": specs_of(found.blocks)}


async def release(request: Request, form: Form | None = None, wrong: str = "") -> Response:
    """Show what the evidence of a release says, and the decision about it."""
    form = form or Form({})
    at = form.get("at") or request.query_params.get("at", "")
    names = await run_in_threadpool(_reviewed, request, at)
    names |= {"form": form, "wrong": wrong, "today": dt.date.today().isoformat()}
    return page(request, "review.html.j2", 400 if wrong else 200, **names)


async def changes(request: Request) -> Response:
    """Show two releases side by side."""
    asked = [request.query_params.get(name, "") for name in ("before", "after")]
    if asked[0] == asked[1]:
        what, code = "these are one and the same release", "app.choice.duplicate"
        raise CaveatError(what, do="choose two", code=code)

    def compared() -> Any:
        from caveat.release.review import side_by_side

        return side_by_side({at: _place(request, at) for at in asked})

    found, sides = await run_in_threadpool(compared)
    return page(request, "changes.html.j2", found=found, sides=zip(asked, sides, strict=True))


def _decide(request: Request, form: Form) -> None:
    from caveat.release.review import decide, decision_of

    place = _place(request, form.get("at"))
    with DECIDING:
        decide(place, decision_of(form), stands=form.get("stands"), replace_it="replace" in form)


async def decided(request: Request) -> Response:
    """Write a decision down, with the checksum of the evidence that was shown."""
    form = await form_of(request)
    try:
        await run_in_threadpool(_decide, request, form)
    except CaveatError as error:
        return await release(request, form, str(error))
    return go(f"/review/release?{urlencode({'at': form.get('at')})}", "decided")


async def reports(request: Request) -> Response:
    """Print the decision in the reports of the release too."""
    at = (await form_of(request)).get("at")
    place = await run_in_threadpool(_place, request, at)
    await jobs.answer("reports", str(place), limit=REVIEW_LIMIT)
    return go(f"/review/release?{urlencode({'at': at})}")


REVIEW_ROUTES = [
    Route("/review", releases),
    Route("/review/release", release),
    Route("/review/changes", changes),
    Route("/review/decision", decided, methods=["POST"]),
    Route("/review/reports", reports, methods=["POST"]),
]
