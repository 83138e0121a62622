"""Who may ask: this browser on this machine, and no page of anybody else.

Other programs on the machine and pages of other people can send requests to a loopback address
too. Every request is therefore held against the name it was sent to (a foreign name may lead here),
the page it comes from, and a cookie that only the address with the token sets.
"""

from __future__ import annotations

import hashlib
import hmac

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["FRAME", "Guard", "is_same", "secret"]

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
