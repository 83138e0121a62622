"""Groups in one table: as two linked tables and back, and one row per group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, hint
from caveat.table.align import Pair, align_copies
from caveat.table.cells import breaks, cut, interval_labels
from caveat.table.linked import Link, Linked, Members, members_of, shared_columns
from caveat.table.table import Column, Kind, Table

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


# -------------------------------------------------------------------------------------------------
# One row per group: what a household, or a parent with children, looks like as a whole.


SIZE = "number of members"
BANDS = 4  # that a number is cut into
MOST_CLASSES = 6  # of a column whose classes are counted, the most frequent first

Floats = NDArray[np.float64]


def group_tables(
    tables: Sequence[Table],
    key: str,
    constant: Sequence[str] | None = None,
    counted: Sequence[str] | None = None,
) -> list[Table]:
    """Return tables with a row for each group: what its members share, how many, of what kinds.

    With it every measure of risk can be asked about groups: a household is unique if no other has
    the same region, size, and numbers of men, women and children. Columns, bands and classes are
    those of the first table. The groups stand in the order of their keys.

    Parameters
    ----------
    tables
        One row per member.
    key
        The column that says who belongs together; it is not in the result.
    constant
        Columns with one value for the whole group; without it those that are so in every group.
        Where members differ after all, the value that most of them have.
    counted
        Columns whose classes are counted; without it all others. Numbers are cut into four bands
        with about as many rows; of classes the six most frequent are counted.

    Examples
    --------
    >>> people = {"household": [1, 1, 2], "region": ["N", "N", "S"], "sex": ["f", "m", "f"]}
    >>> (found,) = group_tables([Table.from_frame(people)], "household")
    >>> found.to_frame("dict")["number of sex f"]
    array([1, 1])
    """
    members = [members_of(table, key) for table in tables]
    first, *others = (table.drop([key]) for table in tables)
    pairs = align_copies(first, others) if others else ()
    aligned = [pairs[0].original, *(pair.synthetic for pair in pairs)] if others else [first]
    shared = shared_columns(aligned[0], members[0]) if constant is None else tuple(constant)
    names = [n for n in aligned[0] if n not in shared] if counted is None else list(counted)
    both = set(shared) & set(names)
    if both:
        raise CaveatError(
            "a constant column is also counted",
            column=min(both),
            do="drop it there",
            code="data.setting.conflict",
        )
    kinds = [name for name in names if aligned[0][name].kind not in (Kind.TEXT, Kind.ID)]
    made: list[dict[str, Column]] = [
        {name: _commonest(table[name], who) for name in shared} | {SIZE: _whole(who.sizes)}
        for table, who in zip(aligned, members, strict=True)
    ]
    for name in kinds:
        place, labels = _classes(aligned[0][name])
        for columns, table, who in zip(made, aligned, members, strict=True):
            of_row = place[table[name].codes]
            for code, label in enumerate(labels):
                hits = np.bincount(who.group[of_row == code], minlength=who.n_groups)
                columns[f"number of {name} {label}"] = _whole(hits)
    return [Table(columns, first.backend) for columns in made]


def group_pairs(
    pairs: Sequence[Pair],
    key: str,
    constant: Sequence[str] | None = None,
    counted: Sequence[str] | None = None,
) -> tuple[Pair, ...]:
    """Return pairs of tables as pairs of their groups, for measures of risk that are about groups.

    The arguments are those of :func:`group_tables`.
    """
    original, *control = pairs[0].people
    tables = [original, *(pair.synthetic for pair in pairs), *control]
    ours, *others = group_tables(tables, key, constant, counted)
    outside = others.pop() if control else None
    return align_copies(ours, others, outside)


def joined_tables(
    tables: Sequence[Table], members: Sequence[Members], constant: Sequence[str] = ()
) -> list[Table]:
    """Return parents with what their children are together, as an analyst would join them.

    Parameters
    ----------
    tables
        Tables of members, on common levels; the first is the original.
    members
        Who belongs together in each. Where it has parents, their columns come first.
    constant
        Columns with one value for the whole group, which come first as well; every group then
        needs a member.

    Returns
    -------
    For each table a row per group: these columns, the number of members, mean, least and largest
    of every number, and for every other column the share of members with the class that is the most
    frequent one in the original.

    Examples
    --------
    >>> visits, whose = Table.from_frame({"cost": [10, 20, 6]}), Members(np.array([0, 0, 2]), 3)
    >>> joined_tables([visits], [whose])[0].to_frame("dict")["mean of cost"]
    array([15., nan,  6.])
    """
    original = tables[0]
    free = (Kind.TEXT, Kind.ID)
    rest = [n for n in original if n not in constant and original[n].kind not in free]
    common = {n: int(np.argmax(original[n].counts)) for n in rest if original[n].n_levels}
    found = []
    for table, who in zip(tables, members, strict=True):
        columns = {} if who.parents is None else dict(who.parents.columns)
        columns |= {name: _commonest(table[name], who) for name in constant}
        columns[SIZE] = _whole(who.sizes)
        for name in rest:
            if table[name].kind.is_number:
                columns |= _of_numbers(name, table[name], who)
            else:
                hits = np.bincount(
                    who.group, table[name].codes == common.get(name, 0), who.n_groups
                )
                share = np.full(who.n_groups, np.nan)
                np.divide(hits, who.sizes, out=share, where=who.sizes > 0)
                columns[f"share of the commonest {name}"] = _number(share)
        found.append(Table(columns, table.backend))
    return found


def _of_numbers(name: str, column: Column, who: Members) -> dict[str, Column]:
    """Return mean, least and largest of the members that have the number."""
    held = ~column.is_missing
    values, group = column.cell_numbers[held], who.group[held]
    count = np.bincount(group, minlength=who.n_groups)
    mean, least, largest = (np.full(who.n_groups, np.nan) for _ in range(3))
    np.divide(np.bincount(group, values, who.n_groups), count, out=mean, where=count > 0)
    np.fmin.at(least, group, values)
    np.fmax.at(largest, group, values)
    return {
        f"mean of {name}": _number(mean),
        f"least {name}": _number(least),
        f"largest {name}": _number(largest),
    }


def _classes(column: Column) -> tuple[NDArray[np.int64], list[str]]:
    """Return the class that each code counts for, −1 for none, and what the classes are called."""
    n = len(column.levels)
    place = np.full(column.n_levels, -1, dtype=np.int64)
    if column.kind.is_number:
        limits = breaks(column.numbers, column.counts[:n], BANDS)
        place[:n] = cut(column.numbers, limits)
        return place, interval_labels(limits)
    kept = np.sort(np.argsort(-column.counts[:n], kind="stable")[:MOST_CLASSES])
    place[kept] = np.arange(len(kept))
    return place, [str(column.levels[code]) for code in kept]


def _commonest(column: Column, who: Members) -> Column:
    """Return the value that most members of each group have; of several, the first level."""
    n = column.n_levels
    cells, counts = np.unique(who.group * n + column.codes.astype(np.int64), return_counts=True)
    group, code = np.divmod(cells, n)
    best = np.lexsort((code, -counts, group))
    _, at = np.unique(group[best], return_index=True)
    return column.with_codes(code[best][at])


def _whole(numbers: NDArray[np.integer]) -> Column:
    return Table.from_frame({"n": np.asarray(numbers, dtype=np.int64)})["n"]


def _number(values: Floats) -> Column:
    return Table.from_frame({"x": values})["x"]
