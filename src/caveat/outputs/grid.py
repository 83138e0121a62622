"""The grid of a table in long form: combinations of its keys that it does not list.

A table that leaves out empty cells tells who is in none of them as well as one that prints zeros.
Some combinations cannot be, as a municipality lies in one region only: such keys are nested.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from caveat.outputs.hidden_cells import Place, levels_of

__all__ = ["Grid", "lines_of", "named_place"]


class Grid:
    """The combinations of values that the inner cells of a table can have.

    Parameters
    ----------
    cells
        The inner cells that are listed.

    Attributes
    ----------
    nested
        Pairs of keys of which each value of the first has one value of the second.

    Examples
    --------
    >>> grid = Grid([("f", "no"), ("m", "no"), ("m", "yes")])
    >>> list(grid.absent(1, ("f", "no"))), grid.nested
    ([('f', 'yes')], [])
    >>> Grid([("n", "town"), ("n", "village"), ("s", "port")]).nested
    [(1, 0)]
    """

    def __init__(self, cells: Collection[Place]) -> None:
        self.cells = set(cells)
        self.levels = levels_of(cells) if cells else []
        keys = range(len(self.levels))
        self.pairs = {
            (i, j): {(cell[i], cell[j]) for cell in self.cells} for i in keys for j in keys if i < j
        }
        self.nested = [(i, j) for i in keys for j in keys if i != j and self._determines(i, j)]

    def _determines(self, i: int, j: int) -> bool:
        several = len(self.levels[i]) > 1 and len(self.levels[j]) > 1
        return several and len(self.pairs[min(i, j), max(i, j)]) == len(self.levels[i])

    def absent(self, i: int, cell: Place) -> Iterator[Place]:
        """Return cells that differ from one in a single key, could be, and are not listed."""
        others = [j for j in range(len(cell)) if j != i]
        if any((j, i) in self.nested for j in others):
            return  # its other keys say what this one is
        within = [j for j in others if (i, j) in self.nested]
        for value in self.levels[i]:
            other = (*cell[:i], value, *cell[i + 1 :])
            if other not in self.cells and all(self._together(i, j, other) for j in within):
                yield other

    def _together(self, i: int, j: int, cell: Sequence[str | None]) -> bool:
        return (cell[min(i, j)], cell[max(i, j)]) in self.pairs[min(i, j), max(i, j)]


def lines_of(places: Sequence[Place]) -> Iterator[tuple[int, list[int]]]:
    """Return the rows and columns of a table: cells that differ in one key only, without totals."""
    inner = [row for row, place in enumerate(places) if None not in place]
    for i in range(len(places[0])):
        groups: dict[Place, list[int]] = defaultdict(list)
        for row in inner:
            groups[places[row][:i] + places[row][i + 1 :]].append(row)
        yield from ((i, rows) for rows in groups.values())


def named_place(keys: Sequence[str], place: Place) -> dict[str, str]:
    """Return the values of the keys of a cell that may not be in the table."""
    return {key: value or "" for key, value in zip(keys, place, strict=True)}
