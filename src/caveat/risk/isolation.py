"""Isolation: descriptions from the release that single out one original record, beyond chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caveat.notes import Note
from caveat.risk.identity import margin_probability
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate, undefined
from caveat.risk.pair import ScenarioPair

__all__ = [
    "ENTRIES",
    "best_isolations",
    "isolation",
    "isolation_gain",
    "isolation_probability",
    "population_uniqueness",
]

DACQUISTO = "D'Acquisto, Cohen, Naldi, Nissim (2024), From Isolation to Identification"


def isolation_probability(p: NDArray[np.float64] | float, n: int) -> NDArray[np.float64]:
    """Return the chance that a description of probability p matches exactly one of n records.

    Examples
    --------
    >>> float(isolation_probability(1 / 5, 5).round(4))
    0.4096
    """
    p = np.asarray(p, dtype=np.float64)
    if n <= 1:
        return n * p
    with np.errstate(divide="ignore"):
        return np.asarray(n * p * np.exp((n - 1) * np.log1p(-p)))


def best_isolations(k: int, n: int) -> float:
    """Return how many of k disjoint guesses, made without a release, isolate on average at best."""
    return k * float(isolation_probability(1 / max(k, n), n))


def population_uniqueness(p: float, n: int, population: int) -> float:
    """Return the chance that a description which isolates in the sample does in the population."""
    return float(np.exp((population - n) * np.log1p(-p)))


def isolation(pair: ScenarioPair) -> Measurement:
    """Return how often the keys of a unique synthetic record isolate an original one."""
    predicates = _predicates(pair)
    if not predicates.any():
        return undefined(_no_predicate(pair))
    n = pair.n
    success = predicates & (pair.cells.d == 1)
    weights = margin_probability(pair)[predicates]
    return rate(
        int(success.sum()),
        int(predicates.sum()),
        baseline=float(isolation_probability(weights, n).mean()),
        details={"best single guess": float(isolation_probability(1 / n, n)) if n else None},
        trace=lambda: success[pair.cells.original].astype(np.float64),
    )


def isolation_gain(pair: ScenarioPair) -> Measurement:
    """Return how many times as often as without the release."""
    found = isolation(pair)
    if found.value is None or found.baseline is None:
        return undefined(found.notes[0])
    if not found.baseline:
        return undefined(
            Note("tiny-baseline", "the chance without the release is too small to divide by")
        )
    low, high = found.interval or (found.value, found.value)
    return Measurement(
        found.value / found.baseline,
        interval=(low / found.baseline, high / found.baseline),
        baseline=1.0,
        n=found.n,
        details=found.details,
        trace=found.trace,
    )


def _predicates(pair: ScenarioPair) -> NDArray[np.bool_]:
    """Return which cells are tried: unique in the release, rare enough for the population."""
    chosen = pair.cells.s == 1
    if pair.scenario.population is not None:
        chosen &= margin_probability(pair) <= 1 / (100 * pair.scenario.population)
    return np.asarray(chosen)


def _no_predicate(pair: ScenarioPair) -> Note:
    if not (pair.cells.s == 1).any():
        return Note("no-unique", "no synthetic record is unique on these keys")
    says = "no unique synthetic record is rare enough to be unique in the population"
    return Note("no-rare-unique", says)


_TRIES = (
    "has the release only; tries the keys of every synthetic record that is unique there as a "
    "description of somebody in the original"
)
_INDEPENDENT = (
    "the chance for the same descriptions without a release, n·p·(1−p)^(n−1), with p the product "
    "of the key margins of the release"
)
_SPOT = (
    "Only uniques on the named keys are tried. The chance without the release rests on independent "
    "keys, which makes rare combinations look rarer than they are where keys depend on each other: "
    "prefer a control. An isolated record need not be unique in the population."
)

ENTRIES = (
    Measure(
        name="isolation",
        function=isolation,
        family="isolation",
        says="unique synthetic key combinations that match exactly one original record",
        attacker=_TRIES,
        formula="#(q with s_q = 1 and d_q = 1) / #(q with s_q = 1) · 100; with a population N only "
        "q of probability ≤ 1/(100 N)",
        source=f"{DACQUISTO}, section 4, with predicates from the release",
        blind_spot=_SPOT,
        blind="only uniques on the named keys; undefined is no all-clear",
        baseline=_INDEPENDENT,
        needs=frozenset({"keys"}),
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION}),
        default=False,
        by_size=True,
    ),
    Measure(
        name="isolationGain",
        function=isolation_gain,
        family="isolation",
        says="how many times as often as without the release",
        attacker=_TRIES,
        formula="G = Pr[isolates | release] / Pr[isolates without it]",
        source=f"{DACQUISTO}, Definition 3",
        blind_spot=_SPOT,
        blind="only uniques on the named keys; baseline assumes independent keys",
        baseline="1: no gain",
        needs=frozenset({"keys"}),
        unit="ratio",
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION}),
        default=False,
        by_size=True,
    ),
)
