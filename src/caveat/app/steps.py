"""Before a run: the projects in a folder, and the steps that write release.toml."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from caveat.app import jobs
from caveat.app.pages import (
    HERE,
    SPEC,
    STATE,
    Project,
    check_csrf,
    folder_of,
    form_of,
    go,
    page,
    project_of,
    sha256,
)
from caveat.errors import CaveatError
from caveat.evidence.file import MANIFEST
from caveat.spec import forms
from caveat.spec._kinds import stored_table
from caveat.spec.document import Document, content_of, differing
from caveat.spec.forms import Form, choices, decide, how_made, is_released, state_of
from caveat.table.drafts import draft_of, give_name, write_text
from caveat.table.source import entries_in, files_in, readable

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


PROJECT_ROUTES = [
    Route("/", first),
    Route("/open", open_files, methods=["POST"]),
    Route("/upload", upload, methods=["POST"]),
]


# -------------------------------------------------------------------------------------------------
# The steps before a run; every form changes entries of ``release.toml`` and nothing else.


WRITING = threading.Lock()
BUSY = ("starting", "working")
# What comes of a specification whose entries are of other kinds than they should be.
UNFIT = (AttributeError, IndexError, KeyError, TypeError, ValueError, TemplateError)


def mistakes_in(project: Project) -> list[str]:
    """Return every mistake that can be seen without the data, with its line."""
    if not project.text() and not project.spec.exists():
        return ["there is no release.toml yet: open a file and look at it first."]
    try:
        Document.read(project.spec).check(None, stored_table())
    except CaveatError as error:
        return str(error).splitlines()
    return []


def checked(project: Project) -> dict[str, Any]:
    """Return what is known of the specification against the data; let it be found out if need be.

    Its state is "wrong" where mistakes can be seen without the data, and "elsewhere" where a server
    would have to be asked.
    """
    mistakes = mistakes_in(project)
    if mistakes:
        return {"state": "wrong", "mistakes": mistakes}
    now, servers = sha256(project.text()), forms.servers_of(content_of(project.text()) or {})
    if servers:
        return {"state": "elsewhere", "servers": servers}
    job = jobs.job_of(project, "check")
    if job["state"] in BUSY:
        return job
    if job["state"] in ("none", "lost") or job["asked"].get("sha256") != now:
        jobs.start(project, "check", sha256=now)
        job = jobs.job_of(project, "check")
    return job


async def save(*told: Any) -> Response:
    """Write the specification that a form asks for; other pages do not wait for it."""
    return await run_in_threadpool(_saved, *told)


def _saved(
    request: Request, project: Project, form: Form, new: Callable[[str], str], back: str
) -> Response:
    """Write it, unless it has changed in the meantime."""
    with WRITING:
        now = project.text()
        if project.spec.exists() and "\ufffd" in now:
            do, code = "save it so first", "spec.encoding.malformed"
            raise CaveatError("it is not UTF-8", where="release.toml", do=do, code=code)
        try:
            mine = new(now)
        except UNFIT:
            if not mistakes_in(project):
                raise
            do, code = "mend them first: its page says which", "spec.entry.malformed"
            raise CaveatError("release.toml has mistakes", do=do, code=code) from None
        if form.get("was") != sha256(now):
            names = {"now": now, "mine": mine, "was": sha256(now), "project": project}
            return page(request, "both.html.j2", 409, changes=differing(now, mine), **names)
        if mine == now:
            return go(project.url(back), "same")
        write_text(project.spec, mine, confidential=True, force=True)
    return go(project.url(back), "saved")


def shown(request: Request, template: str, project: Project, **names: Any) -> Response:
    """Return a page of a step, with the specification that its forms are made from.

    Where that says something of another kind than forms know, there are none.
    """
    text = project.text()
    found = {"text": text, "was": sha256(text), "content": content_of(text), **names}
    try:
        return page(request, template, project=project, **found)
    except UNFIT:
        if not mistakes_in(project):
            raise
        return page(request, template, project=project, **{**found, "content": None})


def _found(project: Project) -> Mapping[str, Any]:
    """Return what the look has found, for pages that name columns."""
    empty: dict[str, Any] = {"tables": {}, "links": [], "limits": {}, "known": []}
    return jobs.result_of(project, "look") or empty


async def begin(request: Request) -> Response:
    """Show the step that a project is at."""
    project = project_of(request)
    return go(project.url("look" if project.release is None else "report"))


async def look(request: Request) -> Response:
    """Show what is in the data, and what has to be decided."""
    project = project_of(request)
    job = jobs.job_of(project, "look")
    text, content = project.text(), content_of(project.text())
    servers = forms.servers_of(content or {})
    if job["state"] in ("none", "lost") and project.spec.exists() and not servers:
        jobs.start(project, "look")
        job = jobs.job_of(project, "look")

    def decisions(finding: Mapping[str, Any], content: Mapping[str, Any] | None) -> dict[str, Any]:
        known = [] if content is None else choices(finding, content)
        state = "" if content is None else state_of(finding, content, text)
        return {"choices": [words for words, _ in known], "state": state}

    names = {"job": job, "found": _found(project), "decisions": decisions, "servers": servers}
    return shown(request, "look.html.j2", project, asked=job["asked"].get("form", {}), **names)


async def look_again(request: Request) -> Response:
    """Look at the data as the specification now declares them, or as a form says to read them."""
    project, form = project_of(request), await form_of(request)
    if "encoding" in form and project.spec.exists():
        answer = await save(request, project, form, lambda text: forms.read_so(text, form), "look")
        if answer.status_code != 303:
            return answer
    last = jobs.job_of(project, "look")["asked"]
    asked = {name: last[name] for name in ("files", "example", "form") if name in last}
    if "encoding" in form:
        asked["form"] = forms.read_as(form)
    forms.allow_servers(project.text())  # the page names them beside the button
    jobs.start(project, "look", **asked)
    return go(project.url("look"))


async def decided(request: Request) -> Response:
    """Accept a finding, or set it aside."""
    project, form = project_of(request), await form_of(request)
    every = [f for table in _found(project)["tables"].values() for f in table["findings"]]
    known = {str(i): finding for i, finding in enumerate(every)}
    at, choice = form.get("finding"), form.get("choice")
    finding = known.get(at)
    if finding is None or choice not in ("ignore", *"0123456789"):
        raise HTTPException(400, "there is no such finding")
    place = None if choice == "ignore" else int(choice)
    names = [c["name"] for table in _found(project)["tables"].values() for c in table["columns"]]
    form = Form({"was": [sha256(project.text())]})  # one decision spoils nothing that others do
    back = f"look#f{at}"
    new = lambda text: decide(text, finding, place, names)  # noqa: E731
    return await save(request, project, form, new, back)


async def plan(request: Request) -> Response:
    """Show what is released and how it is made; write it."""
    project = project_of(request)
    if request.method == "POST":
        form = await form_of(request)
        return await save(request, project, form, lambda text: forms.planned(text, form), "plan")
    names = {"tables": _found(project)["tables"], "how_made": how_made, "kinds": forms.KINDS}
    return shown(request, "plan.html.j2", project, check=checked(project), **names)


async def attackers(request: Request) -> Response:
    """Show who attacks and what the limits are; write it."""
    project = project_of(request)
    if request.method == "POST":
        form = await form_of(request)
        new = forms.attacked
        return await save(request, project, form, lambda text: new(text, form), "attackers")
    found = _found(project)
    every = [column for table in found["tables"].values() for column in table["columns"]]

    def offered(content: Mapping[str, Any]) -> list[str]:
        return [c["called"] for c in every if is_released(content, c["name"])]

    names = {"offered": offered, "known": found["known"], "limits": found["limits"]}
    return shown(
        request, "attackers.html.j2", project, check=checked(project), who=forms.WHO, **names
    )


async def spec(request: Request) -> Response:
    """Show the specification with all its mistakes; write what somebody has typed."""
    project = project_of(request)
    if request.method == "POST":
        form = await form_of(request)
        typed = form.fields.get("text", [""])[-1].replace("\r\n", "\n")
        return await save(request, project, form, lambda _: typed, "spec")
    return shown(request, "spec.html.j2", project, check=checked(project))


async def fragment(request: Request) -> Response:
    """Show how far a job is; a page that waits for it loads itself again when it has ended.

    A page with forms stays as it is: who fills one in has only the answer of the check replaced.
    """
    project, kind = project_of(request), request.path_params["kind"]
    if kind not in ("look", "check", "run"):
        raise HTTPException(404, "there is no such job")
    if kind == "check":
        job, again = checked(project), "?page=run" if "page" in request.query_params else ""
        answer = page(request, "against.html.j2", project=project, check=job, again=again)
    else:
        job, again = jobs.job_of(project, kind), "always"
        answer = page(request, "job.html.j2", project=project, job=job, kind=kind)
    if again and job["state"] not in BUSY:
        answer.headers["HX-Refresh"] = "true"
    return answer


STEP_ROUTES = [
    Route("/p/{name}/", begin),
    Route("/p/{name}/look", look),
    Route("/p/{name}/look/again", look_again, methods=["POST"]),
    Route("/p/{name}/look/decide", decided, methods=["POST"]),
    Route("/p/{name}/plan", plan, methods=["GET", "POST"]),
    Route("/p/{name}/attackers", attackers, methods=["GET", "POST"]),
    Route("/p/{name}/spec", spec, methods=["GET", "POST"]),
    Route("/p/{name}/job/{kind}", fragment),
]
