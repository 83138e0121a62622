"""Responses and weights on an integer grid.

Sums of whole numbers do not depend on the order of the rows and have no rounding, so that a tree
is a function of the data alone and equal improvements are recognised as equal.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import kernel
from caveat.tree._workspace import Response

__all__ = ["encode_response", "exact_weights", "risk_of", "whole_values"]

SUM_BITS = 61
"""Weighted sums of the response stay below 2 ** 61."""

WEIGHT_BITS = 24
"""Bits of an average weight where weights are not whole numbers and multiply a response."""

DECIMALS = 6
"""Values with up to this many decimals are stored exactly."""


def encode_response(
    codes: NDArray[np.uint32],
    n_levels: int,
    values: NDArray[np.float64] | None,
    weights: NDArray[np.float64] | None,
    masses: NDArray[np.float64],
) -> tuple[Response, float]:
    """Bring the response of the rows of one tree into the form the kernels want.

    `masses` are the weights on the grid of `exact_weights`. Returns also the risk of the root,
    negative if there are codes beyond the number of levels.
    """
    weight, weight_scale = _whole_weights(weights, values is None and n_levels > 2)
    n_rows, n_classes, scale = len(codes), 0, 1.0
    if values is not None:
        grid, scale = whole_values(values, int(weight.sum()) if weights is not None else n_rows)
    else:
        # Two classes: n times Gini is twice the sum of squares of a 0/1 number.
        grid, n_classes = ONE_AND_ZERO, max(n_levels, 2)
    as_classes = n_classes > 2
    classes = np.empty(n_rows if as_classes else 0, np.uint16)
    numbers = np.empty(0 if as_classes else n_rows, np.int64)
    mass = np.zeros(n_levels)
    known = fill_response(codes, grid, weight, masses, mass, classes, numbers)
    risk = risk_of(mass, NO_VALUES if values is None else values) if known else -1.0
    unit = 1.0 / (scale * scale * weight_scale)
    answers = classes if as_classes else numbers
    twice = 2.0 * unit if n_classes == 2 else unit
    return Response(answers, weight, n_classes, twice, unit), risk


ONE_AND_ZERO = np.array([1, 0])
NO_VALUES = np.empty(0)
NO_WEIGHT = np.empty(0, np.int64)


@kernel
def fill_response(codes, grid, weight, masses, mass, classes, numbers):
    """Write the response of each row and the weight of each code; False if a code is too large."""
    for i in range(len(codes)):
        code = codes[i]
        if code >= len(mass):
            return False
        mass[code] += masses[i] if len(masses) else 1.0
        if len(classes):
            classes[i] = code
        else:
            numbers[i] = grid[code] * weight[i] if len(weight) else grid[code]
    return True


def _whole_weights(
    weights: NDArray[np.float64] | None, alone: bool
) -> tuple[NDArray[np.int64], float]:
    if weights is None:
        return NO_WEIGHT, 1.0
    if np.all(weights == np.rint(weights)) and weights.sum() < 2.0**40:
        return weights.astype(np.int64), 1.0
    bits = 52 - len(weights).bit_length() if alone else WEIGHT_BITS
    scale = 2.0 ** np.floor(bits - np.log2(weights.mean()))
    return np.maximum(1, np.rint(weights * scale)).astype(np.int64), float(scale)


@kernel
def whole_values(values, total):
    """Return values as multiples of 1 / scale, measured from the middle of their range, and scale.

    `total` is the weight of all rows.
    """
    limit = 2.0**SUM_BITS / max(total, 1)
    low, high = np.inf, -np.inf
    for value in values:
        low, high = min(low, value), max(high, value)
    whole = np.empty(len(values), np.int64)
    scale = 1.0
    for _ in range(1 + DECIMALS):
        exact = True
        for value in values:
            scaled = value * scale
            exact &= abs(scaled - np.rint(scaled)) <= 4e-16 * abs(scaled)
        if exact:
            first, last = np.rint(low * scale), np.rint(high * scale)
            middle = np.rint((first + last) / 2)
            if last - middle < limit and max(last, -first) < 2.0**53:
                for i in range(len(values)):
                    whole[i] = np.int64(np.rint(values[i] * scale) - middle)
                return whole, scale
            break
        scale *= 10.0
    middle = (low + high) / 2
    reach = max(high - middle, middle - low)
    scale = 2.0 ** math.floor(math.log2(limit / reach)) if reach > 0.0 else 1.0
    for i in range(len(values)):
        whole[i] = np.int64(np.rint((values[i] - middle) * scale))
    return whole, scale


def exact_weights(weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Round weights to a grid on which their sums are exact; empty when there are none."""
    if weights is None:
        return NO_VALUES
    scale = 2.0 ** np.floor(49 - np.log2(weights.sum()))
    return np.asarray(np.maximum(1.0, np.rint(weights * scale)) / scale)


@kernel
def risk_of(mass, values):
    """Return the risk of rows with these weights by code: sum of squares, or misclassified weight.

    `values` is empty for classes.
    """
    total = largest = shift = 0.0
    for i in range(len(mass)):
        total += mass[i]
        largest = max(largest, mass[i])
        if len(values):
            shift += mass[i] * (values[i] - values[0])
    if len(values) == 0:
        return total - largest
    squares = 0.0
    for i in range(len(mass)):
        apart = values[i] - values[0] - shift / total
        squares += mass[i] * apart * apart
    return squares
