"""A block of columns whose joint distribution is fitted to chosen margins.

Iterative proportional fitting needs the whole block at once: :func:`fit_block` gives the cells of
the fitted joint distribution with their probabilities. These are a weighted table like any other,
in which each column is then counted given those before it (:meth:`Ipf.of_cells`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.synthesis.methods._crosstab import Crosstab
from caveat.synthesis.methods.base import Inputs, Settings, Target

__all__ = ["Ipf", "fit_block", "fit_joint", "margins_of"]

MOST_CELLS = 2**24
"""Largest joint table."""

TOLERANCE = 1e-12
"""The fit ends when no cell of a margin is further than this from its share of the records."""

ACCEPTED = 1e-6
"""A fit that has not got so near within the largest number of rounds is refused."""

MOST_ROUNDS = 2000


@dataclass(frozen=True)
class Ipf(Crosstab):
    """Shares of the fitted joint table, within each cell of the columns before this one."""

    __repr__ = without_values

    @classmethod
    def of_cells(cls, inputs: Inputs, target: Target) -> Self:
        """Return the model of a column from cells of the joint table, weighted by probability."""
        return cls.count(target.training(inputs), target)

    @classmethod
    def fit(
        cls, inputs: Inputs, target: Target, settings: Settings, rng: np.random.Generator
    ) -> Self:
        """Refuse: a column of a block cannot be fitted alone, see :func:`fit_block`."""
        del inputs, target, settings, rng
        raise TypeError("use fit_block and of_cells")


def fit_block(
    codes: Sequence[NDArray[Any]],
    n_levels: Sequence[int],
    names: Sequence[str],
    margins: Sequence[Sequence[str]],
    weights: NDArray[np.float64] | None = None,
) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    """Fit the joint distribution of a block to margins of its records.

    Among all distributions with these margins the fitted one is nearest to equal shares of all
    cells: it has no interactions that no margin asks for.

    Parameters
    ----------
    codes, n_levels, names
        The columns of the block.
    margins
        The margins to keep, each a list of names. Every column must be in one.
    weights
        Survey weights of the records; None when every record counts once.

    Returns
    -------
    codes, probabilities
        The cells that have a positive probability: one array per column, and the probabilities.

    Examples
    --------
    >>> sex, job = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])
    >>> cells, shares = fit_block([sex, job], [2, 2], ["sex", "job"], [["sex"], ["job"]])
    >>> cells[0].tolist(), cells[1].tolist(), shares.round(3).tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1], [0.375, 0.125, 0.375, 0.125])
    """
    axes = margins_of(names, margins)
    shape = tuple(int(n) for n in n_levels)
    if np.prod(shape, dtype=float) > MOST_CELLS:
        raise CaveatError(
            f"the table of {', '.join(names)} has more than {MOST_CELLS:,} cells",
            do="take fewer columns into the block, or group levels",
            code="synthesis.table.too-large",
        )
    targets = [_margin(codes, shape, kept, weights) for kept in axes]
    joint = fit_joint(shape, axes, targets)
    places = np.nonzero(joint)
    return list(places), joint[places]


def margins_of(names: Sequence[str], margins: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """Return the margins of a block by the positions of their columns, or say what is wrong."""
    for margin in margins:
        for name in margin:
            if name not in names:
                raise CaveatError(
                    f"{name!r} is in a margin but not in the block",
                    where="synthesis, margins",
                    do=f"use columns with the method ipf: {', '.join(names)}",
                    entry=("margins",),
                    code="synthesis.margins.mismatch",
                )
    for name in names:
        if not any(name in margin for margin in margins):
            raise CaveatError(
                f"{name!r} is in no margin",
                where="synthesis, margins",
                do="add it to a margin, or add a margin of this column alone",
                entry=("margins",),
                code="synthesis.margins.absent",
            )
    axes = {tuple(sorted({names.index(name) for name in margin})) for margin in margins}
    # A margin within another one is kept with it.
    return sorted(a for a in axes if not any(set(a) < set(b) for b in axes))


def _margin(
    codes: Sequence[NDArray[Any]],
    shape: tuple[int, ...],
    kept: tuple[int, ...],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the shares of the records in a margin, shaped to stand against the joint table."""
    sizes = [shape[axis] for axis in kept]
    place = np.ravel_multi_index([codes[axis].astype(np.int64) for axis in kept], sizes)
    counts = np.bincount(place, weights, minlength=int(np.prod(sizes)))
    whole = [size if axis in kept else 1 for axis, size in enumerate(shape)]
    return np.asarray((counts / counts.sum()).reshape(whole))


def fit_joint(
    shape: tuple[int, ...],
    axes: Sequence[tuple[int, ...]],
    targets: Sequence[NDArray[np.float64]],
    *,
    agreeing: bool = True,
) -> NDArray[np.float64]:
    """Fit a joint table to shares of its margins.

    Parameters
    ----------
    shape
        The joint table.
    axes
        The axes of each margin.
    targets
        Its shares, shaped to stand against the joint table.
    agreeing
        Whether margins that cannot all be met are refused. If not, the fit ends where a round
        changes nothing; it is all zero where no cell has a share in every margin.
    """
    joint = np.full(shape, 1 / np.prod(shape))
    others = [tuple(a for a in range(len(shape)) if a not in kept) for kept in axes]
    for _ in range(MOST_ROUNDS):
        distance, before = 0.0, None if agreeing else joint.copy()
        for rest, target in zip(others, targets, strict=True):
            now = joint.sum(axis=rest, keepdims=True)
            distance = max(distance, float(np.abs(now - target).max()))
            joint *= np.divide(target, now, out=np.zeros_like(now), where=now > 0)
        if before is not None:
            # Shares of cells that another margin rules out are those of the cells that are left.
            joint /= max(joint.sum(), np.finfo(float).tiny)
            if np.abs(joint - before).max() <= TOLERANCE:
                break
        if distance <= TOLERANCE:
            break
    if agreeing and distance > ACCEPTED:
        raise CaveatError(
            f"the margins of the block are still {distance:.1g} off after {MOST_ROUNDS:,} rounds",
            where="synthesis, margins",
            do="group levels that are empty in a margin, or use saturated for the block",
            entry=("margins",),
            code="synthesis.margins.failed",
        )
    return joint
