"""Releases from end to end: one specification in, one folder of tables and evidence out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caveat.release.outcome import Outcome
    from caveat.release.run import Release
    from caveat.spec.spec import ReleaseSpec

__all__ = ["Outcome", "Release", "ReleaseSpec"]


def __getattr__(name: str) -> Any:
    """Open the rooms that a run needs when it is first asked for: folders are written without."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    rooms = {"Outcome": "release.outcome", "Release": "release.run", "ReleaseSpec": "spec.spec"}
    return getattr(import_module(f"caveat.{rooms[name]}"), name)
