"""Which candidate a release looks like, where only runs of the generator can tell.

Every world is the data with one candidate in the place of the record. What a release shows around
each candidate is compared with what releases of its own world show there and releases of all other
worlds: on half of the runs a score is learnt, on the other half its log odds are fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.attack.neighbourhood import Neighbourhood, Seen
from caveat.attack.scores import FREE, STRENGTH, log_odds
from caveat.table import Kind, Table

__all__ = ["CALIBRATION", "around_candidates", "candidate_likelihood"]

Floats = NDArray[np.float64]

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
    half = simulated.shape[1] // 2
    logs = np.zeros(len(simulated))
    for own in range(len(simulated)):
        others = np.delete(simulated[:, :, own], own, axis=0)
        learnt, judged = others[:, :half], others[:, half:]
        width = simulated.shape[-1]
        score = log_odds(simulated[own, :half, own], learnt.reshape(-1, width), STRENGTH, FREE)
        ratio = log_odds(
            score(simulated[own, half:, own])[:, None],
            score(judged.reshape(-1, width))[:, None],
            CALIBRATION,
        )
        logs[own] = ratio(score(observed[own : own + 1])[:, None])[0]
    return logs
