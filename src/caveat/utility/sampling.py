"""Models that tell rows apart are fitted to a sample of large tables, and say how far that is off.

A propensity tree, its permutations, a regression and boosted trees for every pair and every
reference value cost far more than all counts together, and what they find grows no more exact where
it matters: S_pMSE grows with the rows whatever the release is like. A table of more than ``ROWS``
rows, or as many as somebody said, is therefore sampled, whole groups where rows belong together,
always the same rows of the same table. Everything that is counted is counted over all rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.notes import Note
from caveat.seeds import rng_of
from caveat.table.linked import Members, draw_groups
from caveat.utility.pair import WeightedPair

__all__ = ["FEWEST", "ROWS", "auc_error", "null_pair", "pmse_error", "sample_of", "sampled_note"]

ROWS = 50_000
"""Rows of each table that models are fitted to; smaller tables are taken whole."""

FEWEST = 100
"""Rows that models need at least, where somebody says how many they get."""

TWIN_ROWS = 20_000
"""Resamples of a table with more rows than this share the permutations of the first one."""

SEED = 26  # the same for every table: samples of the same rows are the same
Floats = NDArray[np.float64]


def sample_of(pair: WeightedPair, most: int | None = None) -> WeightedPair:
    """Return the pair that models are fitted to: itself, or a sample of its larger tables.

    `most` is a smaller number of rows than the usual one.
    """
    rows = _most(pair) if most is None else min(most, _most(pair))
    if max(pair.n_original, pair.n_synthetic) <= rows:
        return pair
    return pair.once(("sample", rows), lambda: _sample(pair, rows))


def null_pair(pair: WeightedPair) -> WeightedPair:
    """Return the pair whose permutations a pair is held against: itself, or its twin.

    Resamples of one table, permuted, are all alike: of a large one they are permuted once.
    """
    large = sample_of(pair) is not pair or pair.n_original > TWIN_ROWS
    return pair.twin if large and pair.twin is not None else pair


def _most(pair: WeightedPair) -> int:
    return ROWS if pair.model_rows is None else pair.model_rows


def _sample(pair: WeightedPair, most: int) -> WeightedPair:
    groups = pair.groups
    ours = _drawn(pair.n_original, None if groups is None else groups.original, 0, most)
    theirs = _drawn(pair.n_synthetic, None if groups is None else groups.synthetic, 1, most)
    if groups is not None:
        groups = replace(
            groups,
            original=groups.original.of_rows(ours),
            synthetic=groups.synthetic.of_rows(theirs),
            control=None,
        )
    return WeightedPair(
        pair.original.take(ours),
        pair.synthetic.take(theirs),
        weights=None if pair.weights is None else pair.weights[ours],
        groups=groups,
    )


def _drawn(n: int, members: Members | None, side: int, most: int) -> NDArray[np.int64]:
    """Return the rows of a sample, in their order."""
    if n <= most:
        return np.arange(n)
    rng = rng_of(SEED, side)
    if members is not None and members.n_groups > 1:
        return np.flatnonzero(draw_groups(members, most, rng))
    return np.sort(rng.choice(n, most, replace=False))


def sampled_note(
    pair: WeightedPair, error: float | None = None, most: int | None = None
) -> tuple[Note, ...]:
    """Say what was sampled, and how large the error of that is where it is known."""
    sample = sample_of(pair, most)
    if sample is pair:
        return ()
    rows = {
        "ours": sample.n_original, "all_ours": pair.n_original,
        "theirs": sample.n_synthetic, "all_theirs": pair.n_synthetic,
    }  # fmt: skip
    if error is None:
        return (
            Note(
                "sampled-rows-only",
                "on {ours:,} of {all_ours:,} original and {theirs:,} of {all_theirs:,} synthetic "
                "rows, drawn at random",
                public=True,
                **rows,
            ),
        )
    return (
        Note(
            "sampled-rows",
            "on {ours:,} of {all_ours:,} original and {theirs:,} of {all_theirs:,} synthetic rows, "
            "drawn at random; standard error of the sampling {error:.2g}",
            public=True,
            error=error,
            **rows,
        ),
    )


def pmse_error(pair: WeightedPair, scores: Floats) -> float:
    """Return the standard error of pMSE for drawing the sample, given the shape of the model.

    Σ (s − c m)² / m over groups of m rows, s of them synthetic, changes with one row more by
    (p − c)² + 2 (p − c)(y − p), where p = s / m and y says whether the row is synthetic. The mean
    of that is pMSE, and its spread over the rows the error.
    """
    sample = sample_of(pair)
    n, k = sample.n_original, sample.n_synthetic
    y = np.arange(n + k) < k
    c = k / (n + k)
    change = (scores - c) ** 2 + 2 * (scores - c) * (y - scores)
    if sample.weights is not None:  # a heavy row changes more
        change[k:] = (change[k:] - change[k:].mean()) * sample.weights
    return float(np.hypot(*_errors(pair, change[k:] * (1 - c), change[:k] * c)))


def auc_error(pair: WeightedPair, scores: Floats) -> float:
    """Return the standard error of an area under the curve (DeLong), given the model."""
    k = sample_of(pair).n_synthetic
    theirs, ours = scores[:k], scores[k:]
    rank = scipy.stats.rankdata(scores)
    below = (rank[:k] - scipy.stats.rankdata(theirs)) / len(ours)
    above = (rank[k:] - scipy.stats.rankdata(ours)) / len(theirs)
    return float(np.hypot(*_errors(pair, above, below)))


def _errors(pair: WeightedPair, ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Return the standard error of the mean over each sample; 0 of a table that is whole."""
    whole = pair.n_original, pair.n_synthetic
    first, second = (
        float(x.std() * np.sqrt(max(0.0, 1 - len(x) / n) / len(x)))
        for x, n in zip((ours, theirs), whole, strict=True)
    )
    return first, second
