"""The cells of several tables over one set of inner cells; hierarchies and nested columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.table.cells import key_cells

Ints = NDArray[np.int64]
TOTAL = "Total"


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The codes of one column, from the total down.

    Attributes
    ----------
    codes
        The codes; the first is the total. Those below a code follow it.
    parent
        The position of the code above each; -1 for the total.
    leaves
        The position of each code that the data have, in the order in which they were given.
    """

    codes: tuple[str, ...]
    parent: Ints
    leaves: Ints

    __repr__ = without_values

    @classmethod
    def of(
        cls,
        found: Sequence[str],
        parents: Mapping[str, str] | None = None,
        *,
        total: str = TOTAL,
        column: str | None = None,
    ) -> Hierarchy:
        """Arrange the codes of the data under the codes above them.

        Parameters
        ----------
        found
            The distinct codes of the data.
        parents
            For a code the code above it; codes without one stand directly below the total.
        total
            What the total is called.
        column
            Of which column, for errors.

        Examples
        --------
        >>> tree = Hierarchy.of(["Bergen", "Oslo"], {"Bergen": "west", "Oslo": "east"})
        >>> tree.codes
        ('Total', 'west', 'Bergen', 'east', 'Oslo')
        >>> tree.depth.tolist()
        [0, 1, 2, 1, 2]
        """
        above = dict(parents or {})
        _check_circles(above, column)
        if total in above:
            raise CaveatError(
                "the total has a code above it",
                column=column,
                do="remove it",
                code="outputs.hierarchy.malformed",
            )
        inner = set(above.values())
        for code in found:
            if code in inner or code == total:
                raise CaveatError(
                    "a code of the data stands for others, as a total does",
                    column=column,
                    do="rename it, or remove what stands below it from the hierarchy",
                    code="outputs.code.conflict",
                )
        return cls(*_arranged(list(found), above, total))

    @cached_property
    def depth(self) -> Ints:
        """How far below the total each code stands."""
        out = np.zeros(len(self.codes), np.int64)
        for node in range(1, len(out)):
            out[node] = out[self.parent[node]] + 1
        return out

    @cached_property
    def at_depth(self) -> Ints:
        """For each depth and code: the code on the way to the total; -1 where there is none."""
        out = np.full((int(self.depth.max()) + 1, len(self.codes)), -1, np.int64)
        for node in range(len(self.codes)):
            here = node
            while here >= 0:
                out[self.depth[here], node] = here
                here = int(self.parent[here])
        return out


def _check_circles(above: Mapping[str, str], column: str | None) -> None:
    safe: set[str] = set()
    for code in above:
        path, on_it = [code], {code}
        while path[-1] in above and path[-1] not in safe:
            path.append(above[path[-1]])
            if path[-1] in on_it:
                circle = path[path.index(path[-1]) :]
                shown = " → ".join(circle[:5] + (["…", circle[-1]] if len(circle) > 5 else []))
                raise CaveatError(
                    f"the codes stand above each other in a circle: {shown}",
                    column=column,
                    do="give each code one above it that leads to the total",
                    code="outputs.hierarchy.malformed",
                )
            on_it.add(path[-1])
        safe.update(path)


def _arranged(
    found: list[str], above: Mapping[str, str], total: str
) -> tuple[tuple[str, ...], Ints, Ints]:
    """Return codes depth first, their parents and the positions of the leaves."""
    below: dict[str, dict[str, None]] = {total: {}}  # in order, and each once
    for code in found:
        while code != total:
            up = above.get(code, total)
            known = up in below
            below.setdefault(up, {})[code] = None
            if known:
                break
            code = up
    codes: list[str] = []
    parent: list[int] = []
    place: dict[str, int] = {}
    stack = [(total, -1)]
    while stack:
        code, at = stack.pop()
        place[code] = len(codes)
        codes.append(code)
        parent.append(at)
        stack += [(child, place[code]) for child in reversed(below.get(code, {}))]
    leaves = np.array([place[code] for code in found], np.int64)
    return tuple(codes), np.array(parent, np.int64), leaves


# -------------------------------------------------------------------------------------------------
# Columns that determine others: towns in counties, written as two columns.
#
# Who knows which town is in which county knows that other combinations do not exist. A pattern
# whose empty cells are hidden must hold against those who know this as well as against those who
# do not.

NEARLY = 0.9  # of the records: a few codes, such as towns on a border, may have several
CHANCE = 0.5  # of the records, if the columns were independent; more of them prove nothing


@dataclass(frozen=True)
class Dependency:
    """Columns whose codes together determine the code of another column.

    Parameters
    ----------
    of
        The columns that determine it, one or two.
    on
        The column that is determined.
    depth
        Down to which level of its codes; 1 is the level below the total.
    """

    of: tuple[str, ...]
    on: str
    depth: int = 1

    def __str__(self) -> str:
        many = len(self.of) > 1
        return f"{' and '.join(self.of)} {'determine' if many else 'determines'} {self.on}"


def dependencies(
    nodes: Ints, counts: Ints, hierarchies: Mapping[str, Hierarchy]
) -> tuple[Dependency, ...]:
    """Find columns that determine others.

    One column determines another if each of its codes occurs with one code of the other only. It is
    also counted if that holds of codes with nine tenths of the records, as where a few towns lie in
    two counties, unless chance alone would bring half of the records there. Two columns together
    are counted only if chance would not.

    Parameters
    ----------
    nodes
        The position of the code in each column, for each combination that occurs.
    counts
        How many records have it.
    hierarchies
        The codes of each column.

    Examples
    --------
    >>> trees = {"town": Hierarchy.of(["a", "b", "c"]), "county": Hierarchy.of(["n", "s"])}
    >>> nodes = np.array([[1, 1], [2, 1], [3, 2]])
    >>> [str(one) for one in dependencies(nodes, np.array([9, 4, 7]), trees)]
    ['town determines county']
    """
    names, found = tuple(hierarchies), []
    for name, tree in hierarchies.items():
        others = [other for other in names if other != name]
        for depth in range(len(tree.at_depth) - 1, 0, -1):
            there = _determinants(nodes, counts, hierarchies, others, (name, depth))
            found += [Dependency(of, name, depth) for of in there]
            # What determines the finest codes determines those above them too.
            others = [other for other in others if (other,) not in there]
    return tuple(found)


def _determinants(
    nodes: Ints, counts: Ints, hierarchies: Mapping[str, Hierarchy], others: Sequence[str],
    target: tuple[str, int],
) -> list[tuple[str, ...]]:  # fmt: skip
    """Return the columns that determine a target, alone or in pairs of such as do not alone."""
    names = list(hierarchies)
    values = _view(nodes, hierarchies, *target)
    if len(np.unique(values)) < 2:
        return []
    alone = [
        other for other in others
        if _determines(nodes[:, [names.index(other)]], values, counts, strictly=True)
    ]  # fmt: skip
    rest = [other for other in others if other not in alone]
    pairs = [
        pair for pair in combinations(rest, 2)
        if _determines(nodes[:, [names.index(one) for one in pair]], values, counts)
    ]  # fmt: skip
    return [*((one,) for one in alone), *pairs]


def _determines(groups: Ints, values: Ints, counts: Ints, *, strictly: bool = False) -> bool:
    """Whether groups have one value each: all of them, or more than chance would."""
    sizes = [int(column.max()) + 1 for column in groups.T]
    (group,), n = key_cells([list(groups.T)], sizes)
    (pair,), n_pairs = key_cells([[group, values]], [n, int(values.max()) + 1])
    if strictly and n_pairs == n:
        return True
    first = np.zeros(n_pairs, np.int64)
    first[pair] = group
    single = np.bincount(first, minlength=n)[group] == 1
    if counts[single].sum() < NEARLY * counts.sum():
        return False
    shares = np.bincount(values, counts) / counts.sum()
    sizes_of, times = np.unique(np.bincount(group, counts, n), return_counts=True)
    expected = sum(
        size * many * float((shares**size).sum())
        for size, many in zip(sizes_of.tolist(), times.tolist(), strict=True)
    )
    return bool(expected <= CHANCE * counts.sum())


def _view(nodes: Ints, hierarchies: Mapping[str, Hierarchy], name: str, depth: int) -> Ints:
    """Return the codes of a column down to a depth; a code that ends above it stays."""
    mine = nodes[:, list(hierarchies).index(name)]
    above = hierarchies[name].at_depth[depth][mine]
    return np.where(above < 0, mine, above)


def compatible(
    inner: Ints, occurs: Ints, hierarchies: Mapping[str, Hierarchy], found: Sequence[Dependency]
) -> NDArray[np.bool_]:
    """Return which combinations of codes dependencies allow.

    Parameters
    ----------
    inner
        The position of the code in each column, for each combination.
    occurs
        The same for those that records have.
    hierarchies
        The codes of each column.
    found
        The dependencies. Those of their columns' codes that occur together are possible.
    """
    out, names = np.ones(len(inner), bool), list(hierarchies)
    for one in found:
        at = [names.index(name) for name in one.of]
        keys = [
            [*part[:, at].T, _view(part, hierarchies, one.on, one.depth)]
            for part in (occurs, inner)
        ]  # fmt: skip
        sizes = [len(hierarchies[name].codes) for name in (*one.of, one.on)]
        (there, mine), n = key_cells(keys, sizes)
        out &= np.isin(np.arange(n), there)[mine]
    return out


# -------------------------------------------------------------------------------------------------
# The cells of several tables over one set of inner cells.
#
# An inner cell is a combination of codes of all columns that any of the tables has. Every cell of
# every table is a sum of inner cells; the model matrix says of which. A cell that two tables
# share is one cell.

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
