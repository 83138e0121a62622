"""What an earlier publication has told already: it cannot be undone, only not be added to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.outputs.audit import recoverable_by_any
from caveat.outputs.primary import Reason
from caveat.outputs.tables import Cells

__all__ = ["Earlier", "Settled", "in_words", "settle"]

Bools = NDArray[np.bool_]
MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Earlier:
    """Tables that are published already, among those of one model matrix.

    Parameters
    ----------
    tables
        Their positions among the tables.
    shown
        Whether each cell is shown in one of them. What they have and do not show, they hide.
    """

    tables: tuple[int, ...]
    shown: Bools

    __repr__ = without_values


@dataclass(frozen=True, eq=False)
class Settled:
    """What is left to protect beside an earlier publication.

    Attributes
    ----------
    primary
        Which cells must stay hidden: by the rules, or since they were hidden earlier.
    known
        Which cells are shown already, or follow from those that are.
    told
        The cells that the rules hide, and that are known all the same: only in earlier tables.
    tables
        The positions of the earlier tables.
    """

    primary: Bools
    known: Bools
    told: tuple[int, ...] = ()
    tables: tuple[int, ...] = ()

    __repr__ = without_values


def settle(cells: Cells, reasons: NDArray[Any], earlier: Earlier | None) -> Settled:
    """Say what can be protected; a cell of a new table that is told already is refused.

    Parameters
    ----------
    cells
        The cells of the new and of the earlier tables.
    reasons
        Why the rules hide each cell, None where they do not. What the earlier tables hide and the
        rules do not is written into it.
    earlier
        What is published already.
    """
    primary = np.array([reason is not None for reason in reasons], bool)
    if earlier is None or not earlier.tables:
        return Settled(primary, np.zeros(cells.n_cells, bool))
    known = earlier.shown | recoverable_by_any(cells.matrices, ~earlier.shown)
    told = primary & known
    new = np.zeros(cells.n_cells, bool)
    for position, members in enumerate(cells.members):
        new[members] |= position not in earlier.tables
    if (told & new).any():
        which = np.flatnonzero(told & new)
        raise CaveatError(
            f"the earlier publication tells cells that the rules hide ({len(which):,}): "
            f"{in_words(cells, which.tolist())}",
            where="tables",
            do="this cannot be undone; use coarser codes, or leave the new table out",
            code="outputs.cell.confidential",
        )
    hidden = np.zeros(cells.n_cells, bool)
    for position in earlier.tables:
        hidden[cells.members[position]] = True
    reasons[hidden & ~known & ~primary] = Reason.EARLIER
    primary = (primary | hidden) & ~known
    return Settled(primary, known, tuple(np.flatnonzero(told).tolist()), earlier.tables)


def in_words(cells: Cells, which: Sequence[int]) -> str:
    """Name some cells."""
    more = len(which) - MOST_NAMED
    named = "; ".join(cells.words(cell) for cell in which[:MOST_NAMED])
    return f"{named}; and {more} more" if more > 0 else named
