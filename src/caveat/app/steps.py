"""The steps before a run: look, plan, attackers and limits, and the specification as it is.

Every form changes entries of ``release.toml`` and nothing else. It knows from which text it was
made: where another tab was faster, both are shown.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from caveat.app import jobs
from caveat.app.pages import Form, Project, form_of, go, page, project_of, sha256
from caveat.errors import CaveatError
from caveat.spec import forms
from caveat.spec.decisions import choices, decide, how_made, is_released, state_of
from caveat.spec.document import Document
from caveat.spec.edit import content_of
from caveat.spec.stored import stored_table
from caveat.table.atomic import write_text

__all__ = ["ROUTES", "checked", "mistakes_in"]

WRITING = threading.Lock()
BUSY = ("starting", "working")


def mistakes_in(project: Project) -> list[str]:
    """Return every mistake that can be seen without the data, with its line."""
    if not project.spec.exists():
        return ["there is no release.toml yet: open a file and look at it first."]
    try:
        Document.read(project.spec).check(None, stored_table())
    except CaveatError as error:
        return str(error).splitlines()
    return []


def checked(project: Project) -> dict[str, Any]:
    """Return what is known of the specification against the data; let it be found out if need be.

    Its state is "wrong" where mistakes can be seen without the data.
    """
    mistakes = mistakes_in(project)
    if mistakes:
        return {"state": "wrong", "mistakes": mistakes}
    now = sha256(project.text())
    job = jobs.job_of(project, "check")
    if job["state"] in BUSY:
        return job
    if job["state"] in ("none", "lost") or job["asked"].get("sha256") != now:
        jobs.start(project, "check", sha256=now)
        job = jobs.job_of(project, "check")
    return job


def save(
    request: Request, project: Project, form: Form, new: Callable[[str], str], back: str
) -> Response:
    """Write the specification that a form asks for, unless it has changed in the meantime."""
    with WRITING:
        now = project.text()
        mine = new(now)
        if form.get("was") != sha256(now):
            names = {"now": now, "mine": mine, "was": sha256(now), "project": project}
            return page(request, "both.html.j2", 409, **names)
        if mine == now:
            return go(project.url(back), "same")
        write_text(project.spec, mine, force=True)
    return go(project.url(back), "saved")


def shown(request: Request, template: str, project: Project, **names: Any) -> Response:
    """Return a page of a step, with the specification that its forms are made from."""
    text = project.text()
    found = {"text": text, "was": sha256(text), "content": content_of(text), **names}
    return page(request, template, project=project, **found)


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
    if job["state"] in ("none", "lost") and project.spec.exists():
        jobs.start(project, "look")
        job = jobs.job_of(project, "look")
    text, content = project.text(), content_of(project.text())

    def decisions(finding: Mapping[str, Any]) -> dict[str, Any]:
        known = [] if content is None else choices(finding, content)
        state = "" if content is None else state_of(finding, content, text)
        return {"choices": [words for words, _ in known], "state": state}

    names = {"job": job, "found": _found(project), "decisions": decisions}
    told = job["asked"].get("form", {}) if content is None else content.get("data", {})
    return shown(request, "look.html.j2", project, told=told, **names)


async def look_again(request: Request) -> Response:
    """Look at the data as the specification now declares them, or as a form says to read them."""
    project, form = project_of(request), await form_of(request)
    if "encoding" in form and project.spec.exists():
        answer = save(request, project, form, lambda text: forms.read_so(text, form), "look")
        if answer.status_code != 303:
            return answer
    asked = jobs.job_of(project, "look")["asked"]
    if "encoding" in form:
        asked["form"] = forms.read_as(form)
    jobs.start(project, "look", **asked)
    return go(project.url("look"))


async def decided(request: Request) -> Response:
    """Accept a finding, or set it aside."""
    project, form = project_of(request), await form_of(request)
    every = [f for table in _found(project)["tables"].values() for f in table["findings"]]
    try:
        finding = every[int(form.get("finding"))]
        choice = None if form.get("choice") == "ignore" else int(form.get("choice"))
        return save(request, project, form, lambda text: decide(text, finding, choice), "look")
    except (ValueError, IndexError):
        raise HTTPException(400, "there is no such finding") from None


async def plan(request: Request) -> Response:
    """Show what is released and how it is made; write it."""
    project = project_of(request)
    if request.method == "POST":
        form = await form_of(request)
        return save(request, project, form, lambda text: forms.planned(text, form), "plan")
    names = {"tables": _found(project)["tables"], "how_made": how_made, "kinds": forms.KINDS}
    return shown(request, "plan.html.j2", project, check=checked(project), **names)


async def attackers(request: Request) -> Response:
    """Show who attacks and what the limits are; write it."""
    project = project_of(request)
    if request.method == "POST":
        form = await form_of(request)
        new = forms.attacked
        return save(request, project, form, lambda text: new(text, form), "attackers")
    found, content = _found(project), content_of(project.text()) or {}
    every = [column for table in found["tables"].values() for column in table["columns"]]
    offered = [c["called"] for c in every if is_released(content, c["name"])]
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
        return save(request, project, form, lambda _: typed, "spec")
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


ROUTES = [
    Route("/p/{name}/", begin),
    Route("/p/{name}/look", look),
    Route("/p/{name}/look/again", look_again, methods=["POST"]),
    Route("/p/{name}/look/decide", decided, methods=["POST"]),
    Route("/p/{name}/plan", plan, methods=["GET", "POST"]),
    Route("/p/{name}/attackers", attackers, methods=["GET", "POST"]),
    Route("/p/{name}/spec", spec, methods=["GET", "POST"]),
    Route("/p/{name}/job/{kind}", fragment),
]
