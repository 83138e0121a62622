"""Which rows belong together: the members of a household, the children of a parent.

A key says nothing but who belongs together: it is read here and used nowhere else, so that fresh
keys in a release, or other names for the same ones, change no number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.table.linked import Linked
from caveat.table.table import Table

__all__ = [
    "Members",
    "children_of",
    "draw_groups",
    "members_of",
    "shared_columns",
    "varies",
    "without_keys",
]

Ints = NDArray[np.int64]


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
