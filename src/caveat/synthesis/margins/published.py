"""Tables as a reader sees them: cells in words, and a manifest that a clerk can check."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from caveat.errors import CaveatError
from caveat.synthesis.coding import Coding
from caveat.synthesis.margins.clearing import ClearedTable
from caveat.synthesis.margins.plan import MarginsPlan
from caveat.table import Table, write
from caveat.table.identifying import Origin, Output
from caveat.table.table import Column

__all__ = [
    "MANIFEST",
    "Published",
    "counted_table",
    "published_tables",
    "words_of",
    "write_tables",
]

MANIFEST = "manifest.csv"
LONGEST = 60  # characters of a file name that are names of columns


@dataclass(frozen=True)
class Published:
    """One table.

    Parameters
    ----------
    columns
        Its columns.
    cells
        The cells that are published, each as the values of the columns in words.
    counts
        What is published of each of them, as multiples of `multiple`.
    multiple
        What counts are rounded to.
    suppressed
        Number of cells with records of which nothing is published.
    changed_by
        Number of records without each of which the table would be another one: who knows all
        others and sees the table knows that such a person is in the data.
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    counts: tuple[int, ...]
    multiple: int
    suppressed: int
    changed_by: int

    def __repr__(self) -> str:
        return f"<{' × '.join(self.columns)}: {len(self.cells)} cells>"

    @property
    def table(self) -> Table:
        """The cells and their counts."""
        return counted_table(self.columns, self.cells, self.counts)

    @property
    def line(self) -> dict[str, Any]:
        """What the manifest says about it."""
        return {
            "cells": len(self.cells),
            "records": sum(self.counts),
            "smallest": min(self.counts),
            "rounded to": self.multiple,
        }

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        return {
            "columns": list(self.columns),
            "cells": [list(cell) for cell in self.cells],
            "counts": list(self.counts),
            "multiple": self.multiple,
            "suppressed": self.suppressed,
            "changed_by": self.changed_by,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Published:
        """Return the table from a file, or raise ValueError if it is none."""
        columns, cells = tuple(state["columns"]), tuple(map(tuple, state["cells"]))
        own = [state[word] for word in ("multiple", "suppressed", "changed_by")]
        numbers = [*state["counts"], *own]
        texts = [*columns, *(text for cell in cells for text in cell)]
        if (
            not all(type(n) is int and n >= 0 for n in numbers)
            or not all(isinstance(text, str) for text in texts)
            or len(cells) != len(state["counts"])
            or any(len(cell) != len(columns) for cell in cells)
        ):
            raise ValueError("no table")
        return cls(columns, cells, tuple(state["counts"]), *own)


class Source(Protocol):
    """A table that is written out."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def table(self) -> Table: ...

    @property
    def line(self) -> dict[str, Any]: ...


def counted_table(
    columns: Sequence[str], cells: Sequence[Sequence[str]], counts: Sequence[int]
) -> Table:
    """Return cells in words with their counts."""
    count = "count"
    while count in columns:
        count += "_"
    lines = zip(*cells, strict=True) if cells else ([] for _ in columns)
    held = {n: list(values) for n, values in zip(columns, lines, strict=True)}
    return Table.from_frame({**held, count: list(counts)})


def published_tables(
    cleared: Mapping[tuple[str, ...], ClearedTable],
    codings: Mapping[str, Coding],
    plan: MarginsPlan,
) -> tuple[Published, ...]:
    """Return cleared tables in words, or say of which of them nothing is left."""
    assert plan.clearing is not None
    words = {name: words_of(coding) for name, coding in codings.items()}
    found = []
    for margin, table in cleared.items():
        places = np.argwhere(table.counts > 0)
        if not len(places):
            raise CaveatError(
                f"clearing leaves nothing of the table {' × '.join(margin)} ({plan.clearing})",
                where="synthesis, clearing",
                do="take fewer bins, group levels, lower the threshold, or give other margins",
                entry=("clearing",),
                code="synthesis.table.empty",
            )
        cells = [
            tuple(words[name][at] for name, at in zip(margin, place, strict=True))
            for place in places.tolist()
        ]
        counts = [int(n) for n in table.counts[table.counts > 0]]
        found.append(
            Published(
                margin, tuple(cells), tuple(counts), plan.clearing.multiple, table.suppressed,
                table.changed_by,
            )
        )  # fmt: skip
    return tuple(found)


def words_of(coding: Coding) -> list[str]:
    """Return what each cell of a column is called."""
    column, grid = coding.column, coding.grid
    missing = [str(way) for way in column.missing]
    if grid is None:
        return [*map(str, column.levels.tolist()), *missing]
    first, last = grid.values_of(grid.edges[:-1]), grid.values_of(grid.edges[1:] - 1)
    ends = zip(_spelled(column, first), _spelled(column, last), strict=True)
    cells = [low if low == high else f"{low} to {high}" for low, high in ends]
    return [*cells, *_spelled(column, coding.special_numbers), *missing]


def _spelled(column: Column, numbers: Any) -> list[str]:
    """Return numbers as cells of a column show them."""
    if column.levels.dtype.kind in "iuM":
        return [*map(str, numbers.astype(np.int64).astype(column.levels.dtype))]
    return [f"{number:.15g}" for number in numbers]


def write_tables(
    tables: Sequence[Source], folder: Path, released: Output, *, escape_formulas: bool = False
) -> list[Output]:
    """Write each table into a folder, and a list of them; return where their columns come from.

    Parameters
    ----------
    tables
        The tables.
    folder
        The folder.
    released
        The release of which they are the source: their labels are levels of its columns.
    escape_formulas
        As in :func:`caveat.table.write`.
    """
    lines: list[dict[str, Any]] = []
    outputs = []
    for number, source in enumerate(tables, 1):
        words = "-".join(re.sub(r"\W+", "_", name) for name in source.columns)
        name = f"{number:02d}-{words[:LONGEST]}.csv"
        write(source.table, folder / name, escape_formulas=escape_formulas)
        labels = {n: released.columns.get(n, Origin.COMPUTED) for n in source.columns}
        outputs.append(replace(released, name=name, columns={**labels, "count": Origin.COMPUTED}))
        lines.append(
            {
                "file": name,
                "columns": " × ".join(source.columns),
                **source.line,
                "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest(),
            }
        )
    manifest = {word: [line[word] for line in lines] for word in lines[0]}
    write(Table.from_frame(manifest), folder / MANIFEST)
    return [*outputs, Output(MANIFEST, outside="it lists published tables")]
