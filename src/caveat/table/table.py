"""A table maps names to columns of one length; a column is codes and a dictionary of levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.showing import Summary, on_page

PIECE = 1 << 20  # codes that are counted at once

NA_TOKENS = ("NA", "N/A", "NaN", "nan", "NULL", "null", ".")
"""Words that stand for an empty cell in text files."""

Codes = NDArray[np.integer[Any]]
Levels = NDArray[Any]


class Kind(StrEnum):
    """What the values of a column mean."""

    NUMERIC = "numeric"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    ORDERED = "ordered"
    DATE = "date"
    DATETIME = "datetime"
    TEXT = "text"
    ID = "id"

    @property
    def is_number(self) -> bool:
        """Whether differences of values have a meaning."""
        return self in (Kind.NUMERIC, Kind.INTEGER, Kind.DATE, Kind.DATETIME)

    @property
    def has_order(self) -> bool:
        """Whether the order of the levels has a meaning."""
        return self.is_number or self is Kind.ORDERED


@dataclass(frozen=True, slots=True)
class Missing:
    """One way for a cell to be missing.

    Parameters
    ----------
    code
        What stands in the cell: ``None`` for an empty cell, a NaN for a NaN beside empty cells, the
        empty string, or a declared code such as -8.
    label
        What it means, if somebody said so.
    """

    code: Any = None
    label: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """A value by which two ways to be missing can be compared and sorted (NaN equals NaN)."""
        if self.code is None:
            return ("0", "")
        return ("1", str(float(self.code)) if _is_number(self.code) else f"'{self.code}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Missing):
            return NotImplemented
        return self.key == other.key and self.label == other.label

    def __hash__(self) -> int:
        return hash((self.key, self.label))

    def __str__(self) -> str:
        code = "empty" if self.code is None else "empty text" if self.code == "" else self.code
        return f"{code} ({self.label})" if self.label else str(code)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def smallest_unsigned(n_levels: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Return the smallest unsigned integer type that holds the codes 0 … n_levels − 1."""
    return np.min_scalar_type(max(n_levels - 1, 0))


def count_codes(codes: Codes, n_levels: int) -> NDArray[np.int64]:
    """Return how often each code occurs, in pieces: NumPy makes eight bytes of every code first.

    Examples
    --------
    >>> count_codes(np.array([2, 0, 2], np.uint8), 4).tolist()
    [1, 0, 2, 0]
    """
    piece = max(PIECE, n_levels)
    counts = np.bincount(codes[:piece], minlength=n_levels)
    for start in range(piece, len(codes), piece):
        counts += np.bincount(codes[start : start + piece], minlength=n_levels)
    return counts


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of one variable, dictionary-encoded and immutable.

    Parameters
    ----------
    codes
        One code per row. ``codes[i] < len(levels)`` is an ordinary value.
    levels
        The distinct ordinary values: sorted, or in the declared order for categories.
    kind
        What the values mean.
    missing
        The ways to be missing; code ``len(levels) + j`` is ``missing[j]``.
    label
        The description of the variable.
    value_labels
        Descriptions of single values.
    storage
        The data type of the cells where the column came from, as text; empty for the usual one.
    closed
        Whether somebody declared the levels, so that none of them is a secret.

    Examples
    --------
    >>> import numpy as np
    >>> codes, levels = np.array([1, 0, 2]), np.array([800, 1500])
    >>> income = Column(codes, levels, Kind.INTEGER, (Missing(-8),))
    >>> income.n_levels, income.is_missing.tolist(), income.values.tolist()
    (3, [False, False, True], [1500, 800, -8])
    """

    codes: Codes
    levels: Levels
    kind: Kind
    missing: tuple[Missing, ...] = ()
    label: str = ""
    value_labels: Mapping[Any, str] = field(default_factory=dict)
    storage: str = ""
    closed: bool = False

    def __post_init__(self) -> None:
        codes = np.asarray(self.codes)
        if codes.dtype.kind not in "ui" or codes.ndim != 1:
            raise ValueError("codes must be a one-dimensional array of integers")
        # A memory map is a code file, checked when it was written: looking would read all of it.
        known = isinstance(self.codes, np.memmap)
        if len(codes) and not known and not 0 <= int(codes.min()) <= codes.max() < self.n_levels:
            raise ValueError("codes must lie between 0 and the number of levels - 1")
        codes = np.ascontiguousarray(codes, smallest_unsigned(self.n_levels))
        levels = np.asarray(self.levels)
        for name, array in (("codes", codes), ("levels", levels)):
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)
        object.__setattr__(self, "missing", tuple(self.missing))
        object.__setattr__(self, "value_labels", MappingProxyType(dict(self.value_labels)))

    def __len__(self) -> int:
        return len(self.codes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column):
            return NotImplemented
        return self.has_same_levels(other) and np.array_equal(self.codes, other.codes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        missing = f", missing {', '.join(map(str, self.missing))}" if self.missing else ""
        return f"<Column {self.kind}: {len(self)} rows, {len(self.levels)} levels{missing}>"

    @property
    def n_levels(self) -> int:
        """Number of codes: ordinary levels and ways to be missing."""
        return len(self.levels) + len(self.missing)

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Whether each cell is missing."""
        return np.asarray(self.codes >= len(self.levels))

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each code occurs."""
        return count_codes(self.codes, self.n_levels)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The ordinary levels as floating-point numbers (dates as days, datetimes as ticks)."""
        if not (self.kind.is_number or self.levels.dtype.kind in "biuf"):
            raise TypeError(f"levels of kind {self.kind} are not numbers")
        raw = self.levels
        return (raw.view(np.int64) if raw.dtype.kind == "M" else raw).astype(np.float64)

    @property
    def cell_numbers(self) -> NDArray[np.float64]:
        """The cells as floating-point numbers, NaN where they are missing."""
        return np.append(self.numbers, [np.nan] * len(self.missing))[self.codes]

    @property
    def values(self) -> NDArray[Any]:
        """The cells as values: an object array in which missing cells hold their code."""
        lookup = np.empty(self.n_levels, dtype=object)
        lookup[: len(self.levels)] = (
            self.levels.tolist() if self.levels.dtype.kind != "M" else list(self.levels)
        )
        lookup[len(self.levels) :] = [m.code for m in self.missing]
        return lookup[self.codes]

    def has_same_levels(self, other: Column) -> bool:
        """Whether a code means the same in both columns."""
        return (
            self.kind == other.kind
            and self.missing == other.missing
            and self.label == other.label
            and dict(self.value_labels) == dict(other.value_labels)
            and self.levels.dtype.kind == other.levels.dtype.kind
            and np.array_equal(self.levels, other.levels)
        )

    def take(self, rows: slice | NDArray[Any] | Sequence[int]) -> Column:
        """Return the column with the given rows (a slice does not copy)."""
        return self.with_codes(self.codes[rows])

    def with_codes(self, codes: NDArray[Any]) -> Column:
        """Return a column with other cells and the same dictionary."""
        return replace(self, codes=codes)

    def compact(self) -> Column:
        """Return the column without levels and ways to be missing that no cell has."""
        used = self.counts > 0
        if used.all():
            return self
        lookup = np.cumsum(used) - 1
        n = len(self.levels)
        return replace(
            self,
            codes=lookup[self.codes],
            levels=self.levels[used[:n]],
            missing=tuple(m for m, keep in zip(self.missing, used[n:], strict=True) if keep),
        )

    def declare_missing(self, declared: Sequence[Missing]) -> Column:
        """Return the column with the given values marked as ways to be missing.

        A declared code that no cell has is added all the same: a synthetic copy may need it.
        Labels of ways to be missing that are known already are updated.
        """
        by_key = {m.key: m for m in declared}
        known = [replace(m, label=by_key.pop(m.key, m).label or m.label) for m in self.missing]
        added = sorted(by_key.values(), key=lambda m: m.key)
        equal = _equal_to(self.levels, [m.code for m in added])
        gone = equal >= 0
        n_kept = int((~gone).sum())
        lookup = np.empty(self.n_levels, dtype=np.int64)
        lookup[: len(self.levels)] = np.where(
            gone, n_kept + len(known) + equal, np.cumsum(~gone) - 1
        )
        lookup[len(self.levels) :] = n_kept + np.arange(len(known))
        return replace(
            self,
            codes=lookup[self.codes],
            levels=self.levels[~gone],
            missing=(*known, *added),
        )


def _equal_to(levels: Levels, codes: Sequence[Any]) -> NDArray[np.int64]:
    """Return for each level which of the codes it equals, -1 for none.

    Numbers equal numbers of the same value, text equals the same text; a date equals no code.
    """
    equal = np.full(len(levels), -1)
    are_numbers = levels.dtype.kind in "iuf"
    # Whole arrays are compared, never level by level: a column may have a million of them.
    texts = levels.astype(str).astype(object) if levels.dtype.kind == "b" else levels
    for position, code in enumerate(codes):
        if code is None or levels.dtype.kind == "M" or _is_number(code) != are_numbers:
            continue
        if not are_numbers:
            equal[texts == str(code)] = position
        elif code == code:
            equal[levels == code] = position
        else:
            equal[np.isnan(levels)] = position
    return equal


# -------------------------------------------------------------------------------------------------
# What the numbers of a column look like.


MOST_DECIMALS = 12


def decimals_of(column: Column) -> int:
    """Return how many decimal places the numbers of a column have."""
    if column.kind is not Kind.NUMERIC:
        return 0
    for places in range(MOST_DECIMALS):
        if np.array_equal(np.round(column.numbers, places), column.numbers):
            return places
    return 15


# -------------------------------------------------------------------------------------------------
# Survey weights: how many people each record stands for.


def survey_weights(column: Column, name: str) -> NDArray[np.float64]:
    """Return the weights of all records, or say in which row one cannot be used."""
    if not column.kind.is_number:
        raise CaveatError(
            "weights must be numbers", column=name, do="choose another", code="data.weights.type"
        )
    weights = column.cell_numbers
    for bad, what, code in (
        (np.isnan(weights), "missing", "data.weights.absent"),
        (weights < 0, "negative", "data.weights.range"),
    ):
        if bad.any():
            raise CaveatError(
                f"{int(bad.sum()):,} weights are {what}",
                column=name,
                row=int(np.argmax(bad)) + 1,
                do="give every record a weight of zero or more",
                code=code,
            )
    if not weights.sum() > 0:
        raise CaveatError(
            "all weights are zero", column=name, do="choose another", code="data.weights.range"
        )
    return weights


# -------------------------------------------------------------------------------------------------
# A table is an ordered mapping of names to columns of one length.


SHOWN, LONGEST = 24, 32  # columns of a table that is printed, and characters of their names


@dataclass(frozen=True, eq=False)
class Table:
    """An immutable table whose columns are codes and levels.

    Parameters
    ----------
    columns
        The columns by name, all of one length.
    backend
        The kind of frame the table came from: pandas, polars, pyarrow, dict, or "" for a file.
    notes
        What the reader of the file repaired, and how.
    """

    columns: Mapping[str, Column]
    backend: str = ""
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        columns = dict(self.columns)
        if "" in columns or any(not isinstance(name, str) or not name.strip() for name in columns):
            position = next(
                i for i, n in enumerate(columns, 1) if not isinstance(n, str) or not n.strip()
            )
            raise CaveatError(
                "a column has no name",
                where=f"column {position}",
                do="give every column a name",
                code="data.name.absent",
            )
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise CaveatError(
                "the columns differ in length",
                do="give every column one value per row",
                code="data.row.mismatch",
            )
        object.__setattr__(self, "columns", MappingProxyType(columns))

    def __len__(self) -> int:
        return self.n_rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> Column:
        try:
            return self.columns[name]
        except KeyError:
            raise CaveatError(
                f"there is no column {name!r}",
                do=f"choose among {', '.join(self.columns)}",
                code="data.column.unknown",
            ) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self.names == other.names and all(self[name] == other[name] for name in self)

    __hash__ = None  # type: ignore[assignment]

    def _summary(self) -> Summary:
        rows = [
            (name, str(column.kind), len(column.levels), int(column.is_missing.sum()), column.label)
            for name, column in self.columns.items()
        ]
        title = f"Table: {self.n_rows:,} rows, {len(self.columns)} columns"
        return Summary(title, ("column", "kind", "levels", "missing", "label"), rows)

    _repr_html_ = on_page

    def __repr__(self) -> str:
        shown = list(self.columns.items())[:SHOWN]
        names = [n if len(n) <= LONGEST else f"{n[: LONGEST - 1]}…" for n, _ in shown]
        width = max(map(len, names), default=0)
        lines = [f"<Table: {self.n_rows:,} rows, {len(self.columns)} columns>"]
        for name, (_, column) in zip(names, shown, strict=True):
            missing = int(column.is_missing.sum())
            tail = f", {missing:,} missing" if missing else ""
            lines.append(
                f"  {name:<{width}}  {column.kind:<8}  {len(column.levels):,} levels{tail}"
            )
        if len(self.columns) > SHOWN:
            lines.append(f"  … {len(self.columns) - SHOWN:,} more")
        return "\n".join(lines)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()))) if self.columns else 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in order."""
        return tuple(self.columns)

    @property
    def nbytes(self) -> int:
        """Bytes held by the codes."""
        return sum(column.codes.nbytes for column in self.columns.values())

    def select(self, names: Sequence[str]) -> Table:
        """Return the named columns in the given order, without copying."""
        return replace(self, columns={name: self[name] for name in names})

    def drop(self, names: Sequence[str]) -> Table:
        """Return the table without the named columns."""
        gone = {name for name in names if self[name] is not None}
        return self.select([name for name in self if name not in gone])

    def take(self, rows: slice | NDArray[Any] | Sequence[int]) -> Table:
        """Return the given rows (a slice does not copy)."""
        return replace(
            self, columns={name: column.take(rows) for name, column in self.columns.items()}
        )

    def with_columns(self, columns: Mapping[str, Column]) -> Table:
        """Return the table with columns replaced or added at the end."""
        return replace(self, columns={**self.columns, **columns})

    def compact(self) -> Table:
        """Return the table without levels and ways to be missing that no cell has."""
        return replace(self, columns={name: c.compact() for name, c in self.columns.items()})

    @classmethod
    def from_frame(cls, frame: Any) -> Table:
        """Encode a pandas, polars or pyarrow frame, or a dict of arrays.

        Examples
        --------
        >>> Table.from_frame({"sex": ["f", "m", "f"], "age": [31, 47, 31]})
        <Table: 3 rows, 2 columns>
          sex  category  2 levels
          age  integer   2 levels
        """
        from caveat.table.frames import from_frame

        return from_frame(frame)

    def to_frame(self, backend: str = "") -> Any:
        """Decode to the kind of frame the table came from, or to the one that is named."""
        from caveat.table.frames import to_frame

        return to_frame(self, backend)


def concat(tables: Sequence[Table]) -> Table:
    """Stack tables with the same columns, on the union of their levels.

    Examples
    --------
    >>> a = Table.from_frame({"x": [1, 2]})
    >>> concat([a, a]).n_rows
    4
    """
    from caveat.table.align import common_levels

    if not tables:
        raise CaveatError(
            "there is no table to stack", do="give at least one", code="data.table.absent"
        )
    first, *others = tables
    for other in others:
        if set(other.names) != set(first.names):
            differing = sorted(set(other.names) ^ set(first.names))
            raise CaveatError(
                "the tables do not have the same columns",
                where=f"column {', '.join(differing)}",
                do="drop it or add it everywhere",
                code="data.column.mismatch",
            )
    columns = {}
    for name in first:
        parts = common_levels([table[name] for table in tables], name)
        columns[name] = parts[0].with_codes(np.concatenate([part.codes for part in parts]))
    return replace(first, columns=columns)
