"""Which candidate a release looks like, where only runs of the generator can tell.

Every world is the data with one candidate in the place of the record. What a release shows around
each candidate is compared with what releases of its own world show there and releases of all other
worlds: on half of the runs a score is learnt, on the other half its log odds are fitted. So no
answer is surer than the runs allow, and what cannot be told apart stays as likely as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.attack.neighbourhood import Neighbourhood, Seen
from caveat.attack.scores import FREE, STRENGTH, log_odds
from caveat.table import Kind, Table

__all__ = [
    "CALIBRATION",
    "around_candidates",
    "candidate_likelihood",
    "count_likelihood",
    "structure_likelihood",
]

Floats = NDArray[np.float64]

Score = Callable[[Floats], Floats]
"""Gives everything that is seen of some releases a number for each release."""

CALIBRATION = 10.0
"""Inverse of the ridge when log odds are fitted to a score: hardly any."""


def around_candidates(
    worlds: Sequence[Table], record: int, release: Table
) -> Callable[[Table], Floats]:
    """Return a function that looks at a release around each candidate.

    Parameters
    ----------
    worlds
        The data with each candidate.
    record
        Its place.
    release
        The actual release, which has the columns of all others.
    """
    names = [
        name for name in worlds[0]
        if name in release and worlds[0][name].kind not in (Kind.ID, Kind.TEXT)
    ]  # fmt: skip
    shown = worlds[0].select(names)
    here = np.array([record])
    others = Seen.of(shown.take(np.delete(np.arange(shown.n_rows), record)), shown)
    places = [
        Neighbourhood(Seen.of(world.select(names).take(here), shown), others, others.kernels)
        for world in worlds
    ]

    def look(table: Table) -> Floats:
        seen = Seen.of(table, shown)
        return np.array([place.features(seen) for place in places])

    return look


def candidate_likelihood(observed: Floats, simulated: Floats) -> Floats:
    """Return for each candidate the log of how much more a release looks like its world's.

    Parameters
    ----------
    observed
        What the release shows: candidate, number.
    simulated
        What runs show: world, run, candidate, number.
    """
    half, width = simulated.shape[1] // 2, simulated.shape[-1]

    def score_of(own: int) -> Score:
        here = simulated[:, :half, own]
        others = np.delete(here, own, axis=0).reshape(-1, width)
        learnt = log_odds(here[own], others, STRENGTH, FREE)
        return lambda seen: learnt(seen[..., own, :])

    return _fitted(observed, simulated, score_of)


def count_likelihood(observed: Floats, simulated: Floats, n_rows: int) -> Floats:
    """Return the same from counts alone, each taken as binomial with the share found in the runs.

    Parameters
    ----------
    observed
        What the release shows: candidate.
    simulated
        What runs show: world, run, candidate.
    n_rows
        Number of rows of a release.
    """
    half = simulated.shape[1] // 2
    share = (simulated[:, :half].sum(axis=1) + 0.5) / (half * n_rows + 1)

    def score_of(own: int) -> Score:
        def score(seen: Floats) -> Floats:
            logs = seen @ np.log(share).T + (n_rows - seen) @ np.log1p(-share).T
            return np.asarray(
                logs[..., own] - scipy.special.logsumexp(np.delete(logs, own, axis=-1), axis=-1)
            )

        return score

    return _fitted(observed, simulated, score_of)


def structure_likelihood(observed: Floats, simulated: Floats) -> Floats:
    """Return the same from log-likelihoods under a structure that the attacker has drawn.

    The release was drawn from another structure, so they are no odds yet: they are fitted.

    Parameters
    ----------
    observed
        Of the release: candidate.
    simulated
        Of runs: world, run, candidate.
    """

    def score_of(own: int) -> Score:
        return lambda seen: np.asarray(
            seen[..., own] - scipy.special.logsumexp(np.delete(seen, own, axis=-1), axis=-1)
        )

    return _fitted(observed, simulated, score_of)


def _fitted(observed: Floats, simulated: Floats, score_of: Callable[[int], Score]) -> Floats:
    """Return the log odds of every world, fitted to its score on the second half of the runs."""
    judged = simulated[:, simulated.shape[1] // 2 :]
    logs = np.zeros(len(simulated))
    if len(logs) == 1:
        return logs  # nothing to choose
    for own in range(len(logs)):
        score = score_of(own)
        others = score(np.delete(judged, own, axis=0)).reshape(-1, 1)
        ratio = log_odds(score(judged[own])[:, None], others, CALIBRATION)
        logs[own] = ratio(score(observed[None])[:, None])[0]
    return logs
