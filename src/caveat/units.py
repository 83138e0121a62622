"""Units of measures: shares are 0 to 1 everywhere, and per cent only where they are printed."""

from __future__ import annotations

from typing import Literal

__all__ = ["SIGNS", "Unit", "printed"]

Unit = Literal["share", "ratio", "score"]
"""A part of a whole, where 1 is all of it; how many times as much; a number on its own scale."""

SIGNS: dict[str, str] = {"share": "%", "ratio": "×", "score": ""}
"""What is printed after a value."""


def printed(value: float, unit: str) -> float:
    """Return the number that people read: a share in per cent, anything else as it is.

    Examples
    --------
    >>> printed(0.07, "share"), printed(0.07, "ratio")
    (7.0, 0.07)
    """
    # Without the rounding error of the product: 0.07 is 7 and not 7.000000000000001.
    return float(f"{100 * value:.15g}") if unit == "share" else value
