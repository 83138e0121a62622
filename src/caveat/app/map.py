"""The map as a tool: settings that were tried, two of them compared, one of them chosen.

Charts are drawn in the browser from specifications in the page.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from caveat.app import aside, jobs
from caveat.app.pages import form_of, page, project_of, sha256, stamp
from caveat.app.steps import save, shown
from caveat.evidence.manifest import EVIDENCE, SPEC
from caveat.spec._kinds import Entry
from caveat.spec.document import content_of, edited, entry_in
from caveat.spec.forms import DIAL, mapped, unmapped

__all__ = ["ROUTES"]

ONE = asyncio.Lock()


async def scripts(request: Request) -> Response:
    """Return the scripts that draw charts; the first who asks waits for them."""
    state = request.app.state
    if not hasattr(state, "scripts"):
        state.scripts = await aside.answer("scripts")
    return Response(state.scripts, media_type="text/javascript")


@lru_cache(maxsize=8)
def _drawn(folder: Path | None, _: tuple[int, ...]) -> dict[str, Any]:
    from caveat.release.tried import settings_in
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
        async with ONE:  # two that are compared ask at the same time
            if left.get("made_from") != now:
                left = getattr(state, "tried", {})
            if left.get("made_from") != now:
                found = await aside.answer("settings", str(spec))
                state.tried = left = {"made_from": now, "tried": found}
        known = left.get("tried", [])
    if setting not in map(str, range(len(known))):
        raise HTTPException(404, "there is no such setting on the map")
    return {tuple(entry): value for entry, value in known[int(setting)]}


ROUTES = [
    Route("/static/vega.js", scripts),
    Route("/p/{name}/map", tried),
    Route("/p/{name}/map/entries", entries),
    Route("/p/{name}/map/choose", choose, methods=["POST"]),
]
