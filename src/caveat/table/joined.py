"""Linked tables as flat ones: the rows of each with the columns of all rows that they belong to.

Measures of risk and utility take one table. Of linked tables they take, for each of them, its rows
with what is known of their parents, and the numbers of their children. A column that several tables
have is called by both names, as in ``visits.region``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from caveat.table.column import Column, Kind
from caveat.table.linked import Linked
from caveat.table.members import without_keys
from caveat.table.table import Table

__all__ = ["Joined", "joined_of", "number_of"]


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
