"""The user's own folder: environments of generators, and the logs of those that failed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from caveat.errors import CaveatError

__all__ = ["VARIABLE", "home"]

VARIABLE = "CAVEAT_HOME"


def home() -> Path:
    """Return the folder: what the variable CAVEAT_HOME says, or else the platform's place.

    Examples
    --------
    >>> home().name
    'caveat'
    """
    said = os.environ.get(VARIABLE)
    if said:
        path = Path(said).expanduser()
        if not path.is_absolute():
            raise CaveatError(
                "the path of the folder is not absolute",
                where=VARIABLE,
                do="begin it with a /",
                code="generator.folder.malformed",
            )
        return path
    try:
        return _usual() / "caveat"
    except RuntimeError:
        raise CaveatError(
            "you have no home folder",
            do=f"name a folder for generators in {VARIABLE}",
            code="generator.folder.absent",
        ) from None


def _usual() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    told = os.environ.get("XDG_DATA_HOME", "")
    return Path(told) if told.startswith("/") else Path.home() / ".local" / "share"
