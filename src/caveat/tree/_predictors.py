# mypy: disable-error-code="no-untyped-def"
"""What a tree is grown from: the coded table, responses and weights on a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import kernel
from caveat.showing import without_values
from caveat.tree._growing import Response

CHUNK = 1 << 16
"""Rows that one thread takes at a time."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_chunks(work: Callable[[int, int], None], n_rows: int, threads: int) -> None:
    """Call `work(start, stop)` for all rows, in chunks if there are several threads."""
    if threads < 1:
        raise ValueError("threads must be at least 1")
    if threads == 1 or n_rows <= CHUNK:
        work(0, n_rows)
        return
    in_pool(lambda start: work(start, min(start + CHUNK, n_rows)), range(0, n_rows, CHUNK), threads)


def in_pool(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Return `work(item)` for each item, in the order of the items."""
    if threads < 1:
        raise ValueError("threads must be at least 1")
    if threads == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


# -------------------------------------------------------------------------------------------------
# The coded table that all trees share.


EXACT_LEVELS = 65_535
"""Ordered predictors with more levels than this are searched in equal-frequency bins."""

SEARCH_BINS = 4_096
"""Number of bins for the search in such predictors."""


@dataclass(frozen=True, slots=True)
class _Table:
    """What the kernels read: one row of `codes` for each column, bins where a column is wide."""

    codes: NDArray[np.uint16]
    wide: NDArray[np.uint32]
    wide_of: NDArray[np.int32]
    n_levels: NDArray[np.int32]
    n_codes: NDArray[np.int32]
    ordered: NDArray[np.bool_]
    bin_ends: dict[int, NDArray[np.int32]]

    __repr__ = without_values


@dataclass(frozen=True, slots=True, init=False)
class Predictors:
    """Coded columns, checked once and stored once.

    Parameters
    ----------
    columns
        One array of unsigned codes for each predictor, all of the same length.
    n_levels
        Declared number of levels of each predictor; codes are below it.
    ordered
        True where the order of the codes has meaning (numbers, ordered factors).

    Notes
    -----
    `select` and `rows` share the stored table, they never copy it.

    Examples
    --------
    >>> import numpy as np
    >>> table = Predictors([np.array([0, 1, 1], np.uint8)], [2], [False])
    >>> table.n_rows, table.n_columns
    (3, 1)
    """

    table: _Table
    columns: NDArray[np.int32]
    # Column, codes to search and nominal (0 or 1) of each predictor; the order for many classes.
    features: NDArray[np.int32]
    order: NDArray[np.uint64]  # room for the state of a generator, then the predictors in order
    start: int
    stop: int
    n_levels: NDArray[np.int32]  # declared for each predictor
    ordered: NDArray[np.bool_]
    binned: tuple[int, ...]  # positions of those that are searched in bins, not value by value

    __repr__ = without_values

    def __init__(
        self,
        columns: Sequence[NDArray[np.unsignedinteger]],
        n_levels: Sequence[int],
        ordered: Sequence[bool],
    ) -> None:
        table = _store(columns, n_levels, ordered)
        _fill(self, table, np.arange(len(columns), dtype=np.int32), 0, table.codes.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    @property
    def n_columns(self) -> int:
        """Number of predictors."""
        return len(self.columns)

    def select(self, indices: Sequence[int]) -> Predictors:
        """Return the predictors at these positions, in this order, without copying."""
        chosen = np.asarray(indices, dtype=np.int64)
        if chosen.ndim != 1 or np.any((chosen < 0) | (chosen >= self.n_columns)):
            raise ValueError(f"indices must be positions from 0 to {self.n_columns - 1}")
        return _part(self, self.columns[chosen], self.start, self.stop)

    def rows(self, rows: slice) -> Predictors:
        """Return a run of rows without copying; the slice has step 1."""
        start, stop, step = rows.indices(self.n_rows)
        if step != 1:
            raise ValueError("rows must be a slice with step 1")
        return _part(self, self.columns, self.start + start, self.start + max(start, stop))


def _part(whole: Predictors, columns: NDArray[np.int32], start: int, stop: int) -> Predictors:
    part = object.__new__(Predictors)
    _fill(part, whole.table, columns, start, stop)
    return part


def _fill(
    part: Predictors, table: _Table, columns: NDArray[np.int32], start: int, stop: int
) -> None:
    features = np.empty((4, len(columns)), np.int32)
    features[0] = columns
    features[1] = table.n_codes[columns]
    features[2] = ~table.ordered[columns]
    features[3] = np.argsort(features[1] * features[2], kind="stable")
    for name, value in (
        ("table", table),
        ("columns", columns),
        ("features", features),
        ("order", np.arange(-1, len(columns), dtype=np.int64).view(np.uint64)),
        ("start", start),
        ("stop", stop),
        ("n_levels", table.n_levels[columns]),
        ("ordered", table.ordered[columns]),
        ("binned", tuple(i for i, c in enumerate(columns.tolist()) if c in table.bin_ends)),
    ):
        object.__setattr__(part, name, value)


def _store(
    columns: Sequence[NDArray[np.unsignedinteger]], n_levels: Sequence[int], ordered: Sequence[bool]
) -> _Table:
    if not len(columns) == len(n_levels) == len(ordered):
        raise ValueError("columns, n_levels and ordered must have the same length")
    n_rows = len(columns[0]) if len(columns) else 0
    if n_rows >= 2**31:
        raise ValueError("columns must have fewer than 2**31 rows")
    checked = [
        check_codes(column, int(levels), f"columns[{i}]", n_rows)
        for i, (column, levels) in enumerate(zip(columns, n_levels, strict=True))
    ]
    is_wide = [int(levels) > EXACT_LEVELS for levels in n_levels]
    codes = np.empty((len(checked), n_rows), np.uint16)
    wide = np.empty((sum(is_wide), n_rows), np.uint32)
    wide_of = np.full(len(checked), -1, np.int32)
    n_codes = np.asarray(n_levels, np.int32).reshape(len(checked)).copy()
    bin_ends: dict[int, NDArray[np.int32]] = {}
    for i, column in enumerate(checked):
        if not is_wide[i]:
            codes[i] = column
            continue
        if not ordered[i]:
            raise ValueError(f"columns[{i}] is nominal and has more than {EXACT_LEVELS} levels")
        wide_of[i] = len(bin_ends)
        wide[len(bin_ends)] = column
        bin_ends[i] = _equal_frequency(column)
        codes[i] = np.searchsorted(bin_ends[i], column)
        n_codes[i] = len(bin_ends[i])
    levels = np.asarray(n_levels, np.int32).reshape(len(checked))
    flags = np.asarray(ordered, np.bool_).reshape(len(checked))
    return _Table(codes, wide, wide_of, levels, n_codes, flags, bin_ends)


def check_codes(
    codes: NDArray[np.unsignedinteger], n_levels: int, name: str, n_rows: int
) -> NDArray[np.unsignedinteger]:
    """Return the codes as an array, or raise ValueError that names the argument."""
    array = check_kind(codes, n_levels, name, n_rows)
    if n_rows:
        if array.dtype.kind == "i" and array.min() < 0:
            raise ValueError(f"{name} holds negative codes")
        if array.max() >= n_levels:
            raise ValueError(f"{name} holds codes beyond the declared {n_levels} levels")
    return array


def check_kind(
    codes: NDArray[np.unsignedinteger], n_levels: int, name: str, n_rows: int
) -> NDArray[np.unsignedinteger]:
    """Do what `check_codes` does without looking at the codes themselves."""
    array = np.asarray(codes)
    if array.ndim != 1 or len(array) != n_rows:
        raise ValueError(f"{name} must be one-dimensional with {n_rows} rows")
    if array.dtype.kind not in "ui":
        raise ValueError(f"{name} must hold integer codes, not {array.dtype}")
    if not 1 <= n_levels < 2**31:
        raise ValueError(f"n_levels of {name} must be at least 1 and below 2**31")
    return array


def _equal_frequency(column: NDArray[np.unsignedinteger]) -> NDArray[np.int32]:
    """Return the last code of each bin; equal codes are never parted."""
    if not len(column):
        return np.zeros(1, np.int32)
    ordered = np.sort(column)
    ranks = np.arange(1, SEARCH_BINS + 1) * len(ordered) // SEARCH_BINS - 1
    ends: NDArray[np.int32] = np.unique(ordered[np.maximum(ranks, 0)]).astype(np.int32)
    return ends


# -------------------------------------------------------------------------------------------------
# Responses and weights on an integer grid.
#
# Sums of whole numbers do not depend on the order of the rows and have no rounding, so that a
# tree is a function of the data alone and equal improvements are recognised as equal.


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
