"""Releases from end to end: one specification in, one folder of tables and evidence out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caveat.release.again import explain_row
    from caveat.release.folder import Outcome, diff_releases
    from caveat.release.run import Release
    from caveat.spec.spec import ReleaseSpec

__all__ = ["Outcome", "Release", "ReleaseSpec", "diff_releases", "explain_row"]

_ROOMS = {
    "Outcome": "release.folder",
    "Release": "release.run",
    "ReleaseSpec": "spec.spec",
    "diff_releases": "release.folder",
    "explain_row": "release.again",
}


def __getattr__(name: str) -> Any:
    """Open the rooms that a run needs when it is first asked for: folders are written without."""
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"caveat.{_ROOMS[name]}"), name)
