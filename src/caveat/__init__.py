"""Caveat makes synthetic microdata, and says before the release what they give away."""

from caveat.errors import CaveatError
from caveat.table import Column, Kind, Missing, Schema, Table, align, concat

__all__ = [
    "CaveatError",
    "Column",
    "Kind",
    "Missing",
    "Schema",
    "Table",
    "__version__",
    "align",
    "concat",
]

__version__ = "0.1.0"
