"""Several tables that belong together: households and persons, and flat tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, hint
from caveat.showing import without_values
from caveat.table.align import recode_to
from caveat.table.table import Column, Kind, Table

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


# -------------------------------------------------------------------------------------------------
# Which rows belong together: the members of a household, the children of a parent.
#
# A key says nothing but who belongs together: it is read here and used nowhere else, so that
# fresh keys in a release, or other names for the same ones, change no number.


@dataclass(frozen=True, eq=False)
class Members:
    """The group of every row of a table.

    Parameters
    ----------
    group
        The position of the group that each row belongs to.
    n_groups
        Number of groups; some may have no row.
    parents
        What is known of the groups beside their rows: a table with a row for each, if there is one.
    """

    group: Ints
    n_groups: int
    parents: Table | None = None

    __repr__ = without_values

    @cached_property
    def sizes(self) -> Ints:
        """Number of rows of each group."""
        return np.bincount(self.group, minlength=self.n_groups)

    @property
    def n_filled(self) -> int:
        """Number of groups with a row."""
        return int((self.sizes > 0).sum())

    @cached_property
    def order(self) -> Ints:
        """The rows, group by group, within a group as they stand in the table."""
        return np.argsort(self.group, kind="stable")

    @cached_property
    def starts(self) -> Ints:
        """Where each group begins in ``order``."""
        return np.cumsum(self.sizes) - self.sizes

    def take(self, groups: NDArray[Any]) -> tuple[Ints, Members]:
        """Return the rows of some groups, and who belongs together among them.

        A group that is named twice becomes two.

        Examples
        --------
        >>> rows, members = Members(np.array([1, 0, 1]), 2).take(np.array([1, 1]))
        >>> rows.tolist(), members.group.tolist()
        ([0, 2, 0, 2], [0, 0, 1, 1])
        """
        sizes = self.sizes[groups]
        group = np.repeat(np.arange(len(groups)), sizes)
        within = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = self.order[np.repeat(self.starts[groups], sizes) + within]
        parents = None if self.parents is None else self.parents.take(groups)
        return rows, Members(group, len(groups), parents)

    def of_rows(self, rows: NDArray[Any]) -> Members:
        """Return the groups of some rows; those without any of them are gone, but for parents."""
        if self.parents is not None:
            return Members(self.group[rows], self.n_groups, self.parents)
        left, group = np.unique(self.group[rows], return_inverse=True)
        return Members(group, len(left))

    def means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean over the rows of each group; 1 for groups without a row."""
        sums = np.bincount(self.group, values, self.n_groups)
        return np.divide(sums, self.sizes, out=np.ones(self.n_groups), where=self.sizes > 0)


def members_of(table: Table, key: str) -> Members:
    """Return who belongs together by a column: rows with the same value.

    Examples
    --------
    >>> people = Table.from_frame({"household": ["b", "a", "b"], "age": [31, 47, 29]})
    >>> members_of(people, "household").sizes.tolist()
    [1, 2]
    """
    column = table[key].compact()
    lacking = column.is_missing
    if lacking.any():
        raise CaveatError(
            f"{int(lacking.sum()):,} rows have no key",
            column=key,
            row=int(np.argmax(lacking)) + 1,
            do="say to which group they belong, or leave them out",
            code="data.key.absent",
        )
    return Members(column.codes.astype(np.int64), len(column.levels))


def children_of(linked: Linked, table: str) -> Members:
    """Return whose children the rows of a table are; parents without children are groups too.

    Examples
    --------
    >>> from caveat.table.linked import Link
    >>> patients = Table.from_frame({"id": [7, 8, 9], "sex": ["f", "m", "f"]})
    >>> visits = Table.from_frame({"of": [9, 7, 9], "cost": [10, 20, 30]})
    >>> link = Link("visits", "of", "patients")
    >>> linked = Linked({"patients": patients, "visits": visits}, {"patients": "id"}, (link,))
    >>> children_of(linked, "visits").sizes.tolist()
    [1, 0, 2]
    """
    link = linked.parent_of(table)
    if link is None:
        raise CaveatError(
            "its rows belong to no other table", where=f"table {table}", code="data.link.absent"
        )
    parents = without_keys(linked, link.parent)
    return Members(linked.parent_rows(table), len(linked.tables[link.parent]), parents)


def without_keys(linked: Linked, table: str) -> Table:
    """Return a table without its key and the key of its parent: what is left is data.

    A key of a public list of codes is data too.
    """
    link = linked.parent_of(table)
    keys = {linked.keys.get(table), None if link is None else link.column}
    return linked.tables[table].select([n for n in linked.tables[table] if n not in keys])


def varies(codes: NDArray[Any], members: Members) -> NDArray[np.bool_]:
    """Return which groups have more than one value.

    Examples
    --------
    >>> varies(np.array([4, 4, 4, 5]), Members(np.array([0, 0, 1, 1]), 2)).tolist()
    [False, True]
    """
    filled = members.sizes > 0
    first = np.zeros(members.n_groups, dtype=np.int64)
    first[filled] = codes[members.order[members.starts[filled]]]
    other = codes != first[members.group]
    return np.bincount(members.group, other, members.n_groups) > 0


def shared_columns(table: Table, members: Members, but: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the columns that have one value in every group; none if all groups are single rows."""
    if not (members.sizes > 1).any():
        return ()
    return tuple(
        name
        for name in table
        if name not in but and not varies(table[name].codes.astype(np.int64), members).any()
    )


def draw_groups(members: Members, rows: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which rows are drawn: whole groups, as many as there is room for in so many rows.

    At least one group is drawn, and at least one is not.

    Examples
    --------
    >>> household = Members(np.array([0, 0, 1, 1, 2, 2]), 3)
    >>> int(draw_groups(household, 3, np.random.default_rng(1)).sum())
    2
    """
    if members.n_groups < 2:
        raise CaveatError(
            "there is one group only: none can be held out",
            do="set control = 0, or choose a key",
            code="data.group.too-few",
        )
    order = rng.permutation(members.n_groups)
    fitting = members.sizes[order] <= rows  # one large group must not take the place of all others
    order = np.concatenate([order[fitting], order[~fitting]])
    n = int(np.searchsorted(np.cumsum(members.sizes[order]), rows, side="right"))
    drawn = np.zeros(members.n_groups, dtype=bool)
    drawn[order[: min(max(n, 1), members.n_groups - 1)]] = True
    return np.asarray(drawn[members.group])


# -------------------------------------------------------------------------------------------------
# Linked tables as flat ones: the rows of each with the columns of all rows that they belong to.
#
# Measures of risk and utility take one table. Of linked tables they take, for each of them, its
# rows with what is known of their parents, and the numbers of their children. A column that
# several tables have is called by both names, as in ``visits.region``.


def number_of(child: str) -> str:
    """Return the name of the column that says how many children a row has."""
    return f"number of {child}"


@dataclass(frozen=True)
class Joined:
    """What the columns of linked tables are called where they stand beside each other.

    Parameters
    ----------
    own
        Of each table that is not a lookup its columns: what each is called, and its name there.
        Keys are no data and are not among them; the numbers of children are.
    above
        Of each table those that its rows belong to, the nearest first.
    key
        The key of the one table without parent, which says which rows belong together.
    """

    own: Mapping[str, Mapping[str, str]]
    above: Mapping[str, tuple[str, ...]]
    key: str

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables with a column, parents before children."""
        return tuple(name for name in self.own if self.own[name])

    @property
    def root(self) -> str:
        """The table without parent."""
        return next(iter(self.own))

    def names(self, table: str) -> tuple[str, ...]:
        """Return the columns that rows of a table have, their own first."""
        return tuple(name for part in (table, *self.above[table]) for name in self.own[part])

    def home(self, name: str) -> tuple[str, str]:
        """Return the table that has a column, and what the column is called in it."""
        return next((table, own[name]) for table, own in self.own.items() if name in own)

    def holding(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the tables whose rows have all these columns, parents before children."""
        wanted = set(names)
        return tuple(table for table in self.tables if wanted <= set(self.names(table)))

    def called(self, column: str) -> list[str]:
        """Return what columns of this name are called: one, or one of each table that has it."""
        return [n for own in self.own.values() for n, name in own.items() if name == column]

    def table(self, linked: Linked, name: str) -> Table:
        """Return the rows of a table, with all that belongs to them and the key of their group.

        Columns that the tables do not have are left out: a release need not have them all.
        """
        columns: dict[str, Column] = {}
        rows = np.arange(linked.tables[name].n_rows)
        for part in (name, *self.above[name]):
            numbers = {number_of(child): child for child in linked.children_of(part)}
            table = linked.tables[part]
            for called, column in self.own[part].items():
                if column in numbers:
                    columns[called] = _counts(linked, part, numbers[column]).take(rows)
                elif column in table:
                    columns[called] = table[column].take(rows)
            if self.above[part]:
                rows = linked.parent_rows(part)[rows]
        if name != self.root:
            levels = np.arange(linked.tables[self.root].n_rows)
            columns[self.key] = Column(linked.owners[name], levels, Kind.INTEGER)
        return Table(columns, linked.tables[name].backend)


def joined_of(linked: Linked) -> Joined:
    """Return what the columns of linked tables, of which one has no parent, are called.

    Examples
    --------
    >>> from caveat.table.linked import Link
    >>> patients = Table.from_frame({"id": [7, 8], "sex": ["f", "m"], "region": ["N", "S"]})
    >>> visits = Table.from_frame({"of": [8, 7, 8], "day": [1, 4, 2], "region": ["S", "N", "N"]})
    >>> both = Linked({"patients": patients, "visits": visits}, {"patients": "id"},
    ...               (Link("visits", "of", "patients"),))
    >>> joined = joined_of(both)
    >>> joined.names("visits")
    ('day', 'visits.region', 'number of visits', 'sex', 'patients.region')
    >>> joined.table(both, "visits").to_frame("dict")["sex"].tolist()
    ['m', 'f', 'm']
    """
    (root,) = linked.roots
    data = {
        name: [*map(number_of, linked.children_of(name)), *without_keys(linked, name)]
        for name in linked.sequence
    }
    key = linked.keys.get(root, "")
    every = [key, *(column for columns in data.values() for column in columns)]
    own = {
        name: {_called(name, column, every): column for column in columns}
        for name, columns in data.items()
    }
    return Joined(own, {name: _above(linked, name) for name in linked.sequence}, key)


def _called(table: str, column: str, every: Sequence[str]) -> str:
    return f"{table}.{column}" if every.count(column) > 1 else column


def _above(linked: Linked, name: str) -> tuple[str, ...]:
    found: list[str] = []
    while (link := linked.parent_of(name)) is not None:
        name = link.parent
        found.append(name)
    return tuple(found)


def _counts(linked: Linked, parent: str, child: str) -> Column:
    """Return how many children each row has."""
    n = np.bincount(linked.parent_rows(child), minlength=linked.tables[parent].n_rows)
    return Table.from_frame({"n": n.astype(np.int64)})["n"]
