"""Numbers as the report prints them: shares in per cent, posteriors as probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = [
    "NBSP",
    "count",
    "is_probability",
    "limit_text",
    "number",
    "percent",
    "plain",
    "probability",
    "span",
    "verdict",
]

NBSP = "\u00a0"
UNKNOWN = "–"
# Measures in per cent that are the probability of one thing, and not a share of records.
PROBABILITIES = ("strongWorst",)
POINTS = ("strongGain",)


def percent(value: float) -> str:
    """Return a share in per cent; what is not quite none or not quite all is not rounded to it.

    Examples
    --------
    >>> [percent(x).replace(NBSP, " ") for x in (0, 0.01, 12.34, 99.99, 100)]
    ['0 %', '< 0.1 %', '12.3 %', '> 99.9 %', '100 %']
    """
    return f"{_bounded(value, 100, 1)}{NBSP}%"


def probability(value: float) -> str:
    """Return a probability with three digits; 1 only if it is 1.

    Examples
    --------
    >>> [probability(x).replace(NBSP, " ") for x in (0, 0.12345, 0.99999, 1)]
    ['0', '0.123', '> 0.999', '1']
    """
    return _bounded(value, 1, 3)


def _bounded(value: float, top: int, digits: int) -> str:
    if value in (0, top):
        return f"{value:.0f}"
    shown = round(value, digits)
    step = 10**-digits
    if shown == 0:
        return f"<{NBSP}{step:.{digits}f}" if value > 0 else f">{NBSP}−{step:.{digits}f}"
    if shown == top and value < top:
        return f">{NBSP}{top - step:.{digits}f}"
    return f"{shown:.{digits}f}".replace("-", "−")


def plain(value: float) -> str:
    """Return a number with three significant digits.

    Examples
    --------
    >>> [plain(x) for x in (0.0, 0.012345, 0.8, 3.14159, 41.26, 1234.5, -2.5)]
    ['0', '0.0123', '0.800', '3.14', '41.3', '1,234', '−2.50']
    """
    size = abs(value)
    if value == 0:
        return "0"
    if size >= 100:
        text = f"{value:,.0f}"
    elif size >= 10:
        text = f"{value:.1f}"
    elif size >= 1:
        text = f"{value:.2f}"
    elif size >= 0.1:
        text = f"{value:.3f}"
    else:
        text = f"{value:.3g}"
    return text.replace("-", "−")


def count(value: int, one: str = "", many: str = "") -> str:
    """Return a number of things, with the word for them.

    Examples
    --------
    >>> count(1, "record"), count(5000, "record"), count(2, "copy", "copies")
    ('1 record', '5,000 records', '2 copies')
    """
    word = one if value == 1 else (many or f"{one}s")
    return f"{value:,} {word}" if one else f"{value:,}"


def is_probability(measure: str) -> bool:
    """Whether a measure in per cent is printed as a probability."""
    return measure in PROBABILITIES


def number(value: float | None, measure: str, unit: str) -> str:
    """Return a value of a measure in its unit.

    Examples
    --------
    >>> number(99.8, "strongWorst", "%"), number(3.2, "S_pMSE", "×"), number(None, "KS", "")
    ('0.998', '3.20', '–')
    """
    if value is None:
        return UNKNOWN
    if measure == "posterior":
        return probability(value)
    if is_probability(measure):
        return probability(value / 100)
    if measure in POINTS:
        return f"{'+' if value > 0 else ''}{plain(value)}{NBSP}points"
    return percent(value) if unit == "%" else plain(value)


def span(interval: Sequence[float] | None, measure: str, unit: str) -> str:
    """Return an interval in brackets, without the unit.

    Examples
    --------
    >>> span([1.25, 3], "DiSCO", "%")
    '[1.2, 3.0]'
    """
    if interval is None:
        return ""
    if unit == "%" and not is_probability(measure):
        ends = [f"{end:.1f}" for end in interval]
    else:
        ends = [number(end, measure, unit) for end in interval]
    return f"[{', '.join(ends)}]".replace("-", "−")


def limit_text(limit: Mapping[str, Any] | None, measure: str, unit: str) -> str:
    """Return a limit in words.

    Examples
    --------
    >>> limit_text({"most": 5, "least": None}, "DiSCO", "%").replace(NBSP, " ")
    'at most 5.0 %'
    """
    if limit is None:
        return ""
    parts = [
        f"{words}{NBSP}{number(limit[end], measure, unit)}"
        for end, words in (("least", f"at{NBSP}least"), ("most", f"at{NBSP}most"))
        if limit.get(end) is not None
    ]
    return " and ".join(parts)


def verdict(entry: Mapping[str, Any]) -> str:
    """Return in words how a measurement stands to its limit; nothing if it has none."""
    if entry.get("limit") is None:
        return ""
    if entry.get("value") is None or entry.get("excess") is None:
        return "not measured"
    return "met" if entry["excess"] == 0 else "not met"
