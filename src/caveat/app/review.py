"""The reviewer's page: what the evidence of a release says, two releases, and the decision.

It reads evidence and never data, and shows nothing of single records. Rooms are opened in a thread,
by the first who reviews.
"""

from __future__ import annotations

import datetime as dt
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from caveat.app import aside
from caveat.app.pages import Form, folder_of, form_of, go, page, stamp
from caveat.errors import CaveatError
from caveat.evidence.manifest import EVIDENCE, INSIDE, MANIFEST

__all__ = ["ROUTES"]

LIMIT = 300.0  # seconds
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
    await aside.answer("reports", str(place), limit=LIMIT)
    return go(f"/review/release?{urlencode({'at': at})}")


ROUTES = [
    Route("/review", releases),
    Route("/review/release", release),
    Route("/review/changes", changes),
    Route("/review/decision", decided, methods=["POST"]),
    Route("/review/reports", reports, methods=["POST"]),
]
