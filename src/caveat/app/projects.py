"""The first page: the projects in a folder, the files that a new one can begin with, uploads."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from caveat.app import jobs
from caveat.app.pages import HERE, SPEC, STATE, Project, check_csrf, folder_of, form_of, go, page
from caveat.errors import CaveatError
from caveat.evidence.manifest import MANIFEST
from caveat.table.drafts import draft_of, give_name
from caveat.table.source import entries_in, files_in, readable

__all__ = ["ROUTES", "new_project", "projects_in"]

LONGEST = 200  # bytes of a name


def projects_in(folder: Path) -> list[Project]:
    """Return the projects of a folder, by name: itself and the folders in it, but no releases."""
    found = [Project(HERE, folder)] if (folder / SPEC).is_file() else []
    for path in entries_in(folder):
        with suppress(OSError):  # what cannot be opened is nobody's project here
            ours = any((one / MANIFEST).exists() for one in (path, folder))
            own = path.resolve().parent == folder.resolve() and not ours
            if own and ((path / SPEC).is_file() or (path / STATE).is_dir()):
                found.append(Project(path.name, path))
    return found


def new_project(folder: Path, wanted: str) -> Project:
    """Make a folder for a project; a name that is taken gets a number."""
    stem = re.sub(r"[^\w.-]+", "-", wanted).strip("-._")[: LONGEST // 4] or "project"
    for number in range(1, 10_000):
        name = stem if number == 1 else f"{stem}-{number}"
        with suppress(FileExistsError):
            (folder / name).mkdir(mode=0o700)
            (folder / name / STATE).mkdir(mode=0o700)
            return Project(name, folder / name)
    raise HTTPException(409, "there are too many projects of this name")


async def first(request: Request) -> Response:
    """Show the projects, and the files that a new one can begin with."""
    folder = folder_of(request)

    def found() -> dict[str, Any]:
        return {"projects": projects_in(folder), "files": files_in(folder)}

    names = await run_in_threadpool(found)
    chosen = request.query_params.getlist("chosen")
    return page(request, "first.html.j2", folder=folder, chosen=chosen, **names)


async def open_files(request: Request) -> Response:
    """Begin a project with files of the folder, or with the built-in survey."""
    form, folder = await form_of(request), folder_of(request)
    if form.get("example"):
        project = new_project(folder, form.get("example"))
        jobs.start(project, "look", example=form.get("example"))
        return go(project.url("look"))
    known = {name for name, _ in files_in(folder)}
    chosen = list(dict.fromkeys(form.names("file")))
    if not chosen or not known.issuperset(chosen):
        raise HTTPException(400, "choose one file of this folder, or several that belong together")
    project = new_project(folder, form.get("name") or chosen[0].split(".")[0])
    jobs.start(project, "look", files=[f"../{name}" for name in chosen])
    return go(project.url("look"))


async def upload(request: Request) -> Response:
    """Take a file into the folder: whole or not at all, and never over another one."""
    check_csrf(request, request.headers.get("x-csrf"))
    folder, limit = folder_of(request), request.app.state.limit
    target = folder / _allowed(request.query_params.get("name", ""))
    if target.exists() or target.is_symlink():
        raise HTTPException(409, f"there is a file {target.name} already: rename yours")
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
        raise _too_large(limit)
    try:
        # A draft that a killed server has left is removed by the next upload.
        with draft_of(target) as draft:
            await _streamed(request, draft, limit)
            give_name(draft, target, confidential=True, force=False)
    except CaveatError:
        raise HTTPException(409, f"there is a file {target.name} already") from None
    except ClientDisconnect:
        raise HTTPException(400, "the upload has stopped") from None
    except OSError as error:
        raise HTTPException(507, f"it cannot be written ({error.strerror})") from None
    return JSONResponse({"file": target.name})


async def _streamed(request: Request, draft: Path, limit: int) -> None:
    """Write what is sent as it comes; nothing of it is kept in memory."""
    size = 0
    with draft.open("wb") as file:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise _too_large(limit)
            await run_in_threadpool(file.write, part)
    if not size:
        raise HTTPException(400, "the file is empty")


def _too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"a file of more than {limit // 2**20:,} MB is not taken")


def _allowed(name: str) -> str:
    """Return a file name that can be stored as it is; refuse every other."""
    plain = name.isprintable() and not re.search(r'[/\\:*?"<>|#]', name)
    if not plain or name.startswith((".", "-", " ")) or not 0 < len(name.encode()) <= LONGEST:
        raise HTTPException(400, "a file name has letters, digits, spaces, dots and dashes")
    if not name.lower().endswith(readable()):
        raise HTTPException(415, f"the name ends in one of {', '.join(readable())}")
    return name


ROUTES = [
    Route("/", first),
    Route("/open", open_files, methods=["POST"]),
    Route("/upload", upload, methods=["POST"]),
]
