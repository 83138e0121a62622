"""Fresh keys: none of them is one that the original has."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from caveat.discreet import without_values
from caveat.table import Column

__all__ = ["FreshKeys"]


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
        """Return keys that a column does not have."""
        none = replace(column, codes=np.zeros(0, np.uint8), levels=column.levels[:0], missing=(),
                       value_labels={})  # fmt: skip
        if column.levels.dtype.kind in "iuf":
            largest = int(np.abs(column.levels).max(initial=0))
            return cls(none, 10 ** len(str(largest)), "")
        words, prefix = [str(level) for level in column.levels.tolist()], "k"
        while any(word.startswith(prefix) for word in words):
            prefix += "k"
        return cls(none, 0, prefix)

    def make(self, n: int) -> Column:
        """Return so many keys."""
        numbers = np.arange(self.start + 1, self.start + n + 1)
        if not self.prefix:
            levels = numbers.astype(self.column.levels.dtype)
        else:
            width = len(str(n))
            levels = np.array([f"{self.prefix}{i:0{width}d}" for i in numbers], object)
        return replace(self.column, codes=np.arange(n), levels=levels)
