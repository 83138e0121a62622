"""Which values of keys are totals: by their names, and by what they add up to.

A total that is not known for one disarms the audit of hidden cells. So where cells are hidden, more
is taken for a total than the names of the rules say: what begins with such a name, and what is the
sum of the other values in all lines of the table that show it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.outputs.hidden_cells import Place
from caveat.outputs.subtotals import path_of, subtotals_of

__all__ = ["Totals", "totals_of"]

Floats = NDArray[np.float64]
Line = list[int]

OTHERS = re.compile(r".*\b(?:other|others|else|except|but|without|andere[nrs]?|übrige[nrs]?)\b.*")
PERHAPS = re.compile(
    r"(?:|_t|tot|99+|00+|(?:both|ensemble|together|zusammen|combined|everybody|everyone|whole|summe|"
    r"totale|totaal|any|alle)\b.*)"
)
"""What totals are called as well, in small letters: to be looked at, if nothing confirms it."""
SURE = 2  # lines in which a value is the sum of the others by more than chance


@dataclass(frozen=True)
class Totals:
    """Values of keys that are totals.

    Parameters
    ----------
    sure
        For each key, values that are totals.
    perhaps
        For each key, those and the ones that may be totals.
    parents
        For each key, the groups of values whose subtotals are among them.
    """

    sure: tuple[frozenset[str], ...]
    perhaps: tuple[frozenset[str], ...]
    parents: tuple[Mapping[str, str], ...]

    @property
    def doubtful(self) -> list[str]:
        """Values that may be totals."""
        pairs = zip(self.perhaps, self.sure, strict=True)
        return [value for more, sure in pairs for value in sorted(more - sure)]

    def place(self, cell: tuple[str, ...], *, perhaps: bool = False) -> Place:
        """Return the values of the keys, None where they say that a cell is a total."""
        known = self.perhaps if perhaps else self.sure
        return tuple(
            None if value in totals else value for value, totals in zip(cell, known, strict=True)
        )

    def path(self, cell: tuple[str, ...], *, perhaps: bool = False) -> Place:
        """Return the place of a cell with the groups of its values as keys of their own."""
        pairs = zip(self.place(cell, perhaps=perhaps), self.parents, strict=True)
        return tuple(one for value, parents in pairs for one in path_of(value, parents))

    def is_group(self, cell: tuple[str, ...]) -> bool:
        """Whether a value of a cell is a subtotal."""
        pairs = zip(cell, self.parents, strict=True)
        return any(value in parents.values() for value, parents in pairs)


def totals_of(
    cells: Sequence[tuple[str, ...]], values: Floats, names: frozenset[str], slack: float = 0.0
) -> Totals:
    """Return which values of keys are totals.

    Parameters
    ----------
    cells
        The values of the keys in each row.
    values
        The values of the rows, NaN for hidden ones. If none is hidden, only names count.
    names
        What totals are called, in small letters.
    slack
        By how much a total may miss the sum of its cells, for each of them.

    Examples
    --------
    >>> cells = [("n", "f"), ("n", "m"), ("n", "both"), ("s", "f"), ("s", "m"), ("s", "both")]
    >>> found = totals_of(cells, np.array([50, np.nan, 55, 40, 60, 100]), frozenset({"total"}))
    >>> found.sure, found.doubtful
    ((frozenset(), frozenset()), ['both'])
    """
    keys = range(len(cells[0]))
    known = [
        frozenset(value for value in {cell[i] for cell in cells} if value.strip().lower() in names)
        for i in keys
    ]
    parents = tuple(subtotals_of(cells, values, i, known[i], slack) for i in keys)
    if not np.isnan(values).any() or np.any(values < 0):
        return Totals(tuple(known), tuple(known), parents)
    sure, perhaps = [], []
    for i in keys:
        more, maybe = _of_key(cells, values, i, known[i], names, slack)
        sure.append(known[i] | more)
        perhaps.append(known[i] | more | maybe)
    return Totals(tuple(sure), tuple(perhaps), parents)


def _of_key(
    cells: Sequence[tuple[str, ...]], values: Floats, i: int, known: frozenset[str],
    names: frozenset[str], slack: float,
) -> tuple[frozenset[str], frozenset[str]]:  # fmt: skip
    """Return values of a key that are totals, and those that may be."""
    lines: dict[tuple[str, ...], Line] = defaultdict(list)
    for row, cell in enumerate(cells):
        if cell[i] not in known:
            lines[cell[:i] + cell[i + 1 :]].append(row)
    confirmed, denied = _sums(cells, values, i, list(lines.values()), slack)
    begins = re.compile(rf"(?:{'|'.join(map(re.escape, sorted(names)))})\b.*", re.DOTALL)
    levels = {cell[i] for cell in cells} - known
    sure, perhaps = set(), set()
    for value in levels - denied if len(levels) > 1 else ():
        text = value.strip().lower()
        times = confirmed.get(value, 0)
        named = bool(PERHAPS.fullmatch(text))
        if text.isdigit() and not all(other.strip().isdigit() for other in levels):
            named = False
        called = begins.fullmatch(text) and not OTHERS.fullmatch(text)
        if called or times >= SURE or (times and not text):
            sure.add(value)
        elif times or named:
            perhaps.add(value)
    return frozenset(sure), frozenset(perhaps)


def _sums(
    cells: Sequence[tuple[str, ...]], values: Floats, i: int, lines: Sequence[Line], slack: float
) -> tuple[dict[str, int], set[str]]:
    """Return in how many lines a value is the sum of the others, and values that are not it."""
    confirmed: dict[str, int] = defaultdict(int)
    denied: set[str] = set()
    for rows in lines:
        shown = values[rows]
        total = float(np.nansum(shown))
        near = slack * len(rows) + 1e-9 * total
        hidden = bool(np.isnan(shown).any())
        several = np.count_nonzero(shown > 0) > SURE
        for row, value in zip(rows, shown.tolist(), strict=True):
            if np.isnan(value) or len(rows) == 1:
                continue
            left = 2 * value - total  # what the others leave of it
            if left < -near or (not hidden and left > near):
                denied.add(cells[row][i])
            elif not hidden and several:
                confirmed[cells[row][i]] += 1
    return confirmed, denied
