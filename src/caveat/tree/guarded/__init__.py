"""Guarded trees: structure drawn with known probability, shares that back off."""

from caveat.tree.guarded.candidates import Candidates
from caveat.tree.guarded.tree import Guard, GuardedTree, Response, Sample, grow_guarded
from caveat.tree.guarded.worst_case import structure_bound

__all__ = [
    "Candidates",
    "Guard",
    "GuardedTree",
    "Response",
    "Sample",
    "grow_guarded",
    "structure_bound",
]
