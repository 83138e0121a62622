"""Fresh keys: none of them is one that the original has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.table import Column

__all__ = ["FreshKeys"]

EXACT = 2.0**52  # whole numbers that floating point tells apart, with room to spare
ROOM = 10**9  # keys that may be needed


@dataclass(frozen=True, eq=False)
class FreshKeys:
    """Numbers, or words with numbers, that no row of the original has as its key.

    Parameters
    ----------
    column
        What the keys are like; its cells do not matter and its levels are none.
    start
        The number before the first one.
    prefix
        What stands before the number; "" for keys that are numbers.

    Examples
    --------
    >>> from caveat.table import Table
    >>> table = Table.from_frame({"n": [7, 12], "word": ["k1", "a"]})
    >>> [FreshKeys.unlike(table[name]).make(3).values.tolist() for name in table]
    [[101, 102, 103], ['kk1', 'kk2', 'kk3']]
    """

    column: Column
    start: int
    prefix: str

    __repr__ = without_values

    @classmethod
    def unlike(cls, column: Column) -> FreshKeys:
        """Return keys that a column does not have; keys are whole numbers or words."""
        levels = column.levels
        whole = levels.dtype.kind in "iu" or (
            levels.dtype.kind == "f"
            and bool((levels == np.rint(levels)).all() and (np.abs(levels) < EXACT).all())
        )
        if not whole and levels.dtype != object:
            raise CaveatError(
                "a key is a whole number or a word",
                do="write dates, fractions and truth values as text, or name another column",
                code="data.key.type",
            )
        none = replace(column, codes=np.zeros(0, np.uint8), levels=column.levels[:0], missing=(),
                       value_labels={})  # fmt: skip
        if whole:
            return cls(none, _free(np.unique(levels)), "")
        words, prefix = [str(level) for level in column.levels.tolist()], "k"
        while any(word.startswith(prefix) for word in words):
            prefix += "k"
        return cls(none, 0, prefix)

    def make(self, n: int, first: int = 0, width: int = 0) -> Column:
        """Return so many keys from a place on; words have at least so many digits."""
        numbers = np.arange(self.start + first + 1, self.start + first + n + 1)
        if not self.prefix:
            levels = numbers.astype(self.column.levels.dtype)
        else:
            width = max(width, len(str(n)))
            levels = np.array([f"{self.prefix}{i:0{width}d}" for i in numbers], object)
        return replace(self.column, codes=np.arange(n), levels=levels)


def _free(levels: NDArray[Any]) -> int:
    """Return a number behind which there is room: with a digit more than any key, if that fits."""
    known = sorted({0, *(int(level) for level in levels[[0, -1]])}) if len(levels) else [0]
    more = 10 ** len(str(max(abs(known[0]), known[-1])))
    if more + ROOM < (EXACT if levels.dtype.kind == "f" else np.iinfo(np.int64).max):
        return int(more)
    between = np.unique([0, *(int(level) for level in levels.tolist() if level > 0)])
    gaps = np.flatnonzero(np.diff(between) > ROOM)
    if not len(gaps):
        raise CaveatError(
            "there is no room for fresh keys",
            do="number the rows by smaller ones",
            code="data.key.too-large",
        )
    return int(between[gaps[0]])
