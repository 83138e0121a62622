"""One variable at a time: distances between its distributions, and what is missing or new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.utility.distances import hellinger
from caveat.utility.pair import WeightedPair
from caveat.utility.tables import histogram

__all__ = ["Variable", "univariate_error", "variables"]

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
