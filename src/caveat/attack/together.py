"""Several releases of the same data attacked together.

Given the data, releases that are drawn independently of each other are: the probability of all of
them is the product of their probabilities. So for a record the log ratios of membership add up, and
so do the log-likelihoods of what it may be. It holds where each is exact; what was protected
afterwards, or made in a way whose probability is not known, cannot be added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack.adjacent import Done
from caveat.attack.attributes import attributes, prior_of_each
from caveat.attack.membership import membership
from caveat.attack.posterior import bayes
from caveat.attack.priors import DEFAULT_PRIOR
from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.synthesis import Plan
from caveat.table import Column, Table
from caveat.table.align import recode_to

__all__ = [
    "Said",
    "SaidOfTarget",
    "Told",
    "arrays_of",
    "levels_of",
    "said_by",
    "said_of",
    "told_of",
    "told_of_members",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SaidOfTarget:
    """What a release says about one column of some records.

    Parameters
    ----------
    rows
        Their positions in the original, in order.
    log_likelihood
        A line for each of them, an entry for each code of the original's column; NaN for values
        that this release does not consider.
    levels
        A checksum of the dictionary: codes mean the same only under the same one.
    """

    rows: Ints
    log_likelihood: Floats
    levels: str

    __repr__ = without_values


@dataclass(frozen=True, eq=False)
class Said:
    """What an exact release says about the records of its original.

    Parameters
    ----------
    fitted
        Of each record whether the release was made from it. It says nothing about the others.
    log_ratio
        Of each record log p(Z | D) - log p(Z | D without it): 0 for those that it was not made
        from, NaN for those that were not attacked.
    targets
        The same about single columns.
    """

    fitted: NDArray[np.bool_]
    log_ratio: Floats
    targets: Mapping[str, SaidOfTarget] = field(default_factory=dict)

    __repr__ = without_values


@dataclass(frozen=True, eq=False)
class Told:
    """What some releases tell together.

    Parameters
    ----------
    rows
        Positions of the records that were attacked in all of them.
    probability
        The probability of membership from one half before, or that of the true value.
    prior
        The same before.
    releases
        How many releases are in it.
    """

    rows: Ints
    probability: Floats
    prior: Floats
    releases: int

    __repr__ = without_values


def levels_of(column: Column) -> str:
    """Return a checksum of the values that a column may have, in their order."""
    words = [str(column.kind), *map(str, column.levels.tolist())]
    words += [repr(missing.key) for missing in column.missing]
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()


def said_by(
    original: Table,
    rows: Ints,
    fitted: Table,
    drawn: Sequence[Table],
    plan: Plan,
    *,
    members: Ints,
    targets: Mapping[str, Ints],
    threads: int | None = None,
    done: Done | None = None,
) -> Said:
    """Attack a release, and keep what it says about each record.

    Parameters
    ----------
    original
        All records of the data.
    rows, fitted
        Positions of those that the release was made from, and these records.
    drawn, plan
        The release as it was drawn, and how.
    members
        Positions in the original of the records whose membership is asked for.
    targets
        Columns, and the positions of the records for which each is asked for.
    threads, done
        As for :func:`caveat.attack.membership`.
    """
    was_fitted = np.zeros(original.n_rows, bool)
    was_fitted[rows] = True
    place = np.full(original.n_rows, -1)
    place[rows] = np.arange(len(rows))
    log_ratio = np.where(was_fitted, np.nan, 0.0)
    asked = members[was_fitted[members]]
    share = 1 / (1 + len(targets))

    def ready(part: float) -> None:
        if done is not None:
            done(share * part)

    if len(asked):
        found = membership(fitted, drawn, generator=plan, records=place[asked].tolist(),
                           threads=threads, done=ready)  # fmt: skip
        log_ratio[asked] = found.log_ratio
    said = {}
    for target, wanted in targets.items():
        own = np.sort(wanted[was_fitted[wanted]])
        column = original[target]
        logs = np.full((len(own), column.n_levels), np.nan)
        if len(own):
            about = attributes(fitted, drawn, target, generator=plan, records=place[own].tolist(),
                               threads=threads, done=ready)  # fmt: skip
            each = Table({target: column.with_codes(np.arange(column.n_levels))})
            # A rare level is what it was pooled into.
            codes = recode_to(plan.pooled(each)[target], about.target)
            known = codes < about.target.n_levels
            logs[:, known] = about.log_likelihood[:, codes[known]]
        said[target] = SaidOfTarget(own, logs, levels_of(column))
    return Said(was_fitted, log_ratio, said)


def told_of_members(releases: Sequence[Said]) -> Told:
    """Return who was in the data, after all releases together.

    Examples
    --------
    >>> one = Said(np.array([True, True, False]), np.array([np.log(3), np.nan, 0]))
    >>> two = Said(np.array([True, True, True]), np.array([np.log(3), 1, np.log(4)]))
    >>> told = told_of_members([one, two])
    >>> told.rows.tolist(), told.probability.round(3).tolist()
    ([0, 2], [0.9, 0.8])
    """
    total = np.sum([said.log_ratio for said in releases], axis=0)
    # Whom no release was made from no release tells of.
    ever = np.any([said.fitted for said in releases], axis=0)
    rows = np.flatnonzero(~np.isnan(total) & ever)
    with np.errstate(over="ignore"):
        chances = 1 / (1 + np.exp(-total[rows]))
    return Told(rows, chances, np.full(len(rows), 0.5), len(releases))


def told_of(
    original: Table, target: str, releases: Sequence[Said], prior: str = DEFAULT_PRIOR
) -> Told:
    """Return what is known about a column after all releases together that were asked about it.

    Parameters
    ----------
    original
        All records of the data.
    target
        The column.
    releases
        What each release says. One that was not asked about the column is not in it.
    prior
        What the attacker believes before; once, however many releases there are.
    """
    column, levels = original[target], levels_of(original[target])
    asked = [s for s in releases if target in s.targets and s.targets[target].levels == levels]
    if not asked:
        raise CaveatError(
            "no release was asked about it", column=target, code="attack.target.unknown"
        )
    total = np.zeros((original.n_rows, column.n_levels))
    known = np.any([said.fitted for said in asked], axis=0)
    for said in asked:
        own = said.targets[target]
        total[own.rows] += own.log_likelihood
        attacked = np.zeros(original.n_rows, bool)
        attacked[own.rows] = True
        known &= attacked | ~said.fitted
    rows = np.flatnonzero(known)
    truth = column.codes[rows].astype(np.int64)[:, None]
    logs, beliefs = total[rows], prior_of_each(prior, original, target, rows)
    # What one release does not consider none can be asked about.
    beliefs = np.where(np.isnan(logs), 0.0, beliefs)
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    after = bayes(beliefs, np.where(np.isnan(logs), -np.inf, logs))
    both = [np.take_along_axis(table, truth, axis=1)[:, 0] for table in (after, beliefs)]
    return Told(rows, both[0], both[1], len(asked))


def arrays_of(said: Said) -> dict[str, NDArray[Any]]:
    """Return what a file has to hold."""
    found: dict[str, NDArray[Any]] = {"fitted": said.fitted, "log_ratio": said.log_ratio}
    for number, (name, own) in enumerate(said.targets.items()):
        found |= {f"{number}-name": np.array([name, own.levels]), f"{number}-rows": own.rows,
                  f"{number}-logs": own.log_likelihood}  # fmt: skip
    return found


def said_of(arrays: Mapping[str, NDArray[Any]], n_rows: int) -> Said:
    """Return what a file holds, or raise ValueError if it is not about so many records."""
    fitted, ratio = np.asarray(arrays["fitted"]), np.asarray(arrays["log_ratio"])
    if fitted.shape != (n_rows,) or ratio.shape != (n_rows,) or fitted.dtype != np.bool_:
        raise ValueError("other records")
    targets, number = {}, 0
    while f"{number}-name" in arrays:
        name, levels = arrays[f"{number}-name"].tolist()
        rows, logs = arrays[f"{number}-rows"], arrays[f"{number}-logs"]
        inside = not len(rows) or 0 <= rows.min() <= rows.max() < n_rows
        if rows.ndim != 1 or logs.ndim != 2 or len(rows) != len(logs) or not inside:
            raise ValueError("other records")
        targets[name] = SaidOfTarget(rows.astype(np.int64), logs.astype(np.float64), levels)
        number += 1
    return Said(fitted, ratio.astype(np.float64), targets)
