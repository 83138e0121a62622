"""One column, every record: what the attacker learns about each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack.adjacent import Done
from caveat.attack.batches import each_value
from caveat.attack.candidates import with_released_levels
from caveat.attack.generator import Generator, known_to, releases_of
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
from caveat.table import Column, Table

__all__ = ["Attributes", "attributes", "check_target", "prior_of_each"]


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
    logs = each_value(worlds, target, chosen, threads, done)
    beliefs = prior_of_each(prior, worlds.original, target)[chosen]
    return Attributes(worlds.original[target], chosen, beliefs, logs)


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
        )
    if method in ("derived", "drop", "constant"):
        raise CaveatError(
            "it is not drawn from a model, so that there is nothing to attack",
            column=target,
            do="attack the columns that it is made from",
        )


def prior_of_each(prior: str, table: Table, target: str) -> NDArray[np.float64]:
    """Return the prior of each record, counted over the other records."""
    codes, n_levels = table[target].codes.astype(np.int64), table[target].n_levels
    n = table.n_rows
    if prior == "uniform":
        return np.full((n, n_levels), 1 / n_levels)
    named_prior(prior)
    rows = np.arange(n)
    counts = np.tile(np.bincount(codes, minlength=n_levels).astype(np.float64), (n, 1))
    counts[rows, codes] -= 1
    marginal = (counts + PSEUDO_RECORDS / n_levels) / (n - 1 + PSEUDO_RECORDS)
    known = [name for name in table if name != target]
    if prior == "marginal" or not known:
        return np.asarray(marginal)
    (cells,), n_cells = key_cells(
        [[table[name].codes for name in known]], [table[name].n_levels for name in known]
    )
    alike = np.zeros((n_cells, n_levels))
    np.add.at(alike, (cells, codes), 1.0)
    mine = alike[cells]
    mine[rows, codes] -= 1
    return np.asarray(
        (mine + PSEUDO_RECORDS * marginal) / (mine.sum(axis=1, keepdims=True) + PSEUDO_RECORDS)
    )
