"""The values that the attacker considers for the unknown part of a record."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from caveat.attack.worlds import Worlds
from caveat.errors import CaveatError, CaveatWarning
from caveat.risk import key_cells
from caveat.table import Column, Table

__all__ = ["MOST_CANDIDATES", "candidates_of", "with_released_levels"]

MOST_CANDIDATES = 1_000
"""Up to this many combinations of levels are all considered."""


def candidates_of(
    worlds: Worlds, record: int, unknown: Sequence[str], given: Any = None
) -> tuple[Worlds, Table, int, tuple[str, ...]]:
    """Return the worlds on a common dictionary, the candidates, the place of the truth, and notes.

    Candidates are the given rows; or all combinations of the levels that the original and the
    release have, when there are no more than `MOST_CANDIDATES`; or the combinations that occur in
    one of the two, the most frequent first, up to that number. The truth is always among them.
    """
    if given is not None:
        table = _without_rare(worlds, Table.from_frame(given))
        if set(table.names) != set(unknown):
            raise CaveatError(
                "the candidates have not exactly the unknown columns",
                where="candidates",
                do=f"give the columns {', '.join(unknown)}",
                code="attack.candidate.mismatch",
            )
        worlds, columns = worlds.with_values({name: table[name] for name in unknown})
        rows = Table(columns)
        if len(np.unique(_cells(rows)[0])) < rows.n_rows:
            raise CaveatError(
                "a candidate is given twice",
                where="candidates",
                do="give it once",
                code="attack.candidate.duplicate",
            )
        return worlds, rows, _position_of(worlds, record, rows), ()
    worlds = with_released_levels(worlds, unknown)
    dictionary = {name: worlds.original[name] for name in unknown}
    size = math.prod(column.n_levels for column in dictionary.values())
    if size <= MOST_CANDIDATES:
        rows = _all_combinations(dictionary)
        return worlds, rows, _position_of(worlds, record, rows), ()
    rows = _observed(worlds, record, unknown)
    note = (
        f"{rows.n_rows:,} of {size:,} combinations of the unknown columns are considered: those "
        "that occur in the original or in the release, most frequent first; probabilities are "
        "conditional on these"
    )
    warnings.warn(note, CaveatWarning, stacklevel=3)
    return worlds, rows, _position_of(worlds, record, rows), (note,)


def _without_rare(worlds: Worlds, given: Table) -> Table:
    """Return candidates as the generator sees them: those that it cannot tell apart are one."""
    pooled = worlds.plan.pooled(given)
    if pooled is given:
        return given
    return pooled.take(np.sort(np.unique(_cells(pooled)[0], return_index=True)[1]))


def with_released_levels(worlds: Worlds, unknown: Sequence[str]) -> Worlds:
    """Return the worlds on dictionaries that also hold what the releases have in some columns."""
    for release in worlds.releases:
        values = {name: release[name] for name in unknown if name in release}
        worlds, _ = worlds.with_values(values)
    return worlds


def _all_combinations(dictionary: dict[str, Column]) -> Table:
    sizes = [column.n_levels for column in dictionary.values()]
    grid = np.indices(sizes).reshape(len(sizes), -1)
    return Table({n: c.with_codes(codes) for (n, c), codes in zip(dictionary.items(), grid,
                                                                  strict=True)})  # fmt: skip


def _observed(worlds: Worlds, record: int, unknown: Sequence[str]) -> Table:
    """Return the truth and the most frequent combinations of original and release."""
    parts = [worlds.original.select(unknown)]
    for release in worlds.releases:
        if all(name in release for name in unknown):
            _, columns = worlds.with_values({name: release[name] for name in unknown})
            parts.append(Table(columns))
    stacked = Table(
        {
            name: parts[0][name].with_codes(np.concatenate([part[name].codes for part in parts]))
            for name in unknown
        }
    )
    cells, n_cells = _cells(stacked)
    first = np.full(n_cells, -1)
    first[cells[::-1]] = np.arange(len(cells))[::-1]
    counts = np.bincount(cells, minlength=n_cells)
    counts[cells[record]] = len(cells) + 1  # the truth is never left out
    chosen = np.argsort(-counts, kind="stable")[:MOST_CANDIDATES]
    return stacked.take(np.sort(first[chosen]))


def _cells(rows: Table) -> tuple[Any, int]:
    (cells,), n = key_cells(
        [[column.codes for column in rows.columns.values()]],
        [column.n_levels for column in rows.columns.values()],
    )
    return cells, n


def _position_of(worlds: Worlds, record: int, candidates: Table) -> int:
    """Return which candidate the record really has."""
    same = np.ones(candidates.n_rows, dtype=bool)
    for name in candidates:
        same &= candidates[name].codes == worlds.original[name].codes[record]
    if not same.any():
        raise CaveatError(
            "the true values of the record are not among the candidates",
            where=f"row {record + 1}",
            do="add them, or leave the candidates out",
            code="attack.candidate.absent",
        )
    return int(np.argmax(same))
