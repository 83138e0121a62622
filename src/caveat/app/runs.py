"""The run of a project, and the report that it leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from caveat.app import jobs
from caveat.app.guard import FRAME
from caveat.app.pages import form_of, go, page, project_of, sha256
from caveat.app.steps import BUSY, checked, mistakes_in, shown
from caveat.evidence.manifest import listed, place_in
from caveat.spec.forms import allow_servers

__all__ = ["ROUTES"]

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


ROUTES = [
    Route("/p/{name}/run", run, methods=["GET", "POST"]),
    Route("/p/{name}/run/cancel", cancel, methods=["POST"]),
    Route("/p/{name}/report", report),
    Route("/p/{name}/report/page", report_page),
]
