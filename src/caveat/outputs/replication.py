"""Replication over the copies of a simulation: how often a small cell comes out true.

Data made of harmless inputs must be checked again: many sources and calibration to the margins of
small areas can bring back the same rare cases in every run (Brenzel, Palm, Weymeirsch and Münnich
2024). A cell that comes out true now and then is chance; one that does in nearly every copy is
replicated systematically. The paper names the idea and no formula: what chance would give is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.table import Table
from caveat.table.align import common_levels
from caveat.table.cells import key_cells

__all__ = ["OFTEN", "Replication", "replication"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shown = Callable[[Ints, int], Ints]

OFTEN = 0.9
"""A cell that comes out true in so many copies is replicated systematically."""


@dataclass(frozen=True)
class Replication:
    """The small cells of the original over the copies.

    Attributes
    ----------
    columns
        What the cells are combinations of.
    k
        Small cells hold 1 to k − 1 records.
    copies
        Number of copies.
    often
        Share of the copies from which on replication is systematic.
    cells
        The values of each small cell.
    counts
        Its records in the original.
    seen, true
        Share of the copies in which it holds anybody, and exactly its count.
    chance, margins
        What *true* would be on average if copies knew the cell by chance, its count on average, and
        if they knew the margins alone.
    mean
        Its mean count over the copies.
    shown
        Its mean count over what is shown of the copies; None if they are shown as they are.
    """

    columns: tuple[str, ...]
    k: int
    copies: int
    often: float
    cells: tuple[tuple[Any, ...], ...]
    counts: Ints
    seen: Floats
    true: Floats
    chance: Floats
    margins: Floats
    mean: Floats
    shown: Floats | None = None

    __repr__ = without_values

    @property
    def systematic(self) -> NDArray[np.bool_]:
        """Which cells come out true in nearly every copy."""
        return np.asarray(self.true >= self.often)

    @property
    def by_chance(self) -> float:
        """How many of the cells would be called systematic by chance."""
        least = ceil(self.often * self.copies - 1e-9)
        return float(scipy.stats.binom.sf(least - 1, self.copies, self.chance).sum())

    def averaged(self) -> float:
        """Return the share of the cells that the mean over what is shown tells, rounded."""
        mean = self.mean if self.shown is None else self.shown
        return float((np.abs(mean - self.counts) < 0.5).mean())

    def to_dict(self, *, cells: bool = False) -> dict[str, Any]:
        """Return the results, ready for JSON; single cells only if asked."""
        some = bool(len(self.counts))
        found: dict[str, Any] = {
            "columns": list(self.columns), "k": self.k, "copies": self.copies,
            "often": self.often, "small cells": len(self.counts),
            "true": float(self.true.mean()) if some else None,
            "by chance": float(self.chance.mean()) if some else None,
            "by margins": float(self.margins.mean()) if some else None,
            "systematic": int(self.systematic.sum()), "systematic by chance": self.by_chance,
            "told by the mean": self.averaged() if some else None,
            "rounded": self.shown is not None,
        }  # fmt: skip
        if cells:
            rows = zip(self.cells, self.counts, self.seen, self.true, self.mean, strict=True)
            found["cells"] = [
                {"cell": [_plain(v) for v in cell], "count": int(d), "seen": float(seen),
                 "true": float(true), "mean": float(mean)}
                for cell, d, seen, true, mean in rows
            ]  # fmt: skip
        return found

    def sentences(self) -> list[str]:
        """Return what was found, in words and without a value of any cell."""
        what = " × ".join(self.columns)
        if not len(self.counts):
            return [f"no cell of {what} holds fewer than {self.k} records: nothing to replicate"]
        n = len(self.counts)
        told = [
            f"{n:,} cells of {what} hold fewer than {self.k} records; over {self.copies} copies "
            f"they come out true {_percent(self.true.mean())} of the time",
            f"copies that knew each cell on average would give {_percent(self.chance.mean())}, "
            f"copies that knew the margins alone {_percent(self.margins.mean())}",
            f"{int(self.systematic.sum()):,} cells come out true in {100 * self.often:.0f} % of "
            f"the copies or more; by chance it would be {self.by_chance:.1f}",
        ]
        if self.systematic.sum() > max(1.0, 3 * self.by_chance):
            told.append(
                "WARNING: that is more than chance: these cells are replicated systematically; "
                "leave their margins out of the calibration, or make the categories coarser"
            )
        shown = "the counts" if self.shown is None else "the rounded counts"
        told.append(
            f"who averages {shown} of all copies has the true number of "
            f"{_percent(self.averaged())} of these cells"
        )
        return told


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def replication(
    original: Table,
    copies: Sequence[Table],
    columns: Sequence[str],
    *,
    k: int = 3,
    often: float = OFTEN,
    shown: Shown | None = None,
) -> Replication:
    """Count over copies how often the small cells of the original come out true.

    Parameters
    ----------
    original, copies
        The real records, and two or more runs of the simulation.
    columns
        What makes a cell; a missing value is one of its own.
    k, often
        As in :class:`Replication`.
    shown
        What is shown of the counts of a copy, a function of them and of the copy's number.

    Examples
    --------
    >>> town = Table.from_frame({"age": [30, 30, 30, 95], "sex": ["f", "f", "f", "m"]})
    >>> found = replication(town, [town, town], ["age", "sex"])
    >>> found.counts.tolist(), found.true.tolist()
    ([1], [1.0])
    """
    _check(original, copies, columns, k, often)
    tables = [original, *copies]
    parts = [common_levels([table[name] for table in tables], name) for name in columns]
    levels = [part[0].n_levels for part in parts]
    rows, n = key_cells([[part[i].codes for part in parts] for i in range(len(tables))], levels)
    true, *drawn = (np.bincount(cell, minlength=n) for cell in rows)
    small = np.flatnonzero((true > 0) & (true < k))
    first = np.zeros(n, np.intp)  # a record of each cell
    first[rows[0]] = np.arange(len(rows[0]))
    of_cell = [part[0].take(first[small]) for part in parts]
    d, made = true[small], np.stack([counts[small] for counts in drawn])
    apart = np.ones(len(small))
    for part, cell in zip(parts, of_cell, strict=True):
        apart *= part[0].counts[cell.codes] / original.n_rows
    sizes = np.array([table.n_rows for table in copies])[:, None]
    seen = [shown(counts, i)[small] for i, counts in enumerate(drawn)] if shown else None
    return Replication(
        columns=tuple(columns),
        k=k,
        copies=len(copies),
        often=often,
        cells=tuple(zip(*(cell.values.tolist() for cell in of_cell), strict=True)),
        counts=d,
        seen=(made > 0).mean(axis=0),
        true=(made == d).mean(axis=0),
        chance=scipy.stats.poisson.pmf(d, sizes * d / original.n_rows).mean(axis=0),
        margins=scipy.stats.poisson.pmf(d, sizes * apart).mean(axis=0),
        mean=made.mean(axis=0),
        shown=None if seen is None else np.stack(seen).mean(axis=0),
    )


def _check(
    original: Table, copies: Sequence[Table], columns: Sequence[str], k: int, often: float
) -> None:
    if not original.n_rows:
        raise CaveatError(
            "the original has no records", where="replication", code="data.table.empty"
        )
    if len(copies) < 2:
        raise CaveatError(
            "one copy does not tell what recurs",
            where="replication",
            do="give two or more",
            code="outputs.copy.too-few",
        )
    if not columns or len(set(columns)) < len(columns):
        raise CaveatError(
            "cells need columns, each named once",
            where="replication",
            do="name some",
            code="data.column.duplicate" if columns else "outputs.column.absent",
        )
    if k < 2:
        raise CaveatError(
            "no count lies below 2 and above 0",
            where="k",
            do="use 3, 5 or 10",
            code="outputs.setting.range",
        )
    if not 0 < often <= 1:
        raise CaveatError(
            "a share of the copies lies above 0 and up to 1",
            where="often",
            code="outputs.setting.range",
        )
