"""The grid of a published table, its totals, and the hidden cells that they tell."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.outputs.audit import bounds, recoverable
from caveat.outputs.cell_numbers import Limits
from caveat.showing import without_values

Floats = NDArray[np.float64]
Place = tuple[str | None, ...]
"""The values of the keys of a cell, None where it is a total."""

MOST_CELLS, MOST_GRID = 20_000, 50_000
MOST_BOUNDS, SECONDS = 50, 5.0
SHARE = 0.1  # of its value: a hidden cell that is known more closely is nearly known


@dataclass(frozen=True)
class Computable:
    """What follows from a table.

    Parameters
    ----------
    rows
        The rows of hidden cells that can be computed.
    left_out
        Cells that are not in the table, have persons, and can be computed.
    complete
        Whether all hidden cells were looked at.
    near
        The rows of hidden cells for which bounds that are written leave few values.
    """

    rows: tuple[int, ...] = ()
    left_out: tuple[Place, ...] = ()
    complete: bool = True
    near: tuple[int, ...] = ()

    __repr__ = without_values


def levels_of(places: Iterable[Place]) -> list[list[str]]:
    """Return the values of each key that occur, without totals, in their order."""
    return [
        list(dict.fromkeys(value for value in column if value is not None))
        for column in zip(*places, strict=True)
    ]


def computable(
    places: Sequence[Place],
    values: Floats,
    *,
    slack: float = 0.0,
    known: frozenset[int] = frozenset(),
    whole: bool = True,
    limits: Limits | None = None,
    few: int = 1,
    gaps: bool = True,
) -> Computable:
    """Return which hidden cells follow from the others.

    Parameters
    ----------
    places
        Where each cell stands.
    values
        The values, NaN for hidden ones. If none is below zero, hidden ones are not either.
    slack
        By how much a total may miss the sum of its cells, for each of them.
    known, whole
        Hidden cells that everybody knows to be empty, and whether values are counts.
    limits, few
        What bounds that are written in hidden cells leave for them, and for how few values beside
        such bounds a hidden count is nearly known.
    gaps
        Whether combinations that are not in the table could be.

    Examples
    --------
    >>> both = [("n", "f"), ("n", "m"), ("s", "f"), ("s", "m"), ("n", None), ("s", None),
    ...         (None, "f"), (None, "m")]
    >>> computable(both, np.array([np.nan, 20, 30, 40, 25, 70, np.nan, 60])).rows
    (0, 6)
    >>> computable(both, np.array([np.nan, np.nan, np.nan, np.nan, 25, 70, 35, 60])).rows
    ()
    """
    hidden = np.isnan(values)
    hidden[list(known)] = False
    if len(places) > MOST_CELLS:
        return Computable(complete=not hidden.any())
    signed = bool(np.any(values < 0))
    absent = [] if signed else left_out(places, values, slack=slack)
    listed = [*places, *absent]
    matrix = _matrix(listed) if hidden.any() or absent else None
    if matrix is None:
        return Computable(complete=not hidden.any() and not absent)
    hidden = np.append(hidden, np.ones(len(absent), bool))
    shown = np.append(np.nan_to_num(values), np.zeros(len(absent)))
    # Who shows or leaves out empty cells does not hide them.
    least = int(whole and not absent and (0 in values or (gaps and _has_gaps(places))))
    at_least = None if slack or signed else least
    told, near = _told(listed, matrix, hidden, shown, whole, at_least, limits, few)
    rows, n = np.flatnonzero(told).tolist(), len(places)
    return Computable(
        tuple(row for row in rows if row < n),
        tuple(listed[row] for row in rows if row >= n),
        near=tuple(row for row in np.flatnonzero(near & ~told).tolist() if row < n),
    )


def _told(
    places: Sequence[Place],
    matrix: sp.csc_array,
    hidden: NDArray[np.bool_],
    shown: Floats,
    whole: bool,
    least: int | None,
    limits: Limits | None,
    few: int,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which hidden cells follow: by rank, and by bounds if there is a least value.

    And which nearly do so, where bounds are written.
    """
    inner = np.array([None not in place for place in places])
    plain = _plain_sums(places, matrix, hidden, inner)
    secret = hidden & ~plain & (np.diff(matrix.indptr) > 0)
    told: NDArray[np.bool_] = recoverable(matrix, hidden & ~plain) & secret
    near = np.zeros(len(places), bool)
    if least is None:
        return told, near
    low, high = ends = -np.full(len(places), np.inf), np.full(len(places), np.inf)
    if limits is not None:  # nothing is written in cells that are left out
        low[: len(limits[0])], high[: len(limits[1])] = limits
    said: NDArray[np.bool_] = np.isfinite(low) | np.isfinite(high)
    rest = np.flatnonzero(secret & ~told & (inner | said))
    rest = rest[np.argsort(~said[rest], kind="stable")][:MOST_BOUNDS]
    for one in bounds(
        matrix, shown, hidden, rest.tolist(), whole=whole, least=least, seconds=SECONDS,
        limits=ends if said.any() else None,
    ):  # fmt: skip
        width = one.high - one.low
        told[one.cell] |= width <= (0 if whole else 1e-9 * max(one.high, 1.0))
        near[one.cell] = bool(said.any()) and (
            width < SHARE * one.low or (whole and width + 1 < few)
        )
    return told, near


def _plain_sums(
    places: Sequence[Place],
    matrix: sp.csc_array,
    hidden: NDArray[np.bool_],
    inner: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return hidden totals of cells that are all shown: they are no secret."""
    seen = (matrix[:, inner & ~hidden] @ np.ones(int((inner & ~hidden).sum()))) > 0
    plain: NDArray[np.bool_] = hidden & ~inner & ((matrix.T @ (~seen).astype(float)) == 0)
    parts: dict[tuple[int, Place], list[int]] = {}
    for column, place in enumerate(places):
        for i, value in enumerate(place):
            if value is not None:
                parts.setdefault((i, _without(place, i)), []).append(column)
    for column in np.flatnonzero(hidden & ~inner & ~plain).tolist():
        place = places[column]
        for i in (i for i, value in enumerate(place) if value is None):
            below = parts.get((i, _without(place, i)), [])
            shown = below and not hidden[below].any()
            if shown and matrix[:, below].sum() == matrix[:, [column]].sum():
                plain[column] = True
    return plain


def _without(place: Place, i: int) -> Place:
    return place[:i] + place[i + 1 :]


def left_out(places: Sequence[Place], values: Floats, *, slack: float = 0.0) -> list[Place]:
    """Return cells of the grid that are not in the table and may have somebody.

    A cell is empty if a total says so that is the sum of the cells that are there. Others are left
    out only if a total is more than that sum.

    Parameters
    ----------
    places, values, slack
        As for :func:`computable`.

    Examples
    --------
    >>> left_out([("a", "x"), ("a", "y"), ("b", "x"), ("b", None)], np.array([20, 30, 40, 44]))
    [('b', 'y')]
    """
    inner = {place: value for place, value in zip(places, values, strict=True) if None not in place}
    totals = [(place, value) for place, value in zip(places, values, strict=True) if None in place]
    levels = levels_of(places)
    if not inner or not totals or prod(map(len, levels)) > MOST_GRID:
        return []
    sums, counts = _by_total(inner.items(), {place for place, _ in totals})
    more = {}
    for place, value in totals:
        if place in sums and not np.isnan(value) and not np.isnan(sums[place]):
            more[place] = value - sums[place] > slack * (counts[place] + 1)
    if not any(more.values()):
        return []
    masks = {tuple(value is None for value in place) for place in more}
    out: list[Place] = []
    for cell in product(*levels):
        if cell not in inner:
            said = [
                more[place] for mask in masks
                if (place := _masked(cell, mask)) in more
            ]  # fmt: skip
            if said and all(said):
                out.append(cell)
    return out


def _has_gaps(places: Sequence[Place]) -> bool:
    """Whether combinations of values are not in the table."""
    inner = [place for place in places if None not in place]
    return bool(inner) and len(inner) < prod(len(found) for found in levels_of(inner))


def _masked(cell: Place, mask: Sequence[bool]) -> Place:
    return tuple(
        None if summed else value for value, summed in zip(cell, mask, strict=True)
    )  # fmt: skip


def _by_total(
    inner: Iterable[tuple[Place, float]], totals: set[Place]
) -> tuple[dict[Place, float], dict[Place, int]]:
    """Return for each total the sum of the inner cells below it, and how many there are."""
    masks = {tuple(value is None for value in place) for place in totals}
    sums: dict[Place, float] = {}
    counts: dict[Place, int] = {}
    for cell, value in inner:
        for mask in masks:
            place = _masked(cell, mask)
            if place in totals:
                sums[place] = sums.get(place, 0.0) + value
                counts[place] = counts.get(place, 0) + 1
    return sums, counts


def _matrix(places: Sequence[Place]) -> sp.csc_array | None:
    """Return inner cells by cells; None if there would be too many inner ones.

    Of a total none of whose cells is in the table all combinations are inner cells.
    """
    inner = {place: None for place in places if None not in place}
    totals = {place for place in places if None in place}
    _, counts = _by_total(((place, 0.0) for place in inner), totals)
    levels = levels_of(places)
    for place in totals - counts.keys():
        below = [
            levels[i] if value is None else [value] for i, value in enumerate(place)
        ]  # fmt: skip
        if len(inner) + prod(map(len, below)) > MOST_GRID:
            return None
        inner |= dict.fromkeys(product(*below))
    row_of = {place: row for row, place in enumerate(inner)}
    columns = {place: column for column, place in enumerate(places)}
    masks = {tuple(value is None for value in place) for place in places}
    rows, cols = [], []
    for cell, row in row_of.items():
        for mask in masks:
            column = columns.get(_masked(cell, mask))
            if column is not None:
                rows.append(row)
                cols.append(column)
    ones = np.ones(len(rows), np.int64)
    return sp.csc_array((ones, (rows, cols)), shape=(len(row_of), len(places)))


# -------------------------------------------------------------------------------------------------
# The grid of a table in long form: combinations of its keys that it does not list.
#
# A table that leaves out empty cells tells who is in none of them as well as one that prints
# zeros. Some combinations cannot be, as a municipality lies in one region only: such keys are
# nested.


class Grid:
    """The combinations of values that the inner cells of a table can have.

    Parameters
    ----------
    cells
        The inner cells that are listed.

    Attributes
    ----------
    nested
        Pairs of keys of which each value of the first has one value of the second.

    Examples
    --------
    >>> grid = Grid([("f", "no"), ("m", "no"), ("m", "yes")])
    >>> list(grid.absent(1, ("f", "no"))), grid.nested
    ([('f', 'yes')], [])
    >>> Grid([("n", "town"), ("n", "village"), ("s", "port")]).nested
    [(1, 0)]
    """

    def __init__(self, cells: Collection[Place]) -> None:
        self.cells = set(cells)
        self.levels = levels_of(cells) if cells else []
        keys = range(len(self.levels))
        self.pairs = {
            (i, j): {(cell[i], cell[j]) for cell in self.cells} for i in keys for j in keys if i < j
        }
        self.nested = [(i, j) for i in keys for j in keys if i != j and self._determines(i, j)]

    def _determines(self, i: int, j: int) -> bool:
        several = len(self.levels[i]) > 1 and len(self.levels[j]) > 1
        return several and len(self.pairs[min(i, j), max(i, j)]) == len(self.levels[i])

    def absent(self, i: int, cell: Place) -> Iterator[Place]:
        """Return cells that differ from one in a single key, could be, and are not listed."""
        others = [j for j in range(len(cell)) if j != i]
        if any((j, i) in self.nested for j in others):
            return  # its other keys say what this one is
        within = [j for j in others if (i, j) in self.nested]
        for value in self.levels[i]:
            other = (*cell[:i], value, *cell[i + 1 :])
            if other not in self.cells and all(self._together(i, j, other) for j in within):
                yield other

    def _together(self, i: int, j: int, cell: Sequence[str | None]) -> bool:
        return (cell[min(i, j)], cell[max(i, j)]) in self.pairs[min(i, j), max(i, j)]


def lines_of(places: Sequence[Place]) -> Iterator[tuple[int, list[int]]]:
    """Return the rows and columns of a table: cells that differ in one key only, without totals."""
    inner = [row for row, place in enumerate(places) if None not in place]
    for i in range(len(places[0])):
        groups: dict[Place, list[int]] = defaultdict(list)
        for row in inner:
            groups[places[row][:i] + places[row][i + 1 :]].append(row)
        yield from ((i, rows) for rows in groups.values())


def named_place(keys: Sequence[str], place: Place) -> dict[str, str]:
    """Return the values of the keys of a cell that may not be in the table."""
    return {key: value or "" for key, value in zip(keys, place, strict=True)}


# -------------------------------------------------------------------------------------------------
# Subtotals among the values of a key: a code that is the sum of those that follow it.
#
# Tables with hierarchies of codes list a group and then its members. Where a total is less than
# all values of a key together, such groups are looked for: if each is the sum of its members in
# all lines that show them, and the total that of what is left, the table has this hierarchy.

NEAR = 1e-9


def subtotals_of(
    cells: Sequence[tuple[str, ...]], values: Floats, i: int, totals: frozenset[str],
    slack: float = 0.0,
) -> dict[str, str]:  # fmt: skip
    """Return the group of each value of a key that is in one; empty if there are no groups.

    Parameters
    ----------
    cells, values, slack
        As for :func:`caveat.outputs.hidden_cells.totals_of`.
    i
        The key.
    totals
        Its values that are totals.

    Examples
    --------
    >>> cells = [("total",), ("east",), ("coast",), ("islands",), ("north",)]
    >>> subtotals_of(cells, np.array([285, 75, 210, 130, 80]), 0, frozenset({"total"}))
    {'islands': 'coast', 'north': 'coast'}
    """
    order = list(dict.fromkeys(cell[i] for cell in cells if cell[i] not in totals))
    if not totals or len(order) == len(cells) or len(order) < 3:
        return {}
    rests = list(dict.fromkeys(cell[:i] + cell[i + 1 :] for cell in cells))
    column = {rest: j for j, rest in enumerate(rests)}
    rows = {value: np.zeros(len(rests)) for value in order}
    total = np.full(len(rests), np.nan)
    for cell, value in zip(cells, values.tolist(), strict=True):
        at = total if cell[i] in totals else rows[cell[i]]
        at[column[cell[:i] + cell[i + 1 :]]] = value
    near = slack * (len(order) + 1) + NEAR * float(np.nanmax(np.abs(values), initial=1.0))
    if not np.any(np.nansum(list(rows.values()), axis=0) - total > near):
        return {}
    for listed in (order, order[::-1]):  # the group before its members, or after them
        parents, top = _groups(listed, rows, near)
        if parents and _is_sum(total, [rows[value] for value in top], near):
            return parents
    return {}


def _groups(
    order: Sequence[str], rows: Mapping[str, Floats], near: float
) -> tuple[dict[str, str], list[str]]:
    """Return values in groups, and those in none: a group takes what follows it and is its sum."""
    parents: dict[str, str] = {}
    top: list[str] = []  # what follows, the next one last
    for value in reversed(order):
        for n in range(2, len(top) + 1):
            if _is_sum(rows[value], [rows[one] for one in top[-n:]], near):
                parents |= dict.fromkeys(top[: -n - 1 : -1], value)
                del top[-n:]
                break
        top.append(value)
    return parents, top


def _is_sum(total: Floats, parts: Sequence[Floats], near: float) -> bool:
    """Whether parts add up to a total in all lines that show them, at least one, and to no more."""
    left = total - np.nansum(parts, axis=0)
    shown = ~np.isnan(left) & ~np.isnan(parts).any(0)
    known = left[~np.isnan(left)]
    return bool(
        np.any(total[shown] > near) and np.all(np.abs(left[shown]) <= near)
        and np.all(known >= -near)
    )  # fmt: skip


def path_of(value: str | None, parents: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return the groups that a value is in and itself, as keys of which each has the next.

    Parameters
    ----------
    value
        The value; None for a total.
    parents
        The group of each value that is in one.

    Examples
    --------
    >>> parents = {"islands": "coast", "north": "coast"}
    >>> [path_of(value, parents) for value in ("islands", "coast", "east", None)]
    [('coast', 'islands'), ('coast', None), ('east', 'east'), (None, None)]
    """
    if not parents:
        return (value,)

    def chain(one: str) -> list[str]:
        return [*(chain(parents[one]) if one in parents else []), one]

    depth = max(len(chain(one)) for one in parents)
    if value is None:
        return (None,) * depth
    found = chain(value)
    rest = None if value in parents.values() else value
    return (*found, *[rest] * (depth - len(found)))


# -------------------------------------------------------------------------------------------------
# Which values of keys are totals: by their names, and by what they add up to.
#
# A total that is not known for one disarms the audit of hidden cells. So where cells are hidden,
# more is taken for a total than the names of the rules say: what begins with such a name, and
# what is the sum of the other values in all lines of the table that show it.

Line = list[int]

OTHERS = re.compile(r".*\b(?:other|others|else|except|but|without|andere[nrs]?|übrige[nrs]?)\b.*")
PERHAPS = re.compile(
    r"(?:|_t|tot|99+|00+|(?:both|ensemble|together|zusammen|combined|everybody|everyone|whole|summe|"
    r"totale|totaal|any|alle)\b.*)"
)
"""What totals are called as well, in small letters: to be looked at, if nothing confirms it."""
SURE = 2  # lines in which a value is the sum of the others by more than chance


@dataclass(frozen=True)
class Totals:
    """Values of keys that are totals.

    Parameters
    ----------
    sure
        For each key, values that are totals.
    perhaps
        For each key, those and the ones that may be totals.
    parents
        For each key, the groups of values whose subtotals are among them.
    """

    sure: tuple[frozenset[str], ...]
    perhaps: tuple[frozenset[str], ...]
    parents: tuple[Mapping[str, str], ...]

    @property
    def doubtful(self) -> list[str]:
        """Values that may be totals."""
        pairs = zip(self.perhaps, self.sure, strict=True)
        return [value for more, sure in pairs for value in sorted(more - sure)]

    def place(self, cell: tuple[str, ...], *, perhaps: bool = False) -> Place:
        """Return the values of the keys, None where they say that a cell is a total."""
        known = self.perhaps if perhaps else self.sure
        return tuple(
            None if value in totals else value for value, totals in zip(cell, known, strict=True)
        )

    def path(self, cell: tuple[str, ...], *, perhaps: bool = False) -> Place:
        """Return the place of a cell with the groups of its values as keys of their own."""
        pairs = zip(self.place(cell, perhaps=perhaps), self.parents, strict=True)
        return tuple(one for value, parents in pairs for one in path_of(value, parents))

    def is_group(self, cell: tuple[str, ...]) -> bool:
        """Whether a value of a cell is a subtotal."""
        pairs = zip(cell, self.parents, strict=True)
        return any(value in parents.values() for value, parents in pairs)


def totals_of(
    cells: Sequence[tuple[str, ...]], values: Floats, names: frozenset[str], slack: float = 0.0
) -> Totals:
    """Return which values of keys are totals.

    Parameters
    ----------
    cells
        The values of the keys in each row.
    values
        The values of the rows, NaN for hidden ones. If none is hidden, only names count.
    names
        What totals are called, in small letters.
    slack
        By how much a total may miss the sum of its cells, for each of them.

    Examples
    --------
    >>> cells = [("n", "f"), ("n", "m"), ("n", "both"), ("s", "f"), ("s", "m"), ("s", "both")]
    >>> found = totals_of(cells, np.array([50, np.nan, 55, 40, 60, 100]), frozenset({"total"}))
    >>> found.sure, found.doubtful
    ((frozenset(), frozenset()), ['both'])
    """
    keys = range(len(cells[0]))
    known = [
        frozenset(value for value in {cell[i] for cell in cells} if value.strip().lower() in names)
        for i in keys
    ]
    parents = tuple(subtotals_of(cells, values, i, known[i], slack) for i in keys)
    if not np.isnan(values).any() or np.any(values < 0):
        return Totals(tuple(known), tuple(known), parents)
    sure, perhaps = [], []
    for i in keys:
        more, maybe = _of_key(cells, values, i, known[i], names, slack)
        sure.append(known[i] | more)
        perhaps.append(known[i] | more | maybe)
    return Totals(tuple(sure), tuple(perhaps), parents)


def _of_key(
    cells: Sequence[tuple[str, ...]], values: Floats, i: int, known: frozenset[str],
    names: frozenset[str], slack: float,
) -> tuple[frozenset[str], frozenset[str]]:  # fmt: skip
    """Return values of a key that are totals, and those that may be."""
    lines: dict[tuple[str, ...], Line] = defaultdict(list)
    for row, cell in enumerate(cells):
        if cell[i] not in known:
            lines[cell[:i] + cell[i + 1 :]].append(row)
    confirmed, denied = _sums(cells, values, i, list(lines.values()), slack)
    begins = re.compile(rf"(?:{'|'.join(map(re.escape, sorted(names)))})\b.*", re.DOTALL)
    levels = {cell[i] for cell in cells} - known
    sure, perhaps = set(), set()
    for value in levels - denied if len(levels) > 1 else ():
        text = value.strip().lower()
        times = confirmed.get(value, 0)
        named = bool(PERHAPS.fullmatch(text))
        if text.isdigit() and not all(other.strip().isdigit() for other in levels):
            named = False
        called = begins.fullmatch(text) and not OTHERS.fullmatch(text)
        if called or times >= SURE or (times and not text):
            sure.add(value)
        elif times or named:
            perhaps.add(value)
    return frozenset(sure), frozenset(perhaps)


def _sums(
    cells: Sequence[tuple[str, ...]], values: Floats, i: int, lines: Sequence[Line], slack: float
) -> tuple[dict[str, int], set[str]]:
    """Return in how many lines a value is the sum of the others, and values that are not it."""
    confirmed: dict[str, int] = defaultdict(int)
    denied: set[str] = set()
    for rows in lines:
        shown = values[rows]
        total = float(np.nansum(shown))
        near = slack * len(rows) + 1e-9 * total
        hidden = bool(np.isnan(shown).any())
        several = np.count_nonzero(shown > 0) > SURE
        for row, value in zip(rows, shown.tolist(), strict=True):
            if np.isnan(value) or len(rows) == 1:
                continue
            left = 2 * value - total  # what the others leave of it
            if left < -near or (not hidden and left > near):
                denied.add(cells[row][i])
            elif not hidden and several:
                confirmed[cells[row][i]] += 1
    return confirmed, denied
