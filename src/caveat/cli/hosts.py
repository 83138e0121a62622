"""``--allow-host``, and the question before a server is connected to that a file names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from caveat.spec.document import Document

__all__ = ["ask_for_hosts", "with_hosts"]

AllowHostOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="HOST",
        help="Send credentials to this database server if a specification names it. Repeat it.",
    ),
]
SPEC = "spec"  # the parameter of commands that read a specification


def with_hosts(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the option --allow-host, if it reads specifications."""
    found = signature(command)
    if SPEC not in found.parameters and command.__name__ != "serve":
        return command
    hints = get_type_hints(command, include_extras=True)
    own = [p.replace(annotation=hints[p.name]) for p in found.parameters.values()]

    @wraps(command)
    def allowed(*arguments: Any, allow_host: list[str] | None, **options: Any) -> None:
        if allow_host:
            from caveat.table.source import allow_host as allow

            allow(*allow_host)
        command(*arguments, **options)

    more = Parameter("allow_host", Parameter.KEYWORD_ONLY, default=None, annotation=AllowHostOption)
    allowed.__signature__ = found.replace(parameters=[*own, more])  # type: ignore[attr-defined]
    allowed.__annotations__ = {**hints, "allow_host": AllowHostOption}
    del allowed.__wrapped__
    return allowed


def ask_for_hosts(document: Document) -> None:
    """Ask on a terminal whether servers may be connected to that a specification names."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    from caveat.spec.forms import servers_of
    from caveat.table.source import allow_host, hosts_to_allow, source_of

    for name in servers_of(document.content):
        source = source_of(name)
        for host in [] if source is None else hosts_to_allow(source):
            text = f"{document.path.name} reads from {host}. Send your credentials there?"
            if typer.confirm(text, default=False, err=True):
                allow_host(host)
