"""Scores that tell releases with a record from releases without it, learnt from simulated ones.

Ours weighs all that a release shows around the record. Beside it stand three of the literature,
which look at the density at the record alone: LiRA (Carlini and others 2022), RMIA (Zarifzadeh, Liu
and Shokri 2024) and DOMIAS (van Breugel and others 2023). They were made for models that give a
probability to a record; here it is a kernel density of the release. Of guarded trees there is also
the likelihood ratio under structures that the attacker draws, which needs nothing to be learnt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

__all__ = ["OURS", "SCORES", "STRUCTURE", "Looks", "Score", "Scorer", "auc", "learn", "log_odds"]

Floats = NDArray[np.float64]

OURS, STRUCTURE = "paired fits", "own structure"
STRENGTH, FREE = 0.01, 6.0
"""Inverse of the ridge, and by how much lighter it is on the last number, the sum of surprises,
which alone finds much. Chosen among twenty pairs of values on releases of SD2011, both trees;
before that, a logistic regression among a dozen kinds of scores."""
STEPS, ENOUGH = 50, 1e-9
MARGINS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Values of γ in RMIA, of which the best on the simulations to learn from is taken."""


class Looks(NamedTuple):
    """What releases look like, one row each.

    Parameters
    ----------
    features
        Around the record; the first is the log of the density at it.
    population
        The log of the density at some other records.
    ratio
        The mean log-likelihood ratio under the attacker's own structures; None without any.
    """

    features: Floats
    population: Floats
    ratio: Floats | None = None

    @property
    def density(self) -> Floats:
        """The log of the density of each release at the record."""
        return np.asarray(self.features[:, 0])

    def take(self, rows: slice | NDArray[np.int64]) -> Looks:
        """Return some of the releases."""
        ratio = None if self.ratio is None else self.ratio[rows]
        return Looks(self.features[rows], self.population[rows], ratio)


Score = Callable[[Looks], Floats]
"""Gives every release a number: the higher, the more it looks like one with the record."""
Scorer = Callable[[Looks, Looks], Score]
"""Learns a score from releases with the record and releases without it."""


def auc(inside: Floats, outside: Floats) -> float:
    """Return the chance that a release with the record scores higher, ties counted half.

    Examples
    --------
    >>> auc(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    0.875
    """
    ordered = np.sort(outside)
    sides = (np.searchsorted(ordered, inside, side) for side in ("left", "right"))
    return float(sum(sides).mean() / 2 / len(ordered))  # type: ignore[union-attr]


def log_odds(
    inside: Floats, outside: Floats, strength: float, free: float = 1.0
) -> Callable[[Floats], Floats]:
    """Return log odds that rows of numbers come from ``inside``, each side with the same weight.

    A logistic regression of the standardised numbers with a ridge; the last is ``free`` times as
    large as the others.
    """
    both = np.concatenate([inside, outside])
    spread = both.std(axis=0)
    centre, spread = both.mean(axis=0), np.where(spread > 0, spread, 1.0)
    spread[-1] /= free
    weights, offset = _ridge((both - centre) / spread, len(inside), strength)
    return lambda numbers: np.asarray((numbers - centre) @ (weights / spread) + offset)


def _ridge(rows: Floats, n_inside: int, strength: float) -> tuple[Floats, float]:
    """Return weights and offset of a logistic regression; both sides count as much as one row each.

    Newton's method, the step halved until it helps: the rows are few, and with a ridge there is
    one optimum.
    """
    n, width = rows.shape
    inside = np.arange(n) < n_inside
    sign, share = np.where(inside, 1.0, -1.0), n / 2 / np.where(inside, n_inside, n - n_inside)
    design = np.column_stack([rows, np.ones(n)])
    ridge = np.append(np.full(width, 1 / strength), 1e-9)

    def loss(weights: Floats) -> float:
        misfit = share @ np.logaddexp(0.0, -sign * (design @ weights))
        return float(misfit + ridge @ weights**2 / 2)

    weights = np.zeros(width + 1)
    now = loss(weights)
    for _ in range(STEPS):
        odds = design @ weights
        slope = design.T @ (share * sign * scipy.special.expit(-sign * odds)) - ridge * weights
        bend = (
            design * (share * scipy.special.expit(odds) * scipy.special.expit(-odds))[:, None]
        ).T @ design
        step = np.linalg.solve(bend + np.diag(ridge + 1e-9), slope)
        while loss(weights + step) > now and np.abs(step).max() > ENOUGH:
            step = step / 2
        weights, before = weights + step, now
        now = loss(weights)
        if before - now < ENOUGH:
            break
    return weights[:-1], float(weights[-1])


def learn(inside: Looks, outside: Looks) -> Score:
    """Weigh everything that is seen around the record."""
    found = log_odds(inside.features, outside.features, STRENGTH, FREE)
    return lambda looks: found(looks.features)


def _lira(inside: Looks, outside: Looks) -> Score:
    """LiRA: the ratio of two normal densities, fitted with and without the record."""

    def log_normal(values: Floats, fitted: Floats) -> Floats:
        variance = fitted.var() + 1e-9
        return np.asarray(-((values - fitted.mean()) ** 2) / 2 / variance - np.log(variance) / 2)

    first, second = inside.density, outside.density
    return lambda looks: log_normal(looks.density, first) - log_normal(looks.density, second)


def _rmia(inside: Looks, outside: Looks) -> Score:
    """RMIA: against how many others the record gained more than γ-fold by this very release.

    What a record had before is its mean density over all simulated releases.
    """
    both = [np.concatenate(parts) for parts in zip(inside[:2], outside[:2], strict=True)]
    before, others = (
        scipy.special.logsumexp(v, axis=0) - np.log(len(v)) for v in (both[0][:, 0], both[1])
    )

    def score(margin: float) -> Score:
        limit = np.log(margin)
        return lambda looks: np.mean(
            (looks.density - before)[:, None] - (looks.population - others) >= limit, axis=1
        )

    return score(max(MARGINS, key=lambda m: auc(score(m)(inside), score(m)(outside))))


def _domias(inside: Looks, outside: Looks) -> Score:
    """DOMIAS: the density over that of a reference set, here the same in every release."""
    del inside, outside
    return lambda looks: looks.density


def _structure(inside: Looks, outside: Looks) -> Score:
    """Return the likelihood ratio under the attacker's own structure."""
    del inside, outside

    def score(looks: Looks) -> Floats:
        assert looks.ratio is not None
        return looks.ratio

    return score


SCORES: Mapping[str, Scorer] = {
    OURS: learn, STRUCTURE: _structure, "LiRA": _lira, "RMIA": _rmia, "DOMIAS": _domias,
}  # fmt: skip
