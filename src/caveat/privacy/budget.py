"""A budget: where spending is written down, and how much of it there may be."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from caveat.privacy.ledger import Ledger, Limit, Spent

__all__ = ["Budget"]


@dataclass(frozen=True)
class Budget:
    """Where spending is written down, and how much of it there may be.

    Parameters
    ----------
    ledger
        The file.
    dataset
        The name of the data: all releases of the same data share one budget.
    limit
        What they may cost together; None for what just one of them costs.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     budget = Budget(Path(folder) / "ledger.jsonl", "survey", Limit(2, 1e-6))
    ...     with budget.spending(Spent(rho=0.01), alone=Limit(1, 1e-9)):
    ...         pass  # the noise is drawn here
    ...     round(Ledger(budget.ledger).spent("survey", 1e-6), 3)
    0.622
    """

    ledger: str | Path
    dataset: str
    limit: Limit | None = None

    def spending(self, cost: Spent, *, alone: Limit) -> AbstractContextManager[None]:
        """Return the block in which noise of a cost is drawn.

        Parameters
        ----------
        cost
            What the block costs.
        alone
            The limit if the budget has none.
        """
        limit = alone if self.limit is None else self.limit
        return Ledger(self.ledger).spending(self.dataset, cost, limit=limit)
