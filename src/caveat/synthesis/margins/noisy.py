"""Noisy tables as a reader sees them: all that a private release was made from.

They are what the guarantee covers, so that whoever has the release may have them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from caveat.synthesis.margins.guaranteed import declared_codings
from caveat.synthesis.margins.plan import MARGINS
from caveat.synthesis.margins.published import Published, counted_table, words_of, write_tables
from caveat.synthesis.model import Model
from caveat.synthesis.plan import Plan
from caveat.table import Table
from caveat.table.identifying import Output

__all__ = ["NoisyTable", "noisy_tables", "source_of", "write_source"]


@dataclass(frozen=True)
class NoisyTable:
    """One table.

    Parameters
    ----------
    columns
        Its columns.
    cells
        The cells whose noisy count is not 0, each as the values of the columns in words.
    counts
        The noisy count of each of them, which may lie below 0.
    n_cells
        Number of all cells; those that are not listed have 0.
    noise
        What the noise is, in words.
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    counts: tuple[int, ...]
    n_cells: int
    noise: str

    def __repr__(self) -> str:
        return f"<{' × '.join(self.columns)}: {self.n_cells} cells>"

    @property
    def table(self) -> Table:
        """The cells and their counts."""
        return counted_table(self.columns, self.cells, self.counts)

    @property
    def line(self) -> dict[str, Any]:
        """What the manifest says about it."""
        return {"cells": self.n_cells, "listed": len(self.cells), "total": sum(self.counts),
                "noise": self.noise}  # fmt: skip


def noisy_tables(plan: Plan) -> tuple[NoisyTable, ...]:
    """Return what was measured for a plan, in words; nothing if nothing was."""
    promise = None if plan.margins is None else plan.margins.promise
    if promise is None or promise.measured is None:
        return ()
    measured = promise.measured
    words = {name: words_of(coding) for name, coding in declared_codings(plan).items()}
    found = []
    for names, counts in measured.tables.items():
        noise = f"Poisson(count + {measured.alpha:g})"
        if names in measured.sigmas:
            noise = f"discrete Gaussian, sigma {measured.sigmas[names]:.6g}"
        cells = [
            tuple(words[name][at] for name, at in zip(names, place, strict=True))
            for place in np.argwhere(counts != 0).tolist()
        ]
        held = tuple(counts[counts != 0].tolist())
        found.append(NoisyTable(names, tuple(cells), held, counts.size, noise))
    return tuple(found)


def source_of(model: Model) -> Sequence[Published | NoisyTable]:
    """Return the tables that are the only source of a release, cleared or noisy, if it has such."""
    return model.cleared or noisy_tables(model.plan)


def write_source(
    model: Any, folder: Path, released: Output, *, escape_formulas: bool = False
) -> list[Output]:
    """Write the only source of a release into a folder in a folder; return the files in it.

    Nothing is written for any other model.
    """
    tables = source_of(model) if isinstance(model, Model) else ()
    if not tables:
        return []
    (folder / MARGINS).mkdir()
    outputs = write_tables(tables, folder / MARGINS, released, escape_formulas=escape_formulas)
    return [replace(output, name=f"{MARGINS}/{output.name}") for output in outputs]
