"""What the arrays of a model that comes from a file must be before anything is drawn with them.

A failed check is a ValueError. Its text is for who reads a traceback in a test: users are told that
the file is damaged.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.synthesis.methods.base import Target

__all__ = ["check_codes", "check_number", "check_numbers", "check_same", "need"]


def need(holds: Any, what: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not holds:
        raise ValueError(what)


def check_codes(
    codes: Any, n_levels: int, length: int | None = None, *, rising: bool = False
) -> None:
    """Need whole numbers from 0 up to the number of levels.

    Examples
    --------
    >>> check_codes(np.array([0, 2]), 3, length=2, rising=True)
    >>> check_codes(np.array([0, 3]), 3)
    Traceback (most recent call last):
    ValueError: codes beyond the levels
    """
    _check_shape(codes, length)
    need(codes.dtype.kind in "iu" and np.can_cast(codes.dtype, np.int64), "codes of another type")
    need(not len(codes) or (codes.min() >= 0 and codes.max() < n_levels), "codes beyond the levels")
    need(not rising or np.all(codes[1:] > codes[:-1]), "codes that do not rise")


def check_numbers(
    numbers: Any, shape: int | tuple[int, ...] | None = None, *, low: float = -np.inf
) -> None:
    """Need finite numbers, none below the lowest."""
    _check_shape(numbers, shape)
    need(numbers.dtype == np.float64, "numbers of another type")
    need(np.all(np.isfinite(numbers)) and np.all(numbers >= low), "numbers beyond their range")


def check_number(number: Any, *, low: float = -np.inf) -> None:
    """Need one finite number that is not below the lowest."""
    need(type(number) in (int, float) and math.isfinite(number) and number >= low, "no number")


def check_same(numbers: NDArray[Any] | None, target: Target) -> None:
    """Need the numbers that the codes of the target stand for, None for classes."""
    if numbers is None or target.numbers is None:
        need(numbers is None and target.numbers is None, "numbers for classes, or none for numbers")
    else:
        need(np.array_equal(numbers, target.numbers), "other numbers than the dictionary's")


def _check_shape(array: Any, shape: int | tuple[int, ...] | None) -> None:
    need(isinstance(array, np.ndarray), "no array")
    wanted = shape if isinstance(shape, tuple) else (len(array) if shape is None else shape,)
    need(array.ndim > 0 and array.shape == wanted, "an array of another shape")
