"""A browser of sorts: the app without a socket, and with the headers of a page of its own."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

from caveat.app.server import create_app

with warnings.catch_warnings():  # it would rather have a package that has only just been named so
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

TOKEN = "right-token"
HERE = "http://127.0.0.1:8765"


def client(folder: Path, *, let_in: bool = True, **options: Any) -> TestClient:
    """Return a client of the app in a folder, with the cookie unless it is to have none."""
    app = create_app(folder, TOKEN, **options)
    found = TestClient(app, base_url=HERE, follow_redirects=False, raise_server_exceptions=False)
    if let_in:
        assert found.get(f"/?token={TOKEN}").status_code == 303
    found.headers["Origin"] = HERE
    return found


def csrf(found: TestClient) -> str:
    """Return what the forms of this client hold."""
    text = re.search(r'name="csrf" content="([0-9a-f]+)"', found.get("/").text)
    assert text is not None
    return text[1]


def post(found: TestClient, address: str, **fields: Any) -> Any:
    """Send a form as a page does."""
    return found.post(address, data={"csrf": csrf(found), **fields})
