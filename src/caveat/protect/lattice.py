"""Full-domain generalisation: hierarchies of columns, and the lattice of their levels.

A column has levels from 0, where values are as they are, to its top; each level puts groups of the
one before together. A node of the lattice is one level for every column. The rule that takes a
value to its group is declared, and never found from the data: what is done to one record depends on
no other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.protect.values import number_column
from caveat.table import Column, Kind, Table
from caveat.table.cells import Ints, key_cells

__all__ = ["HIDDEN", "Hierarchy", "Lattice", "Levels", "Node", "equivalence_classes"]

HIDDEN = "*"
"""What stands in a column that is generalised to one group."""

Node = tuple[int, ...]


@dataclass(frozen=True)
class Levels:
    """What is declared about the levels of one column.

    Without widths or groups a column has two levels: as it is, and hidden.

    Parameters
    ----------
    widths
        For numbers: the widths of the intervals of level 1, 2, …, each a multiple of the one
        before.
    origin
        Where an interval begins.
    groups
        For classes: one grouping for each level 1, 2, …. The first one has for each group its
        values, the later ones the groups of the one before.
    hides
        Whether the top is one group for everything.

    Examples
    --------
    >>> age = Table.from_frame({"age": [31, 34, 47]})["age"]
    >>> hierarchy = Levels(widths=[5, 10]).of(age, "age")
    >>> hierarchy.names[1:]
    (('[30, 35)', '[45, 50)'), ('[30, 40)', '[40, 50)'), ('*',))
    """

    widths: Sequence[float] = ()
    origin: float = 0.0
    groups: Sequence[Mapping[str, Sequence[Any]]] = ()
    hides: bool = True

    def __post_init__(self) -> None:
        if self.widths and self.groups:
            raise CaveatError(
                "widths and groups do not go together",
                do="give one of them",
                code="protection.setting.conflict",
            )
        finite = all(math.isfinite(number) for number in (*self.widths, self.origin))
        if not finite or any(width <= 0 for width in self.widths):
            raise CaveatError(
                "widths must be above 0",
                do="mend widths and origin",
                code="protection.setting.range",
            )
        for low, high in itertools.pairwise(self.widths):
            ratio = high / low
            if ratio < 1.5 or not math.isclose(ratio, round(ratio), rel_tol=1e-9):
                raise CaveatError(
                    f"the width {high:g} is no multiple of {low:g}",
                    do="make every width a multiple of the one before",
                    code="protection.setting.mismatch",
                )

    def of(self, column: Column, name: str) -> Hierarchy:
        """Return the hierarchy of a column; a value that was not declared is an error."""
        first = (*map(_text, column.levels.tolist()), *map(str, column.missing))
        maps, names = [np.arange(column.n_levels)], [first]
        found = self._intervals(column, name) if self.widths else self._groups(column, name)
        missing = list(map(str, column.missing))
        for codes, labels in found:
            # A way to be missing stays what it is until everything is hidden.
            ways = len(labels) + np.arange(len(missing))
            maps.append(np.append(codes, ways).astype(np.int64))
            names.append((*labels, *missing))
        if self.hides:
            maps.append(np.zeros(column.n_levels, np.int64))
            names.append((HIDDEN,))
        return Hierarchy(tuple(maps), tuple(names))

    def words(self, level: int) -> str:
        """Return what a level does.

        Examples
        --------
        >>> [Levels(widths=[5, 10]).words(level) for level in range(4)]
        ['as it is', 'intervals of 5', 'intervals of 10', 'hidden']
        """
        if level == 0:
            return "as it is"
        if level <= len(self.widths):
            return f"intervals of {self.widths[level - 1]:g}"
        return f"grouping {level}" if level <= len(self.groups) else "hidden"

    def _intervals(self, column: Column, name: str) -> Iterator[tuple[Ints, list[str]]]:
        numbers = number_column(Table({name: column}), name, "a hierarchy of widths").numbers
        index = np.floor((numbers - self.origin) / self.widths[0]).astype(np.int64)
        for position, width in enumerate(self.widths):
            if position:
                # From the level before: rounding cannot take an interval apart.
                index = index // round(width / self.widths[position - 1])
            used, codes = np.unique(index, return_inverse=True)
            starts = [self.origin + float(i) * width for i in used]
            yield codes, [f"[{start:.10g}, {start + width:.10g})" for start in starts]

    def _groups(self, column: Column, name: str) -> Iterator[tuple[Ints, list[str]]]:
        if self.groups and column.kind in (Kind.DATE, Kind.DATETIME):
            raise CaveatError(
                "dates have no groups",
                column=name,
                do="derive a year and group it",
                code="protection.column.unsupported",
            )
        members: list[str] = [_text(value) for value in column.levels.tolist()]
        codes = np.arange(len(members))
        for level, grouping in enumerate(self.groups, 1):
            group_of: dict[str, str] = {}
            for group, values in grouping.items():
                for value in map(_text, values):
                    if value in group_of:
                        raise CaveatError(
                            f"something is in two groups of level {level}",
                            column=name,
                            do="put every value into one group",
                            code="protection.group.duplicate",
                        )
                    group_of[value] = group
            absent = [i for i, member in enumerate(members) if member not in group_of]
            if absent:
                raise _undeclared(column, codes, absent[0], level, name)
            labels = list(dict.fromkeys(grouping))
            place = {group: i for i, group in enumerate(labels)}
            codes = np.array([place[group_of[member]] for member in members], np.int64)[codes]
            members = labels
            yield codes, labels


def _text(value: Any) -> str:
    """Return a value as it is compared: 3.0 in the data is 3 in a declaration."""
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def _undeclared(column: Column, codes: Ints, code: int, level: int, name: str) -> CaveatError:
    if level > 1:
        return CaveatError(
            f"a group of level {level - 1} is in no group of level {level}",
            column=name,
            do="name every group of the level before",
            code="protection.group.undeclared",
        )
    row = int(np.argmax(column.codes == np.flatnonzero(codes == code)[0])) + 1
    return CaveatError(
        "a value is in no declared group",
        column=name,
        row=row,
        do="declare every value that can occur, not only those that do",
        code="data.value.undeclared",
    )


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The levels of one column as arrays.

    Parameters
    ----------
    maps
        For each level the group of each code of level 0; the first is 0, 1, ….
    names
        For each level the names of the groups.

    Examples
    --------
    >>> Hierarchy((np.arange(3), np.array([0, 0, 1])), (("a", "b", "c"), ("ab", "c"))).top
    1
    """

    maps: tuple[Ints, ...]
    names: tuple[tuple[str, ...], ...]

    __repr__ = without_values

    def __post_init__(self) -> None:
        if not self.maps or not np.array_equal(self.maps[0], np.arange(len(self.maps[0]))):
            raise ValueError("level 0 leaves codes as they are")
        if len(self.maps) != len(self.names):
            raise ValueError("every level needs names")
        for low, high, names in zip(self.maps, self.maps[1:], self.names[1:], strict=False):
            if len(high) != len(low) or (len(high) and int(high.max()) >= len(names)):
                raise ValueError("a level does not fit its codes or names")
            if len(set(zip(low.tolist(), high.tolist(), strict=True))) != len(set(low.tolist())):
                raise ValueError("a level takes a group of the one before apart")

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.maps) - 1

    def column(self, original: Column, level: int, codes: Ints) -> Column:
        """Return released cells as a column that says nothing about any other cell.

        Which levels there are, how they are written and in which order they stand depends on the
        released cells alone: a single 2.5 that was not released must not make 1 a 1.0.

        Parameters
        ----------
        original
            The column that the hierarchy was made of.
        level
            Its level.
        codes
            Groups of this level, one per released row.
        """
        if level == 0 and original.kind.is_number:
            return _in_order(replace(original.with_codes(codes), storage=""))
        names = self.names[level]
        ways = () if names == (HIDDEN,) else original.missing
        missing = tuple(replace(m, code=None if m.code is None else str(m.code)) for m in ways)
        levels = np.array(names[: len(names) - len(ways)], dtype=object)
        labels = {_text(k): v for k, v in original.value_labels.items()} if level == 0 else {}
        made = Column(codes, levels, Kind.CATEGORY, missing, original.label, labels)
        return _in_order(made)


def _in_order(column: Column) -> Column:
    """Return a column with the levels that occur, sorted, and their labels."""
    column = column.compact()
    n = len(column.levels)
    order = np.argsort(column.levels, kind="stable")
    ways = sorted(range(len(column.missing)), key=lambda way: column.missing[way].key)
    place = np.empty(column.n_levels, np.int64)
    place[np.concatenate([order, n + np.array(ways, np.int64)])] = np.arange(column.n_levels)
    kept = set(column.levels.tolist())
    return replace(
        column,
        codes=place[column.codes],
        levels=column.levels[order],
        missing=tuple(column.missing[way] for way in ways),
        value_labels={k: v for k, v in column.value_labels.items() if k in kept},
    )


@dataclass(frozen=True, eq=False)
class Lattice:
    """All combinations of levels of some columns, from as they are to the tops.

    Examples
    --------
    >>> sex = Levels().of(Table.from_frame({"sex": ["f", "m"]})["sex"], "sex")
    >>> age = Levels([10]).of(Table.from_frame({"age": [31, 47]})["age"], "age")
    >>> lattice = Lattice((sex, age))
    >>> lattice.n_nodes, lattice.predecessors((1, 1))
    (6, [(0, 1), (1, 0)])
    >>> lattice.generalise(np.array([[0, 0], [1, 1]]), (1, 0)).tolist()
    [[0, 0], [0, 1]]
    """

    hierarchies: tuple[Hierarchy, ...]

    @property
    def top(self) -> Node:
        """The most general node."""
        return tuple(hierarchy.top for hierarchy in self.hierarchies)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return math.prod(level + 1 for level in self.top)

    def nodes(self) -> Iterator[Node]:
        """All nodes, in the order of their levels."""
        return itertools.product(*(range(level + 1) for level in self.top))

    def predecessors(self, node: Node) -> list[Node]:
        """Return the nodes that are one level lower in one column."""
        return [(*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level]

    def generalise(self, codes: Ints, node: Node) -> Ints:
        """Return records at a node: one row per record and one column per hierarchy."""
        columns = zip(self.hierarchies, node, codes.T, strict=True)
        made = [hierarchy.maps[level][column] for hierarchy, level, column in columns]
        return np.stack(made, axis=1) if made else codes

    def sizes(self, node: Node) -> list[int]:
        """Return the number of groups of each column at a node."""
        pairs = zip(self.hierarchies, node, strict=True)
        return [len(hierarchy.names[level]) for hierarchy, level in pairs]

    def classes(self, codes: Ints, node: Node) -> tuple[Ints, int]:
        """Return the equivalence class of each record at a node, and the number of classes."""
        return equivalence_classes(self.generalise(codes, node), self.sizes(node))


def equivalence_classes(codes: Ints, sizes: Sequence[int]) -> tuple[Ints, int]:
    """Give the combinations of codes that occur the numbers 0, 1, … in their order.

    Parameters
    ----------
    codes
        One row per record.
    sizes
        Number of codes of each column.

    Returns
    -------
    The class of each record, and the number of classes.

    Examples
    --------
    >>> classes, n = equivalence_classes(np.array([[1, 0], [0, 2], [1, 0]]), [2, 3])
    >>> classes.tolist(), n
    ([1, 0, 1], 2)
    """
    if not sizes:
        return np.zeros(len(codes), np.int64), min(len(codes), 1)
    (cells,), n = key_cells([list(codes.T)], sizes)
    return cells, n
