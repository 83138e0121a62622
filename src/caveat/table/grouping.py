"""Groups in one table: persons of a household as two tables that are linked, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, hint
from caveat.table.column import Kind
from caveat.table.linked import Link, Linked
from caveat.table.table import Table

__all__ = ["GROUPS", "MEMBERS", "Groups", "constant_columns", "first_rows", "found_groups",
           "join_groups", "size_columns", "split_groups"]  # fmt: skip

GROUPS, MEMBERS = "groups", "members"
MOST_MEMBERS = 1_000
"""Members of the largest group: what has more is no household, and cannot hide among others."""


@dataclass(frozen=True)
class Groups:
    """Which rows belong together.

    Parameters
    ----------
    key
        The column that numbers the groups.
    constant
        Columns that have one value within each group; found in the data where None.
    order
        The column by which the members stand, a minus before it for falling values; as they stand
        in the table where it is empty.
    role
        The column that says what a member is in its group; it is drawn first.
    margins
        What is known of the population, for the weights of a sample; see
        :func:`caveat.table.calibration.calibrated`.
    """

    key: str
    constant: tuple[str, ...] | None = None
    order: str = ""
    role: str = ""
    margins: tuple[Any, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def of(cls, given: Groups | str | Mapping[str, Any]) -> Groups:
        """Return groups from the name of the key, or from the entries of a specification."""
        if isinstance(given, Groups):
            return given
        if isinstance(given, str):
            return cls(given)
        if not isinstance(given, Mapping):
            raise CaveatError(
                "it is no name of a column, nor settings of groups",
                where="groups",
                do='write groups = "household"',
                code="data.setting.type",
            )
        entries = dict(given)
        known = ("key", "constant", "order", "role", "margins")
        for name in entries:
            if name not in known:
                raise CaveatError(
                    f"{name!r} is no setting of groups",
                    where="groups",
                    do=hint(name, known),
                    code="data.setting.unknown",
                )
        if "key" not in entries:
            raise CaveatError(
                "the key is not named",
                where="groups",
                do='write key = "household"',
                code="data.key.undeclared",
            )
        constant = entries.get("constant")
        if constant is not None:
            entries["constant"] = (constant,) if isinstance(constant, str) else tuple(constant)
        named = [entries.get(name, "") for name in ("key", "order", "role")]
        for name in (*named, *(entries.get("constant") or ())):
            if not isinstance(name, str):
                raise CaveatError(
                    "a column is named by a text",
                    where="groups",
                    do='write key = "household"',
                    code="data.setting.type",
                )
        entries["margins"] = tuple(entries.get("margins", ()))
        return cls(**entries)


def found_groups(table: Table, given: Groups | str | Mapping[str, Any]) -> Groups:
    """Return the groups of a table, what was not said found, or say what is wrong."""
    groups = Groups.of(given)
    members = groups.order.removeprefix("-"), groups.role
    for name in (groups.key, *(groups.constant or ()), *(name for name in members if name)):
        if name not in table:
            raise CaveatError(
                f"there is no column {name!r}",
                where="groups",
                do=hint(name, table.names),
                code="data.column.unknown",
            )
    _check_key(table, groups.key)
    constant = constant_columns(table, groups.key)
    if groups.constant is None:
        held = [name for name in constant if name not in members]
        return replace(groups, constant=tuple(held))
    _check_constant(table, groups, members, constant)
    return groups


def _check_key(table: Table, name: str) -> None:
    key = table[name]
    if key.is_missing.any():
        raise CaveatError(
            f"{int(key.is_missing.sum()):,} rows belong to no group",
            where="groups",
            column=name,
            do="complete the key, or leave these rows out",
            code="data.key.absent",
        )
    sizes = key.counts[key.counts > 0]
    if len(sizes) < 2:
        raise CaveatError(
            "all rows belong to one group",
            where="groups",
            column=name,
            do="name the column that numbers households, patients or firms",
            code="data.group.too-few",
        )
    if sizes.max() == 1:
        raise CaveatError(
            "every group has one member: nothing belongs together",
            where="groups",
            column=name,
            do="leave groups out, or name the column that members share",
            code="data.group.too-small",
        )
    if sizes.max() > MOST_MEMBERS:
        raise CaveatError(
            f"a group has {int(sizes.max()):,} members, more than {MOST_MEMBERS:,}: it cannot hide "
            "among others",
            where="groups",
            column=name,
            do="name the column that numbers households, patients or firms",
            code="data.group.too-large",
        )


def _check_constant(
    table: Table, groups: Groups, members: Sequence[str], constant: Sequence[str]
) -> None:
    n_groups = int(np.count_nonzero(table[groups.key].counts))
    for name in groups.constant or ():
        if name in (groups.key, *members):
            raise CaveatError(
                "it is the key, or says how members stand, and is not drawn for groups",
                where="groups, constant",
                column=name,
                do="take it out of constant",
                code="data.setting.conflict",
            )
        if name not in constant:
            n = _changing(table, groups.key, name)
            raise CaveatError(
                f"it is not constant in {n:,} of {n_groups:,} groups",
                where="groups",
                column=name,
                do="take it out of constant, or mend the data",
                code="data.group.mismatch",
            )


def constant_columns(table: Table, key: str) -> tuple[str, ...]:
    """Return the columns that have one value within each group."""
    return tuple(n for n in table if n != key and not _changing(table, key, n))


def size_columns(table: Table, key: str, constant: Sequence[str]) -> tuple[str, ...]:
    """Return the constant columns that say how many members a group has."""
    sizes = table[key].counts[table[key].codes]
    found = []
    for name in constant:
        column = table[name]
        if column.kind is Kind.INTEGER and np.array_equal(column.cell_numbers, sizes):
            found.append(name)
    return tuple(found)


def _changing(table: Table, key: str, name: str) -> int:
    """Return in how many groups a column has more than one value."""
    owners, codes = table[key].codes, table[name].codes
    first = np.zeros(table[key].n_levels, codes.dtype)
    first[owners] = codes
    return len(np.unique(owners[first[owners] != codes]))


def first_rows(table: Table, key: str) -> NDArray[np.int64]:
    """Return the first row of each group, in the order in which the groups appear."""
    return np.sort(np.unique(table[key].codes, return_index=True)[1])


def split_groups(table: Table, groups: Groups) -> Linked:
    """Return a table of groups and one of members; `found_groups` has checked the groups.

    Examples
    --------
    >>> people = Table.from_frame({"hh": [1, 1, 2], "region": ["N", "N", "S"], "age": [40, 3, 71]})
    >>> both = split_groups(people, found_groups(people, "hh"))
    >>> [table.names for table in both.tables.values()]
    [('hh', 'region'), ('hh', 'age')]
    """
    constant = groups.constant or ()
    top = table.select([groups.key, *constant]).take(first_rows(table, groups.key))
    order = {MEMBERS: groups.order} if groups.order else {}
    return Linked(
        {GROUPS: top, MEMBERS: table.drop(constant)},
        {GROUPS: groups.key},
        (Link(MEMBERS, groups.key, GROUPS),),
        order=order,
    )


def join_groups(linked: Linked, names: Sequence[str]) -> Table:
    """Return one table of members with the columns of their groups, group by group."""
    rows = np.argsort(linked.parent_rows(MEMBERS), kind="stable")
    members = linked.tables[MEMBERS].take(rows)
    top = linked.tables[GROUPS].take(linked.parent_rows(MEMBERS)[rows])
    columns = {**top.columns, **members.columns}
    return Table({n: columns[n] for n in names if n in columns}, linked.tables[MEMBERS].backend)
