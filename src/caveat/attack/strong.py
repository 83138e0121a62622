"""The strong attacker on releases of a setting: exact where possible, else simulated and so named.

Four cases. A plain draw of trees has an exact posterior. Forests and proper synthesis draw their
parameters, and the likelihood is averaged over draws. Protections that look at the release alone
cannot tell more than the release before them, whose posterior is taken. Protections that look at
the original are run again in every world; a distance filter alone is exact for small tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from caveat.attack import Posterior, posterior, proper_posterior
from caveat.attack.candidates import MOST_CANDIDATES
from caveat.attack.leak import can_list, filtered_posterior
from caveat.attack.posterior import drawn_columns, unknown_columns
from caveat.attack.priors import DEFAULT_PRIOR, Prior
from caveat.attack.simulated import Maker, posterior_by_runs
from caveat.errors import CaveatError
from caveat.generators import Copy
from caveat.notes import Note
from caveat.protect.record import Step
from caveat.synthesis import Plan
from caveat.table import Table

__all__ = ["Attacked", "StrongAttacker", "attack_release"]

MOST_CELLS = 400_000_000
"""Cells of simulated releases that one record may take; fits and filters count ten times."""
FIT, FEWEST_CELLS = 10, 20_000  # a small table takes time as well

AVERAGED = "simulated: averaged over {n} draws of the parameters"
BEFORE = Note(
    "before-protection",
    "of the release before its protections, which do not look at the original: a bound",
    public=True,
)
FILTERED = Note("exact-filter", "exact, for an attacker who knows the filter", public=True)
RUNS = (
    "simulated: {n} releases in each world; she looks at how often each candidate's whole record "
    "occurs, and a stronger attack may exist"
)

One = Callable[[int], Posterior]


@dataclass(frozen=True)
class StrongAttacker:
    """The strong attacker: what she knows about a record, and what she believes.

    Parameters
    ----------
    unknown
        What she does not know about a record; all by default.
    prior
        What she believes before.
    simulations
        Draws of the parameters, or releases in each world, where nothing is exact.
    seed
        Seed of the simulations.
    """

    unknown: tuple[str, ...] | None = None
    prior: Prior = DEFAULT_PRIOR
    simulations: int = 50
    seed: int = 0


@dataclass(frozen=True)
class Attacked:
    """The worst over the records.

    Parameters
    ----------
    values
        "posterior": the largest probability of the truth; "gain": the largest factor over the
        prior.
    errors
        Their standard errors; empty where nothing was simulated.
    how
        How they were found, where it is not the exact posterior of a plain draw.
    """

    values: Mapping[str, float]
    errors: Mapping[str, float]
    how: tuple[Note, ...]


def attack_release(
    original: Table, copy: Copy, records: Sequence[int], maker: Maker, attacker: StrongAttacker
) -> Attacked:
    """Return what the strong attacker gets out of a release at worst.

    Parameters
    ----------
    original
        The original table.
    copy
        The release.
    records
        Positions of the records she is after.
    maker
        Makes the release again, in any world.
    attacker
        What she knows and believes.
    """
    plan = copy.row_plan
    original = plan.pooled(original)
    changing = [step for step in copy.steps if step.name != "label"]
    if not any(step.reads_original for step in changing):
        one, how = _of_a_draw(original, copy, plan, attacker)
        if changing:
            how = (*how, BEFORE)
    elif _only_filtered(changing, plan, original):
        one, how = _of_a_filter(original, copy, attacker), (FILTERED,)
    else:
        one, how = _of_runs(original, copy, plan, maker, attacker)
    return _worst([one(record) for record in records], how)


def _of_a_draw(
    original: Table, copy: Copy, plan: Plan, attacker: StrongAttacker
) -> tuple[One, tuple[Note, ...]]:
    """Return the attack on a release without protections."""
    known: dict[str, Any] = {"unknown": attacker.unknown, "prior": attacker.prior, "threads": 1}
    if not drawn_columns(plan):
        return lambda i: posterior(original, copy.drawn, i, generator=plan, **known), ()
    draws = attacker.simulations
    _refuse_long(original, plan, attacker, fits=draws, draws=0)
    return (
        lambda i: proper_posterior(
            original, copy.drawn, i, generator=plan, draws=draws, seed=attacker.seed, **known
        ),
        (Note("averaged", AVERAGED, public=True, n=draws),),
    )


def _only_filtered(changing: Sequence[Step], plan: Plan, original: Table) -> bool:
    """Whether the exact posterior of a filtered release can be computed."""
    return (
        [step.name for step in changing] == ["distance_filter"]
        and not drawn_columns(plan)
        and can_list(original)
    )


def _of_a_filter(original: Table, copy: Copy, attacker: StrongAttacker) -> One:
    (step,) = (step for step in copy.setting.protect if step["name"] == "distance_filter")
    how = {key: step[key] for key in ("metric", "columns") if key in step}
    return lambda i: filtered_posterior(
        original, copy.release, i, unknown=attacker.unknown, prior=attacker.prior,
        options=copy.setting.options, **how,
    )  # fmt: skip


def _of_runs(
    original: Table, copy: Copy, plan: Plan, maker: Maker, attacker: StrongAttacker
) -> tuple[One, tuple[Note, ...]]:
    """Return the attack that makes the release again in every world."""
    n = attacker.simulations
    _refuse_long(original, plan, attacker, fits=n if drawn_columns(plan) else 1, draws=n)
    return (
        lambda i: posterior_by_runs(
            original, copy.release, i, maker, simulations=n, unknown=attacker.unknown,
            prior=attacker.prior, seed=attacker.seed,
        ),
        (Note("releases-compared", RUNS, public=True, n=n),),
    )  # fmt: skip


def _refuse_long(
    original: Table, plan: Plan, attacker: StrongAttacker, fits: int, draws: int
) -> None:
    """Refuse simulations that would take very long, before they begin."""
    names = unknown_columns(attacker.unknown, original, plan)
    worlds = min(MOST_CANDIDATES, math.prod(original[name].n_levels for name in names))
    cells = max(FEWEST_CELLS, original.n_rows * len(plan.columns))
    if worlds * FIT * (fits + draws) * cells > MOST_CELLS:
        raise CaveatError(
            f"nothing is exact here, and a simulation takes too long: {worlds:,} worlds with "
            f"{fits:,} fits and {draws:,} releases each, for every record",
            do="let fewer columns be unknown, lower simulations, or limit other measures",
            code="attack.simulation.too-large",
        )


def _worst(found: Sequence[Posterior], how: tuple[Note, ...]) -> Attacked:
    values: dict[str, float] = {}
    errors: dict[str, float] = {}
    for name in ("posterior", "gain"):
        worst = max(found, key=lambda p: p.probability if name == "posterior" else p.gain)
        scale = 1.0 if name == "posterior" else float(worst.prior[worst.truth])
        values[name] = worst.probability / scale
        if worst.error is not None:
            errors[name] = float(worst.error[worst.truth]) / scale
    return Attacked(values, errors, how)
