"""A column that says of cells whether they are hidden."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.outputs.written_cells import cell_text
from caveat.table import Table

__all__ = ["Marks", "marks_of", "unmarked"]

Floats = NDArray[np.float64]

STATUS = ("status", "cell status", "flag", "flags", "obs_status", "conf_status")
BARE = frozenset({"hidden", "suppressed", "confidential", "withheld", "c", "geheim", "not shown"})
PRIMARY = re.compile(
    r"(hidden|suppressed|confidential|withheld|not shown|geheim|primary|secondary)\b.*"
)
SHOWN = frozenset({"shown", "published", "visible", "free", "f", "a", "ok", "rounded", "final",
                   "provisional", "p", "estimated", "e", "revised", "r"})  # fmt: skip
"""What a column says of its cells that is neither a key nor a statistic."""


@dataclass(frozen=True)
class Marks:
    """What a column of a table says about its cells.

    Parameters
    ----------
    column
        Its name.
    hidden
        The rows that are said to be hidden.
    reasons
        Whether it says more of a hidden cell than that it is one.
    """

    column: str
    hidden: frozenset[int]
    reasons: bool


def marks_of(table: Table, status: str | None = None, keys: tuple[str, ...] = ()) -> Marks | None:
    """Return what a column says about cells; a status of persons, such as employed, is a key."""
    for name in (status,) if status else table.names:
        if name in keys or table[name].kind.is_number:
            continue
        said = [cell_text(value).strip().lower() for value in table[name].values]
        hidden = frozenset(row for row, text in enumerate(said) if _says_hidden(text))
        known = all(row in hidden or not text or text in SHOWN for row, text in enumerate(said))
        if status or (name.lower() in STATUS and any(said) and known):
            return Marks(name, hidden, any(said[row] not in BARE for row in hidden))
    return None


def _says_hidden(text: str) -> bool:
    return text in BARE or PRIMARY.fullmatch(text) is not None


def unmarked(values: Floats, marks: Marks | None) -> Floats:
    """Return values, NaN for the 0 that stands where a cell is said to be hidden."""
    if marks is None or not marks.hidden:
        return values
    rows = np.isin(np.arange(len(values)), list(marks.hidden))
    return np.where(rows & (values == 0), np.nan, values)
