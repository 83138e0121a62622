"""Guarded trees: structure drawn with known probability, shares that back off."""

from caveat.tree.guarded.tree import (
    Candidates,
    Guard,
    GuardedTree,
    Response,
    Sample,
    grow_guarded,
    structure_bound,
)

__all__ = [
    "Candidates",
    "Guard",
    "GuardedTree",
    "Response",
    "Sample",
    "grow_guarded",
    "structure_bound",
]
