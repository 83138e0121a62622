"""The generator ``outputs``: drafts from published numbers, behind the contract of all others.

It never looks at the table but for its number of rows. So it stands for what everybody can make who
has read the publications: a release that tells more than this one tells more than they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from caveat.errors import CaveatError
from caveat.seeds import child_seed
from caveat.synthesis.drafts import DraftPlan, draft
from caveat.table import Table
from caveat.table.identifying import Origin

__all__ = ["OUTPUTS", "Drafted", "FittedDraft", "drafted"]

OUTPUTS = "outputs"
FEWEST = 100  # rows of a draft that fewer are taken from: targets mean little for a handful


@dataclass(frozen=True)
class Drafted:
    """A generator that knows published numbers only.

    Parameters
    ----------
    plan
        The columns and the published numbers.
    name
        What it is called.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> from caveat.synthesis.drafts import Category, DraftPlan
    >>> plan = DraftPlan({"sex": Category(("f", "m"), (0.6, 0.4))}, rows=100)
    >>> (made,) = Drafted(plan).fit(buyer_beware(), 1).sample()
    >>> made.n_rows, made.names
    (1000, ('sex',))
    """

    plan: DraftPlan
    name: str = OUTPUTS

    @property
    def is_seeded(self) -> bool:
        """Whether the same seed gives the same tables: always."""
        return True

    @property
    def origin(self) -> Origin:
        """Where the values come from: drawn from published numbers."""
        return Origin.DRAWN

    def fit(self, table: Table, seed: int) -> FittedDraft:
        """Take the number of rows from a table, and nothing else."""
        return FittedDraft(self.plan, table.n_rows, seed)


@dataclass(frozen=True)
class FittedDraft:
    """Drafts of one size."""

    plan: DraftPlan
    rows: int
    seed: int

    def sample(self, rows: int | None = None, copies: int = 1) -> list[Table]:
        """Return drafts; each copy has its own seed."""
        n = self.rows if rows is None else rows
        made = (
            draft(self.plan, seed=child_seed(self.seed, copy), rows=max(n, FEWEST)).table
            for copy in range(copies)
        )
        return [table.take(slice(n)) for table in made]


def drafted(settings: Mapping[str, Any]) -> Drafted:
    """Return the generator with its settings: ``plan``, a :class:`DraftPlan`."""
    plan = settings.get("plan")
    if not isinstance(plan, DraftPlan) or len(settings) > 1:
        raise CaveatError(
            "it is made from a specification of published numbers, and has no settings",
            where=f"generator {OUTPUTS}",
            do="name it outputs:draft.toml",
            code="generator.setting.unsupported",
        )
    return Drafted(plan)
