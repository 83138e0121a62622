"""One record explained, and the first rows of both tables: in a page, and written nowhere."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from caveat.app import aside
from caveat.app.pages import Form, form_of, page, project_of
from caveat.errors import CaveatError

__all__ = ["ROUTES"]

LIMIT = 600.0  # seconds
ONE = asyncio.Semaphore(1)  # it takes all cores


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
            async with ONE:
                content = await aside.answer("explain", *told, limit=LIMIT)
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
            found = await aside.answer("preview", str(project.spec))
        except CaveatError as error:
            wrong = str(error)
    return page(request, "preview.html.j2", project=project, found=found, wrong=wrong)


ROUTES = [
    Route("/p/{name}/record", record, methods=["GET", "POST"]),
    Route("/p/{name}/preview", preview, methods=["GET", "POST"]),
]
