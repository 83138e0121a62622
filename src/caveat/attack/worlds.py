"""Worlds: the original data with one record changed or left out, and how well each explains Z.

A world is refitted by the same plan, and the probability of the release in it is the product of
the probabilities of its cells. The dictionaries of the columns are the same in all worlds: the
codebook is public, what is secret is who has which value.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from caveat.attack.private import TableChanges
from caveat.errors import CaveatError
from caveat.synthesis import Model, Plan
from caveat.synthesis.choosing import chosen_again, log_choice
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.fitting import fit_columns
from caveat.synthesis.model import written
from caveat.synthesis.pairs import Bins, with_sample
from caveat.synthesis.seen import has_guard
from caveat.table import Column, Table
from caveat.table.align import common_levels
from caveat.table.table import concat

__all__ = [
    "Evidence",
    "Worlds",
    "affected_columns",
    "draw_release",
    "evidence_of",
    "in_threads",
    "refuse_impossible",
]

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Evidence:
    """The log probability of a release in one world.

    Parameters
    ----------
    finite
        Sum of the logarithms of the cells that have a probability above zero.
    impossible
        Number of cells with probability zero, by column; empty when there are none.
    """

    finite: float
    impossible: Mapping[str, int] = field(default_factory=dict)

    @property
    def log_likelihood(self) -> float:
        """The log probability: -inf when one cell is impossible."""
        return -math.inf if self.impossible else self.finite


def in_threads(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    threads: int | None = None,
    done: Callable[[float], None] | None = None,
    sizes: Sequence[float] | None = None,
) -> list[Result]:
    """Return ``work(item)`` in the order of the items.

    ``done`` is called with the share of the work that has become ready, by ``sizes``, the work of
    each item, or by their number.
    """
    results: list[Result] = []
    total = len(items) if sizes is None else sum(sizes)
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        for i, result in enumerate(pool.map(work, items)):
            results.append(result)
            if done is not None:
                done((1 if sizes is None else sizes[i]) / total)
    return results


def affected_columns(plan: Plan, changed: Iterable[str]) -> set[str]:
    """Return the columns whose model depends on the cells of the changed columns."""
    changed = set(changed)
    if changed & {plan.strata, plan.weights}:
        return set(plan.columns)
    hit = {n for n, e in plan.columns.items() if n in changed or changed & set(e.predictors)}
    for method in ("ipf", "margins"):  # tables of a whole block
        block = {n for n, e in plan.columns.items() if e.settings.method == method}
        hit |= block if changed & block else set()
    for rule in plan.rules:
        if changed & set(rule.sources):
            hit.add(rule.target)
    return hit


class Worlds:
    """The released copies seen from all data sets that differ from the original in one record.

    Parameters
    ----------
    original
        The original table.
    plan
        How the release was made.
    releases
        The released copies.
    seed
        Seed of the fits, if it is not the one that the plan knows; it matters only for methods that
        draw parameters or structures.
    bins
        How cells were coded when predictors were chosen; by the original unless told.
    """

    def __init__(
        self,
        original: Table,
        plan: Plan,
        releases: Sequence[Table],
        seed: int | None = None,
        bins: Bins | None = None,
    ) -> None:
        # Whoever comes and goes, the others in the sample of a choice stay the same.
        choice = plan.choice
        self.original = original if choice is None else with_sample(original, choice.rows)
        self.bins = bins or Bins(original.columns, plan.columns)
        self.plan = plan
        self.releases = tuple(releases)
        seed = plan.structure_seed if seed is None else seed
        if seed is None and has_guard(plan.columns):
            raise CaveatError(
                "guarded trees draw their structure, and the attacker is given it",
                where="generator",
                do="give the fitted model (--model), or the synthesiser with its seed",
                code="attack.model.absent",
            )
        self.seed = seed or 0

    def with_values(self, values: Mapping[str, Column]) -> tuple[Worlds, dict[str, Column]]:
        """Return the worlds and the given values on dictionaries that hold both."""
        columns, recoded = {}, {}
        for name, column in values.items():
            columns[name], recoded[name] = common_levels([self.original[name], column], name)
        same = all(columns[name].has_same_levels(self.original[name]) for name in columns)
        if same:
            return self, recoded
        return Worlds(
            self.original.with_columns(columns), self.plan, self.releases, self.seed, self.bins
        ), recoded

    def seeing(self, releases: Sequence[Table]) -> Worlds:
        """Return the same worlds with other releases; the original is fitted once for all."""
        other = Worlds(self.original, self.plan, releases, self.seed, self.bins)
        other.__dict__ |= {"original": self.original, "base": self.base}
        return other

    @cached_property
    def tables(self) -> TableChanges | None:
        """What the noisy tables of a private release say about these worlds; None for others."""
        return TableChanges.of(self.plan, self.original)

    @cached_property
    def base(self) -> Mapping[str, ColumnModel]:
        """The models of the original data themselves."""
        return self._fit(self.original, self.plan, {})

    @cached_property
    def log_choice(self) -> float:
        """Log probability that the original gives the predictors that were drawn."""
        return log_choice(self.plan, self.original, self.bins)

    def _fit(
        self, table: Table, plan: Plan, finished: Mapping[str, ColumnModel]
    ) -> Mapping[str, ColumnModel]:
        drawn = {} if table is self.original else self.base
        return fit_columns(table, plan, self.seed, 1, None, finished, structures=drawn)

    def changed(self, record: int, codes: Mapping[str, int]) -> Table:
        """Return the original with the given codes in one record."""
        columns = {}
        for name, code in codes.items():
            cells = self.original[name].codes.copy()
            cells[record] = code
            columns[name] = self.original[name].with_codes(cells)
        return self.original.with_columns(columns)

    def without(self, records: int | NDArray[np.int64]) -> Table:
        """Return the original without one record, or without several."""
        return self.original.take(np.delete(np.arange(self.original.n_rows), records))

    def instead(self, records: NDArray[np.int64], come: Table) -> Table:
        """Return the original with the rows of a table instead of some records."""
        return concat([self.without(records), come])

    def model(self, table: Table, changed: Iterable[str] | None = None) -> Model:
        """Return the generator fitted on a world; only what the changed columns touch is fitted."""
        same = table is self.original
        plan = self.plan if same else chosen_again(self.plan, table, self.bins)
        if changed is None:
            finished: Mapping[str, ColumnModel] = {}
        else:
            hit = affected_columns(plan, changed)
            hit |= {n for n, entry in plan.columns.items() if entry != self.plan.columns[n]}
            finished = {n: m for n, m in self.base.items() if n not in hit}
        models, names = self._fit(table, plan, finished), written(plan, table)
        log = self.log_choice if same else log_choice(plan, table, self.bins)
        return Model(plan, models, names, table.n_rows, self.seed, log_choice=log)

    def evidence(self, table: Table, changed: Iterable[str] | None = None) -> Evidence:
        """Return how probable the releases are in a world."""
        return evidence_of(self.model(table, changed), self.releases)


def evidence_of(model: Model, releases: Iterable[Table]) -> Evidence:
    """Return how probable releases are under a fitted generator."""
    terms: list[float] = []
    impossible: dict[str, int] = {}
    for release in releases:
        result = model.log_prob(release)
        for name, reason in result.unknown.items():
            raise CaveatError(
                f"there is no exact probability: {reason}",
                column=name,
                do="attack it by simulation (caveat.attack.simulated_posterior)",
                code="attack.probability.unsupported",
            )
        for name, logs in result.columns.items():
            possible = np.isfinite(logs)
            if not possible.all():
                impossible[name] = impossible.get(name, 0) + int((~possible).sum())
            terms += logs[possible].tolist()
    terms += [column.log_structure for column in model.columns.values()]
    terms.append(model.log_choice)
    # The exactly rounded sum does not depend on the order of the rows.
    return Evidence(math.fsum(terms), impossible)


def draw_release(model: Model, rows: int, *key: int) -> Table:
    """Draw one release; the same key gives the same release, whatever else is drawn."""
    seed = int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])
    return replace(model, seed=seed).tables(rows, threads=1)[0]


def refuse_impossible(evidence: Sequence[Evidence], when: str) -> None:
    """Say which column rules the release out when it is impossible in every world.

    ``when`` says in words which worlds these are.
    """
    if any(not item.impossible for item in evidence):
        return
    nearest = min(evidence, key=lambda item: sum(item.impossible.values()))
    name, n = max(nearest.impossible.items(), key=lambda entry: entry[1])
    raise CaveatError(
        f"the generator cannot have made this release: {n:,} "
        f"{'cell has' if n == 1 else 'cells have'} probability 0 {when}",
        column=name,
        do="check that original, release and generator belong together",
        code="attack.release.mismatch",
    )
