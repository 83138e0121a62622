"""Tables from different tools on common levels, what differs, and what they have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.table.coding import EXACT_INTEGER, convert
from caveat.table.table import NA_TOKENS, Column, Kind, Missing, Table
from caveat.table.written import means_missing


def same_missing(ours: Column, theirs: Column) -> tuple[Column, Column]:
    """Return both columns with one way for a cell to be empty, the original's.

    Where each table has one way to say nothing, empty cells or a word such as NA, both mean the
    same. A table that has several tells them apart, and they stay apart.

    Examples
    --------
    >>> codes, levels = np.array([0, 1]), np.array(["a"], dtype=object)
    >>> bare = Column(codes, levels, Kind.CATEGORY, (Missing(),))
    >>> quoted = Column(codes, levels, Kind.CATEGORY, (Missing(""),))
    >>> same_missing(bare, quoted)[1].missing
    (Missing(code=None, label=''),)
    """
    way = min(filter(_is_empty, ours.missing), key=lambda m: m.key, default=Missing())
    ours, theirs = _move(ours, _is_empty, way), _move(theirs, _is_empty, way)
    mine, other = _nothing(ours, way), _nothing(theirs, way)
    if len(mine) != 1 or len(other) != 1:
        return ours, theirs
    if mine == other and (mine[0] in ours.missing) == (other[0] in theirs.missing):
        return ours, theirs
    if other != [way]:
        theirs = theirs.declare_missing(other)
    if mine[0] not in ours.missing and theirs.levels.dtype != object:
        ours = ours.declare_missing(mine)  # words between numbers or dates are no values
    if mine[0] in ours.missing:
        return ours, _move(theirs, other.__contains__, mine[0])
    return ours, _to_level(theirs, other[0], mine[0].code)


def _is_empty(m: Missing) -> bool:
    return not m.label and (m.code is None or m.code == "" or m.code != m.code)


def _move(column: Column, alike: Callable[[Missing], bool], way: Missing) -> Column:
    """Return the column with one way in the place of all that are like it."""
    if [m for m in column.missing if alike(m) or m == way] in ([], [way]):
        return column
    ways = [m for m in column.missing if not alike(m) and m != way]
    place = {m.key: j for j, m in enumerate([way, *ways], len(column.levels))}
    moved = [place[(way if alike(m) else m).key] for m in column.missing]
    lookup = np.array([*range(len(column.levels)), *moved])
    return replace(column, codes=lookup[column.codes], missing=(way, *ways))


def _nothing(column: Column, way: Missing) -> list[Missing]:
    """Return what cells hold in place of an answer: nothing, or words that stand for it."""
    counts = column.counts
    held = [
        m for m, count in zip(column.missing, counts[len(column.levels) :], strict=True) if count
    ]
    found = [m for m in held if m == way or (not m.label and _is_word(m.code))]
    if column.kind is Kind.CATEGORY and column.levels.dtype == object:
        values = set(column.levels[counts[: len(column.levels)] > 0].tolist())
        found += [Missing(word) for word in sorted(values) if word in NA_TOKENS or word.isspace()]
    return found


def _is_word(code: Any) -> bool:
    return isinstance(code, str) and means_missing(code)


def _to_level(column: Column, way: Missing, word: str) -> Column:
    """Return the column with a word as the value of its empty cells."""
    n, empty = len(column.levels), column.missing.index(way)
    left = [m for m in column.missing if m != way]
    lookup = np.arange(column.n_levels)
    lookup[n : n + empty] += 1
    lookup[n + empty] = n
    levels = np.array([*column.levels.tolist(), word], dtype=object)
    return replace(column, codes=lookup[column.codes], levels=levels, missing=tuple(left))


# -------------------------------------------------------------------------------------------------
# Whether two tables can be about the same things: how much of a column they have in common.
#
# Measured against the wrong file, every risk is zero. What two tables must share is judged on the
# rows of the synthetic one: a release may lack values of the original, and may be short, but what
# it holds should occur there. Values of categories must be the same. Numbers and dates need only
# lie in the range of the original, since smoothing and noise make new ones; whole numbers that
# repeat in both tables are codes, and must be the same again.


# With less than this share in common, the tables hardly belong together.
ENOUGH = 0.5
RIGHT_FILE = "is it the right file?"
"""How every doubt ends."""
# Nothing in common is no sign of a wrong file where it happens by chance so often,
CHANCE = 0.01
# for a release only where so few cells have a value: what it holds comes from the original.
FEW = 20
# Whole numbers that occur so often on average are codes or counts, not measurements.
REPEATS = 5


def common_share(ours: Column, theirs: Column) -> float:
    """Return the share of the synthetic cells whose value the original has.

    Missing cells count only where one of the tables has nothing else: two tables that share
    nothing but blanks have nothing in common.

    Parameters
    ----------
    ours, theirs
        The column in the original and in the synthetic table, on the same levels.
    """
    n = len(ours.levels)
    o, s = ours.counts, theirs.counts
    if o[:n].any() and s[:n].any():
        o, s = o[:n], s[:n]
        if ours.kind.is_number and not _are_codes(ours, o, s):
            return _within(ours.numbers, o, s)
    total = int(s.sum())
    return float(s[o > 0].sum() / total) if total and o.any() else 1.0


def doubt(ours: Column, theirs: Column) -> str:
    """Return why the two tables hardly belong together, in words; empty if there is no doubt.

    Identifiers and free text of a release ought to be others than those of the original.
    """
    share = common_share(ours, theirs)
    if share >= ENOUGH or ours.kind in (Kind.ID, Kind.TEXT):
        return ""
    cells = "less than half of the synthetic cells have" if share else "no synthetic cell has"
    return f"{cells} a value that occurs in the original: {RIGHT_FILE}"


def _are_codes(column: Column, o: NDArray[np.int64], s: NDArray[np.int64]) -> bool:
    if column.levels.dtype.kind not in "iuf":
        return False
    numbers = column.levels[(o > 0) | (s > 0)]
    whole = bool((numbers == np.round(numbers)).all())
    return whole and all(c.sum() >= REPEATS * np.count_nonzero(c) for c in (o, s))


def _within(numbers: NDArray[np.float64], o: NDArray[np.int64], s: NDArray[np.int64]) -> float:
    held = numbers[o > 0]
    inside = (numbers >= held.min()) & (numbers <= held.max())
    return float(s[inside].sum() / s.sum())


def chance_of_nothing(ours: Column, theirs: Column) -> float:
    """Return how probable it is that two samples of the same people have no value in common.

    The values of both are shared out at random again. No number of theirs lies within the range of
    ours where ours follow each other in the order of all; no class is in both where all its cells
    are on one side.

    Examples
    --------
    >>> both = Table.from_frame({"x": ["a", "a", "b", None], "y": [1.5, 2.5, 3.5, None]})
    >>> chances = [chance_of_nothing(both[n].take([0, 1]), both[n].take([2, 3])) for n in "xy"]
    >>> [round(chance, 6) for chance in chances]  # 5/9 and 2/3
    [0.555556, 0.666667]
    """
    n = len(ours.levels)
    o, s = ours.counts[:n], theirs.counts[:n]
    many, others = int(o.sum()), int(s.sum())
    if not many or not others:
        return 1.0
    if ours.kind.is_number and not _are_codes(ours, o, s):
        ways = math.lgamma(many + others + 1) - math.lgamma(many + 1) - math.lgamma(others + 1)
        return math.exp(math.log(others + 1) - ways)
    share = many / (many + others)
    return float(np.prod(share ** (o + s) + (1 - share) ** (o + s), where=o + s > 0))


def refuse_strangers(
    original: Table, copies: Sequence[Table], names: Sequence[str], control: Table | None = None
) -> None:
    """Refuse a table that has no value of a column in common with the original.

    Where few people have a value at all, or all values differ, that happens by chance, and is no
    reason to refuse the table.

    Parameters
    ----------
    original, copies, control
        Tables on the same levels.
    names
        The columns that a measure rests on, such as keys and targets.

    Examples
    --------
    >>> people = Table.from_frame({"sex": ["f", "m"]})
    >>> refuse_strangers(people, [people], ["sex"])
    """
    for position, table in enumerate((*copies, *([] if control is None else [control])), 1):
        for name in names:
            ours, theirs = original[name], table[name]
            few = position > len(copies) or min(map(_n_ordinary, (ours, theirs))) < FEW
            if common_share(ours, theirs) or (few and chance_of_nothing(ours, theirs) >= CHANCE):
                continue
            raise CaveatError(
                f"table {position} of those compared has no value in common with the original",
                column=name,
                do="check that both are the right files, or leave the column out",
                code="data.value.mismatch",
            )


def _n_ordinary(column: Column) -> int:
    return int(column.counts[: len(column.levels)].sum())


def refuse_other_table(original: Table, others: Sequence[Table]) -> None:
    """Refuse a table of which no column has a value in common with the original.

    Examples
    --------
    >>> people = Table.from_frame({"sex": ["f", "m"]})
    >>> refuse_other_table(people, [people])
    """
    for position, table in enumerate(others, 1):
        if all(common_share(original[name], table[name]) == 0 for name in original):
            raise CaveatError(
                f"no column of table {position} of those compared has a value in common with the "
                "original",
                do="check that both are the right files",
                code="data.table.mismatch",
            )


# -------------------------------------------------------------------------------------------------
# Put tables from different tools on common levels, and say what differs.


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
