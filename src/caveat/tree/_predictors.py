"""The coded table that all trees share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values

__all__ = ["EXACT_LEVELS", "SEARCH_BINS", "Predictors", "check_codes", "check_kind"]

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
