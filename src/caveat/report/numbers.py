"""Numbers as the report prints them: shares in per cent, posteriors as probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caveat.units import printed

__all__ = [
    "NBSP",
    "count",
    "limit_text",
    "number",
    "percent",
    "plain",
    "points_text",
    "probability",
    "span",
    "tiny",
]

NBSP = "\u00a0"
UNKNOWN = "–"
POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# The probability of one thing, and not a share of records: printed from 0 to 1.
PROBABILITIES = ("posterior", "strongWorst")
# A rise of a probability, printed in percentage points.
POINTS = ("strongGain",)


def percent(value: float) -> str:
    """Return a share in per cent; what is not quite none or not quite all is not rounded to it.

    Examples
    --------
    >>> [percent(x).replace(NBSP, " ") for x in (0, 0.0001, 0.1234, 0.9999, 1)]
    ['0 %', '< 0.1 %', '12.3 %', '> 99.9 %', '100 %']
    """
    return f"{_bounded(value, 'share', 1)}{NBSP}%"


def probability(value: float) -> str:
    """Return a probability with three digits; 1 only if it is 1.

    Examples
    --------
    >>> [probability(x).replace(NBSP, " ") for x in (0, 0.12345, 0.99999, 1)]
    ['0', '0.123', '> 0.999', '1']
    """
    return _bounded(value, "score", 3)


def _bounded(value: float, unit: str, digits: int) -> str:
    top = printed(1.0, unit)
    if value in (0, 1):
        return f"{value * top:.0f}"
    shown = round(printed(value, unit), digits)
    step = 10**-digits
    if shown == 0:
        return f"<{NBSP}{step:.{digits}f}" if value > 0 else f">{NBSP}−{step:.{digits}f}"
    if shown == top and value < 1:
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


def tiny(value: float) -> str:
    """Return a number that may be far below others, in powers of ten from a thousandth on.

    Examples
    --------
    >>> [tiny(x).replace(NBSP, " ") for x in (0.257, 0.001, 1e-9, 2.5e-7)]
    ['0.257', '10⁻³', '10⁻⁹', '2.5 · 10⁻⁷']
    """
    if value > 0.001 or value <= 0:
        return plain(value)
    digits, power = f"{value:.2e}".split("e")
    raised = "10" + str(int(power)).translate(POWERS)
    digits = f"{float(digits):g}"
    return raised if digits == "1" else f"{digits}{NBSP}·{NBSP}{raised}"


def count(value: int, one: str = "", many: str = "") -> str:
    """Return a number of things, with the word for them.

    Examples
    --------
    >>> count(1, "record"), count(5000, "record"), count(2, "copy", "copies")
    ('1 record', '5,000 records', '2 copies')
    """
    word = one if value == 1 else (many or f"{one}s")
    return f"{value:,} {word}" if one else f"{value:,}"


def number(value: float | None, measure: str, unit: str) -> str:
    """Return a value of a measure in its unit.

    Examples
    --------
    >>> number(0.998, "strongWorst", "share"), number(3.2, "S_pMSE", "ratio"), number(None, "", "")
    ('0.998', '3.20', '–')
    """
    if value is None:
        return UNKNOWN
    if measure in PROBABILITIES:
        return probability(value)
    if measure in POINTS:
        return f"{'+' if value > 0 else ''}{plain(printed(value, unit))}{NBSP}points"
    return percent(value) if unit == "share" else plain(value)


def span(interval: Sequence[float] | None, measure: str, unit: str) -> str:
    """Return an interval in brackets, without the unit.

    Examples
    --------
    >>> span([0.0125, 0.03], "DiSCO", "share")
    '[1.2, 3.0]'
    """
    if interval is None:
        return ""
    if unit == "share" and measure not in PROBABILITIES:
        ends = [f"{printed(end, unit):.1f}" for end in interval]
    else:
        ends = [number(end, measure, unit) for end in interval]
    return f"[{', '.join(ends)}]".replace("-", "−")


def points_text(rise: Mapping[str, Any], unit: str) -> str:
    """Return by how much a value exceeds its control or baseline.

    Examples
    --------
    >>> rise = {"value": 0.0031, "interval": [-0.01, 0.016]}
    >>> points_text(rise, "share").replace(NBSP, " ")
    '+0.3 [−1.0, 1.6]'
    """
    if rise["value"] is None:
        return ""
    digits = 1 if unit == "share" else 3
    ends = [f"{printed(end, unit):.{digits}f}" for end in rise["interval"] or ()]
    text = f"{printed(rise['value'], unit):+.{digits}f}"
    text += f" [{', '.join(ends)}]" if ends else ""
    return text.replace("-", "−")


def _points(unit: str) -> str:
    return "points" if unit == "share" else ""


def limit_text(
    limit: Mapping[str, Any] | None,
    measure: str,
    unit: str,
    rise: Mapping[str, Any] | None = None,
) -> str:
    """Return a limit in words; with its rise, what it is held against.

    Examples
    --------
    >>> limit_text({"most": 0.05, "least": None}, "DiSCO", "share").replace(NBSP, " ")
    'at most 5.0 %'
    >>> limit_text({"above": 0.02}, "DiSCO", "share").replace(NBSP, " ")
    'DiSCO above control ≤ 2 points'
    """
    if limit is None:
        return ""
    parts = [
        f"{words}{NBSP}{number(limit[end], measure, unit)}"
        for end, words in (("least", f"at{NBSP}least"), ("most", f"at{NBSP}most"))
        if limit.get(end) is not None
    ]
    if limit.get("above") is not None:
        over = "control" if rise is None else rise["over"]
        most = f"{printed(limit['above'], unit):g}{NBSP}{_points(unit)}".rstrip()
        parts.append(f"{measure} above {over} ≤{NBSP}{most}")
    return " and ".join(parts)
