"""One column, every record: what the attacker learns about each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack.adjacent import Done
from caveat.attack.batches import each_value
from caveat.attack.candidates import with_released_levels
from caveat.attack.generator import Generator, known_to, releases_of
from caveat.attack.guarded import can_move
from caveat.attack.membership import chosen_records
from caveat.attack.posterior import bayes, check_exact
from caveat.attack.priors import DEFAULT_PRIOR, PSEUDO_RECORDS, named_prior
from caveat.attack.summaries import attributes_summary
from caveat.attack.worlds import Worlds
from caveat.errors import CaveatError
from caveat.risk import key_cells
from caveat.showing import Summary, frame_of, in_short, on_page
from caveat.synthesis import Plan
from caveat.synthesis.linked import LinkedPlan
from caveat.synthesis.plan import ColumnPlan
from caveat.table import Column, Kind, Table

__all__ = [
    "Attributes",
    "attributes",
    "cells_of_values",
    "check_target",
    "considered",
    "prior_of_each",
    "tried_codes",
]


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
