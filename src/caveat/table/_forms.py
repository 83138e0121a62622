"""Texts and numbers that name a person, a place or a moment by their form alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.table.written import YEARS

__all__ = ["ADDRESS", "HASH", "MAIL", "PAIR_OF_DEGREES", "TELEPHONE", "TIME_OF_DAY", "days_first"]

MAIL = r"[^\s@]+@[^\s@]+\.[^\s@]+"
"""E-mail addresses: one of them is enough."""
ADDRESS = (
    rf"{MAIL}"
    r"|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"  # UUID
    r"|https?://\S+|^www\.\S+"
    r"|^(?:\+|00)\d[\d\s()/.-]{6,}\d$"  # telephone with the code of a country
    r"|^[A-Za-z]{2}\d{2}(?: ?[0-9A-Za-z]{4}){3,7}[0-9A-Za-z ]{0,4}$"  # IBAN
    r"|^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?::\d+)?$"  # IP
    r"|^(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}$"  # IP, version 6
    r"|^(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$"  # network card
)
"""Texts that lead to one person, wherever they stand."""
TELEPHONE = (
    r"^\(?0\d{1,5}\)?[ /-]+\d[\d /-]{3,}\d$"  # with the zero of a country
    r"|^\(?\d{3}\)?[ .-]+\d{3}[ .-]\d{4}$"
)
"""Telephone numbers as they are written within a country; some dates look the same."""
HASH = r"^[0-9a-f]{8,}$|^[0-9A-F]{8,}$"
"""Keys that a machine made, if letters and digits are in them."""
PAIR_OF_DEGREES = (
    r"^[(\[]?[+-]?1?\d?\d\.\d+°?\s*[,;/ ]\s*[+-]?1?\d?\d\.\d+°?[)\]]?$"
    r"|^(?:SRID=\d+;)?POINT ?Z?\s*\("
    r"|^\d{1,3}°"
)
"""Coordinates of a place in one text."""
TIME_OF_DAY = r"^[0-2]?\d:[0-5]\d(?::[0-5]\d)?$"


def days_first(levels: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the days that numbers such as 12041985 are, day or month first; None if they are none.

    Examples
    --------
    >>> days_first(np.array([1041985, 31121984]))
    array([5569, 5478])
    >>> days_first(np.array([1041985, 99121984])) is None
    True
    """
    year, one, two = levels % 10_000, levels // 10_000 % 100, levels // 1_000_000
    if not len(levels) or year.min() < YEARS[0] or year.max() >= YEARS[1]:
        return None
    for month, day in ((one, two), (two, one)):
        if month.max() <= 12 and day.max() <= 31 and min(month.min(), day.min()) >= 1:
            first = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
            days: NDArray[np.int64] = first.astype("datetime64[D]").astype(np.int64) + day - 1
            return days
    return None
