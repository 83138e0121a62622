"""Entries of the table of measures: the strong attacker over all records."""

from __future__ import annotations

import numpy as np

from caveat.attack.attributes import Attributes, attributes
from caveat.attack.generator import Generator
from caveat.attack.membership import Membership, membership
from caveat.attack.priors import DEFAULT_PRIOR
from caveat.attack.summaries import FACTOR, RISE, SURE, disclosed, rose
from caveat.errors import CaveatError
from caveat.notes import Z95
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement, rate
from caveat.risk.pair import ScenarioPair
from caveat.synthesis import Model

__all__ = [
    "ENTRIES",
    "gain_of",
    "members_of",
    "membership_share",
    "share_of",
    "strong_gain",
    "strong_share",
    "strong_worst",
    "worst_of",
]


def _attack(pair: ScenarioPair, generator: Generator) -> Attributes:
    target = pair.scenario.target
    if target is None:
        raise CaveatError(
            "this measure needs a target",
            do="name one in the scenario",
            code="attack.target.absent",
        )
    original, synthetic = pair.rows.original, pair.rows.synthetic
    return attributes(original, synthetic, target, generator=_plan(generator), prior=DEFAULT_PRIOR)


def _plan(generator: Generator) -> Generator:
    # The tables of a pair are on common levels; the plan holds for them, the fitted codes do not.
    return generator.plan if isinstance(generator, Model) else generator


def strong_share(pair: ScenarioPair, *, generator: Generator, limit: float = SURE) -> Measurement:
    """Return the share of records whose true target the release makes nearly certain."""
    return share_of(_attack(pair, generator), limit)


def share_of(found: Attributes, limit: float = SURE) -> Measurement:
    """Sum an attack up: the share of its records that the release discloses."""
    before, after = found.prior_probability, found.probability
    shown = disclosed(before, after, limit)
    return rate(
        int(shown.sum()),
        len(found.records),
        baseline=0.0,
        details={
            "limit": limit,
            "sure": float((after >= limit).mean()),
            "sure before": float((before >= limit).mean()),
            "best guess right": float(found.correct.mean()),
            "best guess right before": float(found.prior_correct.mean()),
        },
        trace=lambda: shown.astype(np.float64),
    )


def strong_worst(pair: ScenarioPair, *, generator: Generator) -> Measurement:
    """Return the largest posterior probability that the release has raised by much."""
    return worst_of(_attack(pair, generator))


def worst_of(found: Attributes) -> Measurement:
    """Sum an attack up: its worst record, among those whose probability rose if there are any."""
    moved = rose(found.prior_probability, found.probability)
    worst = int(np.argmax(np.where(moved | ~moved.any(), found.probability, -1.0)))
    return Measurement(
        float(found.probability[worst]),
        baseline=float(found.prior_probability[worst]),
        n=len(found.records),
        trace=lambda: found.probability,
    )


def strong_gain(pair: ScenarioPair, *, generator: Generator) -> Measurement:
    """Return by how much the release raises the probability of the truth, on average."""
    return gain_of(_attack(pair, generator))


def gain_of(found: Attributes) -> Measurement:
    """Sum an attack up: the mean rise of the probability of the truth."""
    rise = found.probability - found.prior_probability
    half = Z95 * float(rise.std(ddof=1)) / np.sqrt(len(rise)) if len(rise) > 1 else 0.0
    mean = float(rise.mean())
    return Measurement(
        mean,
        interval=(mean - half, mean + half),
        baseline=0.0,
        n=len(rise),
        details={
            "mean posterior": float(found.probability.mean()),
            "mean prior": float(found.prior_probability.mean()),
            "median factor": float(np.median(found.gain)),
        },
        trace=lambda: np.clip(rise, 0.0, 1.0),
    )


def membership_share(
    pair: ScenarioPair, *, generator: Generator, limit: float = SURE
) -> Measurement:
    """Return the share of records whose membership the attacker holds for nearly certain."""
    original, synthetic = pair.rows.original, pair.rows.synthetic
    return members_of(membership(original, synthetic, generator=_plan(generator)), limit)


def members_of(found: Membership, limit: float = SURE) -> Measurement:
    """Sum an attack up: the share of its records whose membership is shown."""
    chance = found.posterior(0.5)
    defined = ~np.isnan(chance)
    shown = disclosed(np.full(len(chance), 0.5), chance, limit)
    return rate(
        int(shown.sum()),
        int(defined.sum()),
        excluded=int((~defined).sum()),
        baseline=0.0,
        details={
            "limit": limit,
            "impossible without it": float(np.isposinf(found.log_ratio).mean()),
        },
        trace=lambda: shown.astype(np.float64),
    )


_KNOWS = (
    "knows the generator with its settings, all other records, and of the record everything but "
    "the target; refits the generator for every value the record may have"
)
_BAYES = "p(y | Z, D without y) ∝ p(Z | D with y) · p(y | the other records that agree)"
_SOURCE = "Reiter, Wang, Zhang (2014); Latner, Neunhoeffer, Drechsler (2025), eq. 3"
_SPOT = (
    "The attacker is stronger than most real ones: she knows all other records. A low value does "
    "reassure, a high one need not be within anyone's reach. Columns that no model draws (copied, "
    "derived) are not covered."
)
_ROSE = f"rose by {RISE:g} or more, or to {FACTOR:g} times what it was"
_PRIOR = "no rise: without a release no probability rises"
_NEEDS = frozenset({"target", "generator"})

ENTRIES = (
    Measure(
        name="strongShare",
        function=strong_share,
        family="strong attacker",
        says=f"records whose true target has a posterior probability of {SURE:g} or more that "
        f"{_ROSE}",
        attacker=_KNOWS,
        formula=f"#(i: q_i ≥ {SURE:g} and (q_i ≥ p_i + {RISE:g} or q_i ≥ {FACTOR:g} · p_i)) / n · "
        f"100, q_i = p(y_i | Z, D_-i) with {_BAYES}; p_i is its prior",
        source=_SOURCE,
        blind_spot=_SPOT,
        blind="attackers who know less are weaker",
        baseline=_PRIOR,
        needs=_NEEDS,
        default=False,
    ),
    Measure(
        name="strongWorst",
        function=strong_worst,
        family="strong attacker",
        says=f"largest posterior probability of a record's true target that {_ROSE}, or else of "
        "any",
        attacker=_KNOWS,
        formula=f"max_i p(y_i | Z, D_-i) · 100 over the records where it {_ROSE}, or else over "
        f"all, with {_BAYES}",
        source=_SOURCE,
        blind_spot=_SPOT + " One record decides.",
        blind="one record decides",
        baseline="the probability of the same record's target before the release",
        needs=_NEEDS,
        default=False,
    ),
    Measure(
        name="strongGain",
        function=strong_gain,
        family="strong attacker",
        says="mean rise of the probability of the true target, in percentage points",
        attacker=_KNOWS,
        formula=f"mean_i (p(y_i | Z, D_-i) − p(y_i | D_-i)) · 100, with {_BAYES}",
        source=_SOURCE,
        blind_spot=_SPOT + " An average hides single records: read it with strongWorst.",
        blind="an average hides single records",
        baseline="no rise",
        needs=_NEEDS,
        default=False,
    ),
    Measure(
        name="membershipShare",
        function=membership_share,
        family="strong attacker",
        says="records whose membership has a posterior probability of 0.9 or more (prior 0.5)",
        attacker="knows the generator, all other records and the whole record; asks whether it was "
        "in the data",
        formula="#(i: 1 / (1 + p(Z | D_-i) / p(Z | D)) ≥ 0.9) / n · 100",
        source="Neyman–Pearson test for the exact likelihoods of the generator",
        blind_spot="The attacker knows all other records; where membership itself is no secret the "
        "number says only how closely the release follows single records.",
        blind="membership may be no secret",
        baseline="without a release nobody exceeds a prior of 0.5",
        needs=frozenset({"generator"}),
        default=False,
    ),
)
