"""What every page needs: who may ask, the template, the project, the form that was sent."""

from __future__ import annotations

import hashlib
import hmac
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from caveat.errors import CaveatError
from caveat.evidence.file import INSIDE, MANIFEST
from caveat.spec.document import content_of, entry_in
from caveat.spec.forms import Form

NAMES = ("127.0.0.1", "localhost")
READS = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
FRAME = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""For a page that brings its own scripts, such as a report: it can reach nothing."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer" a form would not say where it comes from.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def secret(token: str, use: str) -> str:
    """Return a secret for one use: who sees it does not know the token."""
    return hmac.new(token.encode(), use.encode(), hashlib.sha256).hexdigest()


def is_same(given: str | None, right: str) -> bool:
    """Whether a secret is the right one; how much of it is right cannot be told from the time."""
    return given is not None and hmac.compare_digest(given.encode(), right.encode())


class Guard:
    """Lets through what comes from the pages of this app, and gives answers their headers.

    Parameters
    ----------
    app
        What answers.
    token
        What the address holds that is printed at the start.
    """

    headers = HEADERS

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self.token = token
        # Cookies know no ports: each server on this machine has its own.
        self.cookie = f"caveat-{secret(token, 'name')[:12]}"
        self.value = secret(token, "cookie")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, text in HEADERS.items():
                    headers.setdefault(name, text)
            await send(message)

        answer: ASGIApp = self._refusal(Request(scope)) or self.app
        await answer(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        """Return the answer to who may not ask; the way in, too, is none of the app's."""
        host = request.headers.get("host", "")
        name, _, port = host.partition(":")
        if name not in NAMES or not (port or "0").isdigit():
            return _no("this app answers to 127.0.0.1 and localhost only", 421)
        given = request.query_params.get("token")
        if given is not None and request.method in READS:
            return self._way_in(request) if is_same(given, self.token) else _no("wrong token")
        if not is_same(request.cookies.get(self.cookie), self.value):
            return _no("open the address that caveat app has printed: it holds the token")
        if request.method in READS:
            return None
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
        if (origin is None and site is None) or origin not in (None, f"http://{host}"):
            return _no("this comes from a page of somebody else")
        return None if site in (None, "same-origin") else _no("this comes from another page")

    def _way_in(self, request: Request) -> Response:
        # To the same page without the token; of a path only, never to another place.
        path = "/" + request.url.path.lstrip("/\\")
        answer = RedirectResponse(path, 303)
        answer.set_cookie(self.cookie, self.value, httponly=True, samesite="strict", path="/")
        return answer


def _no(why: str, status: int = 403) -> Response:
    return PlainTextResponse(f"Caveat: {why}.\n", status)


# -------------------------------------------------------------------------------------------------
# What every page needs: the template, the project it is about, the form that was sent.


SPEC = "release.toml"
HERE = "@"  # the folder itself, where it is a project
STATE = ".caveat"
LARGEST = 4 * 2**20  # bytes of a form: a specification is text that people write
# What a page says after a step; an address holds the word only.
SAID = {
    "saved": "Saved in release.toml.",
    "same": "Nothing was changed.",
    "started": "Started.",
    "cancelled": "Cancelled: what was there before is as it was.",
    "uploaded": "The file is in the folder.",
    "decided": "The decision is written down.",
}


@dataclass(frozen=True)
class Project:
    """A folder with a specification, and with what was made from it.

    Parameters
    ----------
    name
        Its name in addresses.
    path
        The folder.
    """

    name: str
    path: Path

    @property
    def title(self) -> str:
        """What people call it."""
        return self.path.name

    @property
    def spec(self) -> Path:
        """The specification: the only truth about a project."""
        return self.path / SPEC

    @property
    def state(self) -> Path:
        """What jobs leave for the pages."""
        return self.path / STATE

    @property
    def release(self) -> Path | None:
        """The folder of the release, if it is in the project and whole."""
        folder = self.target
        return folder if folder is not None and (folder / MANIFEST).is_file() else None

    @property
    def target(self) -> Path | None:
        """The folder that a run writes, if it is in the project."""
        named = entry_in(content_of(self.text()) or {}, ("output", "folder"), "release")
        folder = self.path / str(named)
        with suppress(OSError, ValueError):
            folder.exists()  # says so if no folder can have this name
            if folder.resolve().is_relative_to(self.path.resolve()):
                return folder
        return None

    @property
    def is_fresh(self) -> bool:
        """Whether the release was made from the specification as it is."""
        used, now = (self.release or self.path / STATE) / INSIDE / SPEC, self.spec
        return used.is_file() and now.is_file() and used.read_bytes() == now.read_bytes()

    def text(self) -> str:
        """Return the specification as it stands there; nothing if there is none."""
        if not self.spec.exists():
            return ""
        if not self.spec.is_file() or self.spec.stat().st_size > LARGEST:
            what, code = "this is no file that a form can change", "app.file.unsupported"
            raise CaveatError(what, where=SPEC, do="move it", code=code)
        return self.spec.read_bytes().decode("utf-8-sig", "replace")

    def url(self, step: str = "") -> str:
        """Return the address of a page of this project."""
        return f"/p/{quote(self.name, safe='')}/{step}"


def folder_of(request: Request) -> Path:
    """Return the folder that the app was started for."""
    found: Path = request.app.state.folder
    return found


def project_of(request: Request) -> Project:
    """Return the project that an address names; one that leads out of the folder is not there."""
    name, folder = request.path_params["name"], folder_of(request)
    if name == HERE and (folder / SPEC).is_file():
        return _owned(Project(HERE, folder))
    long = len(name.encode(errors="replace")) > 255  # bytes, more than a name can have
    odd = name.startswith(".") or any(c in name for c in "/\\\0") or long
    path = folder / name
    if odd or not path.is_dir() or path.resolve().parent != folder.resolve():
        raise HTTPException(404, "there is no such project")
    return _owned(Project(name, path))


def _owned(project: Project) -> Project:
    path = project.path.resolve()
    if any(not own.resolve().is_relative_to(path) for own in (project.spec, project.state)):
        raise HTTPException(409, "what belongs to this project is a link that leads out of it")
    return project


async def form_of(request: Request) -> Form:
    """Return the form that was sent, if a page of ours has made it."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise HTTPException(413, "this is too long for a form")
    try:
        fields = parse_qs(body.decode("ascii"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise HTTPException(400, "this is no form") from None
    form = Form(fields)
    check_csrf(request, form.get("csrf"))
    return form


def csrf_of(request: Request) -> str:
    """Return what every form of ours holds, and no page of others can know."""
    return secret(request.app.state.token, "csrf")


def check_csrf(request: Request, given: str | None) -> None:
    """Refuse what no page of ours has sent."""
    if not is_same(given, csrf_of(request)):
        raise HTTPException(403, "this form is not from a page of this app: load the page again")


def page(request: Request, template: str, status: int = 200, **names: Any) -> Response:
    """Return a page: a template with what it is told, the project and a note among it."""
    said = SAID.get(request.query_params.get("said", ""), "")
    told = {"request": request, "csrf": csrf_of(request), "said": said, "project": None}
    text = environment().get_template(template).render({**told, **names})
    return HTMLResponse(text, status)


def go(address: str, said: str = "") -> Response:
    """Return the way to another page, which says what was done."""
    page, hash_, place = address.partition("#")
    mark = "&" if "?" in page else "?"
    return RedirectResponse(f"{page}{mark}said={said}{hash_}{place}" if said else address, 303)


def stamp(folder: Path | None, *names: str) -> tuple[int, ...]:
    """Return when files were written; what was made from them holds as long as it is the same."""
    files = [] if folder is None else [folder / name for name in names]
    return tuple(file.stat().st_mtime_ns if file.is_file() else 0 for file in files)


def sha256(text: str) -> str:
    """Return the hash of a specification, by which a form knows what it was made from."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def environment() -> Environment:
    """Return the templates; what they print is text, never markup."""
    return Environment(
        loader=PackageLoader("caveat.app"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
