"""The distance filter: no synthetic record closer to a person than her own neighbour is.

A synthetic record is removed if it is closer to its nearest original record than that record is to
its own nearest original neighbour (arXiv 2310.06571). The filter looks at real records, and what it
removes tells something about them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, CaveatWarning
from caveat.nearest import TIE, Mixed
from caveat.notes import Note
from caveat.protect._space import Metric, Points, Space, space_of
from caveat.protect.record import Protected, Step
from caveat.table import Table, concat

__all__ = ["Refill", "distance_filter", "too_close"]

Refill = Callable[[int, int], Table]
"""Draws so many fresh synthetic records; the second number counts the rounds from 1."""

MOST_AT_ONCE = 4  # a round draws at most so many times the rows that are wanted


class Filter:
    """The distances among the originals, found once for all rounds."""

    def __init__(self, original: Table, space: Space, threads: int | None = None) -> None:
        self.space = space
        self.threads = threads
        self.points, _, counts = _distinct(space.points(original))
        own = np.full(len(counts), np.inf)  # nobody is near somebody who is alone
        if len(counts) > 1:
            own, _ = space.nearest(self.points, self.points, own, apart=True, threads=threads)
        # A record with a twin has a neighbour at distance 0.
        self.own = np.where(counts > 1, 0.0, own)
        self.n_twins = int(counts[counts > 1].sum())

    def closer(self, synthetic: Table) -> NDArray[np.bool_]:
        """Return which synthetic records are too close."""
        query, place, _ = _distinct(self.space.points(synthetic))
        distance, own = self.space.nearest(query, self.points, self.own, threads=self.threads)
        return np.asarray((distance < own * (1 - TIE))[place])


def _distinct(points: Points) -> tuple[Points, NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct points, which of them each row is, and how often they occur."""
    parts = points if isinstance(points, Mixed) else (points,)
    rows = np.hstack([part.astype(np.float64) for part in parts]) + 0.0  # no minus zero
    _, first, place, counts = np.unique(
        rows, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    chosen = points.take(first) if isinstance(points, Mixed) else points[first]
    return chosen, place.reshape(-1), counts


def too_close(
    original: Table,
    synthetic: Table,
    *,
    metric: Metric = "mahalanobis",
    columns: Sequence[str] | None = None,
    threads: int | None = None,
) -> NDArray[np.bool_]:
    """Return for each synthetic record whether the filter removes it.

    The arguments are those of :func:`distance_filter`. Where several originals are equally near,
    it is enough to be closer than the neighbour of one of them.

    Examples
    --------
    >>> people = Table.from_frame({"x": [0.0, 10.0, 20.0]})
    >>> release = Table.from_frame({"x": [1.0, 35.0]})
    >>> too_close(people, release, metric="euclidean").tolist()
    [True, False]
    """
    space = space_of(original, metric, columns)
    return Filter(original, space, threads).closer(synthetic)


def distance_filter(
    original: Table,
    synthetic: Table,
    *,
    metric: Metric = "mahalanobis",
    columns: Sequence[str] | None = None,
    refill: Refill | None = None,
    most_rounds: int = 20,
    threads: int | None = None,
) -> Protected:
    """Remove synthetic records that are too close to an original one, and refill.

    Parameters
    ----------
    original, synthetic
        The original and the release.
    metric
        "mahalanobis" and "euclidean" (in standard deviations) for numbers, ordered and binary
        columns; "gower" for mixed columns; "jaccard" for binary ones.
    columns
        The columns that take part; by default all that the metric can take.
    refill
        Draws fresh records until there are as many as before. Without it the release gets smaller.
    most_rounds
        Rounds of refilling after which the filter gives up with a warning.
    threads
        Cores to use; the result does not depend on it.
    """
    space = space_of(original, metric, columns)
    judge = Filter(original, space, threads)
    wanted, rounds, drawn = synthetic.n_rows, 0, synthetic.n_rows
    close = judge.closer(synthetic)
    first = int(close.sum())
    kept = [synthetic.take(np.flatnonzero(~close))]
    n_kept = kept[0].n_rows
    while refill is not None and n_kept < wanted and rounds < most_rounds:
        rounds += 1
        fresh = refill(_to_draw(wanted, n_kept, drawn), rounds)
        close = judge.closer(fresh)
        drawn += fresh.n_rows
        kept.append(fresh.take(np.flatnonzero(~close)[: wanted - n_kept]))
        n_kept += kept[-1].n_rows
    if not n_kept:
        raise _nothing_left(drawn, metric, space.columns)
    notes = space.notes
    if refill is not None and n_kept < wanted:
        notes += (_not_refilled(n_kept, wanted, rounds),)
        warnings.warn(f"distance filter: {notes[-1]}", CaveatWarning, stacklevel=2)
    counts = {
        "rows": wanted,
        "removed": first,
        "removed, per cent": 100 * first / max(wanted, 1),
        "rounds of refilling": rounds,
        "drawn": drawn,
        "left": n_kept,
        "originals with a twin": judge.n_twins,
    }
    settings = {"metric": metric, "columns": list(space.columns), "most_rounds": most_rounds}
    step = Step("distance_filter", settings, counts, reads_original=True, notes=notes)
    return Protected(concat(kept) if len(kept) > 1 else kept[0], step)


def _not_refilled(kept: int, wanted: int, rounds: int) -> Note:
    says = "{kept:,} of {wanted:,} records after {rounds} rounds of refilling"
    return Note("not-refilled", says, kept=kept, wanted=wanted, rounds=rounds)


def _nothing_left(drawn: int, metric: Metric, columns: Sequence[str]) -> CaveatError:
    return CaveatError(
        f"the filter would remove all of {drawn:,} synthetic records",
        where=f"distance {metric}, columns {', '.join(columns)}",
        do="use fewer columns or another metric; or the generator only copies",
        code="protection.table.empty",
    )


def _to_draw(wanted: int, kept: int, drawn: int) -> int:
    """Return how many records to draw so that about enough of them will be kept."""
    share = max(kept / drawn, 1 / MOST_AT_ONCE)
    return max(1, min(math.ceil(1.1 * (wanted - kept) / share), MOST_AT_ONCE * wanted))
