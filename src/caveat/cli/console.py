"""What the commands share: where to print, how to show progress, and whom to ask."""

from __future__ import annotations

import json
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.segment import Segment
from rich.text import Text

from caveat.errors import CaveatWarning, commands_in

if TYPE_CHECKING:
    from caveat.spec.document import Document
    from caveat.table.identifying import Clearance


EVERY = 10.0  # seconds between two lines where no bar is shown


class _Discreet(Console):
    """Shows what files hold, and lets none of it command the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Return the pieces to print; only those of rich itself may hold commands."""
        for piece in super().render(renderable, options):
            odd = set() if piece.control else commands_in(piece.text) - {"\n"}
            if odd:
                shown = piece.text.translate({ord(c): repr(c)[1:-1] for c in odd})
                piece = Segment(shown, piece.style)
            yield piece


out = _Discreet(highlight=False, soft_wrap=False)
_err = _Discreet(stderr=True, highlight=False, soft_wrap=True)


def set_quiet(quiet: bool) -> None:
    """Silence remarks and progress bars."""
    _err.quiet = quiet


def remark(message: str) -> None:
    """Say something about the run that is not a result."""
    _err.print(message, markup=False)


def announce(message: str) -> None:
    """Say what is about to be done on behalf of a file, even when quiet."""
    with suppress(OSError):
        _Discreet(stderr=True, highlight=False, soft_wrap=True).print(message, markup=False)


def verdict(what: str, found: Clearance) -> None:
    """Say that an output must stay inside and why, and what else the data holder should know."""
    for note in found.notes:
        remark(f"note: {note}")
    if found.confidential:
        remark(f"CONFIDENTIAL: {what} is not for release: {'; '.join(found.reasons)}")


def error(message: str) -> None:
    """Say what is wrong, even when quiet."""
    with suppress(OSError):  # nobody listens; the exit code says it too
        _Discreet(stderr=True, highlight=False, soft_wrap=True).print(
            f"caveat: {message}", markup=False
        )


def document(content: str) -> None:
    """Print JSON, with escapes for what would command the terminal."""
    odd = commands_in(content) - {"\n"}
    typer.echo(content.translate({ord(c): json.dumps(c)[1:-1] for c in odd}))


@contextmanager
def notes() -> Iterator[None]:
    """Print what the block warns of, each as a note."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CaveatWarning)
        yield
    for warning in caught:
        remark(f"note: {warning.message}")


class _TimeLeft(ProgressColumn):
    """The time that is left, by the share that is done in the time since the start.

    It grows while nothing becomes ready, where an estimate from recent steps would stand still.
    """

    def render(self, task: Task) -> Text:
        left = _seconds_left(task)
        if left is None:
            return Text("-:--:--")
        minutes, seconds = divmod(round(left), 60)
        hours, minutes = divmod(minutes, 60)
        return Text(f"{hours}:{minutes:02d}:{seconds:02d}")


def _seconds_left(task: Task) -> float | None:
    """Return the seconds that a task still takes at its mean pace; None if it has none yet."""
    if not task.total or not task.completed or task.elapsed is None:
        return None
    return float(task.elapsed * (task.total - task.completed) / task.completed)


@contextmanager
def progress(disable: bool = False) -> Iterator[Progress]:
    """Show progress bars with an estimate; where nobody sees them, a line every ten seconds."""
    seen = _err.is_terminal
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        _TimeLeft(),
        console=_err,
        transient=True,
        disable=disable or _err.quiet or not seen,
    )
    ended = threading.Event()
    if not (disable or _err.quiet or seen):
        threading.Thread(target=_tell, args=(bar, ended), daemon=True).start()
    try:
        with bar:
            yield bar
    finally:
        ended.set()


def _tell(bar: Progress, ended: threading.Event) -> None:
    """Say how far the work is, into a log that is read afterwards."""
    while not ended.wait(EVERY):
        for task in bar.tasks:
            if not task.finished:
                left = _seconds_left(task)
                about = "" if left is None else f", about {left:,.0f} s left"
                with suppress(OSError):  # nobody listens
                    remark(f"{task.description}: {task.percentage:.0f} %{about}")


# -------------------------------------------------------------------------------------------------
# ``--allow-host``, and the question before a server is connected to that a file names.


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
