"""One variable at a time: distances between tables of counts, what is missing or new, its bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.table import Column, Kind
from caveat.table.cells import pretty
from caveat.table.table import Codes
from caveat.utility.pair import WeightedPair, Weights
from caveat.utility.tables import FEW_VALUES, Histogram, Tables, histogram

Numbers = NDArray[np.integer] | NDArray[np.float64]


def hellinger(observed: Numbers, synthetic: Numbers) -> float:
    """Return √(½ Σ (√p − √q)²) of two tables of counts, each normalised to 1.

    Examples
    --------
    >>> hellinger(np.array([1, 0]), np.array([0, 1]))
    1.0
    """
    p, q = observed / observed.sum(), synthetic / synthetic.sum()
    return math.sqrt(float(((np.sqrt(p) - np.sqrt(q)) ** 2).sum()) / 2)


def aitchison(observed: Numbers, synthetic: Numbers, added: float = 0.5) -> float:
    """Return the distance between the centred log-ratios of two tables of counts.

    Parameters
    ----------
    observed, synthetic
        Counts of the same cells; cells that both tables lack are left out.
    added
        Added to every cell if any of them is empty: the distance is not defined otherwise.

    Examples
    --------
    >>> round(aitchison(np.array([1, 1]), np.array([1, np.e])), 6)
    0.707107
    """
    held = (observed > 0) | (synthetic > 0)
    o, s = observed[held].astype(np.float64), synthetic[held].astype(np.float64)
    if (o == 0).any() or (s == 0).any():
        o, s = o + added, s + added
    ratios = np.log(o) - np.log(s)
    return float(np.linalg.norm(ratios - ratios.mean()))


def count_errors(observed: Numbers, synthetic: Numbers) -> dict[str, float]:
    """Return MAE, RMSE and MAPE of the synthetic counts, scaled to the original's total.

    MAPE is over the cells that the original has; cells that neither table has do not count.

    Examples
    --------
    >>> count_errors(np.array([10, 20]), np.array([15, 15]))
    {'MAE': 5.0, 'RMSE': 5.0, 'MAPE': 0.375}
    """
    held = (observed > 0) | (synthetic > 0)
    o = observed[held].astype(np.float64)
    error = synthetic[held] * (o.sum() / synthetic.sum()) - o
    return {
        "MAE": float(np.abs(error).mean()),
        "RMSE": math.sqrt(float((error**2).mean())),
        "MAPE": float((np.abs(error[o > 0]) / o[o > 0]).mean()),
    }


def k_marginal_score(tables: Tables) -> float:
    """Return (2 − mean Σ |p − q|) · 500 over tables: 1000 if all are equal, 0 if none overlaps."""
    return (2 - tables.mean("MabsDD")) * 500


def k_marginal_by_group(
    pair: WeightedPair, by: str, ways: int = 2
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the k-marginal score within each group of records, and how many originals it has.

    Shares are those of the group. A group that the release lacks scores 0, one that the original
    lacks has no score (not a number). Numbers are cut in 20 groups over all records.

    Parameters
    ----------
    pair
        The two tables.
    by
        The variable whose levels are the groups; a number is cut in 5 groups.
    ways
        Number of variables in each table, beside the one that makes the groups.

    Examples
    --------
    >>> people = {"sex": list("ffmm"), "ill": list("nynn")}
    >>> release = {"sex": list("ffmm"), "ill": list("nyny")}
    >>> k_marginal_by_group(WeightedPair.of(people, release), "sex", 1)[0].tolist()
    [1000.0, 500.0]
    """
    groups = pair.categories(5)[pair.choose([by])[0]]
    columns = [column for name, column in pair.categories(20).items() if name != by]
    size, sides = groups.n_levels, (groups.original, groups.synthetic)
    there = np.bincount(groups.original, minlength=size)
    gap, tables = np.zeros(size), 0
    for chosen in combinations(columns, ways):
        cells = _cells([c.original for c in chosen], [c.synthetic for c in chosen])
        n = int(max(part.max() for part in cells)) + 1
        p, q = (
            _within(group.astype(np.int64) * n + cell, size, n, weights)
            for group, cell, weights in zip(sides, cells, (pair.weights, None), strict=True)
        )
        gap += np.where(q.any(axis=1), np.abs(p - q).sum(axis=1), 2.0)
        tables += 1
    if not tables:
        return np.full(size, np.nan), there
    return np.where(there > 0, (2 - gap / tables) * 500, np.nan), there


def _cells(ours: Sequence[Codes], theirs: Sequence[Codes]) -> list[NDArray[np.int64]]:
    """Return the number of each row's combination of codes, of those that occur."""
    both = [np.concatenate(sides).astype(np.int64) for sides in zip(ours, theirs, strict=True)]
    _, cells = np.unique(np.stack(both, axis=1), axis=0, return_inverse=True)
    return np.split(cells.ravel(), [len(ours[0])])


def _within(cells: NDArray[np.int64], groups: int, n: int, weights: Weights) -> NDArray[np.float64]:
    """Return the shares of each group's cells."""
    counts = np.bincount(cells, weights, groups * n).reshape(groups, n).astype(np.float64)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300))


# -------------------------------------------------------------------------------------------------
# Bars that suit a variable: few enough to be read, the same for both tables.


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


# -------------------------------------------------------------------------------------------------
# One variable at a time: distances between its distributions, and what is missing or new.


Floats = NDArray[np.float64]

# A spike: share of the ordinary rows, and times the mean of the nearest values on both sides.
SPIKE_SHARE = 0.01
SPIKE_TIMES = 5
SPIKE_NEIGHBOURS = 5
SPIKE_LEVELS = 12
# Sums of weights that differ by less than this share are equal.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Variable:
    """How one variable came out; ``None`` where a figure has no meaning for its kind.

    Attributes
    ----------
    name, kind
        The variable.
    ks
        Numbers: largest distance of the distribution functions of the values that are not missing.
    wasserstein
        Numbers: area between these functions, over the range of the original.
    total_variation, hellinger
        Distances of the bars of :func:`caveat.utility.tables.histogram`, missing cells included.
    range_coverage
        Numbers: share of the original's range that the synthetic values span.
    boundary_adherence
        Numbers: share of synthetic values inside the original's range.
    median_similarity
        Numbers: 1 − distance of the medians over the range of the original, at least 0.
    category_coverage
        Categories: share of the original's levels that the synthetic table has.
    vanished, vanished_share
        Categories of the original that the synthetic table lacks, and the share of rows they had.
    invented, invented_share
        Number of synthetic values or categories that the original lacks, and their share of rows.
    missing_similarity
        1 − Σ |p − q| / 2 over the ways to be missing and "not missing".
    spikes, spikes_kept
        Numbers: values that stand out in the original (at least 1 % of the rows and five times the
        mean of their ten neighbours), and Σ min(p, q) / Σ p over them.
    """

    name: str
    kind: str
    ks: float | None
    wasserstein: float | None
    total_variation: float
    hellinger: float
    range_coverage: float | None
    boundary_adherence: float | None
    median_similarity: float | None
    category_coverage: float | None
    vanished: int | None
    vanished_share: float | None
    invented: int
    invented_share: float
    missing_similarity: float
    spikes: int | None
    spikes_kept: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return all figures by name."""
        return asdict(self)


def variables(pair: WeightedPair) -> list[Variable]:
    """Compare every variable.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "d", "m"], "age": [30, 40, 50, 70]}
    >>> release = {"sex": ["f", "m", "m", "m"], "age": [30, 40, 50, 60]}
    >>> sex, age = variables(WeightedPair.of(people, release))
    >>> sex.vanished_share, age.range_coverage, age.ks
    (0.25, 0.75, 0.25)
    """
    return [_variable(pair, name) for name in pair.names]


def _variable(pair: WeightedPair, name: str) -> Variable:
    ours, theirs = pair.columns(name)
    n = len(ours.levels)
    o, s = (counts[:n] for counts in pair.counts(name))
    bars = histogram(pair, name)
    p, q = bars.shares
    new = (o == 0) & (s > 0)
    number = ours.kind.is_number
    gone = (o > 0) & (s == 0)
    values = ours.numbers if number else np.zeros(0)
    usable = number and o.sum() > 0 and s.sum() > 0

    def of_number(figure: Callable[[Floats, NDArray[Any], NDArray[Any]], Any]) -> Any:
        return figure(values, o, s) if usable else None

    spikes, kept = _spikes(o, s) if usable else (None, None)
    return Variable(
        name=name,
        kind=str(ours.kind),
        ks=of_number(_ks),
        wasserstein=of_number(_wasserstein),
        total_variation=float(np.abs(p - q).sum() / 2),
        hellinger=hellinger(bars.observed, bars.synthetic),
        range_coverage=of_number(_range_coverage),
        boundary_adherence=of_number(_boundary_adherence),
        median_similarity=of_number(_median_similarity),
        category_coverage=None if number else _share(int(((o > 0) & (s > 0)).sum()), (o > 0).sum()),
        vanished=None if number else int(gone.sum()),
        vanished_share=None if number else float(o[gone].sum() / len(ours)),
        invented=int(new.sum()),
        invented_share=float(s[new].sum() / len(theirs)),
        missing_similarity=_missing_similarity(n, pair.counts(name)),
        spikes=spikes,
        spikes_kept=kept,
    )


def _share(count: int, total: int) -> float | None:
    return float(count / total) if total else None


def _steps(o: NDArray[Any], s: NDArray[Any]) -> Floats:
    """Return the distance of the distribution functions at each value."""
    return np.asarray(np.abs(np.cumsum(o) / o.sum() - np.cumsum(s) / s.sum()))


def _ks(values: Floats, o: NDArray[Any], s: NDArray[Any]) -> float:
    del values
    return float(_steps(o, s).max())


def _range(values: Floats, counts: NDArray[Any]) -> tuple[float, float]:
    held = values[counts > 0]
    return float(held.min()), float(held.max())


def _wasserstein(values: Floats, o: NDArray[Any], s: NDArray[Any]) -> float | None:
    low, high = _range(values, o)
    if high == low:
        return None
    return float((_steps(o, s)[:-1] * np.diff(values)).sum() / (high - low))


def _range_coverage(values: Floats, o: NDArray[Any], s: NDArray[Any]) -> float | None:
    (low, high), (their_low, their_high) = _range(values, o), _range(values, s)
    if high == low:
        return None
    lost = max(0.0, their_low - low) + max(0.0, high - their_high)
    return max(0.0, 1 - lost / (high - low))


def _boundary_adherence(values: Floats, o: NDArray[Any], s: NDArray[Any]) -> float:
    low, high = _range(values, o)
    return float(s[(values >= low) & (values <= high)].sum() / s.sum())


def _median(values: Floats, counts: NDArray[Any]) -> float:
    ends = np.cumsum(counts)
    if counts.dtype.kind == "f":  # weights: both values where half of them lies between two
        near = ROUNDING * ends[-1]
        return float(
            values[np.searchsorted(ends, [ends[-1] / 2 - near, ends[-1] / 2 + near])].mean()
        )
    middle = [(ends[-1] - 1) // 2, ends[-1] // 2]
    return float(values[np.searchsorted(ends, middle, side="right")].mean())


def _median_similarity(values: Floats, o: NDArray[Any], s: NDArray[Any]) -> float | None:
    low, high = _range(values, o)
    if high == low:
        return None
    return max(0.0, 1 - abs(_median(values, o) - _median(values, s)) / (high - low))


def _spikes(o: NDArray[Any], s: NDArray[Any]) -> tuple[int, float | None]:
    held = o > 0
    counts, theirs = o[held], s[held]
    if len(counts) < SPIKE_LEVELS:
        return 0, None
    window = np.ones(2 * SPIKE_NEIGHBOURS + 1)
    near = np.convolve(counts, window, "same") - counts
    number = np.convolve(np.ones(len(counts)), window, "same") - 1
    stands_out = (counts >= SPIKE_SHARE * counts.sum()) & (counts * number >= SPIKE_TIMES * near)
    if not stands_out.any():
        return 0, None
    p, q = counts[stands_out] / o.sum(), theirs[stands_out] / s.sum()
    return int(stands_out.sum()), float(np.minimum(p, q).sum() / p.sum())


def _missing_similarity(n: int, counts: tuple[NDArray[Any], NDArray[Any]]) -> float:
    shares = [np.append(c[n:], c[:n].sum()) / c.sum() for c in counts]
    return float(1 - np.abs(shares[0] - shares[1]).sum() / 2)


def univariate_error(pair: WeightedPair) -> float:
    """Return the median over all values of all variables of min(|Δ|, 100 |Δ| / count).

    Δ is the difference of the counts of a value, the synthetic ones scaled to the size of the
    original (Francis 2024).
    """
    errors = []
    scale = pair.n_original / pair.n_synthetic
    for name in pair.names:
        o, s = pair.counts(name)
        held = o > 0
        gap = np.abs(o[held] - scale * s[held])
        errors.append(np.minimum(gap, 100 * gap / o[held]))
    return float(np.median(np.concatenate(errors)))
