"""What every generator of synthetic tables can do, whoever wrote it.

A generator that also knows the likelihood of a release under an adjacent table has an exact strong
attacker; ours do, through :mod:`caveat.attack`. All others can still be measured and attacked by
running them.
"""

from __future__ import annotations

from typing import Protocol

from caveat.table import Table

__all__ = ["Fitted", "Generator"]


class Fitted(Protocol):
    """A generator that has seen a table."""

    def sample(self, rows: int | None = None, copies: int = 1) -> list[Table]:
        """Return synthetic tables, each with so many rows; as many as the original by default."""
        ...


class Generator(Protocol):
    """Makes synthetic tables; the same seed gives the same tables."""

    def fit(self, table: Table, seed: int) -> Fitted:
        """Learn from a table."""
        ...
