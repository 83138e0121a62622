"""``caveat app``: the pages of the app, served to a browser on this machine."""

from __future__ import annotations

import secrets
import socket
import threading
from pathlib import Path
from typing import Annotated

import typer

from caveat import stopping
from caveat.cli import console
from caveat.errors import CaveatError
from caveat.table.source import load_extra

__all__ = ["serve"]

HOST = "127.0.0.1"
PORT = 8765  # tried first, so that an address stays; any free one after it


def serve(
    folder: Annotated[
        Path, typer.Argument(help="The folder of the data and of the projects.")
    ] = Path(),
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help=f"[{PORT}, or one that is free]")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser", help="Open the address in the browser of this machine.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="The most MB of a file that is uploaded.")] = (
        4096
    ),
) -> None:
    """Work in the browser: from a file to a report and a decision, on this machine alone."""
    if not folder.is_dir():
        raise CaveatError(
            "there is no such folder",
            where=str(folder),
            do="make it first",
            code="app.folder.absent",
        )
    uvicorn = load_extra("uvicorn", "uvicorn", "app", "caveat app")
    load_extra("starlette", "starlette", "app", "caveat app")
    from caveat.app.server import create_app, warm_up

    token = secrets.token_urlsafe(24)
    bound = _bound(port)
    address = f"http://{HOST}:{bound.getsockname()[1]}/?token={token}"
    console.out.print(f"open {address}", markup=False, soft_wrap=True, highlight=False)
    console.remark("Who has this address sees the data. Ctrl-C ends the app; runs go on.")
    settings = uvicorn.Config(
        create_app(folder, token, limit * 2**20),
        log_level="warning", access_log=False, server_header=False, lifespan="off",
        timeout_graceful_shutdown=2,
    )  # fmt: skip
    threading.Thread(target=warm_up, daemon=True).start()
    if browser:
        import webbrowser

        webbrowser.open(address)
    try:
        uvicorn.Server(settings).run(sockets=[bound])
    except stopping.Stopped as stop:
        stop.add_note("the projects are as they were")
        raise


def _bound(port: int | None) -> socket.socket:
    """Return a socket that only this machine reaches."""
    for wanted in (PORT, 0) if port is None else (port,):
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((HOST, wanted))
            bound.listen()  # who opens the address at once waits, and is not refused
        except OSError:
            bound.close()
            continue
        return bound
    raise CaveatError(
        "the port is taken", where=f"--port {port}", do="leave it out", code="app.port.conflict"
    )
