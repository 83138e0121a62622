"""Whom to test first: averages hide the worst case, and the worst case is a rare record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.attack.generator import Generator, known_to
from caveat.attack.worlds import Worlds
from caveat.risk import key_cells
from caveat.showing import frame_of, without_values
from caveat.synthesis.column_model import Cells, inputs_of
from caveat.synthesis.fitting import predictors_of
from caveat.synthesis.methods.trees import Cart
from caveat.table import Column, Table
from caveat.tree import Tree

__all__ = ["Vulnerable", "vulnerable"]

MOST_REFERENCES = 5_000
"""Records that each one is compared with to find its nearest neighbour."""

BLOCK = 128


@dataclass(frozen=True, eq=False)
class Vulnerable:
    """Signs that a record may be exposed, for every record of the original.

    Parameters
    ----------
    unique
        Whether no other record has the same keys.
    sole_donor
        Number of columns in which the record is the only one in its leaf with its value: without
        it, this value could not be drawn there.
    rarity
        Mean over the columns of -log of the share of the record's value in its leaf.
    depth
        Largest depth of its leaves.
    distance
        Distance to the nearest other record: the mean over the columns of 0 or 1 for categories
        and of the difference relative to the range for numbers.
    """

    unique: NDArray[np.bool_]
    sole_donor: NDArray[np.int64]
    rarity: NDArray[np.float64]
    depth: NDArray[np.int64]
    distance: NDArray[np.float64]

    __repr__ = without_values

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the signs and their score, one row for each record."""
        signs = {item.name: getattr(self, item.name) for item in fields(self)}
        return frame_of({**signs, "score": self.score}, backend)

    @property
    def score(self) -> NDArray[np.float64]:
        """Mean of the ranks of the five signs, from 0 (nothing special) to 1."""
        signs = (self.unique, self.sole_donor, self.rarity, self.depth, self.distance)
        n = len(self.rarity)
        ranks = [(scipy.stats.rankdata(sign, "average") - 1) / max(n - 1, 1) for sign in signs]
        return np.asarray(np.mean(ranks, axis=0))

    def first(self, most: int = 20) -> NDArray[np.int64]:
        """Return the positions of the records to test first, the most exposed in front."""
        return np.argsort(-self.score, kind="stable")[:most]


def vulnerable(
    original: Any, *, keys: Sequence[str] | None = None, generator: Generator | None = None
) -> Vulnerable:
    """Look for the records that a release is most likely to expose.

    Parameters
    ----------
    original
        The original table.
    keys
        The columns an attacker may know; all by default.
    generator
        How the release is made; plain CART, as synthpop has it, by default.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> int(vulnerable(buyer_beware()).first(1)[0])
    999
    """
    table = Table.from_frame(original)
    plan, table = known_to(generator, table)
    names = [n for n, e in plan.columns.items() if e.settings.method != "drop"]
    worlds = Worlds(table, plan, [], plan.structure_seed or 0)
    sole = np.zeros(table.n_rows, dtype=np.int64)
    rarity = np.zeros(table.n_rows)
    depth = np.zeros(table.n_rows, dtype=np.int64)
    cells = _cells(worlds)
    for name, model in worlds.base.items():
        coding, codes = model.coding, table[name].codes
        inputs = inputs_of(cells, predictors_of(plan, name), table.n_rows)
        parts = [(model.kinds, coding.kind_of[codes] if model.kinds else None, None)]
        if coding.two_step:
            ordinary = coding.kind_of[codes] == 0
            parts.append((model.values, coding.value_of[codes], ordinary))
        else:
            parts.append((model.values, codes, None))
        for fitted, response, taking_part in parts:
            if not isinstance(fitted, Cart) or response is None:
                continue
            here = np.ones(table.n_rows, bool) if taking_part is None else taking_part
            counts, sizes, depths = _in_leaves(fitted.tree, inputs.predictors, response, here)
            sole += here & (counts == 1)
            rarity += np.where(here, -np.log(np.maximum(counts, 1) / np.maximum(sizes, 1)), 0.0)
            depth = np.maximum(depth, np.where(here, depths, 0))
    return Vulnerable(
        _unique(table, keys or names),
        sole,
        rarity / max(len(names), 1),
        depth,
        _nearest(table.select(names)),
    )


def _cells(worlds: Worlds) -> dict[str, Cells]:
    return {
        name: Cells(model.coding, codes=worlds.original[name].codes)
        for name, model in worlds.base.items()
    }


def _in_leaves(
    tree: Tree, predictors: Any, response: NDArray[Any], here: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each row: rows in its leaf with its value, rows in its leaf, depth of the leaf."""
    leaves = tree.apply(predictors).astype(np.int64)
    width = int(tree.n_response_levels)
    cell = leaves * width + response
    used, place = np.unique(cell, return_inverse=True)
    counts = np.bincount(place, here, minlength=len(used)).astype(np.int64)[place]
    sizes = np.bincount(leaves, here, minlength=tree.n_leaves).astype(np.int64)[leaves]
    depths = np.zeros(tree.n_nodes, dtype=np.int64)
    for node in np.flatnonzero(tree.feature >= 0):
        depths[[tree.left[node], tree.right[node]]] = depths[node] + 1
    return counts, sizes, depths[tree.leaf_nodes][leaves]


def _unique(table: Table, keys: Sequence[str]) -> NDArray[np.bool_]:
    (cells,), n = key_cells(
        [[table[key].codes for key in keys]], [table[key].n_levels for key in keys]
    )
    return np.asarray(np.bincount(cells, minlength=n)[cells] == 1)


def _nearest(table: Table) -> NDArray[np.float64]:
    """Return the distance of each record to the nearest of (at most so many) other records."""
    n = table.n_rows
    if n < 2:
        return np.zeros(n)
    step = max(1, -(-n // MOST_REFERENCES))
    references = np.arange(0, n, step)
    nearest = np.full(n, np.inf)
    scaled = [_scaled(column) for column in table.columns.values()]
    for start in range(0, n, BLOCK):
        rows = np.arange(start, min(start + BLOCK, n))
        total = np.zeros((len(rows), len(references)), dtype=np.float32)
        for values, is_number in scaled:
            gap = values[rows, None] - values[None, references]
            total += np.abs(gap) if is_number else gap != 0
        total[rows[:, None] == references[None, :]] = np.inf
        nearest[rows] = total.min(axis=1)
    return nearest / max(len(scaled), 1)


def _scaled(column: Column) -> tuple[NDArray[np.float32], bool]:
    """Return numbers on the range 0 to 1 (missing ones at 2, far from all), or codes."""
    if not column.kind.is_number or len(column.levels) < 2:
        return column.codes.astype(np.float32), False
    levels = column.numbers
    unit = (levels - levels.min()) / (levels.max() - levels.min())
    lookup = np.append(unit, 2.0 + np.arange(len(column.missing)))
    return lookup[column.codes].astype(np.float32), True
