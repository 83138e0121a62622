"""Spatial k-anonymity: among how many points, or people, a moved place hides.

Of the points of a release, k counts those that lie at least as near to somebody's true place as her
own moved point does, her own included (Cremer, Jehmlich and Lenz 2024). Of a population, k counts
the people who live at least as near to the moved point as she does.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.table.coordinates import Floats

__all__ = ["CRITICAL", "TOLERABLE", "SpatialAnonymity", "check_side", "people_within", "spatial_k"]

CRITICAL = 3
"""Fewer than so many are critical: the attacker may be one of them."""
TOLERABLE = 0.1
"""Up to so many critical points are tolerable in a file for research, say Cremer et al."""

CHUNK = 1 << 14
SIDES = (0.1, 1e7)
FINEST = 10  # parts of a cell's side


@dataclass(frozen=True)
class SpatialAnonymity:
    """The k of every moved point.

    Attributes
    ----------
    k
        Among how many each one hides; at least 1, herself.
    against
        Who was counted: ``"moved points"`` or ``"people"``.
    same
        The columns that had to agree.
    """

    k: Floats
    against: str
    same: tuple[str, ...] = ()

    __repr__ = without_values

    @property
    def mean(self) -> float:
        """The mean of k."""
        return float(self.k.mean())

    @property
    def quartiles(self) -> tuple[float, float, float]:
        """The lower quartile, the median and the upper quartile of k."""
        low, middle, high = np.quantile(self.k, (0.25, 0.5, 0.75)).tolist()
        return low, middle, high

    def below(self, k: float = CRITICAL) -> float:
        """Return the share of points with fewer than k."""
        return float((self.k < k).mean())

    def to_dict(self, k: float = CRITICAL) -> dict[str, Any]:
        """Return the summary, ready for JSON."""
        low, middle, high = self.quartiles
        return {
            "against": self.against, "same": list(self.same), "points": len(self.k),
            "mean": self.mean, "lower quartile": low, "median": middle, "upper quartile": high,
            "critical": k, "share below": self.below(k),
        }  # fmt: skip


def spatial_k(
    original: Floats, moved: Floats, classes: NDArray[np.integer[Any]] | None = None
) -> Floats:
    """Return how many moved points lie as near to each true place as its own moved point does.

    Parameters
    ----------
    original, moved
        Places in metres, row by row the same people.
    classes
        What an attacker knows beside the place, as a number per row: only points of the same class
        are counted.

    Examples
    --------
    >>> true = np.array([[0.0, 0.0], [10.0, 0.0], [500.0, 0.0]])
    >>> spatial_k(true, true + np.array([100.0, 0.0])).tolist()
    [1.0, 2.0, 1.0]
    """
    if original.shape != moved.shape:
        raise CaveatError(
            "the two tables have different numbers of rows",
            where="places",
            do="give the same records in the same order",
            code="data.row.mismatch",
        )
    radius = _reach(np.hypot(*(moved - original).T))
    found = np.ones(len(original))
    order, starts = _by_class(classes, len(original))
    for start, end in pairwise(starts):
        rows = order[start:end]
        if len(rows) > 1:
            tree = scipy.spatial.cKDTree(moved[rows])
            found[rows] = tree.query_ball_point(
                original[rows], radius[rows], return_length=True, workers=-1
            )
    return np.maximum(found, 1.0)


def _reach(distance: Floats) -> Floats:
    """Return radii that surely reach the point at the distance."""
    return np.asarray(distance * (1 + 1e-9) + 1e-9)


def _by_class(
    classes: NDArray[np.integer[Any]] | None, n: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if classes is None:
        return np.arange(n), np.array([0, n])
    order = np.argsort(classes, kind="stable")
    cuts = np.flatnonzero(np.diff(classes[order])) + 1
    return order, np.concatenate([[0], cuts, [n]])


def people_within(
    original: Floats,
    moved: Floats,
    places: Floats,
    counts: Floats | None = None,
    *,
    cell: float | None = None,
) -> Floats:
    """Return how many people live as near to each moved point as its own person does.

    Parameters
    ----------
    original, moved
        Places in metres, row by row the same people.
    places
        Where people live: addresses, or the middles of the cells of a grid.
    counts
        How many at each place; one without it.
    cell
        Of a grid: the side of a cell in metres. Its people are spread evenly over it; without it
        they all live in its middle.

    Examples
    --------
    >>> true, moved = np.array([[0.0, 0.0]]), np.array([[300.0, 0.0]])
    >>> homes = np.array([[0.0, 0.0], [400.0, 0.0], [900.0, 0.0]])
    >>> people_within(true, moved, homes, np.array([1.0, 20.0, 50.0])).tolist()
    [21.0]
    """
    radius = _reach(np.hypot(*(moved - original).T))
    known = np.ones(len(places)) if counts is None else np.asarray(counts, dtype=np.float64)
    if not np.isfinite(known).all() or (known < 0).any():
        raise CaveatError(
            "a number of people is below 0 or missing",
            where="population",
            code="measure.setting.range",
        )
    if cell is not None:
        check_side(cell)
        places, known = _spread(places, known, cell, moved, radius)
    used = known > 0
    places, known = places[used], known[used]
    if not len(places) or not len(moved):
        return np.ones(len(moved))
    tree = scipy.spatial.cKDTree(places)
    if (known == 1).all():
        found = tree.query_ball_point(moved, radius, return_length=True, workers=-1)
        return np.asarray(np.maximum(found, 1.0))
    out = np.zeros(len(moved))
    for start in range(0, len(moved), CHUNK):
        part = slice(start, start + CHUNK)
        near = tree.query_ball_point(moved[part], radius[part], workers=-1, return_sorted=False)
        sizes = np.fromiter(map(len, near), np.int64, len(near))
        who = np.concatenate([*near, []]).astype(np.int64)
        out[part] = np.bincount(np.repeat(np.arange(len(near)), sizes), known[who], len(near))
    return np.maximum(out, 1.0)


def check_side(cell: float) -> None:
    """Refuse squares that are no squares on a map."""
    if not SIDES[0] <= cell <= SIDES[1]:
        raise CaveatError(
            "the side of a square is no number of metres",
            where="cell",
            do="give 100 or 1000, say",
            code="measure.setting.range",
        )


def _spread(
    places: Floats, counts: Floats, cell: float, moved: Floats, radius: Floats
) -> tuple[Floats, Floats]:
    """Cut the cells that matter into parts smaller than the distances moved."""
    if not len(places) or not len(moved):
        return places, counts
    nearest, _ = scipy.spatial.cKDTree(moved).query(places, workers=-1)
    matters = (nearest <= radius.max() + cell) & (counts > 0)
    parts = int(np.clip(np.ceil(4 * cell / max(float(np.median(radius)), 1e-9)), 1, FINEST))
    steps = ((np.arange(parts) + 0.5) / parts - 0.5) * cell
    offsets = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    fine = (places[matters][:, None, :] + offsets[None]).reshape(-1, 2)
    return fine, np.repeat(counts[matters] / parts**2, parts**2)
