"""What a protection gives back: the table, and a record of what was done to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from caveat.discreet import without_values
from caveat.notes import Note
from caveat.table import Table

__all__ = ["Protected", "Step"]


@dataclass(frozen=True)
class Step:
    """The record of one protection.

    Parameters
    ----------
    name
        Name of the protection.
    parameters
        What it was told.
    counts
        What it did, in numbers. No value of any record is in it.
    seed
        The seed, for protections that draw.
    reads_original
        Whether what it did depends on original records. Such a step gives something away by
        itself.
    notes
        What should be known about it.
    """

    name: str
    parameters: Mapping[str, Any]
    counts: Mapping[str, float]
    seed: int | None = None
    reads_original: bool = False
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def to_dict(self) -> dict[str, Any]:
        """Return the record, ready for JSON."""
        return {
            "name": self.name,
            "parameters": dict(self.parameters),
            "counts": dict(self.counts),
            "seed": self.seed,
            "reads_original": self.reads_original,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Protected:
    """A table after a protection.

    Parameters
    ----------
    table
        The protected table.
    step
        What was done.
    """

    table: Table
    step: Step = field(repr=False)

    __repr__ = without_values
