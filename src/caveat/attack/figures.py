"""The strong attacker's answers in figures, and what is known about every attack."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from caveat.attack.attributes import Attributes, attributes
from caveat.attack.groups import group_membership, group_posterior
from caveat.attack.membership import Membership, membership
from caveat.attack.membership import membership as members
from caveat.attack.posterior import FACTOR, RISE, SURE, disclosed, named_prior, posterior, rose
from caveat.attack.worlds import Generator
from caveat.errors import CaveatError
from caveat.notes import Z95
from caveat.risk.measure import Measure, Measurement, rate
from caveat.risk.pair import ScenarioPair
from caveat.risk.scenario import DEFAULT_PRIOR, PRIORS, NamedPrior
from caveat.synthesis import Model
from caveat.synthesis.linked import GroupModel
from caveat.table import Table

ABSENT = {
    "keys": "attack.key.absent",
    "target": "attack.target.absent",
    "control": "attack.control.absent",
}  # codes of errors about options that must be given; of others "attack.option.absent"

Attacker = Literal["strong", "simulated", "ordinary"]

OptionKind = Literal[
    "columns", "column", "whole", "number", "share", "numbers by column", "table", "flag", "text"
]


class Finding(NamedTuple):
    """A result and its name in MEASURES; ``label`` tells several of one name apart."""

    measure: str
    label: str
    result: Measurement


@dataclass(frozen=True)
class Option:
    """Something that an attack can be told.

    Parameters
    ----------
    name
        Its name as an argument of the runner, on the command line and in a scenario.
    kind
        What is given.
    help
        What it is, in a sentence.
    default
        What holds if nothing is given.
    otherwise
        The same in words, where it is no value.
    lacking
        What is wrong if nothing is given; empty if that is allowed.
    do
        What to do then.
    least
        The smallest whole number.
    """

    name: str
    kind: OptionKind
    help: str
    default: Any = None
    otherwise: str = ""
    lacking: str = ""
    do: str = ""
    least: int = 1


@dataclass(frozen=True)
class Attack:
    """One attack.

    Parameters
    ----------
    name
        The name by which it is asked for.
    does
        What the attacker does, in a line of at most 60 characters.
    run
        Takes the original and the synthetic table and the options as keywords, and returns
        findings; of the strong attacker see :func:`caveat.attack.figures.strong_figures`, of the
        simulated one :func:`caveat.attack.strong.simulated_findings`.
    options
        What it can be told.
    measures
        Entries of MEASURES for what it finds.
    example
        Arguments of a command after the two tables.
    labels
        The labels of its findings that may be published, as a regular expression: labels made of
        fixed words and of options. A label that is a released column may always be.
    attacker
        Who carries it out.
    usual
        Whether a scenario tries it by itself where all that it needs is given.
    """

    name: str
    does: str
    run: Callable[..., Any]
    options: tuple[Option, ...]
    measures: tuple[Measure, ...]
    example: str
    labels: str = ""
    attacker: Attacker = "ordinary"
    usual: bool = False

    @property
    def takes(self) -> dict[str, Option]:
        """The options by name."""
        return {option.name: option for option in self.options}

    @property
    def needs(self) -> dict[str, Option]:
        """The options that must be given."""
        return {option.name: option for option in self.options if option.lacking}

    def told(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options; refuse those that it does not take, and to do without a needed one.

        Examples
        --------
        >>> size = Option("size", "whole", "How many.", 3)
        >>> Attack("guess", "guesses", print, (size,), (), "").told({})
        {'size': 3}
        """
        for name in given:
            if name not in self.takes:
                raise CaveatError(
                    f"the attack {self.name} takes no {name}",
                    do=f"drop {name}",
                    code="attack.option.unknown",
                )
        for option in self.needs.values():
            value = given.get(option.name)
            if value is None or (isinstance(value, list | tuple) and not value):
                raise CaveatError(
                    option.lacking,
                    do=option.do,
                    code=ABSENT.get(option.name, "attack.option.absent"),
                )
        return {o.name: given.get(o.name, o.default) for o in self.options}


# -------------------------------------------------------------------------------------------------
# Entries of the table of measures: the strong attacker over all records.


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


# -------------------------------------------------------------------------------------------------
# The strong attacker's answers in figures: about one record, a target, or who was in the data.


ROSE = f"risen by {RISE:g} or {FACTOR:g}-fold"
"""What the release must have done to a probability that counts."""

Figures = tuple[dict[str, Any], dict[str, Any]]
"""Figures by name, and columns with a line for each record or candidate: these are confidential."""


def strong_figures(
    original: Table,
    synthetic: Sequence[Table],
    generator: Generator | GroupModel,
    *,
    record: int | None = None,
    unknown: Sequence[str] = (),
    target: str | None = None,
    membership: bool = False,
    sample: int | None = None,
    prior: str = DEFAULT_PRIOR,
    limit: float = SURE,
    **how: Any,
) -> Figures:
    """Return what the strong attacker finds out, in figures.

    Parameters
    ----------
    original, synthetic
        The original and all copies of the release, which she takes together.
    generator
        What made them.
    record, unknown
        One row, counted from 1, and what she does not know about it; all if empty.
    target
        Or a column of every record.
    membership
        Or whether each record was in the data.
    sample
        Of a target or membership: so many records, drawn at random, the same ones every time.
    prior
        What she believes before.
    limit
        From this probability on it is a disclosure.
    how
        ``threads`` and ``done``, as :func:`caveat.attack.posterior` has them.
    """
    check_aim(record, target, membership)
    beliefs = named_prior(prior)
    if sample is not None:
        how["records"] = _sampled(original.n_rows, sample, record, generator)
    if isinstance(generator, GroupModel):
        return _of_groups(original, synthetic, generator, target, record, beliefs, limit, **how)
    if record is not None:
        about = (record - 1, tuple(unknown) or None)
        return _of_one(original, synthetic, generator, *about, beliefs, limit, **how)
    if target is not None:
        found = attributes(original, synthetic, target, generator=generator, prior=beliefs, **how)
        return _of_a_target(found, limit)
    return _of_members(members(original, synthetic, generator=generator, **how), limit)


def _sampled(n_rows: int, sample: int, record: int | None, generator: Any) -> list[int]:
    """Return the records of a sample."""
    if record is not None or isinstance(generator, GroupModel):
        raise CaveatError(
            "a sample is for a target or membership of single records",
            where="sample",
            do="leave it out",
            code="attack.option.conflict",
        )
    drawn = np.random.default_rng(0).choice(n_rows, min(sample, n_rows), replace=False)
    return [int(row) for row in np.sort(drawn)]


def _of_groups(
    original: Table, synthetic: Sequence[Table], model: GroupModel, target: str | None,
    record: int | None, prior: NamedPrior, limit: float, **how: Any,
) -> Figures:  # fmt: skip
    """Return the figures of groups; of a column that members do not share, those of members."""
    if record is not None:
        raise CaveatError(
            "one record of a group cannot be attacked alone here",
            where="record",
            do="ask for a target, or for membership",
            code="attack.group.unsupported",
        )
    if target is not None:
        found = group_posterior(original, synthetic, model, target, prior=prior, **how)
        return _of_a_target(found, limit)
    return _of_members(group_membership(original, synthetic, model, **how), limit)


def check_aim(record: int | None, target: str | None, membership: bool) -> None:
    """Refuse all but one aim."""
    if (record is not None) + (target is not None) + membership != 1:
        raise CaveatError(
            "it is not clear what to attack",
            do="choose one of record, target and membership",
            code="attack.option.conflict",
        )


def _of_one(
    original: Table, synthetic: Sequence[Table], generator: Generator, record: int,
    unknown: tuple[str, ...] | None, prior: NamedPrior, limit: float, **how: Any,
) -> Figures:  # fmt: skip
    if not 0 <= record < original.n_rows:
        raise CaveatError(
            f"there is no row {record + 1}",
            where="record",
            do=f"choose from 1 to {original.n_rows:,}",
            code="attack.record.unknown",
        )
    found = posterior(
        original, synthetic, record, unknown=unknown, generator=generator, prior=prior, **how
    )
    figures = {
        "probability of the truth": found.probability,
        "before the release": float(found.prior[found.truth]),
        "gain (factor)": found.gain,
        "rank of the truth": found.rank,
        "candidates": len(found.prior),
        "best guess is right": found.correct,
        "left to learn (bits)": found.entropy,
        "to learn before the release (bits)": found.prior_entropy,
        f"disclosed (probability at least {limit:g}, {ROSE})": bool(
            disclosed(found.prior[[found.truth]], np.array([found.probability]), limit)[0]
        ),
    }
    lines = {
        "candidate": np.arange(1, len(found.prior) + 1),
        "prior": found.prior,
        "posterior": found.probabilities,
        "truth": np.arange(len(found.prior)) == found.truth,
    }
    for name in found.candidates:
        lines[name] = found.candidates[name].values
    return figures, lines


def _of_members(found: Membership, limit: float) -> Figures:
    chance, whole = found.posterior(0.5), found.unit == "group"
    figures = {
        f"{found.unit}s": len(chance),
        f"membership shown (probability at least {limit:g}, %)": 100 * (chance >= limit).mean(),
        f"release impossible without the {found.unit} (%)": 100
        * np.isposinf(found.log_ratio).mean(),
        "median log-likelihood ratio": float(np.nanmedian(found.log_ratio)),
        f"{'group' if whole else 'row'} most exposed": found.worst + 1,
    }
    # No file format of ours has an infinite number: the cell is empty and the next one says why.
    certain = np.isinf(found.log_ratio)
    ratio = np.where(certain, np.nan, found.log_ratio)
    without, never = np.isposinf(found.log_ratio), np.isneginf(found.log_ratio)
    impossible = np.select(
        [without, never], [f"without the {found.unit}", f"with the {found.unit}"], ""
    )
    line = "group" if whole else "row"
    return figures, {
        line: found.records + 1, "log_ratio": ratio, "release_impossible": impossible,
        "probability": chance,
    }  # fmt: skip


def _of_a_target(found: Attributes, limit: float) -> Figures:
    line = "group" if found.unit == "group" else "row"
    figures = {
        f"{found.unit}s": len(found.records),
        f"disclosed (probability at least {limit:g}, {ROSE}, %)": 100
        * disclosed(found.prior_probability, found.probability, limit).mean(),
        f"probability at least {limit:g} (%)": 100 * (found.probability >= limit).mean(),
        "as large before the release (%)": 100 * (found.prior_probability >= limit).mean(),
        "best guess is right (%)": 100 * found.correct.mean(),
        "right before the release (%)": 100 * found.prior_correct.mean(),
        "mean probability of the truth": found.probability.mean(),
        "before the release": found.prior_probability.mean(),
        "largest probability of a truth": found.probability.max(),
        f"{line} most exposed": int(found.records[np.argmax(found.gain)]) + 1,
    }
    lines = {
        line: found.records + 1, "probability": found.probability,
        "prior": found.prior_probability, "gain": found.gain, "rank": found.rank,
        "correct": found.correct,
    }  # fmt: skip
    return figures, lines


ATTACK = Attack(
    name="strong",
    does="knows the generator and all other records: an exact bound",
    run=strong_figures,
    options=(
        Option("record", "whole", "Attack this row, counted from 1."),
        Option("unknown", "columns", "Columns of that row she does not know.", (), "all"),
        Option("target", "column", "Attack this column of every record."),
        Option("membership", "flag", "Ask of every record whether it was in the data.", False),
        Option("sample", "whole", "Attack so many records, drawn at random.", otherwise="all"),
        Option("prior", "text", f"What she believes before: {', '.join(PRIORS)}.", DEFAULT_PRIOR),
        Option("limit", "share", "From this probability on it is a disclosure.", SURE),
        Option("threads", "whole", "Threads.", otherwise="all cores"),
    ),
    measures=ENTRIES,
    example="--spec release.toml --target income",
    attacker="strong",
)
