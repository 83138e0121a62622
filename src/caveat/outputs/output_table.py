"""An output that is a table: which columns are keys, which are statistics, and of what barn."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.outputs.finding import Cell
from caveat.outputs.statbarns import STATBARNS, Statbarn, barn_of, known_barn
from caveat.outputs.written_cells import decimal_of, number_of
from caveat.table import Column, Table

__all__ = [
    "Described",
    "Marks",
    "OutputTable",
    "Statistic",
    "mostly_numbers",
    "numbers",
    "rounded_to",
    "written_decimal",
]

Floats = NDArray[np.float64]

LARGEST = re.compile(r"largest[ _-]?(\d+)", re.IGNORECASE)
# Fewer counts, or even ones, are multiples of a number by chance.
FEWEST_ROUNDED, SMALLEST_BASE = 6, 3
MOST_PLACES = 6
FREQUENCIES = STATBARNS["frequencies"]
STATUS = ("status", "cell status", "flag", "flags", "obs_status", "conf_status")
VALUE = ("value", "cell value", "obs_value")
BARE = frozenset({"hidden", "suppressed", "confidential", "withheld", "c", "geheim", "not shown"})
PRIMARY = re.compile(
    r"(hidden|suppressed|confidential|withheld|not shown|geheim|primary|secondary)\b.*"
)
SHOWN = frozenset({"shown", "published", "visible", "free", "f", "a", "ok", "rounded", "final",
                   "provisional", "p", "estimated", "e", "revised", "r"})  # fmt: skip
"""What a column says of its cells that is neither a key nor a statistic."""

TIMES = re.compile(
    r"(?:survey |reference )?(?:years?|quarter|month|week|wave|period|time|date|jahr|berichtsjahr)",
    re.IGNORECASE,
)
"""Columns of numbers that are keys even if they are the same in every row."""


@dataclass(frozen=True)
class Described:
    """What is known about an output, where its columns do not say it.

    Parameters
    ----------
    form
        "long": a row is a cell. "cross": the first column and the header are the keys, and the
        cells are counts.
    count
        The column with the number of persons.
    statistics
        Other columns with the statistic that they hold.
    largest
        The columns with the largest contributions, the largest first.
    keys
        Columns that say which cell a row is, whatever they are called; all others that are no
        statistics do so too, unless they are numbers that tell no rows apart.
    across
        Of a cross table: what the header holds.
    decimal
        The decimal sign of numbers that are written as text, point or comma; None to see it from
        the table.
    status
        The column that says which cells are hidden.
    nested
        Keys whose values have one value of another by their nature: municipalities of regions.
    rounded
        The base that counts are rounded to, 1 if they are not; None to guess it from them.
    """

    form: str = "long"
    count: str | None = None
    statistics: Mapping[str, str] = field(default_factory=dict)
    largest: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    across: str = "columns"
    decimal: str | None = None
    status: str | None = None
    nested: tuple[str, ...] = ()
    rounded: int | None = None


@dataclass(frozen=True)
class Statistic:
    """A column beside the counts: its barn, what it is called there, and its cells."""

    barn: Statbarn
    said: str
    values: Floats

    __repr__ = without_values


@dataclass(frozen=True)
class Marks:
    """What a column of a table says about its cells.

    Parameters
    ----------
    column
        Its name.
    hidden
        The rows that are said to be hidden.
    reasons
        Whether it says more of a hidden cell than that it is one.
    """

    column: str
    hidden: frozenset[int]
    reasons: bool


@dataclass(frozen=True)
class OutputTable:
    """A table of cells.

    Parameters
    ----------
    keys
        The columns that say which cell a row is.
    cells
        For each row its values of the keys, as text.
    counts
        For each row the number of persons, NaN if it is hidden; None if there is no such column.
    count_name
        The column of the counts.
    statistics
        The other statistics by their columns.
    largest
        The largest contributions, the largest first.
    columns
        All columns of the file.
    places
        Row and column in the file for each cell.
    unknown
        Columns of numbers that say neither which cell a row is nor what they are.
    marks
        What is said of cells; None if no column does.
    guessed
        Whether the counts are a column of values that could be amounts as well.
    nested
        Keys whose values have one value of another by their nature.
    rounded
        The base that counts are said to be rounded to; None if nothing is said.
    """

    keys: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    counts: Floats | None
    count_name: str
    statistics: Mapping[str, Statistic]
    largest: tuple[Floats, ...]
    columns: tuple[str, ...]
    places: tuple[Cell, ...]
    unknown: tuple[str, ...] = ()
    marks: Marks | None = None
    guessed: bool = False
    nested: tuple[str, ...] = ()
    rounded: int | None = None

    __repr__ = without_values

    @classmethod
    def of(cls, table: Table, described: Described | None = None) -> OutputTable | None:
        """Read a table as an output; None if no column is a known statistic."""
        described = described or Described()
        _check_names(table, described)
        decimal = described.decimal or written_decimal(table)
        if described.form == "cross":
            return _cross(table, described, decimal)
        found = _statistics(table, described, decimal)
        marks = _marks(table, described)
        value = _value(table, described, decimal) if marks and not found else None
        if value is not None:
            found = {value: _counts_or_amounts(numbers(table[value], value, decimal))}
        count = described.count or next(
            (name for name, barn in found.items() if barn is FREQUENCIES), None
        )
        largest = described.largest or _largest(table)
        if count is None and not found:
            return None
        chosen = {name: barn for name, barn in found.items() if barn is not FREQUENCIES}
        others = {
            *chosen,
            *largest,
            *([count] if count else ()),
            *([marks.column] if marks else ()),
        }
        rest = tuple(name for name in table.names if name not in others)
        unknown = _unknown(table, rest, described.keys, decimal)
        keys = tuple(name for name in rest if name not in unknown)
        return cls(
            keys,
            _unique_cells(keys, _rows(table, keys)),
            None
            if count is None
            else _counts(_unmarked(numbers(table[count], count, decimal), marks), count),
            count or "",
            {
                name: Statistic(
                    barn,
                    described.statistics.get(name, "total" if name == value else name),
                    _unmarked(numbers(table[name], name, decimal), marks),
                )
                for name, barn in chosen.items()
                if name not in largest
            },
            tuple(numbers(table[name], name, decimal) for name in largest),
            table.names,
            tuple((row, count or next(iter(chosen))) for row in range(table.n_rows)),
            unknown,
            marks,
            value is not None and count == value,
            described.nested,
            described.rounded,
        )

    @property
    def base(self) -> int:
        """What counts are rounded to, as it is said or else guessed; 0 if they are not."""
        return base_of(self.rounded, self.counts)

    @property
    def is_rounded(self) -> bool:
        """Whether counts are said to be rounded, to a base that protects them."""
        return self.rounded is not None and self.base >= SMALLEST_BASE

    def named(self, row: int) -> dict[str, str]:
        """Return the values of the keys in a row."""
        return dict(zip(self.keys, self.cells[row], strict=True))


def _check_names(table: Table, described: Described) -> None:
    if table.n_rows == 0:
        raise CaveatError("the table has no rows", do="check how it was made")
    wanted = (
        described.count, described.status, *described.statistics, *described.largest,
        *described.keys, *described.nested,
    )  # fmt: skip
    for name in wanted:
        if name is not None and name not in table:
            raise CaveatError(
                f"there is no column {name!r}", do=f"use {', '.join(table.names[:20])}"
            )


def _statistics(table: Table, described: Described, decimal: str | None) -> dict[str, Statbarn]:
    """Return the columns that hold a statistic, by what they are declared or called."""
    found: dict[str, Statbarn] = {}
    for name in table.names:
        if name in described.statistics:
            found[name] = barn_of(described.statistics[name])
        elif name == described.count:
            found[name] = FREQUENCIES
        elif name not in (*described.largest, *described.keys) and not LARGEST.fullmatch(name):
            barn = known_barn(name)
            if barn is not None and _is_numeric(table[name], decimal):
                found[name] = barn
    counts = [name for name, barn in found.items() if barn is FREQUENCIES]
    if len(counts) > 1 and described.count is None:
        raise CaveatError(
            f"{' and '.join(counts[:2])} could both be the numbers of persons",
            do='say which with count = "…" in [[output]] of the rules',
        )
    return found


def _marks(table: Table, described: Described) -> Marks | None:
    """Return what a column says about cells; a status of persons, such as employed, is a key."""
    for name in (described.status,) if described.status else table.names:
        if name in described.keys or table[name].kind.is_number:
            continue
        said = [_text(value).strip().lower() for value in table[name].values]
        hidden = frozenset(row for row, text in enumerate(said) if _says_hidden(text))
        known = all(row in hidden or not text or text in SHOWN for row, text in enumerate(said))
        if described.status or (name.lower() in STATUS and any(said) and known):
            return Marks(name, hidden, any(said[row] not in BARE for row in hidden))
    return None


def _says_hidden(text: str) -> bool:
    return text in BARE or PRIMARY.fullmatch(text) is not None


def _unmarked(values: Floats, marks: Marks | None) -> Floats:
    """Return values, NaN for the 0 that stands where a cell is said to be hidden."""
    if marks is None or not marks.hidden:
        return values
    rows = np.isin(np.arange(len(values)), list(marks.hidden))
    return np.where(rows & (values == 0), np.nan, values)


def _value(table: Table, described: Described, decimal: str | None) -> str | None:
    """Return the column of values of a table that says which of them are hidden."""
    for name in table.names:
        if name.lower() in VALUE and name not in described.keys:
            return name if _is_numeric(table[name], decimal) else None
    return None


def _counts_or_amounts(values: Floats) -> Statbarn:
    shown = values[np.isfinite(values)]
    whole = not np.any((shown < 0) | (shown % 1 != 0))
    return FREQUENCIES if whole else STATBARNS["linear aggregates"]


def _largest(table: Table) -> tuple[str, ...]:
    """Return the columns with the largest contributions, by their numbers."""
    found = {int(m[1]): name for name in table.names if (m := LARGEST.fullmatch(name))}
    return tuple(found[number] for number in sorted(found))


def _unknown(
    table: Table, names: tuple[str, ...], keys: tuple[str, ...], decimal: str | None
) -> tuple[str, ...]:
    """Return columns of numbers without which the rows are told apart as well: no keys."""
    kept = list(names)
    for name in reversed(names):
        column = table[name]
        when = table.n_rows > 1 and column.n_levels == 1 and TIMES.fullmatch(name.strip())
        if not when and name not in keys and mostly_numbers(column, decimal):
            others = [other for other in kept if other != name]
            if len(set(_rows(table, others))) == table.n_rows:
                kept.remove(name)
    return tuple(name for name in names if name not in kept)


def _levels(column: Column) -> list[str]:
    """Return the different cells of a column of text."""
    return [str(level) for level in column.compact().levels.tolist()]


def written_decimal(table: Table) -> str | None:
    """Return the decimal sign of the numbers that a table writes as text; None if none tells."""
    columns = (table[name] for name in table.names)
    return decimal_of(_levels(column) for column in columns if not column.kind.is_number)


def _as_written(levels: list[str], decimal: str | None) -> list[float | None]:
    """Return cells as numbers, by the decimal sign that is given or else by the one that fits."""
    for sign in (decimal,) if decimal else (".", ","):
        found = [number_of(level, sign) for level in levels]
        if None not in found:
            return found
    return [number_of(level, decimal or ".") for level in levels]


def _is_numeric(column: Column, decimal: str | None) -> bool:
    """Whether cells are numbers, but for signs of hidden ones."""
    return column.kind.is_number or None not in _as_written(_levels(column), decimal)


def mostly_numbers(column: Column, decimal: str | None = None) -> bool:
    """Whether most of the different cells are numbers, hidden ones left out."""
    if column.kind.is_number:
        return True
    found = [one for one in _as_written(_levels(column), decimal) if one is None or one == one]
    return 2 * found.count(None) < len(found)


def numbers(column: Column, name: str, decimal: str | None = None) -> Floats:
    """Return the cells as numbers, NaN where a cell is hidden or missing.

    Parameters
    ----------
    column
        The column, of numbers or of text.
    name
        Its name, for messages.
    decimal
        The decimal sign of numbers that are text; None to take the one that fits the column.
    """
    if column.kind.is_number:
        return column.cell_numbers
    found = _as_written([str(level) for level in column.levels.tolist()], decimal)
    for code, number in enumerate(found):
        rows = np.flatnonzero(column.codes == code)
        if number is None and len(rows):
            raise CaveatError(
                "a cell is neither a number nor hidden", column=name, row=int(rows[0]) + 1
            )
    of_level = [math.nan if number is None else number for number in found]
    return np.array([*of_level, *([math.nan] * len(column.missing))])[column.codes]


def _counts(values: Floats, name: str) -> Floats:
    """Return counts, none of which is below 0."""
    negative = np.flatnonzero(values < 0)
    if len(negative):
        raise CaveatError(
            "a count is below 0",
            column=name,
            row=int(negative[0]) + 1,
            do="check how the table was made",
        )
    return values


def _rows(table: Table, keys: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    columns = [[_text(value) for value in table[key].values] for key in keys]
    return tuple(zip(*columns, strict=True)) if columns else ((),) * table.n_rows


def _text(value: Any) -> str:
    """Return a value of a key as text: the same from all formats of files."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def _unique_cells(
    keys: tuple[str, ...], cells: tuple[tuple[str, ...], ...]
) -> tuple[tuple[str, ...], ...]:
    seen: dict[tuple[str, ...], int] = {}
    for row, cell in enumerate(cells):
        if cell in seen:
            raise CaveatError(
                f"it is the same cell as row {seen[cell] + 1:,}"
                + ("" if keys else ": no column says which cell a row is"),
                row=row + 1,
                do="say in [[output]] of the rules which columns are statistics",
            )
        seen[cell] = row
    return cells


def _cross(table: Table, described: Described, decimal: str | None) -> OutputTable:
    """Return a cross table of counts as one row a cell."""
    side, *names = table.names
    if not names:
        raise CaveatError("a cross table has a column beside its first", do="give it as long")
    labels = [_text(value) for value in table[side].values]
    columns = {name: _counts(numbers(table[name], name, decimal), name) for name in names}
    rows = range(table.n_rows)
    keys = (side, described.across)
    cells = tuple((labels[row], name) for row in rows for name in names)
    return OutputTable(
        keys,
        _unique_cells(keys, cells),
        np.array([columns[name][row] for row in rows for name in names]),
        described.across,
        {},
        (),
        table.names,
        tuple((row, name) for row in rows for name in names),
        rounded=described.rounded,
    )


def base_of(declared: int | None, counts: Floats | None) -> int:
    """Return what counts are rounded to: what is said, or else a guess; 0 if they are not."""
    if declared is not None:
        return declared if declared > 1 else 0
    return 0 if counts is None else rounded_to(counts)


def rounded_to(counts: Floats) -> int:
    """Return the base that all counts are multiples of; 0 if they are not rounded.

    Examples
    --------
    >>> rounded_to(np.array([15, 20, 35, 5, 70, 45])), rounded_to(np.array([15, 20, 36, 5, 71, 45]))
    (5, 0)
    """
    whole = counts[np.isfinite(counts) & (counts != 0)]  # zero is a multiple of everything
    if len(whole) < FEWEST_ROUNDED or np.any(whole % 1 != 0):
        return 0
    base = reduce(math.gcd, whole.astype(np.int64).tolist(), 0)
    return base if base >= SMALLEST_BASE else 0


def last_place(values: Floats) -> float:
    """Return one unit of the last decimal place that values have; 0 for whole numbers.

    Examples
    --------
    >>> last_place(np.array([0.25, 3.5, np.nan])), last_place(np.array([3.0, 4.0]))
    (0.01, 0.0)
    """
    shown = values[np.isfinite(values)]
    for places in range(MOST_PLACES):
        if np.array_equal(np.round(shown, places), shown):
            return float(10.0**-places) if places else 0.0
    return 0.0
