"""Put tables from different tools on common levels, and say what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.table._same_missing import same_missing
from caveat.table.column import Column, Kind, Missing
from caveat.table.encode import EXACT_INTEGER, convert
from caveat.table.overlap import doubt
from caveat.table.table import Table

__all__ = ["Difference", "Pair", "align", "align_copies", "common_levels", "recode_to"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which the synthetic table differs from the original.

    Parameters
    ----------
    column
        Name of the column.
    what
        What differs, in words without values.
    is_alarm
        Whether it puts in doubt that the two tables belong together.
    """

    column: str
    what: str
    is_alarm: bool = False

    def __str__(self) -> str:
        return f"{self.column}: {self.what}"


@dataclass(frozen=True, eq=False)
class Pair:
    """An original and a synthetic table in which equal codes mean equal values.

    Parameters
    ----------
    original, synthetic
        The two tables, with the same columns.
    control
        People who were not in the data, on the same levels; None if there are none.
    differences
        In what the synthetic table differed from the original before.
    control_differences
        The same of the control.
    """

    original: Table
    synthetic: Table
    control: Table | None = None
    differences: tuple[Difference, ...] = ()
    control_differences: tuple[Difference, ...] = ()

    __repr__ = without_values

    @property
    def people(self) -> list[Table]:
        """Those who are attacked: the original, and the control if there is one."""
        return [self.original] if self.control is None else [self.original, self.control]


def align(original: Table, synthetic: Table, control: Table | None = None) -> Pair:
    """Put two tables on the union of their levels, and those of a control.

    Only the columns that the tables share are kept, in the order of the original. Declared missing
    codes of the original hold for the synthetic table too, and an empty cell is the same missing
    value whether it stands between quotation marks or not. Numbers that one table stores as text
    are read as numbers; where that is impossible, both are compared as text.

    Examples
    --------
    >>> a = Table.from_frame({"age": [31, 47], "sex": ["f", "m"]})
    >>> b = Table.from_frame({"age": ["47", "52"], "id": [1, 2]})
    >>> for difference in align(a, b).differences:
    ...     print(difference)
    sex: missing in the synthetic table
    id: only in the synthetic table
    age: category in the synthetic table, integer in the original; compared as integer
    age: 1 value of 1 row does not occur in the original
    """
    return align_copies(original, [synthetic], control)[0]


def align_copies(
    original: Table, copies: Sequence[Table], control: Table | None = None
) -> tuple[Pair, ...]:
    """Put all copies of a release, and a control, on common levels with the original.

    Columns that are on common levels already are left as they are.

    Returns
    -------
    The original with each copy. The levels are the same in all pairs.
    """
    others = [*copies, *([] if control is None else [control])]
    differences = [_columns_apart(original, table) for table in others]
    names = [name for name in original if all(name in table for table in others)]
    if not names:
        raise CaveatError(
            "the two tables have no column in common",
            do="check the column names",
            code="data.column.mismatch",
        )
    aligned: list[dict[str, Column]] = [{} for _ in (original, *others)]
    for name in names:
        columns = [table[name] for table in (original, *others)]
        notes: list[list[str]] = [[] for _ in others]
        if not _are_aligned(columns):
            columns, notes = _align_column(columns, name)
        for table, column in zip(aligned, columns, strict=True):
            table[name] = column
        for found, column, what in zip(differences, columns[1:], notes, strict=True):
            alarm = doubt(columns[0], column)
            found += [Difference(name, text) for text in what]
            found += [Difference(name, alarm, is_alarm=True)] if alarm else []
    ours, *theirs = (
        replace(table, columns=columns)
        for table, columns in zip((original, *others), aligned, strict=True)
    )
    outside = None if control is None else theirs.pop()
    of_control = () if control is None else tuple(differences.pop())
    return tuple(
        Pair(ours, table, outside, tuple(found), of_control)
        for table, found in zip(theirs, differences, strict=True)
    )


def _columns_apart(original: Table, table: Table) -> list[Difference]:
    return [
        *(Difference(n, "missing in the synthetic table") for n in original if n not in table),
        *(Difference(n, "only in the synthetic table") for n in table if n not in original),
    ]


def _are_aligned(columns: Sequence[Column]) -> bool:
    """Whether equal codes mean equal values already."""
    first, *others = columns
    return all(column.has_same_levels(first) for column in others) and all(
        same_missing(first, column) == (first, column) for column in others
    )


def _align_column(columns: Sequence[Column], name: str) -> tuple[list[Column], list[list[str]]]:
    """Return the columns on common levels, and in what each of the others differs."""
    ours, *theirs = columns
    notes: list[list[str]] = [[] for _ in theirs]
    seen = []
    for i, column in enumerate(theirs):
        ours, theirs[i], notes[i] = _one_meaning(ours, column, name)
        seen.append(ours)
    # What a later table taught about the original holds for the earlier ones too.
    for i, column in enumerate(theirs):
        if seen[i] is not ours:
            theirs[i] = _one_meaning(ours, column, name)[1]
    united, *aligned = common_levels([ours, *theirs], name)
    declared = _declared(united, ours)
    ways = {m.key for m in ours.missing}
    for column, before, found in zip(aligned, theirs, notes, strict=True):
        unknown = (column.counts > 0) & (united.counts == 0) & ~declared
        if unknown.any():
            n, rows = int(unknown.sum()), int(column.counts[unknown].sum())
            values, cells = _plural(n, "value"), _plural(rows, "row")
            verb = "does" if n == 1 else "do"
            found.append(f"{values} of {cells} {verb} not occur in the original")
        fresh = [m for m in before.missing if m.key not in ways]
        found += [f"missing cells ({m}) that the original does not have" for m in fresh]
    return [united, *aligned], notes


def _one_meaning(ours: Column, theirs: Column, name: str) -> tuple[Column, Column, list[str]]:
    """Return both columns with the same missing codes and the same sort of values."""
    found = []
    theirs = theirs.declare_missing([m for m in ours.missing if m.code is not None])
    before = ours.missing
    ours, theirs = same_missing(ours, theirs)
    if len(ours.missing) < len(before):
        found.append("several ways to be empty in the original, compared as one")
    if _family(ours) != _family(theirs):
        theirs_was, ours_was = theirs.kind, ours.kind
        ours, theirs = _one_family(ours, theirs, name)
        found.append(
            f"{theirs_was} in the synthetic table, {ours_was} in the original; "
            f"compared as {ours.kind}"
        )
    return ours, theirs, found


def _plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _declared(united: Column, ours: Column) -> NDArray[np.bool_]:
    """Return which levels of the united dictionary stand in the original's dictionary."""
    out = np.ones(united.n_levels, dtype=bool)
    out[: len(united.levels)] = False
    out[_positions(ours, united)] = True
    return out


def _family(column: Column) -> str:
    """Return what sort of values the levels are, so that they can be compared."""
    kind = column.levels.dtype.kind
    if not len(column.levels):
        return "any"
    return {"M": "time", "O": "text", "b": "truth"}.get(kind, "number")


def _one_family(ours: Column, theirs: Column, name: str) -> tuple[Column, Column]:
    if "any" in (_family(ours), _family(theirs)):
        return ours, theirs
    for target, other, swap in ((ours, theirs, False), (theirs, ours, True)):
        kind = Kind.NUMERIC if _family(target) == "number" else target.kind
        if _family(target) == "text":
            continue
        try:
            converted = convert(other, kind, name)
        except CaveatError:
            continue
        return (converted, target) if swap else (target, replace(converted, kind=target.kind))
    return _as_text(ours), _as_text(theirs)


def _as_text(column: Column) -> Column:
    values = np.array([str(value) for value in column.levels.tolist()], dtype=object)
    return replace(column, levels=values, kind=Kind.CATEGORY)


def common_levels(columns: Sequence[Column], name: str) -> list[Column]:
    """Return the columns on the union of their levels and of their ways to be missing.

    The first column decides the kind, the labels and, for categories, the order of its levels;
    levels that it does not have follow in the order in which they are met.
    """
    first = columns[0]
    if all(column.has_same_levels(first) for column in columns[1:]):
        return list(columns)
    families = {_family(column) for column in columns} - {"any"}
    if len(families) > 1:
        raise CaveatError(
            "the tables store it as different kinds of values",
            column=name,
            do="declare its kind in the schema",
            code="data.type.mismatch",
        )
    typed = next((c for c in columns if len(c.levels)), first)
    levels = _union_levels(columns, typed)
    missing: dict[tuple[str, str], Missing] = {}
    for column in columns:
        for m in column.missing:
            known = missing.get(m.key, m)
            missing[m.key] = known if known.label else m
    kinds = {c.kind for c in columns if len(c.levels)}
    kind = Kind.NUMERIC if kinds == {Kind.INTEGER, Kind.NUMERIC} else typed.kind
    united = replace(
        first,
        codes=np.zeros(0, np.uint8),
        levels=levels,
        kind=kind,
        missing=tuple(missing.values()),
    )
    return [_recode(column, united) for column in columns]


def _union_levels(columns: Sequence[Column], typed: Column) -> NDArray[Any]:
    parts = [column.levels for column in columns if len(column.levels)]
    if not parts:
        return typed.levels
    if typed.levels.dtype == object:
        seen = dict.fromkeys(value for part in parts for value in part.tolist())
        first = set(typed.levels.tolist())
        # Categories that nobody ordered stay sorted; a declared order is kept and added to.
        ordered = typed.kind is Kind.ORDERED or list(typed.levels) != sorted(typed.levels)
        extra = [value for value in seen if value not in first]
        values = [*typed.levels.tolist(), *extra] if ordered else sorted(seen)
        return np.array(values, dtype=object)
    united = np.unique(np.concatenate(parts))
    if united.dtype.kind == "f" and any(_needs_integers(part) for part in parts):
        # floating point would merge integers that are too large for it
        return np.array(sorted({v for part in parts for v in part.tolist()}), dtype=object)
    return united


def _needs_integers(levels: NDArray[Any]) -> bool:
    return levels.dtype.kind in "iu" and max(-int(levels[0]), int(levels[-1])) > EXACT_INTEGER


def _positions(column: Column, united: Column) -> NDArray[np.int64]:
    """Return where the column's levels stand among the united ones."""
    if united.levels.dtype == object:
        place = {value: i for i, value in enumerate(united.levels.tolist())}
        return np.array([place[value] for value in column.levels.tolist()], dtype=np.int64)
    return np.searchsorted(united.levels, column.levels.astype(united.levels.dtype))


def _recode(column: Column, united: Column) -> Column:
    lookup = np.empty(column.n_levels, dtype=np.int64)
    lookup[: len(column.levels)] = _positions(column, united)
    ways = {m.key: len(united.levels) + j for j, m in enumerate(united.missing)}
    lookup[len(column.levels) :] = [ways[m.key] for m in column.missing]
    return replace(united, codes=lookup[column.codes], storage=column.storage)


def recode_to(column: Column, known: Column) -> NDArray[np.int64]:
    """Return the cells in the codes of another column; values it does not have get `n_levels`."""
    column = column.declare_missing([m for m in known.missing if m.code is not None])
    if not {m.key for m in column.missing} <= {m.key for m in known.missing}:
        column = same_missing(known, column)[1]
    united = common_levels([known, column], "")
    lookup = np.full(united[0].n_levels, known.n_levels, dtype=np.int64)
    lookup[_positions(known, united[0])] = np.arange(len(known.levels))
    ways = {m.key: len(united[0].levels) + j for j, m in enumerate(united[0].missing)}
    for position, m in enumerate(known.missing):
        lookup[ways[m.key]] = len(known.levels) + position
    return lookup[united[1].codes]
