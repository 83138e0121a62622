"""The cells of several tables over one set of inner cells.

An inner cell is a combination of codes of all columns that any of the tables has. Every cell of
every table is a sum of inner cells; the model matrix says of which. A cell that two tables share is
one cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.outputs.hierarchy import Hierarchy
from caveat.outputs.nesting import Dependency, compatible, dependencies
from caveat.table.cells import key_cells

__all__ = ["Cells", "Layout", "cells_of", "check_published", "check_totals", "only_rows"]

Ints = NDArray[np.int64]
MOST_INNER = 5_000_000
RELATIVE = 1e-9  # totals of sums in floating point


@dataclass(frozen=True)
class Layout:
    """One table.

    Parameters
    ----------
    name
        What it is called.
    by
        The columns that it is broken down by.
    depth
        How far down the codes of a column are shown, where not to the end: 1 is the level below
        the total.
    """

    name: str
    by: tuple[str, ...]
    depth: Mapping[str, int] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """What its file is called; only an ending if its name has no letter."""
        return re.sub(r"\W+", "-", self.name).strip("-").lower() + ".csv"


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of all tables.

    Attributes
    ----------
    hierarchies
        The codes of each column.
    inner
        For each inner cell the position of its code in each column.
    keys
        The same for each cell; 0 is the total.
    matrix
        Inner cells by cells, 0 and 1: a ``scipy.sparse.csc_array`` of whole numbers.
    layouts, members
        The tables, and the cells of each.
    row_of
        The inner cell of each record.
    nested
        Columns that determine others, where empty cells are not public.
    possible
        Whether each inner cell can have records for those who know that; None for all.
    """

    hierarchies: Mapping[str, Hierarchy]
    inner: Ints
    keys: Ints
    matrix: Any
    layouts: tuple[Layout, ...]
    members: tuple[Ints, ...]
    row_of: Ints
    nested: tuple[Dependency, ...] = ()
    possible: NDArray[np.bool_] | None = None

    __repr__ = without_values

    @cached_property
    def matrices(self) -> tuple[Any, ...]:
        """The matrix, and that of those who know of nested columns, if there are any."""
        if self.possible is None:
            return (self.matrix,)
        return self.matrix, only_rows(self.matrix, self.possible)

    @property
    def impossible(self) -> NDArray[np.bool_]:
        """Whether each cell is empty for those who know of nested columns."""
        return np.asarray(np.diff(self.matrices[-1].indptr) == 0)

    @property
    def n_cells(self) -> int:
        """How many different cells the tables have."""
        return len(self.keys)

    def sums(self, inner: NDArray[Any]) -> NDArray[Any]:
        """Return the values of all cells, given those of the inner cells."""
        return np.asarray(self.matrix.T @ inner)

    def codes(self, cell: int) -> dict[str, str]:
        """Return the code of a cell in each column."""
        return {
            name: tree.codes[node]
            for (name, tree), node in zip(self.hierarchies.items(), self.keys[cell], strict=True)
        }

    def words(self, cell: int) -> str:
        """Return the codes of a cell that are no totals, in words."""
        parts = [
            f"{name} {tree.codes[node]}"
            for (name, tree), node in zip(self.hierarchies.items(), self.keys[cell], strict=True)
            if node
        ]
        return ", ".join(parts) or "the grand total"

    def families(self) -> Iterator[tuple[int, Ints]]:
        """Return for each table and column: a cell, and the cells one step below that sum to it."""
        names = tuple(self.hierarchies)
        for layout, members in zip(self.layouts, self.members, strict=True):
            keys = self.keys[members]
            for name in layout.by:
                tree, at = self.hierarchies[name], names.index(name)
                below = np.flatnonzero(keys[:, at] > 0)
                if not len(below):
                    continue
                up = keys[below].copy()
                up[:, at] = tree.parent[up[:, at]]
                sizes = [len(one.codes) for one in self.hierarchies.values()]
                (parents, mine), n = key_cells([list(up.T), list(keys.T)], sizes)
                cell_of = np.full(n, -1, np.int64)
                cell_of[mine] = members
                order = np.argsort(parents, kind="stable")
                edges = np.flatnonzero(np.diff(parents[order])) + 1
                for group in np.split(order, edges):
                    yield int(cell_of[parents[group[0]]]), members[below[group]]


def cells_of(
    codes: Mapping[str, Ints],
    hierarchies: Mapping[str, Hierarchy],
    layouts: Sequence[Layout],
    *,
    every: bool = False,
) -> Cells:
    """Lay several tables over the inner cells of some records.

    Parameters
    ----------
    codes
        For each column the leaf of each record, by its position among the leaves.
    hierarchies
        The codes of each column; exactly those columns that the tables use.
    layouts
        The tables.
    every
        Whether combinations of codes that no record has are inner cells too, as for tables whose
        zeros are not known beforehand.

    Examples
    --------
    >>> sex = Hierarchy.of(["f", "m"])
    >>> cells = cells_of({"sex": np.array([0, 1, 1])}, {"sex": sex}, [Layout("by sex", ("sex",))])
    >>> cells.matrix.toarray().tolist(), cells.sums(np.array([1, 2])).tolist()
    ([[1, 1, 0], [1, 0, 1]], [3, 1, 2])
    """
    _check_layouts(layouts, hierarchies)
    unique, row_of = _inner(codes, hierarchies, every)
    n, sizes = len(unique), [len(tree.codes) for tree in hierarchies.values()]
    rows, keys, tables = _incidences(unique, hierarchies, layouts)
    (cell,), n_cells = key_cells([list(keys.T)], sizes)
    cell_keys = np.zeros((n_cells, len(sizes)), np.int64)
    cell_keys[cell] = keys
    matrix = sp.csc_array((np.ones(len(rows), np.int64), (rows, cell)), shape=(n, n_cells))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    members = tuple(np.unique(cell[tables == t]) for t in range(len(layouts)))
    counts = np.bincount(row_of, minlength=n)
    occurs = unique[counts > 0]
    nested = dependencies(occurs, counts[counts > 0], hierarchies) if every else ()
    return Cells(
        dict(hierarchies), unique, cell_keys, matrix, tuple(layouts), members, row_of, nested,
        compatible(unique, occurs, hierarchies, nested) if nested else None,
    )  # fmt: skip


def _inner(
    codes: Mapping[str, Ints], hierarchies: Mapping[str, Hierarchy], every: bool
) -> tuple[Ints, Ints]:
    """Return the codes of each inner cell, and the inner cell of each record."""
    nodes = [hierarchies[name].leaves[np.asarray(codes[name])] for name in hierarchies]
    sizes = [len(tree.codes) for tree in hierarchies.values()]
    leaves = [tree.leaves for tree in hierarchies.values()]
    if every:
        if prod(len(one) for one in leaves) > MOST_INNER:
            raise CaveatError(
                f"the columns have more than {MOST_INNER:,} combinations of codes",
                where="tables",
                do="treat zeros as known, or use fewer columns",
                code="outputs.cell.too-many",
            )
        inner = np.stack([part.ravel() for part in np.meshgrid(*leaves, indexing="ij")], axis=1)
        (row_of, place), n = key_cells([nodes, list(inner.T)], sizes)
    else:
        (row_of,), n = key_cells([nodes], sizes)
        inner, place = np.stack(nodes, axis=1), row_of
    unique = np.zeros((n, len(sizes)), np.int64)
    unique[place] = inner
    return unique, row_of


def only_rows(matrix: Any, rows: NDArray[np.bool_]) -> Any:
    """Return a matrix of the same shape with nothing in other rows."""
    found = sp.coo_array(matrix)
    there = rows[found.row]
    entries = (found.data[there], (found.row[there], found.col[there]))
    return sp.csc_array(entries, shape=found.shape)


def _check_layouts(layouts: Sequence[Layout], hierarchies: Mapping[str, Hierarchy]) -> None:
    for layout in layouts:
        if not layout.by:
            raise CaveatError(
                "a table of one cell has nothing to hide behind: a hidden total is simply missing",
                where=f"table {layout.name}",
                do="break it down by a column",
                code="outputs.column.absent",
            )
        if len(set(layout.by)) < len(layout.by):
            raise CaveatError(
                "a column stands there twice",
                where=f"table {layout.name}",
                do="name it once",
                code="data.column.duplicate",
            )
        for name, depth in layout.depth.items():
            if name not in layout.by or depth < 1:
                raise CaveatError(
                    "a depth is 1 or more, of a column of the table",
                    where=f"table {layout.name}",
                    column=name,
                    code="outputs.setting.range",
                )
    used = {name for layout in layouts for name in layout.by}
    if used != set(hierarchies):
        raise CaveatError(
            "every column of a table needs its codes", where="tables", code="outputs.code.absent"
        )


def _incidences(
    inner: Ints, hierarchies: Mapping[str, Hierarchy], layouts: Sequence[Layout]
) -> tuple[Ints, Ints, Ints]:
    """Return inner cell, key of the cell and table for every inner cell of every cell."""
    rows, keys, tables = [], [], []
    for t, layout in enumerate(layouts):
        ways = []
        for name, tree in hierarchies.items():
            deepest = min(layout.depth.get(name, len(tree.at_depth)), len(tree.at_depth) - 1)
            ways.append(range(deepest + 1) if name in layout.by else range(1))
        for depths in product(*ways):
            key = np.stack(
                [
                    tree.at_depth[depth][inner[:, i]]
                    for i, (tree, depth) in enumerate(
                        zip(hierarchies.values(), depths, strict=True)
                    )
                ],
                axis=1,
            )
            there = np.flatnonzero((key >= 0).all(axis=1))
            rows.append(there)
            keys.append(key[there])
            tables.append(np.full(len(there), t))
    return np.concatenate(rows), np.concatenate(keys), np.concatenate(tables)


def check_totals(cells: Cells, values: NDArray[Any]) -> None:
    """Refuse values of cells of which one is not the sum of those below it.

    Parameters
    ----------
    cells
        The cells.
    values
        A value for each; NaN where none is given.
    """
    given = np.asarray(values, float)
    for cell, below in cells.families():
        if np.isnan(given[cell]) or np.isnan(given[below]).any():
            continue
        total = given[below].sum()
        if abs(total - given[cell]) > RELATIVE * max(1.0, np.abs(given[below]).sum()):
            raise CaveatError(
                f"the cells below {cells.words(cell)} do not add up to it",
                where="tables",
                do="correct the total or the cells",
                code="outputs.total.mismatch",
            )


def check_published(
    cells: Cells,
    layout: Layout,
    codes: Sequence[Sequence[str]],
    given: NDArray[Any],
    values: NDArray[Any],
) -> NDArray[np.bool_]:
    """Refuse a table that somebody published if it does not add up or is not that of the data.

    Parameters
    ----------
    cells, values
        The cells, and what the data say about each.
    layout
        Which of the tables it is.
    codes
        The codes of its cells: for each column of the table those of all its rows.
    given
        The values that it has; NaN where none is shown.

    Returns
    -------
    Which cells it shows.
    """
    names = list(cells.hierarchies)
    place = {tuple(key): cell for cell, key in enumerate(cells.keys.tolist())}
    known, listed = np.full(cells.n_cells, np.nan), np.zeros(cells.n_cells, bool)
    nodes = [{code: i for i, code in enumerate(cells.hierarchies[n].codes)} for n in layout.by]
    for row, texts in enumerate(zip(*codes, strict=True)):
        key = [0] * len(names)
        for name, node, text in zip(layout.by, nodes, texts, strict=True):
            # A code that a spreadsheet would compute has an apostrophe before it in a file.
            key[names.index(name)] = node.get(text, node.get(text.removeprefix("'"), -1))
        cell = place.get(tuple(key))
        if cell is not None:
            known[cell], listed[cell] = given[row], True
        elif np.isnan(given[row]) and -1 not in key:
            raise CaveatError(
                "no record is in this cell, and it hides that",
                where="the published table",
                row=row + 1,
                do='hide empty cells here too, with zeros = "hidden"',
                code="outputs.cell.conflict",
            )
        elif given[row] != 0:
            raise CaveatError(
                "no record is in this cell",
                where="the published table",
                row=row + 1,
                code="outputs.cell.mismatch",
            )
    _refuse_told_zeros(cells, cells.members[cells.layouts.index(layout)], known, listed)
    check_totals(cells, known)
    _refuse_other_values(cells, known, values)
    return np.asarray(~np.isnan(known))


def _refuse_other_values(cells: Cells, known: NDArray[np.float64], values: NDArray[Any]) -> None:
    """Refuse a table that shows another value than the data have."""
    apart = np.abs(known - values) > RELATIVE * np.maximum(1.0, np.abs(values))
    if apart.any():
        raise CaveatError(
            f"the value of {cells.words(int(np.argmax(apart)))} is not that of the data",
            where="the published table",
            do="find out which of them is right before anything else is published",
            code="outputs.value.mismatch",
        )


def _refuse_told_zeros(
    cells: Cells, members: Ints, known: NDArray[np.float64], listed: NDArray[np.bool_]
) -> None:
    """Refuse a table that tells which cells are empty, where these are cells to be hidden.

    It shows them, or leaves them out: unless it leaves hidden ones out too, and lists none.
    """
    counts = cells.sums(np.bincount(cells.row_of, minlength=len(cells.inner)))[members]
    known, absent = known[members], ~listed[members]
    told = known == 0
    if np.isnan(known[~absent]).any() or not counts[absent].any():
        told |= absent
    told &= counts == 0
    if told.any():
        raise CaveatError(
            f"it tells which cells are empty ({int(told.sum()):,}), such as "
            f"{cells.words(int(members[told][0]))}",
            where="the published table",
            do='this cannot be undone: use zeros = "public"',
            code="outputs.cell.confidential",
        )
