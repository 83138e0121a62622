"""The strong attacker's answers in figures: about one record, a target, or who was in the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caveat.attack.attributes import Attributes, attributes
from caveat.attack.entry import Attack, Option
from caveat.attack.generator import Generator
from caveat.attack.groups import group_membership, group_posterior
from caveat.attack.measures import ENTRIES
from caveat.attack.membership import Membership
from caveat.attack.membership import membership as members
from caveat.attack.posterior import posterior
from caveat.attack.priors import DEFAULT_PRIOR, PRIORS, NamedPrior, named_prior
from caveat.attack.summaries import FACTOR, RISE, SURE, disclosed
from caveat.errors import CaveatError
from caveat.synthesis.linked import GroupModel
from caveat.table import Table

__all__ = ["ATTACK", "Figures", "check_aim", "strong_figures"]

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
