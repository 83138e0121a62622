"""A table is an ordered mapping of names to columns of one length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.showing import Summary, on_page
from caveat.table.column import Column

__all__ = ["Table", "concat"]

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
