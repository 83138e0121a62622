"""What every generator of synthetic tables can do, whoever wrote it.

A fitted generator that also knows the likelihood of a release under an adjacent table is
:class:`Exact` and has an exact strong attacker. All others can still be measured, and attacked by
running them.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from caveat.synthesis import Model
from caveat.table import Table
from caveat.table.identifying import Origin

__all__ = ["Exact", "Fitted", "Generator", "exact_model"]


class Fitted(Protocol):
    """A generator that has seen a table."""

    def sample(self, rows: int | None = None, copies: int = 1) -> list[Table]:
        """Return synthetic tables, each with so many rows.

        By default as many as the original has; only the reference ``sample`` releases fewer. The
        tables have the columns of the original in its order, with their kinds and ways to be
        missing.
        """
        ...


class Generator(Protocol):
    """Makes synthetic tables."""

    @property
    def name(self) -> str:
        """What it is called in tables and messages."""
        ...

    @property
    def is_seeded(self) -> bool:
        """Whether the same seed gives the same tables."""
        ...

    @property
    def origin(self) -> Origin:
        """Where the values of its tables come from: drawn, or copied from original records."""
        ...

    def fit(self, table: Table, seed: int) -> Fitted:
        """Learn from a table."""
        ...


@runtime_checkable
class Exact(Protocol):
    """A fitted generator that may know the probability of what it releases.

    Not the probability of a release under this one fit, which many have: what counts is the
    probability under every table that differs in one record, whatever was drawn while fitting.
    """

    @property
    def exact(self) -> Model | None:
        """The model that gives it; None where nothing gives it, as after some protections."""
        ...


def exact_model(fitted: Fitted) -> Model | None:
    """Return the model that the exact strong attacker needs; None if only runs can tell.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> from caveat.generators import generator_of
    >>> exact_model(generator_of("cart").fit(buyer_beware(), 1)) is None
    False
    >>> exact_model(generator_of("margins").fit(buyer_beware(), 1)) is None
    True
    """
    return fitted.exact if isinstance(fitted, Exact) else None
