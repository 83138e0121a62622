"""One column, every record: what the attacker learns, from one release or several together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack.adjacent import Done, can_move, each_value
from caveat.attack.membership import chosen_records, membership
from caveat.attack.posterior import (
    PSEUDO_RECORDS,
    attributes_summary,
    bayes,
    check_exact,
    named_prior,
    with_released_levels,
)
from caveat.attack.worlds import Generator, Worlds, known_to, releases_of
from caveat.errors import CaveatError
from caveat.risk import key_cells
from caveat.risk.scenario import DEFAULT_PRIOR
from caveat.showing import Summary, frame_of, in_short, on_page, without_values
from caveat.synthesis import Plan
from caveat.synthesis.linked import LinkedPlan
from caveat.synthesis.plan import ColumnPlan
from caveat.table import Column, Kind, Table
from caveat.table.align import recode_to

CLASSES = 20
"""Classes of a number that the plan has no cells for."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Attributes:
    """What the attacker believes about one column of every record after the release.

    Parameters
    ----------
    target
        The column, with the candidates as its levels.
    records
        Positions of the records, from 0.
    prior, log_likelihood
        One line per record, one entry per code of the target.
    unit
        Whose value it is: that of a record, of a group of them, or of a person in it.
    """

    target: Column
    records: NDArray[np.int64]
    prior: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    unit: str = "record"

    def _summary(self) -> Summary:
        return attributes_summary(self)

    __repr__ = in_short
    _repr_html_ = on_page

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row for each record as a pandas or polars frame."""
        columns = {"before": self.prior_probability, "after": self.probability, "rank": self.rank}
        return frame_of({self.unit: self.records, **columns}, backend)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The posterior: one line per record, one entry per code of the target."""
        return bayes(self.prior, self.log_likelihood)

    @property
    def truth(self) -> NDArray[np.int64]:
        """The code that each record really has."""
        return self.target.codes[self.records].astype(np.int64)

    def _of_truth(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.take_along_axis(table, self.truth[:, None], axis=1)[:, 0])

    @property
    def probability(self) -> NDArray[np.float64]:
        """The posterior probability of each record's true value."""
        return self._of_truth(self.probabilities)

    @property
    def prior_probability(self) -> NDArray[np.float64]:
        """The probability of each record's true value before the release."""
        return self._of_truth(self.prior)

    @property
    def gain(self) -> NDArray[np.float64]:
        """By what factor the release raised the probability of the truth."""
        return self.probability / self.prior_probability

    @property
    def rank(self) -> NDArray[np.int64]:
        """Place of the truth among the candidates, 1 for the most probable."""
        return np.asarray(1 + (self.probabilities > self.probability[:, None]).sum(axis=1))

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Whether the truth is the only best guess."""
        return _only_best(self.probabilities, self.truth)

    @property
    def prior_correct(self) -> NDArray[np.bool_]:
        """Whether it was the only best guess before the release."""
        return _only_best(self.prior, self.truth)


def _only_best(table: NDArray[np.float64], truth: NDArray[np.int64]) -> NDArray[np.bool_]:
    top = table == table.max(axis=1, keepdims=True)
    return np.asarray(
        np.take_along_axis(top, truth[:, None], axis=1)[:, 0] & (top.sum(axis=1) == 1)
    )


def attributes(
    original: Any,
    synthetic: Any,
    target: str,
    *,
    generator: Generator | None = None,
    records: Sequence[int] | None = None,
    prior: str = DEFAULT_PRIOR,
    cells: bool = False,
    candidates: int | None = None,
    threads: int | None = None,
    done: Done | None = None,
) -> Attributes:
    """Attack one column of every record, each by someone who knows all the rest.

    Parameters
    ----------
    original, synthetic, generator
        As for :func:`caveat.attack.posterior`.
    target
        The column the attacker wants to learn; of the record she knows all others.
    records
        Positions of the records, from 0; all by default.
    prior
        "conditional", "marginal" or "uniform"; as for :func:`caveat.attack.posterior`.
    cells
        Whether the attacker wants the cell of a number and not the number itself: a cell of the
        plan, or a class of values where the plan has none; each special value and each way to be
        missing is one too. Plain trees are refitted with one value of each.
    candidates
        Most values that are tried for a record beside its own, the most frequent: an attacker who
        has ruled the others out. All by default. With ``cells``, most classes.
    threads
        Threads; all cores by default. The result does not depend on it.
    done
        Called with the share of the work that has become ready.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> result = attributes(buyer_beware(), buyer_beware(1), "var4")
    >>> result.probability[[0, 999]].round(4).tolist()
    [0.5316, 1.0]
    """
    table = Table.from_frame(original)
    plan, table = known_to(generator, table)
    check_exact(plan)
    check_target(target, plan, table)
    chosen = chosen_records(records, table)
    worlds = Worlds(table, plan, releases_of(synthetic, plan, table))
    worlds = with_released_levels(worlds, [target])
    column = worlds.original[target]
    place = cells_of_values(column, plan.columns[target], candidates) if cells else None
    codes = tried_codes(column, place, candidates, each=can_move(plan))
    logs = each_value(worlds, target, chosen, threads, done, codes)
    beliefs = prior_of_each(prior, worlds.original, target, chosen)
    return considered(Attributes(column, chosen, beliefs, logs), place)


def tried_codes(column: Column, place: Ints | None, most: int | None, *, each: bool) -> Ints | None:
    """Return the codes that are tried beside the own one of a record; None for all.

    Parameters
    ----------
    column
        The target.
    place
        The cell of each code, if cells are attacked: then one code of each is tried.
    most
        Most codes that are tried; None for all. Of categories the most frequent are.
    each
        Whether all values of a cell can be tried at the price of one.

    Examples
    --------
    >>> column = Column([0, 1, 1, 2, 2, 2], ["a", "b", "c"], Kind.CATEGORY)
    >>> tried_codes(column, None, 2, each=False), tried_codes(column, None, 3, each=False)
    (array([1, 2]), None)
    """
    if place is not None:
        if each:
            return None
        order = np.lexsort((np.arange(len(place)), -column.counts, place))
        first = np.append(True, np.diff(place[order]) > 0)
        return np.sort(order[first])
    if most is None or column.n_levels <= most:
        return None
    return np.sort(np.argsort(-column.counts, kind="stable")[:most])


def cells_of_values(column: Column, entry: ColumnPlan, most: int | None = None) -> Ints | None:
    """Return the cell of each code of a number, from 0; None if the column is no number.

    Cells are those of the plan, or classes that about equally many records are in. Special values
    and ways to be missing are cells of their own, after the others.

    Parameters
    ----------
    column
        The target.
    entry
        How it is drawn.
    most
        Most classes, where the plan has no cells.
    """
    if not column.kind.is_number:
        return None
    n, counts = len(column.levels), column.counts
    apart = np.ones(column.n_levels, bool)
    special = {*entry.special, *(entry.grid.special if entry.grid is not None else ())}
    apart[:n] = np.isin(column.numbers, [float(value) for value in special])
    found = np.empty(column.n_levels, np.int64)
    if entry.grid is not None:
        found[:n] = entry.grid.cell_of(column.numbers)
    else:
        held = np.where(apart[:n], 0, counts[:n])
        middle = np.cumsum(held) - held / 2
        found[:n] = middle * min(CLASSES, most or CLASSES) / max(held.sum(), 1)
    found[apart] = found[:n].max(initial=0) + 1 + np.arange(int(apart.sum()))
    return np.asarray(np.unique(found, return_inverse=True)[1].reshape(-1), np.int64)


def considered(found: Attributes, place: Ints | None) -> Attributes:
    """Return what the attacker believes about the values that were tried, or about their cells.

    Parameters
    ----------
    found
        The attack; values that were not tried have the log-likelihood NaN.
    place
        The cell of each code. The probability of a cell before the release is that of all its
        values, the likelihood of the release in it the mean over those that were tried.
    """
    tried = ~np.isnan(found.log_likelihood)
    if place is None and tried.all():
        return found
    held = np.where(tried, found.prior, 0.0)
    logs = np.where(tried, found.log_likelihood, -np.inf)
    if place is None:
        held = held / held.sum(axis=1, keepdims=True)
        return replace(found, prior=held, log_likelihood=logs)
    order = np.argsort(place, kind="stable")
    n_cells = int(place.max()) + 1
    starts = np.searchsorted(place[order], np.arange(n_cells))
    sizes = np.diff(np.append(starts, len(order)))
    prior = np.add.reduceat(found.prior[:, order], starts, axis=1)
    within = np.add.reduceat(held[:, order], starts, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = (np.log(held) + logs)[:, order]
        top = np.maximum.reduceat(weights, starts, axis=1)
        top = np.where(np.isfinite(top), top, 0.0)
        sums = np.exp(weights - np.repeat(top, sizes, axis=1))
        sums = np.add.reduceat(sums, starts, axis=1)
        means = np.where(sums > 0, top + np.log(sums) - np.log(within), -np.inf)
    column = Column(place[found.target.codes], np.arange(n_cells), Kind.INTEGER)
    return replace(found, target=column, prior=prior, log_likelihood=means)


def check_target(target: str, plan: Plan | LinkedPlan, table: Table) -> None:
    """Refuse a column that is copied, or not drawn at all."""
    table[target]
    entry = plan.columns.get(target)
    method = "" if entry is None else entry.settings.method
    if method == "copy":
        raise CaveatError(
            "it is copied into the release: its risk is 1 by construction",
            column=target,
            do="synthesise it",
            code="attack.target.unsupported",
        )
    if method in ("derived", "drop", "constant"):
        raise CaveatError(
            "it is not drawn from a model, so that there is nothing to attack",
            column=target,
            do="attack the columns that it is made from",
            code="attack.target.unsupported",
        )


def prior_of_each(
    prior: str, table: Table, target: str, records: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return the prior of each record, or of some, counted over the other records."""
    codes, n_levels = table[target].codes.astype(np.int64), table[target].n_levels
    n = table.n_rows
    chosen = np.arange(n) if records is None else np.asarray(records, np.int64)
    if prior == "uniform":
        return np.full((len(chosen), n_levels), 1 / n_levels)
    named_prior(prior)
    own = np.arange(len(chosen)), codes[chosen]
    counts = np.tile(np.bincount(codes, minlength=n_levels).astype(np.float64), (len(chosen), 1))
    counts[own] -= 1
    marginal = (counts + PSEUDO_RECORDS / n_levels) / (n - 1 + PSEUDO_RECORDS)
    known = [name for name in table if name != target]
    if prior == "marginal" or not known:
        return np.asarray(marginal)
    (cells,), n_cells = key_cells(
        [[table[name].codes for name in known]], [table[name].n_levels for name in known]
    )
    order = np.argsort(cells, kind="stable")
    starts = np.searchsorted(cells[order], np.arange(n_cells + 1))
    sizes = np.diff(starts)[cells[chosen]]
    line = np.repeat(np.arange(len(chosen)), sizes)
    first = np.repeat(starts[cells[chosen]] - np.append(0, np.cumsum(sizes))[:-1], sizes)
    alike = np.zeros((len(chosen), n_levels))
    np.add.at(alike, (line, codes[order[first + np.arange(len(line))]]), 1.0)
    alike[own] -= 1
    return np.asarray(
        (alike + PSEUDO_RECORDS * marginal) / (alike.sum(axis=1, keepdims=True) + PSEUDO_RECORDS)
    )


# -------------------------------------------------------------------------------------------------
# Several releases of the same data attacked together.
#
# Given the data, releases that are drawn independently of each other are: the probability of all
# of them is the product of their probabilities. So for a record the log ratios of membership add
# up, and so do the log-likelihoods of what it may be. It holds where each is exact; what was
# protected afterwards, or made in a way whose probability is not known, cannot be added.


Floats = NDArray[np.float64]


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
