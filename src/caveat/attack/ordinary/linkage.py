"""Record linkage by distance: Gower's and Mahalanobis'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from caveat.attack.ordinary.encoding import mixed, prepare, seeds
from caveat.attack.ordinary.rates import attack_rate
from caveat.attack.ordinary.vectors import whitened
from caveat.errors import CaveatError
from caveat.nearest import Nearest, euclid_nearest, gower_nearest
from caveat.risk.measurement import Measurement, rate
from caveat.table import Table

__all__ = ["Distance", "closer_than_neighbour", "record_linkage", "search_by"]

Distance = Literal["gower", "mahalanobis"]


def search_by(
    distance: Distance, scale: Table, tables: Sequence[Table]
) -> tuple[Callable[..., Nearest], list[Any]]:
    """Return a search for the nearest row, and the rows of each table as it takes them.

    Parameters
    ----------
    distance
        "gower", or "mahalanobis": Euclidean after the correlation of numbers and 0/1 columns is
        taken out.
    scale
        The table that decides ranges, means and covariances.
    tables
        Tables on common levels.

    Returns
    -------
    A function of two sides and of ``rng`` and ``own``, as :func:`~caveat.nearest.gower_nearest`
    has them; and the sides.
    """
    if distance == "gower":
        return partial(gower_nearest, k=1), mixed(tables, scale.names, scale)
    if distance == "mahalanobis":
        return euclid_nearest, whitened(scale, tables)
    raise CaveatError(f"there is no distance {distance!r}", do="choose gower or mahalanobis")


def record_linkage(
    original: Any,
    masked: Any,
    *,
    columns: Sequence[str] | None = None,
    distance: Distance = "gower",
    seed: int = 0,
) -> Measurement:
    """Return how often the nearest released record is the person's own.

    For releases whose rows still belong to the rows of the original: masked data and partly
    synthetic data. Fully synthetic rows belong to nobody; for these the number means nothing.

    Parameters
    ----------
    original, masked
        Frames or tables with as many rows, in the same order.
    columns
        The columns that are compared; all that both have by default.
    distance
        "gower" or "mahalanobis".
    seed
        Root of the lots that decide between equally near records.

    Returns
    -------
    A percentage of the records. The baseline is 1/n, a record at random.
    """
    tables = prepare(original, masked, None, columns)
    n = len(tables.original)
    if len(tables.synthetic) != n:
        raise CaveatError(
            "the release has another number of rows than the original",
            do="record linkage is for releases whose rows belong to original rows",
        )
    find, sides = search_by(distance, tables.synthetic, [tables.original, tables.synthetic])
    success = find(*sides, rng=seeds(seed, 1)[0]).position[:, 0] == np.arange(n)
    return attack_rate(success, baseline=1 / n, trace=lambda: success.astype(np.float64))


def closer_than_neighbour(
    original: Any,
    synthetic: Any,
    *,
    control: Any = None,
    columns: Sequence[str] | None = None,
    distance: Distance = "mahalanobis",
) -> Measurement:
    """Return the share of synthetic records nearer to an original than its nearest neighbour is.

    The rule by which arXiv:2310.06571 removes synthetic records: the nearest original record of a
    synthetic one is found, and the synthetic one is too close if that record's nearest other
    original is farther away.

    Returns
    -------
    A percentage of the synthetic records; for the control the same with the control in the place
    of the original. Independent data of the same size score about a half.
    """
    tables = prepare(original, synthetic, control, columns)
    find, (release, *sides) = search_by(
        distance, tables.original, [tables.synthetic, *tables.people]
    )
    shares = []
    for people, side in zip(tables.people, sides, strict=True):
        itself = find(side, side, own=np.arange(len(people))).distance
        if not itself.shape[1]:
            raise CaveatError("one record has no neighbour", do="give at least two")
        found = find(release, side)
        shares.append(found.distance[:, 0] < itself[found.position[:, 0], 0])
    more = {}
    if len(shares) > 1:
        more = {"control": 100 * float(shares[1].mean()), "control_n": len(shares[1])}
    return rate(int(shares[0].sum()), len(shares[0]), baseline=50.0, **more)
