"""Several tables that belong together: households and persons, patients and visits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError, hint
from caveat.table.align import recode_to
from caveat.table.column import Column
from caveat.table.table import Table

__all__ = ["Link", "Linked", "places_within"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Link:
    """A column of one table that holds keys of another.

    Parameters
    ----------
    child, column
        The table and its column.
    parent
        The table whose key it holds.
    """

    child: str
    column: str
    parent: str


@dataclass(frozen=True, eq=False)
class Linked:
    """Tables with their keys, checked: every child has its parent.

    Parameters
    ----------
    tables
        The tables by name.
    keys
        The column that numbers the rows of a table, where it has one.
    links
        Which columns hold keys of other tables.
    lookups
        Tables that are public lists of codes: they are kept as they are, keys included.
    order
        The column by which the children of one parent stand, a minus before it for falling values;
        tables without one keep the order of their rows.

    Examples
    --------
    >>> patients = Table.from_frame({"id": [7, 8], "sex": ["f", "m"]})
    >>> visits = Table.from_frame({"patient": [8, 7, 8], "day": [1, 4, 2]})
    >>> both = Linked({"patients": patients, "visits": visits}, {"patients": "id"},
    ...               (Link("visits", "patient", "patients"),))
    >>> both.sequence, both.parent_rows("visits").tolist()
    (('patients', 'visits'), [1, 0, 1])
    """

    tables: Mapping[str, Table]
    keys: Mapping[str, str] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    lookups: frozenset[str] = frozenset()
    order: Mapping[str, str] = field(default_factory=dict)

    __repr__ = without_values

    def __post_init__(self) -> None:
        for name in ("tables", "keys", "order"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        if not self.tables:
            raise CaveatError("there is no table", do="name at least one", code="data.table.absent")
        self._check_names()
        for table, key in self.keys.items():
            _check_key(self.tables[table][key], table, key)
        for table in self.tables:
            parents = [link for link in self.links if link.child == table and self._binds(link)]
            if len(parents) > 1:
                names = " and ".join(link.parent for link in parents)
                raise CaveatError(
                    f"the table has two parents, {names}",
                    where=f"table {table}",
                    do="declare the one that is a public list of codes as lookup = true",
                    code="data.link.conflict",
                )
        assert self.sequence  # raises if tables hang on each other in a circle
        assert self._held is not None  # raises if a row has no parent

    @cached_property
    def _held(self) -> dict[Link, Ints]:
        """The row that each row of a link's child points to."""
        return {link: self._rows_of(link) for link in self.links}

    def _check_names(self) -> None:
        for table in (*self.keys, *self.order, *self.lookups):
            self._table(table, "tables")
        for link in self.links:
            where = f"link of {link.child} to {link.parent}"
            self._table(link.parent, where)
            self._column(self._table(link.child, where), link.column, link.child)
            if link.child == link.parent:
                raise CaveatError(
                    "the table is linked to itself",
                    where=f"table {link.child}",
                    column=link.column,
                    do="link it to the table whose rows own its rows, or drop the column",
                    code="data.link.conflict",
                )
            if not self.keys.get(link.parent):
                raise CaveatError(
                    f"{link.parent} has no key that others could refer to",
                    where=where,
                    do="name its key",
                    code="data.key.undeclared",
                )
        for table, key in self.keys.items():
            self._column(self.tables[table], key, table)
        for table, column in self.order.items():
            self._column(self.tables[table], column.removeprefix("-"), table)

    def _table(self, name: str, where: str) -> Table:
        if name not in self.tables:
            raise CaveatError(
                f"there is no table {name!r}",
                where=where,
                do=hint(name, list(self.tables)),
                code="data.table.unknown",
            )
        return self.tables[name]

    def _column(self, table: Table, column: str, name: str) -> None:
        if column not in table:
            raise CaveatError(
                f"there is no column {column!r}",
                where=f"table {name}",
                do=hint(column, [*table]),
                code="data.column.unknown",
            )

    def _binds(self, link: Link) -> bool:
        """Whether a link makes the parent's rows own the child's."""
        return link.parent not in self.lookups

    def parent_of(self, table: str) -> Link | None:
        """Return the link to the table whose rows own those of this one."""
        return next((k for k in self.links if k.child == table and self._binds(k)), None)

    def children_of(self, table: str) -> tuple[str, ...]:
        """Return the tables whose rows belong to rows of this one."""
        names = [k.child for k in self.links if k.parent == table and self._binds(k)]
        return tuple(name for name in self.tables if name in names)

    @cached_property
    def sequence(self) -> tuple[str, ...]:
        """The tables, parents before children."""
        found: list[str] = []
        waiting = [name for name in self.tables if name not in self.lookups]
        while waiting:
            ready = [
                name
                for name in waiting
                if (link := self.parent_of(name)) is None or link.parent in found
            ]
            if not ready:
                raise CaveatError(
                    f"{' and '.join(waiting)} are parents of each other",
                    where="tables",
                    do="leave one of the links out",
                    code="data.link.conflict",
                )
            found += ready
            waiting = [name for name in waiting if name not in ready]
        return tuple(found)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The tables without parent."""
        return tuple(name for name in self.sequence if self.parent_of(name) is None)

    @cached_property
    def owners(self) -> Mapping[str, Ints]:
        """Of each table the row of the topmost one above it that each row belongs to."""
        found: dict[str, Ints] = {}
        for table in self.sequence:
            link = self.parent_of(table)
            if link is None:
                found[table] = np.arange(self.tables[table].n_rows)
            else:
                found[table] = found[link.parent][self.parent_rows(table)]
        return found

    def only(self, wanted: NDArray[np.bool_]) -> Linked:
        """Return some rows of the one table without parent, and all that belongs to them.

        No table keeps a level that its own rows do not have.

        Examples
        --------
        >>> patients = Table.from_frame({"id": [7, 8], "sex": ["f", "m"]})
        >>> visits = Table.from_frame({"patient": [8, 7, 8], "day": [1, 4, 2]})
        >>> both = Linked({"patients": patients, "visits": visits}, {"patients": "id"},
        ...               (Link("visits", "patient", "patients"),))
        >>> both.only(np.array([False, True])).tables["visits"].n_rows
        2
        """
        tables = {
            name: table
            if name in self.lookups
            else table.take(np.flatnonzero(wanted[self.owners[name]])).compact()
            for name, table in self.tables.items()
        }
        return replace(self, tables=tables)

    def parent_rows(self, table: str) -> Ints:
        """Return for each row of a table the row of its parent."""
        link = self.parent_of(table)
        assert link is not None
        return self._held[link]

    def _rows_of(self, link: Link) -> Ints:
        """Return the rows that a link points to; a key that nobody has is an error."""
        key, column = self.tables[link.parent][self.keys[link.parent]], self.tables[link.child]
        held = column[link.column]
        if held.is_missing.any():
            raise CaveatError(
                f"{int(held.is_missing.sum()):,} rows have no key of {link.parent}",
                where=f"table {link.child}",
                column=link.column,
                do="complete them, or leave these rows out",
                code="data.key.absent",
            )
        rows = np.full(key.n_levels + 1, -1, np.int64)
        rows[key.codes] = np.arange(len(key))
        found = rows[recode_to(held, key)]
        lost = int((found < 0).sum())
        if lost:
            raise CaveatError(
                f"{lost:,} rows of {link.child} have no parent in {link.parent}",
                where=f"table {link.child}",
                column=link.column,
                do="complete the parents, or leave these rows out",
                code="data.key.unknown",
            )
        return found

    def arranged(self, table: str) -> tuple[Ints, Ints]:
        """Return the rows of a child table, parent by parent and in order, and their places.

        The place of a row among its siblings is counted from 0.
        """
        parents = self.parent_rows(table)
        by = self.order.get(table, "")
        standing = np.zeros(len(parents))
        if by:
            column = self.tables[table][by.removeprefix("-")]
            numbers = column.cell_numbers if column.kind.is_number else column.codes.astype(float)
            standing = -numbers if by.startswith("-") else numbers
        rows = np.lexsort((standing, parents))  # stable; what is missing comes last
        return rows, places_within(parents[rows])


def places_within(owners: Ints) -> Ints:
    """Return the place of each row in its run of equal owners, from 0.

    Examples
    --------
    >>> places_within(np.array([4, 4, 7, 7, 7])).tolist()
    [0, 1, 0, 1, 2]
    """
    at = np.arange(len(owners))
    starts = np.append(True, owners[1:] != owners[:-1]) if len(owners) else np.zeros(0, bool)
    return np.asarray(at - np.maximum.accumulate(np.where(starts, at, 0)), np.int64)


def _check_key(column: Column, table: str, key: str) -> None:
    missing = int(column.is_missing.sum())
    if missing:
        raise CaveatError(
            f"{missing:,} rows have no key",
            where=f"table {table}",
            column=key,
            do="complete them, or leave these rows out",
            code="data.key.absent",
        )
    twice = int((column.counts > 1).sum())
    if twice:
        raise CaveatError(
            f"{twice:,} keys stand in more than one row",
            where=f"table {table}",
            column=key,
            do="name a column that numbers the rows",
            code="data.key.duplicate",
        )
