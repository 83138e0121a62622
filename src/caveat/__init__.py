"""Caveat makes synthetic microdata, and says before the release what they give away."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from caveat.errors import CaveatError, CaveatWarning

if TYPE_CHECKING:
    from caveat import datasets
    from caveat.attack import attributes, membership, posterior, privacy_loss, vulnerable
    from caveat.findings import look
    from caveat.release import Release
    from caveat.risk import MEASURES, Measurement, Scenario, audit
    from caveat.spec.starter import starter
    from caveat.synthesis import Model, Plan, Synthesizer, load, make_plan, save
    from caveat.table import Column, Kind, Missing, Schema, Table, align, concat, read, write
    from caveat.utility.compare import compare

# Rooms that bring a compiler or large libraries are opened when they are first asked for: also the
# command line loads this file, and wants to hear signals before anything takes long.
_ROOMS = {
    "Column": "caveat.table",
    "Kind": "caveat.table",
    "MEASURES": "caveat.risk",
    "Measurement": "caveat.risk",
    "Missing": "caveat.table",
    "Model": "caveat.synthesis",
    "Plan": "caveat.synthesis",
    "Release": "caveat.release",
    "Scenario": "caveat.risk",
    "Schema": "caveat.table",
    "Synthesizer": "caveat.synthesis",
    "Table": "caveat.table",
    "align": "caveat.table",
    "attributes": "caveat.attack",
    "audit": "caveat.risk",
    "compare": "caveat.utility",
    "concat": "caveat.table",
    "load": "caveat.synthesis",
    "look": "caveat.findings",
    "make_plan": "caveat.synthesis",
    "membership": "caveat.attack",
    "posterior": "caveat.attack",
    "privacy_loss": "caveat.attack",
    "read": "caveat.table",
    "save": "caveat.synthesis",
    "starter": "caveat.spec.starter",
    "vulnerable": "caveat.attack",
    "write": "caveat.table",
}

__all__ = [
    "MEASURES",
    "CaveatError",
    "CaveatWarning",
    "Column",
    "Kind",
    "Measurement",
    "Missing",
    "Model",
    "Plan",
    "Release",
    "Scenario",
    "Schema",
    "Synthesizer",
    "Table",
    "__version__",
    "align",
    "attributes",
    "audit",
    "compare",
    "concat",
    "datasets",
    "load",
    "look",
    "make_plan",
    "membership",
    "posterior",
    "privacy_loss",
    "read",
    "save",
    "starter",
    "vulnerable",
    "write",
]

__version__ = "0.1.0"


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name in ("datasets", "table"):
        return import_module(f"caveat.{name}")
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'caveat' has no attribute {name!r}")
