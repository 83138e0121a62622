"""The strong attacker by simulation in figures: what paired fits find, beside others' scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy

from caveat.attack.entry import Attack, Finding, Option
from caveat.attack.ordinary.common import SEED, attack_measure
from caveat.attack.paired import (
    LEAST_SIMULATIONS,
    RECORDS,
    SIMULATIONS,
    STRUCTURES,
    PairedMembership,
    simulated_membership,
)
from caveat.attack.recovered import recovered_note, structure_note
from caveat.attack.scores import OURS, STRUCTURE
from caveat.errors import CaveatError
from caveat.generators import Generator
from caveat.notes import Note
from caveat.risk.measurement import Measurement, undefined
from caveat.table import Table

__all__ = [
    "ATTACK",
    "clopper_pearson",
    "findings_of",
    "is_judged",
    "lines_of",
    "simulated_findings",
]

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
