"""Caveat makes synthetic microdata, and says before the release what they give away."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from caveat.errors import CaveatError, CaveatWarning
from caveat.table import Column, Kind, Missing, Schema, Table, align, concat, read, write

if TYPE_CHECKING:
    from caveat import datasets
    from caveat.attack import attributes, membership, posterior, privacy_loss, vulnerable
    from caveat.release import Release
    from caveat.risk import MEASURES, Measurement, Scenario, audit
    from caveat.synthesis import Model, Plan, Synthesizer, load, make_plan, save
    from caveat.table.look import look
    from caveat.utility import compare

# Rooms that bring a compiler or large libraries are opened when they are first asked for.
_ROOMS = {
    "MEASURES": "caveat.risk",
    "Measurement": "caveat.risk",
    "Model": "caveat.synthesis",
    "Plan": "caveat.synthesis",
    "Release": "caveat.release",
    "Scenario": "caveat.risk",
    "Synthesizer": "caveat.synthesis",
    "attributes": "caveat.attack",
    "audit": "caveat.risk",
    "compare": "caveat.utility",
    "load": "caveat.synthesis",
    "look": "caveat.table.look",
    "make_plan": "caveat.synthesis",
    "membership": "caveat.attack",
    "posterior": "caveat.attack",
    "privacy_loss": "caveat.attack",
    "save": "caveat.synthesis",
    "vulnerable": "caveat.attack",
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
    "vulnerable",
    "write",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("caveat.datasets")
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'caveat' has no attribute {name!r}")
