"""The likelihood of released rows in all trees whose training data differ in one row.

A tree grown without a row, with another row, or with one in place of another is the old tree
except along the paths of these rows. The walk goes down the tree once with all changes together;
what a change does not touch is shared. The result is that of growing every tree from scratch, bit
for bit: splits are chosen by the engine's own rules from whole-number sums, and log-likelihoods
are added up as whole numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import announce
from caveat.tree._class_updates import split_classes
from caveat.tree._predictors import Predictors
from caveat.tree._regrow import again_classes, again_numbers
from caveat.tree._response import whole_values
from caveat.tree._update import split_numbers
from caveat.tree._walk import Changes, Ints, Likelihoods, Training, Walk

__all__ = ["Changes", "Likelihoods", "Training", "adjacent_likelihoods", "whole_logarithms"]

for _kernel in (split_numbers, split_classes, again_numbers, again_classes):
    announce(
        _kernel, "Compiling the strong attacker: about 15 seconds, once for this installation."
    )


def whole_logarithms(n_rows: int, n_released: int) -> tuple[Ints, float]:
    """Return log 0, 1, …, n_rows + 1 as whole multiples of a unit, and the unit.

    The unit is the smallest power of two for which the sum over all released cells fits into 64
    bits; log 0 is written as 0 and counted apart.
    """
    numbers = np.log(np.maximum(np.arange(n_rows + 2), 1))
    largest = 4.0 * max(n_released, 1) * max(numbers[-1], 1.0)
    bits = 62 - int(np.ceil(np.log2(largest)))
    return np.rint(np.ldexp(numbers, bits)).astype(np.int64), 2.0**-bits


def adjacent_likelihoods(
    training: Training,
    release: Predictors,
    released: NDArray[np.unsignedinteger],
    changes: Changes,
    logs: Ints,
) -> Likelihoods:
    """Return the log-likelihood of released rows in a tree and in those of adjacent data.

    Parameters
    ----------
    training
        The data of the tree. Rows count once; predictors are searched value by value.
    release
        The predictors of the released rows.
    released
        Their response codes.
    changes
        The adjacent data sets.
    logs
        From `whole_logarithms`.
    """
    if training.predictors.binned or len(np.unique(training.rows)) < len(training.rows):
        raise ValueError("training must have no binned predictors and no repeated rows")
    changed = np.zeros(len(changes.gone), np.int64)
    impossible = np.zeros(len(changes.gone), np.int64)
    sizes = len(training.rows) - (changes.gone >= 0) + (changes.come >= 0)
    base = (0, 0)
    # The grid of the numbers depends on the number of rows, but hardly ever on one row more.
    grids: dict[float, NDArray[np.bool_]] = {}
    impossible[sizes == 0] = len(released)  # a tree without rows gives nothing at all
    for size in np.unique(np.append(sizes[sizes > 0], len(training.rows))).tolist():
        scale = 1.0 if training.values is None else whole_values(training.values, size)[1]
        grids[scale] = grids.get(scale, np.zeros(len(sizes), np.bool_)) | (sizes == size)
    for scale, mine in grids.items():
        part = changes._replace(gone=changes.gone[mine], come=changes.come[mine])
        walk = Walk(training, release, released, part, logs, scale)
        result = walk.run()
        base = result.base, result.base_impossible
        changed[mine] = result.changed
        impossible[mine] = result.impossible
    return Likelihoods(*base, changed, impossible)
