"""Responses and weights on an integer grid.

Sums of whole numbers do not depend on the order of the rows and have no rounding, so that a tree
is a function of the data alone and equal improvements are recognised as equal.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caveat.tree._room import Response

__all__ = ["encode_response", "exact_weights", "root_risk"]

SUM_BITS = 61
"""Weighted sums of the response stay below 2 ** 61."""

WEIGHT_BITS = 24
"""Bits of an average weight where weights are not whole numbers and multiply a response."""

DECIMALS = (1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6)
"""Values with up to six decimals are stored exactly."""


def encode_response(
    codes: NDArray[np.unsignedinteger],
    n_levels: int,
    values: NDArray[np.float64] | None,
    weights: NDArray[np.float64] | None,
) -> Response:
    """Bring the response of the rows of one tree into the form the kernels want."""
    no_class = np.empty(0, np.uint16)
    no_number = np.empty(0, np.int64)
    weight, weight_scale = _whole_weights(weights, values is None and n_levels > 2)
    if values is None and n_levels > 2:
        classes = codes.astype(np.uint16)
        unit = 1.0 / weight_scale
        return Response(classes, no_number, weight, n_levels, unit, unit)
    if values is None:
        # Two classes: n times Gini is twice the sum of squares of a 0/1 number.
        number = np.int64(1) - codes.astype(np.int64)
        if len(weight):
            number *= weight
        unit = 1.0 / weight_scale
        return Response(no_class, number, weight, 2, 2.0 * unit, unit)
    total = int(weight.sum()) if len(weight) else len(codes)
    grid, scale = _whole_values(values, total)
    number = grid[codes]
    if len(weight):
        number *= weight
    unit = 1.0 / (scale * scale * weight_scale)
    return Response(no_class, number, weight, 0, unit, unit)


def _whole_weights(
    weights: NDArray[np.float64] | None, alone: bool
) -> tuple[NDArray[np.int64], float]:
    if weights is None:
        return np.empty(0, np.int64), 1.0
    if np.all(weights == np.rint(weights)) and weights.sum() < 2.0**40:
        return weights.astype(np.int64), 1.0
    bits = 52 - len(weights).bit_length() if alone else WEIGHT_BITS
    scale = 2.0 ** np.floor(bits - np.log2(weights.mean()))
    return np.maximum(1, np.rint(weights * scale)).astype(np.int64), float(scale)


def _whole_values(values: NDArray[np.float64], total: int) -> tuple[NDArray[np.int64], float]:
    """Return values as multiples of 1 / scale, measured from the middle of their range."""
    limit = 2.0**SUM_BITS / max(total, 1)
    for scale in DECIMALS:
        scaled = values * scale
        whole = np.rint(scaled)
        if not (abs(scaled - whole) <= 4e-16 * abs(scaled)).all():
            continue
        low, high = whole.min(), whole.max()
        middle = np.rint((low + high) / 2)
        if high - middle < limit and max(high, -low) < 2.0**53:
            return (whole - middle).astype(np.int64), scale
        break
    middle = (values.min() + values.max()) / 2
    reach = float(np.abs(values - middle).max())
    if reach == 0.0:
        return np.zeros(len(values), np.int64), 1.0
    scale = 2.0 ** math.floor(math.log2(limit / reach))
    return np.rint((values - middle) * scale).astype(np.int64), scale


def exact_weights(weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Round weights to a grid on which their sums are exact; empty when there are none."""
    if weights is None:
        return np.empty(0)
    scale = 2.0 ** np.floor(49 - np.log2(weights.sum()))
    return np.asarray(np.maximum(1.0, np.rint(weights * scale)) / scale)


def root_risk(
    codes: NDArray[np.unsignedinteger],
    n_levels: int,
    values: NDArray[np.float64] | None,
    weights: NDArray[np.float64],
) -> float:
    """Return the risk of the root: sum of squares, or misclassified weight."""
    mass = np.bincount(codes, weights if len(weights) else None, minlength=n_levels)
    if values is None:
        return float(mass.sum() - mass.max())
    return sum_of_squares(values, mass.astype(np.float64, copy=False))


def sum_of_squares(values: NDArray[np.float64], mass: NDArray[np.float64]) -> float:
    """Return the weighted sum of squares around the mean."""
    apart = values - values[0]
    apart -= apart @ mass / mass.sum()
    apart *= apart
    return float(apart @ mass)
