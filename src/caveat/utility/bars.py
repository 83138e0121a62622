"""Bars that suit a variable: few enough to be read, the same for both tables."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from caveat.table import Column, Kind
from caveat.table.cells import pretty
from caveat.utility.pair import WeightedPair
from caveat.utility.tables import FEW_VALUES, Histogram, histogram

__all__ = ["Bar", "bars_of", "fewer_bars", "is_spread", "suitable_bins"]

# More categories than this are put together, the rarest ones first.
MOST_BARS = 12
# Whole numbers with a range up to this get a bar for each value.
FEW_WHOLE = 25
# If the middle 99.5 % of the rows take less than this share of the range, the ends are cut.
MIDDLE, MIDDLE_SHARE = 0.995, 1 / 3

Bar = tuple[str, float, float]
"""What it stands for, and share of the rows of the original and of the synthetic table."""


def is_spread(pair: WeightedPair, name: str) -> bool:
    """Whether a variable has so many numbers that it is shown in bins."""
    ours, theirs = pair.columns(name)
    counts = (ours.counts + theirs.counts)[: len(ours.levels)]
    return ours.kind.is_number and int(np.count_nonzero(counts)) >= FEW_VALUES


def suitable_bins(pair: WeightedPair, name: str, bins: int) -> tuple[Histogram, bool]:
    """Return about so many bins of a number, and whether those at the ends hold all beyond."""
    ours, theirs = pair.columns(name)
    counts = (ours.counts + theirs.counts)[: len(ours.levels)]
    values, counts = ours.numbers[counts > 0], counts[counts > 0]
    if ours.kind is Kind.INTEGER and values[-1] - values[0] <= FEW_WHOLE:
        limits = np.arange(values[0] - 0.5, values[-1] + 1)
        return histogram(pair, name, limits=limits), False
    ends = np.cumsum(counts) / counts.sum()
    low, high = values[np.searchsorted(ends, [(1 - MIDDLE) / 2, (1 + MIDDLE) / 2])]
    if low < high < low + MIDDLE_SHARE * (values[-1] - values[0]):
        return histogram(pair, name, limits=pretty(low, high, bins)), True
    return histogram(pair, name, bins), False


def fewer_bars(bars: Histogram) -> tuple[list[str], Any, Any]:
    """Return labels and shares of at most MOST_BARS categories and all ways to be missing."""
    ours, theirs = bars.shares
    n = len(bars.labels) - bars.n_missing
    order = np.arange(n)
    rest: list[int] = []
    if n > MOST_BARS:
        common = np.argsort(-(ours[:n] + theirs[:n]), kind="stable")
        order, rest = np.sort(common[: MOST_BARS - 1]), list(common[MOST_BARS - 1 :])
    missing = np.arange(n, len(bars.labels))
    labels = [bars.labels[i] for i in order]
    labels += [f"{len(rest)} others"] if rest else []
    labels += [f"missing: {bars.labels[i]}" for i in missing]

    def together(values: Any) -> Any:
        return [*values[order], *([values[rest].sum()] if rest else []), *values[missing]]

    return labels, together(ours), together(theirs)


def bars_of(pair: WeightedPair, name: str, bins: int = 12) -> list[Bar]:
    """Return the bars of any variable with their labels.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "m", "m"]}
    >>> bars_of(WeightedPair.of(people, people), "sex")
    [('f', 0.25, 0.25), ('m', 0.75, 0.75)]
    """
    if not is_spread(pair, name):
        labels, ours, theirs = fewer_bars(histogram(pair, name))
        return [
            (label, float(a), float(b)) for label, a, b in zip(labels, ours, theirs, strict=True)
        ]
    bars, is_cut = suitable_bins(pair, name, bins)
    assert bars.limits is not None
    labels = _intervals(bars.limits, pair.original[name], is_cut)
    labels += [f"missing: {label}" for label in bars.labels[len(labels) :]]
    ours, theirs = bars.shares
    return [(label, float(a), float(b)) for label, a, b in zip(labels, ours, theirs, strict=True)]


def _intervals(limits: Any, column: Column, is_cut: bool) -> list[str]:
    """Return what the bins hold, in words; they are open on the left."""
    if column.kind is Kind.INTEGER and limits[1] - limits[0] == 1 and limits[0] % 1 == 0.5:
        return [f"{limit + 0.5:.15g}" for limit in limits[:-1]]
    texts = [_text(limit, column) for limit in limits]
    labels = [f"{low} to {high}" for low, high in pairwise(texts)]
    if is_cut and len(labels) > 1:
        labels[0], labels[-1] = f"up to {texts[1]}", f"above {texts[-2]}"
    return labels


def _text(limit: float, column: Column) -> str:
    """Return a limit as a number, or as the date that the number stands for."""
    if column.levels.dtype.kind != "M":
        return f"{limit:.15g}"
    moment = np.int64(limit).view(column.levels.dtype)
    return str(moment.astype("M8[D]" if column.kind is Kind.DATE else "M8[s]"))
