"""What a plan says about columns made from margins, and its tables as a reader sees them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.synthesis.coding import Coding
from caveat.synthesis.margins.promise import Promise
from caveat.synthesis.margins.tables import (
    MOST_CELLS,
    ClearedTable,
    Clearing,
    cells_of,
    check_size,
    cleared_counts,
    n_cells_of,
    places,
    within,
)
from caveat.table import Table, write
from caveat.table.identifying import Origin, Output
from caveat.table.table import Column

__all__ = [
    "MANIFEST",
    "MARGINS",
    "MarginsPlan",
    "Published",
    "components",
    "counted_table",
    "is_tree",
    "mutual_information",
    "plan_margins",
    "published_tables",
    "spanning_tree",
    "words_of",
    "write_tables",
]


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SAME = 1e-12
"""Mutual information that differs by less is the same; the first pair of columns is taken then."""


def spanning_tree(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    weights: Floats | None = None,
    rules: Clearing | None = None,
) -> list[tuple[str, ...]]:
    """Return the pairs of a tree over all columns; a column that fits into no table stands alone.

    Parameters
    ----------
    cells, sizes
        The cell of each record in each column, and how many cells a column has.
    weights
        Survey weights; None when every record counts once.
    rules
        The rules that the tables will be cleared by; one of which nothing is left is not taken.

    Examples
    --------
    >>> a, b = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> spanning_tree({"a": a, "b": b, "c": a}, {"a": 2, "b": 2, "c": 2})
    [('a', 'b'), ('a', 'c')]
    """
    names = list(cells)
    pairs = [p for p in combinations(names, 2) if within([sizes[name] for name in p])]
    worth = {p: mutual_information(cells, sizes, p, weights, rules) for p in pairs}
    pairs = [p for p in pairs if worth[p] > -np.inf]
    ranked = sorted(pairs, key=lambda p: -round(worth[p] / SAME))  # stable: ties as they stand
    tree = _kruskal(names, ranked)
    paired = {name for pair in tree for name in pair}
    alone = [(name,) for name in names if name not in paired]
    return sorted([*tree, *alone], key=lambda margin: [names.index(name) for name in margin])


def _kruskal(names: Sequence[str], ranked: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return the first pairs that close no circle."""
    part = {name: name for name in names}
    tree: list[tuple[str, ...]] = []
    for one, other in ranked:
        if part[one] != part[other]:
            tree.append((one, other))
            old, new = part[other], part[one]
            part = {name: new if at == old else at for name, at in part.items()}
    return tree


def mutual_information(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    pair: tuple[str, str],
    weights: Floats | None = None,
    rules: Clearing | None = None,
) -> float:
    """Return how much two columns say about each other, in nats, less what chance alone gives.

    Of n records with r and c cells chance gives (r - 1)(c - 1) / 2n (Miller 1955). Without this a
    column with many levels would seem to say most about every other. Weighted records count as
    (Σw)² / Σw².

    Of a table that is cleared it is what the published cells say, times the share of the records
    in them, less the share of all others: a table that is suppressed for the most part says little.
    One of which nothing is left says nothing: -inf.

    Examples
    --------
    >>> cells = {"a": np.array([0, 0, 1, 1]), "b": np.array([1, 1, 0, 0])}
    >>> round(mutual_information(cells, {"a": 2, "b": 2}, ("a", "b")), 4)  # log 2 - 1/8
    0.5681
    """
    place, size = places(cells, sizes, pair), sizes[pair[0]] * sizes[pair[1]]
    total = float(len(place)) if weights is None else float(weights.sum())
    if rules is None:
        held, counts = _counted(place, size, weights)
    else:
        table = cleared_counts(cells, sizes, [pair], rules, weights)[pair].ravel()
        held = np.flatnonzero(table)
        counts = table[held]
    if not len(held):
        return 0.0 if rules is None else -np.inf
    n = total if weights is None else total**2 / float(np.square(weights).sum())
    joint = counts / counts.sum()
    one, other = held // sizes[pair[1]], held % sizes[pair[1]]
    rows, columns = np.bincount(one, joint), np.bincount(other, joint)
    found = np.sum(joint * np.log(joint / (rows[one] * columns[other])))
    found -= (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * n)
    share = min(float(counts.sum()) / total, 1.0)
    return float(found) if rules is None else float(found * share - (1 - share))


def _counted(place: Ints, size: int, weights: Floats | None) -> tuple[Ints, Floats]:
    """Return the cells with records, and how many these are."""
    if size <= 4 * len(place):
        held, counts = np.arange(size), np.bincount(place, weights, size).astype(np.float64)
    else:  # large tables are mostly empty
        held, at = np.unique(place, return_inverse=True)
        counts = np.bincount(at, weights, len(held)).astype(np.float64)
    there = counts > 0
    return held[there], counts[there]


# -------------------------------------------------------------------------------------------------
# What a plan says about columns that are made from margins: the tables, and who follows whom.


MARGINS = "margins"
"""The name of the method."""

Margin = tuple[str, ...]


@dataclass(frozen=True)
class MarginsPlan:
    """The tables that columns are made from.

    Parameters
    ----------
    margins
        The columns of each table; none is within another.
    chosen
        Whether they were chosen by mutual information; else they were given.
    clearing
        The rules that the tables are cleared by; None if they are taken as they are.
    promise
        The guarantee that is given, with what was measured; None if there is none.

    Examples
    --------
    >>> plan = MarginsPlan((("a", "c"), ("b", "c")))
    >>> plan.arranged(["a", "b", "c"])
    {'a': (), 'c': ('a',), 'b': ('c',)}
    """

    margins: tuple[Margin, ...]
    chosen: bool = False
    clearing: Clearing | None = None
    promise: Promise | None = None

    def __str__(self) -> str:
        tables = ", ".join(" × ".join(margin) for margin in self.margins)
        chosen = " (a tree chosen by mutual information)" if self.chosen else ""
        cleared = "" if self.clearing is None else f"\nclearing: {self.clearing}"
        if self.promise is not None:
            cleared = f"\n{self.promise}"
            chosen = " (pairs are chosen privately)" if self.chosen else ""
        return f"margins: {tables}{chosen}{cleared}"

    def arranged(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the columns with those that each is drawn from, which come before it.

        The order of the names is kept as far as that allows.
        """
        found: dict[str, tuple[str, ...]] = {}
        for part in components(self.margins):
            own = [name for name in names if any(name in margin for margin in part)]
            found |= _tree(part, own) if is_tree(part) else _joint(own)
        order: list[str] = []
        while len(order) < len(found):
            ready = (n for n in names if n in found and n not in order)
            order.append(next(n for n in ready if set(found[n]) <= set(order)))
        return {name: found[name] for name in order}

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        return {
            "margins": [list(margin) for margin in self.margins],
            "chosen": self.chosen,
            "clearing": None if self.clearing is None else self.clearing.state(),
            "promise": None if self.promise is None else self.promise.state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> MarginsPlan:
        """Return the plan from a file, or raise an error if it is none."""
        margins = tuple(tuple(margin) for margin in state["margins"])
        names = list(dict.fromkeys(name for margin in margins for name in margin))
        if margins != maximal(margins) or not isinstance(state["chosen"], bool):
            raise ValueError("no margins")
        check_margins(margins, names)
        rules, promise = state["clearing"], state["promise"]
        return cls(
            margins,
            state["chosen"],
            None if rules is None else Clearing.of(rules),
            None if promise is None else Promise.from_state(promise),
        )


def _tree(part: Sequence[Margin], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of a tree with their parents; the first one is the root."""
    found: dict[str, tuple[str, ...]] = {names[0]: ()}
    pairs = [margin for margin in part if len(margin) == 2]
    while pairs:
        for pair in pairs:
            known = [name for name in pair if name in found]
            if known:
                (child,) = (name for name in pair if name not in found)
                found[child] = (known[0],)
                pairs = [other for other in pairs if other != pair]
                break
    return found


def _joint(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(names[:position]) for position, name in enumerate(names)}


def maximal(margins: Sequence[Sequence[str]]) -> tuple[Margin, ...]:
    """Return the margins that are within no other, each once."""
    once = {frozenset(margin): tuple(margin) for margin in reversed(list(margins))}
    kept = [m for key, m in once.items() if not any(key < other for other in once)]
    return tuple(reversed(kept))


def components(margins: Sequence[Margin]) -> list[list[Margin]]:
    """Return the margins in groups that have no column in common."""
    parts: list[list[Margin]] = []
    for margin in margins:
        touched = [p for p in parts if any(set(margin) & set(other) for other in p)]
        joined = [other for part in touched for other in part]
        parts = [part for part in parts if part not in touched] + [[*joined, margin]]
    return parts


def is_tree(part: Sequence[Margin]) -> bool:
    """Whether connected margins are pairs, or a column alone, without a circle."""
    names = {name for margin in part for name in margin}
    pairs = [margin for margin in part if len(margin) == 2]
    return all(len(margin) <= 2 for margin in part) and len(pairs) == len(names) - 1


def check_margins(margins: Sequence[Sequence[str]], names: Sequence[str]) -> None:
    """Refuse margins that are no tables of these columns, or leave one of them out."""
    for margin in margins:
        for name in margin:
            if name not in names:
                raise _wrong(
                    f"{name!r} is in a margin and is not made from margins",
                    f"use columns with the method margins: {', '.join(names)}",
                    "synthesis.margins.mismatch",
                )
        if not margin or len(set(margin)) < len(margin):
            raise _wrong(
                "a margin is empty, or has a column twice",
                "name the columns of each table once",
                "synthesis.margins.duplicate" if margin else "synthesis.margins.empty",
            )
    for name in names:
        if not any(name in margin for margin in margins):
            raise _wrong(
                f"{name!r} is in no margin",
                "add it to a margin, or add a margin of this column alone",
                "synthesis.margins.absent",
            )


def _wrong(what: str, do: str, code: str) -> CaveatError:
    return CaveatError(what, where="synthesis, margins", do=do, entry=("margins",), code=code)


def plan_margins(
    table: Table,
    codings: Mapping[str, Coding],
    given: Sequence[Sequence[str]],
    clearing: Any = None,
    weights: NDArray[np.float64] | None = None,
) -> tuple[MarginsPlan, list[str]]:
    """Return the tables that columns are made from, and what has to be said about them.

    Parameters
    ----------
    table
        The original table.
    codings
        The columns that are made from margins, with their cells.
    given
        The margins that a user asks for; none: a tree of pairs is chosen.
    clearing
        The rules that the tables are cleared by.
    weights
        Survey weights of the records.
    """
    rules = None if clearing is None else Clearing.of(clearing)
    sizes = {name: n_cells_of(coding) for name, coding in codings.items()}
    remarks: list[str] = []
    if given:
        check_margins(given, list(codings))
        margins = maximal(given)
    else:
        margins = tuple(spanning_tree(cells_of(codings, table), sizes, weights, rules))
        large = [m[0] for m in margins if len(m) == 1 and len(codings) > 1]
        if large:
            remarks.append(
                f"{', '.join(large)}: no table with another column has at most {MOST_CELLS:,} cells"
                + ("" if rules is None else " and is not wholly suppressed")
                + ", so that it is drawn from its own shares"
            )
    for margin in margins:
        check_size(margin, [sizes[name] for name in margin])
    for part in components(margins):
        names = [n for n in codings if any(n in margin for margin in part)]
        if not is_tree(part) and not within([sizes[name] for name in names]):
            raise _wrong(
                f"the margins of {', '.join(names)} are no tree of pairs, and their joint table "
                f"has more than {MOST_CELLS:,} cells",
                "give pairs that form no circle, or take fewer columns or bins",
                "synthesis.table.too-large",
            )
    return MarginsPlan(margins, not given, rules), remarks


# -------------------------------------------------------------------------------------------------
# Tables as a reader sees them: cells in words, and a manifest that a clerk can check.


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
