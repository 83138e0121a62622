"""The routes in one application, behind the guard."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from caveat.app.pages import Guard, page
from caveat.app.results import MAP_ROUTES, RECORD_ROUTES, REVIEW_ROUTES, RUN_ROUTES
from caveat.app.steps import PROJECT_ROUTES, STEP_ROUTES
from caveat.errors import CaveatError

__all__ = ["LIMIT", "create_app", "warm_up"]

LIMIT = 4 * 2**30
"""Bytes of an upload, unless something else is asked for."""

ROUTES = (
    *PROJECT_ROUTES, *STEP_ROUTES, *RUN_ROUTES, *MAP_ROUTES, *RECORD_ROUTES, *REVIEW_ROUTES,
)  # fmt: skip


def create_app(folder: Path, token: str, limit: int = LIMIT) -> Starlette:
    """Return the application.

    Parameters
    ----------
    folder
        The folder of the projects.
    token
        Who has it in the address is let in.
    limit
        The most bytes of a file that is uploaded.
    """
    static = StaticFiles(directory=str(files("caveat.app").joinpath("static")))
    app = Starlette(
        routes=[*ROUTES, Mount("/static", static)],
        middleware=[Middleware(Guard, token=token)],
        exception_handlers={
            CaveatError: _mistake,
            OSError: _unusable,
            HTTPException: _refused,
            500: _defect,
        },
    )
    app.state.folder, app.state.token, app.state.limit = folder.resolve(), token, limit
    return app


def warm_up() -> None:
    """Open the rooms that draw maps and read evidence, so that the first who asks need not wait."""
    import caveat.release.review  # noqa: F401


async def _mistake(request: Request, error: Exception) -> Response:
    """Say what the user can mend."""
    return page(request, "wrong.html.j2", 400, title="This does not work yet", says=str(error))


async def _unusable(request: Request, error: Exception) -> Response:
    """Say which file cannot be used, and why."""
    assert isinstance(error, OSError)
    file = Path(str(error.filename)).name.encode(errors="replace").decode()
    says = f"{file}: {error.strerror}; mend it or move it away."
    return page(request, "wrong.html.j2", 400, title="A file cannot be used", says=says)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if "application/json" in request.headers.get("accept", ""):  # an upload: a sentence, no page
        return PlainTextResponse(error.detail, error.status_code)
    titles = {404: "Not here", 403: "Not allowed", 409: "Not now", 413: "Too large"}
    title = titles.get(error.status_code, "This does not work")
    return page(request, "wrong.html.j2", error.status_code, title=title, says=error.detail)


async def _defect(request: Request, error: Exception) -> Response:
    del error  # uvicorn writes it to the terminal; it may hold values
    says = "This is a defect in Caveat. The terminal in which caveat app runs says more."
    answer = page(request, "wrong.html.j2", 500, title="A defect", says=says)
    answer.headers.update(Guard.headers)  # this answer does not pass the guard
    return answer
