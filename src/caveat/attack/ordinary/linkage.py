"""Record linkage by distance: Gower's and Mahalanobis'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from caveat.attack.ordinary._gower import Ints, Nearest, nearest_rows
from caveat.attack.ordinary.encoding import Floats, dense, prepare, seeds
from caveat.attack.ordinary.rates import attack_rate
from caveat.errors import CaveatError
from caveat.risk.measurement import Measurement, rate
from caveat.table import Table

__all__ = ["Distance", "Search", "closer_than_neighbour", "euclidean", "record_linkage"]

Distance = Literal["gower", "mahalanobis"]


class Search:
    """Nearest records in a table by a distance that both sides share.

    Parameters
    ----------
    distance
        "gower", or "mahalanobis": Euclidean after the correlation of numbers and 0/1 columns is
        taken out.
    scale
        The table that decides ranges, means and covariances.
    columns
        The columns to use.
    """

    def __init__(self, distance: Distance, scale: Table, columns: Sequence[str]) -> None:
        if distance not in ("gower", "mahalanobis"):
            raise CaveatError(f"there is no distance {distance!r}", do="gower or mahalanobis")
        self.distance = distance
        self.scale = scale
        self.columns = tuple(columns)
        if distance == "mahalanobis":
            self._turn = _whitening(dense(scale, [scale], self.columns)[0])

    def __call__(
        self,
        query: Table,
        data: Table,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        own: Ints | None = None,
    ) -> Nearest:
        """Return the k nearest records in ``data``; as :func:`nearest_rows`."""
        if self.distance == "gower":
            return nearest_rows(query, data, self.columns, k, scale=self.scale, rng=rng, own=own)
        ours, theirs = (
            part @ self._turn for part in dense(self.scale, [query, data], self.columns)
        )
        return euclidean(ours, theirs, k, rng=rng, own=own)


def euclidean(
    query: Floats,
    data: Floats,
    k: int,
    *,
    rng: np.random.Generator | None = None,
    own: Ints | None = None,
) -> Nearest:
    """Return the k nearest rows by Euclidean distance; as :func:`nearest_rows`."""
    order = np.arange(len(data)) if rng is None else rng.permutation(len(data))
    wanted = min(k + (own is not None), len(data))
    with threadpool_limits(1):
        search = NearestNeighbors(n_neighbors=wanted).fit(data[order])
        distance, position = search.kneighbors(query)
    return _without(Nearest(distance, order[position]), own, k)


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
    search = Search(distance, tables.synthetic, tables.original.names)
    found = search(tables.original, tables.synthetic, 1, rng=seeds(seed, 1)[0]).position[:, 0]
    success = found == np.arange(n)
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
    search = Search(distance, tables.original, tables.original.names)
    shares = []
    for people in tables.people:
        itself = search(people, people, 1, own=np.arange(len(people))).distance
        if not itself.shape[1]:
            raise CaveatError("one record has no neighbour", do="give at least two")
        found = search(tables.synthetic, people, 1)
        shares.append(found.distance[:, 0] < itself[found.position[:, 0], 0])
    more = {}
    if len(shares) > 1:
        more = {"control": 100 * float(shares[1].mean()), "control_n": len(shares[1])}
    return rate(int(shares[0].sum()), len(shares[0]), baseline=50.0, **more)


def _whitening(matrix: Floats) -> Floats:
    """Return the matrix after which columns are uncorrelated with variance 1; rank may be less."""
    covariance = np.atleast_2d(np.cov(matrix, rowvar=False))
    values, vectors = np.linalg.eigh(covariance)
    kept = values > max(float(values.max(initial=0.0)), 1e-300) * 1e-10
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _without(found: Nearest, own: Ints | None, k: int) -> Nearest:
    """Leave each query's own record out, or the farthest one if it was not among them."""
    if own is None:
        return found
    hit = found.position == own[:, None]
    hit[~hit.any(axis=1), -1] = True
    shape = (len(found.position), -1)
    distance, position = found.distance[~hit].reshape(shape), found.position[~hit].reshape(shape)
    return Nearest(distance[:, :k], position[:, :k])
