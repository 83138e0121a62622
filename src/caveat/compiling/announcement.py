# mypy: disable-error-code="no-untyped-call"
"""One line that says that something is compiled: a user should not take it for the work itself."""

from __future__ import annotations

import logging
from typing import Any

from numba.core import event

__all__ = ["announce"]


class _Announcement(event.Listener):
    """Log one line, the first time in this process that a kernel is compiled which has one."""

    def __init__(self) -> None:
        self.lines: dict[Any, str] = {}
        self.said = False

    def on_start(self, event: event.Event) -> None:
        line = self.lines.get(event.data["dispatcher"])
        if line and not self.said:
            self.said = True
            logging.getLogger("caveat.compiling").warning(line)

    def on_end(self, event: event.Event) -> None:
        pass


_ANNOUNCEMENT = _Announcement()
event.register("numba:compile", _ANNOUNCEMENT)


def announce(function: Any, line: str) -> None:
    """Say `line` before a kernel is compiled; nothing where its machine code is on disk."""
    _ANNOUNCEMENT.lines[function] = line
