"""Distances between two tables of counts, and the score over all tables of k variables."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caveat.seeds import rng_of
from caveat.utility.pair import WeightedPair
from caveat.utility.tables import Tables, all_tables
from caveat.utility.weighting import redraw

__all__ = [
    "aitchison",
    "count_errors",
    "hellinger",
    "k_marginal",
    "k_marginal_score",
    "subsample_equivalent",
]

Numbers = NDArray[np.integer] | NDArray[np.float64]
# Shares of the original that a score is compared with.
LADDER = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


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


def k_marginal(pair: WeightedPair, ways: int = 2, by: str | None = None) -> float:
    """Return the k-marginal score with numbers in 20 groups of equal size.

    Parameters
    ----------
    pair
        The two tables.
    ways
        Number of variables in each table.
    by
        A variable that is in every table, such as the region (NIST's score: three ways, by PUMA).
    """
    return k_marginal_score(all_tables(pair, ways, groups=20, by=by))


def subsample_equivalent(
    pair: WeightedPair, score: float, ways: int = 2, by: str | None = None, seed: int = 0
) -> float:
    """Return the share of the original whose random subsample has the k-marginal score nearest.

    The shares tried are 1, 5, 10, 20, …, 90 %.
    """
    scores = []
    for step, share in enumerate(LADDER):
        size = max(1, round(share * pair.n_original))
        rows = rng_of(seed, step).choice(pair.n_original, size, replace=False)
        if pair.weights is not None:
            rows = redraw(pair.weights, size, rng_of(seed, step))
        sample = WeightedPair(pair.original, pair.original.take(rows), weights=pair.weights)
        scores.append(k_marginal(sample, ways, by))
    return LADDER[int(np.argmin(np.abs(np.array(scores) - score)))]
