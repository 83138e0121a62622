"""The strong attacker on releases of a setting: exact where possible, else simulated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from caveat.attack import Posterior, posterior, proper_posterior
from caveat.attack.figures import Attack, Finding, Option
from caveat.attack.ordinary.common import SEED, attack_measure
from caveat.attack.paired import (
    LEAST_SIMULATIONS,
    RECORDS,
    SIMULATIONS,
    STRUCTURES,
    PairedMembership,
    simulated_membership,
)
from caveat.attack.posterior import (
    MOST_CANDIDATES,
    Prior,
    candidates_of,
    drawn_columns,
    known_part,
    prior_of,
    unknown_columns,
)
from caveat.attack.scores import OURS, STRUCTURE
from caveat.attack.simulated import Maker, posterior_by_runs
from caveat.attack.worlds import UNKNOWN, Worlds, releases_of
from caveat.errors import CaveatError
from caveat.generators import Copy, Generator
from caveat.notes import Note
from caveat.protect import too_close
from caveat.protect.record import Step
from caveat.risk.measure import Measurement, undefined
from caveat.risk.scenario import DEFAULT_PRIOR
from caveat.synthesis import Plan, make_plan
from caveat.table import Table

MOST_LISTED = 20_000


def filtered_posterior(
    original: Any,
    release: Any,
    record: int,
    *,
    unknown: Sequence[str] | None = None,
    prior: Prior = DEFAULT_PRIOR,
    options: Mapping[str, Any] | None = None,
    **filter_options: Any,
) -> Posterior:
    """Return what the strong attacker believes after a release that was filtered and refilled.

    Parameters
    ----------
    original
        The original table; few columns with few levels, so that all records can be listed.
    release
        The filtered release.
    record
        Position of the record, from 0.
    unknown
        The columns that she does not know about it; all by default.
    prior
        What she believes before; as for :func:`caveat.attack.posterior`.
    options
        Options of the synthesiser; plain CART if there are none.
    **filter_options
        Metric and columns of :func:`caveat.protect.too_close`.
    """
    table = Table.from_frame(original)
    plan = make_plan(table, UNKNOWN if options is None else options)
    table = plan.pooled(table)
    names = tuple(unknown) if unknown is not None else table.names
    worlds = Worlds(table, plan, releases_of(release, plan, table))
    worlds, rows, truth, notes = candidates_of(worlds, record, names)
    beliefs = prior_of(prior, worlds.without(record), known_part(worlds, record, names), rows)
    grid = _every_record(worlds.original)
    logs = np.empty(rows.n_rows)
    for i in range(rows.n_rows):
        world = worlds.changed(record, {name: int(rows[name].codes[i]) for name in names})
        model = worlds.model(world, names)
        chances = model.log_prob(grid).rows
        if chances is None:
            what = "the generator has no exact probabilities"
            raise CaveatError(what, do="use another method", code="attack.probability.unsupported")
        passes = ~too_close(world, grid, threads=1, **filter_options)
        pass_rate = float(np.exp(chances[passes]).sum())
        if not pass_rate:  # this world's generator makes nothing that passes
            logs[i] = -np.inf
            continue
        log_pass = math.log(pass_rate)
        logs[i] = 0.0
        for copy in worlds.releases:
            each = model.log_prob(copy).rows
            kept = ~too_close(world, copy, threads=1, **filter_options)
            if each is not None:
                logs[i] += float(np.where(kept, each, -np.inf).sum()) - copy.n_rows * log_pass
    return Posterior(record, rows, beliefs, logs, truth, notes)


def can_list(table: Table) -> bool:
    """Whether the possible records of a table are few enough to be listed."""
    return math.prod(column.n_levels for column in table.columns.values()) <= MOST_LISTED


def _every_record(table: Table) -> Table:
    """Return all combinations of levels."""
    sizes = [column.n_levels for column in table.columns.values()]
    if not can_list(table):
        raise CaveatError(
            f"there are {math.prod(sizes):,} possible records, too many to list",
            do="take fewer columns or coarser levels",
            code="attack.record.too-many",
        )
    codes = np.indices(sizes).reshape(len(sizes), -1)
    pairs = zip(table.columns.items(), codes, strict=True)
    return Table({name: column.with_codes(cells) for (name, column), cells in pairs})


# -------------------------------------------------------------------------------------------------
# How much of the truth the simulated attacker finds, measured where the truth is known.
#
# On trees of our own the exact attacker is computed for the same records. The figures are the
# share of what she finds above guessing, mean over the records:
#
#     (TPR of the simulated − 10 %) / (TPR of the exact − 10 %), both at 10 % false positives.
#
# They are those of the 20 most vulnerable records of twelve columns of SD2011 and say what to
# expect of data and generators of this kind, no more. The exact ratio is found in 1.00 (plain)
# and 0.53 (guarded) of the releases; of guarded trees the exact attacker is given the structure
# too, which nobody can see in a release. The features and the ridge of the score were chosen on
# other releases of the same data, for 10 and 12 of the same records: on other data the share may
# be lower. ``benchmarks/bench_simulated.py`` measures all of it anew.


RECOVERED: Mapping[str, Mapping[int, float]] = {
    "plain": {16: 0.304, 32: 0.319, 64: 0.332, 128: 0.372},
    "guarded": {16: 0.177, 32: 0.179, 64: 0.161, 128: 0.193},
}
"""Share of the exact by kind of trees and number of simulations."""
ERRORS: Mapping[str, Mapping[int, float]] = {
    "plain": {16: 0.024, 32: 0.023, 64: 0.025, 128: 0.025},
    "guarded": {16: 0.037, 32: 0.036, 64: 0.025, 128: 0.033},
}
"""Standard errors over the records."""


STRUCTURE_RECOVERED, STRUCTURE_ERROR = 0.307, 0.051
"""The same of guarded trees by the likelihood ratio under one structure that the attacker draws,
which does not depend on the number of simulations; and its standard error over the records."""


def recovered_at(simulations: int) -> tuple[int, dict[str, float]]:
    """Return the largest measured number that is no larger, the least if none is, and the shares.

    Examples
    --------
    >>> recovered_at(100)[0]
    64
    """
    known = sorted(RECOVERED["plain"])
    number = max((n for n in known if n <= simulations), default=known[0])
    return number, {trees: shares[number] for trees, shares in RECOVERED.items()}


def recovered_note(simulations: int) -> Note:
    """Say beside a simulated number what such a number leaves out."""
    number, shares = recovered_at(simulations)
    return Note(
        "recovered",
        "a lower bound: on plain trees, where the truth is known, this attacker with {n} "
        "simulations finds {plain:.0f} % of what the exact one finds, on guarded trees "
        "{guarded:.0f} %",
        public=True,
        n=number,
        **{trees: 100 * share for trees, share in shares.items()},
    )


def structure_note() -> Note:
    """Return the same for the likelihood ratio under the attacker's own structure."""
    return Note(
        "own-structure",
        "a lower bound: on guarded trees the likelihood ratio under one structure drawn by the "
        "attacker finds {share:.0f} ± {error:.0f} % of what the exact attacker finds, who also "
        "has the structure of the release",
        public=True,
        share=100 * STRUCTURE_RECOVERED,
        error=100 * STRUCTURE_ERROR,
    )


# -------------------------------------------------------------------------------------------------
# The strong attacker by simulation in figures: what paired fits find, beside others' scores.


LEVELS = (0.1, 0.01)
"""Shares of false positives."""
SURE = 0.05
FOUND, WORST = "simulatedFound", "simulatedWorst"


def clopper_pearson(count: float, n: int, level: float = SURE) -> tuple[float, float]:
    """Return the exact interval of a proportion; for a mean of several it is too wide.

    Examples
    --------
    >>> [round(x, 4) for x in clopper_pearson(0, 10)]
    [0.0, 0.3085]
    """
    low = float(scipy.stats.beta.ppf(level / 2, count, n - count + 1)) if count > 0 else 0.0
    high = float(scipy.stats.beta.ppf(1 - level / 2, count + 1, n - count)) if count < n else 1.0
    return low, high


def findings_of(found: PairedMembership) -> tuple[Finding, ...]:
    """Sum up what was found: the mean over the records, the worst, and other scores beside it."""
    return tuple(
        Finding(measure, _label(_WORST_BY[score] if measure == WORST else score, level), result)
        for score in found.scores
        for level in (LEVELS if score in _WORST_BY else LEVELS[:1])
        for measure, result in _both(found, level, score)
    )


_WORST_BY = {OURS: "worst record", STRUCTURE: "worst record by own structure"}
"""The attacker's own scores, and what the record is called that each shows most of."""


def _label(what: str, level: float) -> str:
    return f"{what}, false ≤ {100 * level:g} %"


JUDGED = tuple(_label(what, LEVELS[0]) for what in (OURS, "worst record"))
"""Labels of the score that any generator has, at the usual share of false positives."""


def is_judged(finding: Finding) -> bool:
    """Whether a limit is held against it: not against others' scores, nor rarer false positives."""
    more = (STRUCTURE, _WORST_BY[STRUCTURE])
    return finding.label in (*JUDGED, *(_label(what, LEVELS[0]) for what in more))


def _both(found: PairedMembership, level: float, score: str) -> Iterator[tuple[str, Measurement]]:
    names = (FOUND, WORST) if score in _WORST_BY else (FOUND,)
    notes = _notes(found, score)
    power = found.power(level, score)
    if power is None:
        least = 2 * (round(1 / level) - 1)
        reason = Note(
            "too-few-simulations",
            "so few false positives can only be seen with {n} simulations or more",
            public=True,
            n=least,
        )
        yield from ((name, undefined(reason, n=len(found.runs), notes=notes)) for name in names)
        return
    judged = found.judged
    false = np.mean([(t.outside > _threshold(t.outside, level)).mean() for t in found.tests(score)])
    low, high = clopper_pearson(float(false) * judged, judged)
    common: dict[str, Any] = {
        "baseline": level, "control": float(false), "control_n": judged, "n": len(found.runs),
        "notes": notes,
    }  # fmt: skip
    details = {"false positives low": low, "false positives high": high, "judged on": judged}
    auc = found.auc(score)
    # The records are seen in the same releases, which may all be alike: they count as one.
    yield names[0], Measurement(
        float(power.mean()), interval=clopper_pearson(float(power.mean()) * judged, judged),
        details={"AUC": float(auc.mean()), **details}, **common,
    )  # fmt: skip
    if len(names) > 1:
        worst = int(np.argmax(power))
        sure = SURE / len(power)  # the largest of several was chosen
        yield names[1], Measurement(
            float(power[worst]),
            interval=clopper_pearson(float(power[worst]) * judged, judged, sure),
            details={"AUC": float(auc[worst]), **details}, **common,
        )  # fmt: skip


def _threshold(outside: Any, level: float) -> float:
    allowed = int(level * (len(outside) + 1) + 1e-9) - 1
    return float(np.sort(outside)[len(outside) - 1 - allowed])


def _notes(found: PairedMembership, score: str) -> tuple[Note, ...]:
    says = (
        "simulated: {n} releases with each of {records} records and {n} without it, half of "
        "them to judge"
    )
    made = Note("paired-fits", says, public=True, n=found.simulations, records=len(found.runs))
    return made, structure_note() if score == STRUCTURE else recovered_note(found.simulations)


def lines_of(found: PairedMembership) -> dict[str, Any]:
    """Return a line for each record: confidential."""
    lines: dict[str, Any] = {"row": found.records + 1, "auc": found.auc()}
    for level in LEVELS:
        power = found.power(level)
        if power is not None:
            lines[f"found_{100 * level:g}"] = power
    if found.log_ratio is not None:
        ratio, error = found.log_ratio
        lines |= {"log_ratio": ratio, "log_ratio_error": error,
                  "probability": 1 / (1 + np.exp(-ratio))}  # fmt: skip
    if STRUCTURE in found.scores:
        lines |= {f"{name}_by_structure": column for name, column in _by_structure(found).items()}
    return lines


def _by_structure(found: PairedMembership) -> dict[str, Any]:
    """Return the same by the likelihood ratio under the attacker's own structures."""
    columns: dict[str, Any] = {"auc": found.auc(STRUCTURE)}
    power = found.power(LEVELS[0], STRUCTURE)
    if power is not None:
        columns[f"found_{100 * LEVELS[0]:g}"] = power
    ratio = found.log_ratio_by(STRUCTURE)
    if ratio is not None:
        columns |= {"log_ratio": ratio[0], "log_ratio_error": ratio[1],
                    "probability": 1 / (1 + np.exp(-ratio[0]))}  # fmt: skip
    return columns


def simulated_findings(
    original: Table,
    synthetic: Sequence[Table],
    generator: Generator,
    *,
    record: int | None = None,
    most: int = RECORDS,
    **how: Any,
) -> tuple[tuple[Finding, ...], dict[str, Any]]:
    """Return what the attack finds, and confidential columns with a line for each record.

    Parameters
    ----------
    original
        The original table.
    synthetic
        The copies of the actual release; may be empty.
    generator
        What makes releases.
    record, most
        One row, counted from 1; or so many of the most vulnerable.
    how
        ``simulations``, ``structures``, ``seed``, ``threads`` and ``done``, as
        :func:`~caveat.attack.paired.simulated_membership` has them.
    """
    if record is not None and record > original.n_rows:
        raise CaveatError(
            f"there is no row {record}",
            where="record",
            do=f"choose from 1 to {original.n_rows:,}",
            code="attack.record.unknown",
        )
    chosen: Sequence[int] | int = most if record is None else [record - 1]
    found = simulated_membership(
        original, generator, synthetic=list(synthetic) or None, records=chosen, **how
    )
    return findings_of(found), lines_of(found)


def _found(original: Any, synthetic: Any, *, generator: Generator, **how: Any) -> Measurement:
    found = simulated_membership(original, generator, synthetic=synthetic, **how)
    return next(_both(found, LEVELS[0], OURS))[1]


def _worst(original: Any, synthetic: Any, *, generator: Generator, **how: Any) -> Measurement:
    found = simulated_membership(original, generator, synthetic=synthetic, **how)
    return list(_both(found, LEVELS[0], OURS))[1][1]


_KNOWS = (
    "knows the generator, all other records and the whole record; runs the generator with and "
    "without it and asks which of the two a release looks like; of guarded trees they also draw a "
    "structure and compare how probable the release is under it with and without the record"
)
_SOURCE = (
    "Neyman–Pearson test learnt from paired fits, after Stadler, Oprisanu, Troncoso (2022), "
    "Synthetic Data – Anonymisation Groundhog Day; Carlini and others (2022); Zarifzadeh, Liu, "
    "Shokri (2024); van Breugel and others (2023)"
)
_SPOT = (
    "A lower bound: the score sees what lies around the record and learns from few runs, and a "
    "stronger attack may exist. On our own trees, where the exact answer is known, part of it is "
    "missed; the share found there is printed beside every number."
)

ATTACK = Attack(
    name="simulated",
    does="runs any generator with and without a record: membership",
    run=simulated_findings,
    options=(
        Option("generator", "text", "One of 'caveat generator list', or the label of a "
               "[[generator]] in --spec.",
               otherwise="as --spec says"),
        Option("record", "whole", "Attack this row, counted from 1.", otherwise="see --most"),
        Option("most", "whole", "Attack so many of the most vulnerable records.", RECORDS),
        Option("simulations", "whole", "Runs with each record, and as many without it.",
               SIMULATIONS, least=LEAST_SIMULATIONS),
        Option("structures", "whole", "Structures that the attacker draws, for guarded trees.",
               STRUCTURES),
        SEED,
        Option("threads", "whole", "Tables worked on at the same time.", 1),
    ),
    measures=(
        attack_measure(
            "generator",
            family="strong attacker",
            name=FOUND,
            function=_found,
            says="releases with a record told from releases without it, mean over the records",
            attacker=_KNOWS,
            formula="TPR at FPR ≤ α of a score φ(Z) learnt from runs on D and on D_-i, judged on "
            "other runs; own structure: φ(Z) = log p(Z | T, D) − log p(Z | T, D_-i), T drawn",
            source=_SOURCE,
            blind_spot=_SPOT,
            blind="a stronger attack may exist",
            baseline="α: as many releases with the record as without it",
        ),
        attack_measure(
            "generator",
            family="strong attacker",
            name=WORST,
            function=_worst,
            says="the same for the record that shows most",
            attacker=_KNOWS,
            formula="max over the records of simulatedFound",
            source=_SOURCE,
            blind_spot=_SPOT + " The largest of several noisy shares is too large on average: its "
            "interval allows for the choice.",
            blind="a stronger attack may exist; the largest of noisy shares",
            baseline="α: as many releases with the record as without it",
        ),
    ),
    example="--generator margins --most 5",
    labels=r"(?:paired fits|own structure|worst record(?: by own structure)?|LiRA|RMIA|DOMIAS), "
    r"false ≤ [\d.]+ %",
    attacker="simulated",
)  # fmt: skip


# -------------------------------------------------------------------------------------------------
# The strong attacker on releases of a setting: exact where possible, else simulated and so named.
#
# Four cases. A plain draw of trees has an exact posterior. Forests and proper synthesis draw
# their parameters, and the likelihood is averaged over draws. Protections that look at the
# release alone cannot tell more than the release before them, whose posterior is taken.
# Protections that look at the original are run again in every world; a distance filter alone is
# exact for small tables.


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
    return _worst_strong([one(record) for record in records], how)


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


def _worst_strong(found: Sequence[Posterior], how: tuple[Note, ...]) -> Attacked:
    values: dict[str, float] = {}
    errors: dict[str, float] = {}
    for name in ("posterior", "gain"):
        worst = max(found, key=lambda p: p.probability if name == "posterior" else p.gain)
        scale = 1.0 if name == "posterior" else float(worst.prior[worst.truth])
        values[name] = worst.probability / scale
        if worst.error is not None:
            errors[name] = float(worst.error[worst.truth]) / scale
    return Attacked(values, errors, how)
