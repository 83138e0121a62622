"""One row per group: what a household, or a parent with children, looks like as a whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table.align import Pair, align_copies
from caveat.table.column import Column, Kind
from caveat.table.groups import breaks, cut, interval_labels
from caveat.table.members import Members, members_of, shared_columns
from caveat.table.table import Table

__all__ = ["SIZE", "group_pairs", "group_tables", "joined_tables"]

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
