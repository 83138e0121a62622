"""Wide tables: each column is drawn from the few columns before it that tell most about it.

What two columns tell about each other is their mutual information in a sample of the records, less
what chance gives. The choice looks at the records, so it is part of what the strong attacker
follows: plain trees take the strongest columns, and she takes them again in every world; for
guarded trees they are drawn, a column that tells more with a larger probability, and the
probability of what was drawn is part of that of their structure.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.expressions import Expression
from caveat.seeds import Stream, random_root, rng_of
from caveat.synthesis._pairs import UNIT, drawn_logs, picked_sets, scores_for, whole_entropy
from caveat.synthesis._plan_checks import WITHOUT_MODEL
from caveat.synthesis.bins import SAMPLED, Bins, Moved, sampled, with_sample
from caveat.synthesis.choice import (
    ALL,
    AUTO,
    MOST,
    WIDE,
    Choice,
    all_or_named,
    how_many,
    is_drawn,
)
from caveat.synthesis.predictors import fits
from caveat.synthesis.rules import Fixed, Order
from caveat.table import Table

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan, Plan

__all__ = [
    "ALL", "AUTO", "MOST", "SAMPLED", "WIDE", "Bins", "Choice", "Choosing", "Moved",
    "all_or_named", "chosen_again", "drawn_again", "how_many", "log_choice", "narrowed",
    "with_sample",
]  # fmt: skip

Ints = NDArray[np.int64]

ROWS = 4_000
"""Records in which columns are compared."""
TEMPERATURE = 20.0
"""Nats by which one column has to tell more than another to be drawn e times as often."""
NOT_CHOSEN = ("sample", "nested", "lookup", "margins", "saturated", "ipf", *WITHOUT_MODEL)
"""Methods whose predictors are no matter of choice."""


class Choosing:
    """What the columns of a table tell about each other, for the columns of a plan.

    Parameters
    ----------
    columns
        The plan of each column; the predictors of those that are chosen do not matter.
    table
        The records.
    choice
        How predictors are chosen.
    bins
        How cells are coded.
    """

    def __init__(
        self, columns: Mapping[str, ColumnPlan], table: Table, choice: Choice, bins: Bins
    ) -> None:
        self.columns, self.choice, self.bins = columns, choice, bins
        unused = ("derived", "drop", "constant", "copy")
        self.names = [n for n, entry in columns.items() if entry.settings.method not in unused]
        self.place = {name: i for i, name in enumerate(self.names)}
        self.table, self.mask = table, sampled(table, choice.rows)
        self._levels = bins.columns

    __repr__ = without_values

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """The sampled records, a line for each column."""
        return self.coded(self.table.take(np.flatnonzero(self.mask)))

    def coded(self, table: Table) -> NDArray[np.uint8]:
        """Return records in bins, a line for each column."""
        lines = [self.bins.of(name, table[name]) for name in self.names]
        return np.stack(lines) if lines else np.zeros((0, table.n_rows), np.uint8)

    @cached_property
    def entropy(self) -> Ints:
        """X log x of every count that one world can have."""
        return whole_entropy(self.codes.shape[1])

    def candidates(self, name: str) -> Ints:
        """Return the places of the columns among which those of one are chosen."""
        settings, declared = self.columns[name].settings, {*self.choice.declared[name]}
        before = self.names[: self.place[name]]
        own = self._levels[name]
        return np.array(
            [
                self.place[other]
                for other in before
                if other not in declared and fits(self._levels[other], own, settings)
            ],
            np.int64,
        )

    def scores(self, name: str, candidates: Ints) -> Ints:
        """Return what candidates tell about a column, in units."""
        found: Ints = scores_for(self.codes, self.place[name], candidates, self.entropy)
        return found

    @property
    def scale(self) -> float:
        """One over the temperature, for scores in units."""
        return UNIT / self.choice.temperature

    def strongest(self, name: str) -> tuple[str, ...]:
        """Return the predictors of a column that are taken: the strongest, and those declared."""
        candidates = self.candidates(name)
        if len(candidates) > self.choice.most:
            scores = self.scores(name, candidates)
            candidates = candidates[np.argsort(-scores, kind="stable")[: self.choice.most]]
        return self.in_order(name, candidates)

    def in_order(self, name: str, places: Iterable[int]) -> tuple[str, ...]:
        """Return candidates and what is declared as they are visited."""
        taken = {*(self.names[i] for i in places), *self.choice.declared[name]}
        return tuple(other for other in self.names if other in taken)

    def drawn(self, name: str, rng: np.random.Generator) -> tuple[str, ...]:
        """Return the predictors of a column that are drawn, behind those declared."""
        candidates = self.candidates(name)
        if len(candidates) <= self.choice.most:
            return self.in_order(name, candidates)
        # The largest of scores with Gumbel's noise are a draw without putting back.
        noisy = self.scores(name, candidates) * self.scale + rng.gumbel(size=len(candidates))
        first = candidates[np.argsort(-noisy, kind="stable")[: self.choice.most]]
        return (*self.choice.declared[name], *(self.names[i] for i in first))

    def as_drawn(self, name: str, candidates: Ints) -> tuple[Ints, Ints]:
        """Return the drawn among the candidates, in their order, and the others."""
        declared = {*self.choice.declared[name]}
        at = {int(place): i for i, place in enumerate(candidates)}
        drawn = [
            at[self.place[other]]
            for other in self.columns[name].predictors
            if other not in declared
        ]
        left = np.setdiff1d(np.arange(len(candidates)), drawn)
        return np.array(drawn, np.int64), left.astype(np.int64)

    def log_drawn(self, name: str, moved: Moved | None = None) -> NDArray[np.float64]:
        """Return the log probability of the predictors drawn, in each world and in the data."""
        moved = Moved.none(len(self.names)) if moved is None else moved
        candidates = self.candidates(name)
        if len(candidates) <= self.choice.most:
            return np.zeros(len(moved.at))
        logs: NDArray[np.float64] = drawn_logs(
            self.codes, self.place[name], candidates, self.scores(name, candidates),
            *self.as_drawn(name, candidates), self.scale,
            whole_entropy(self.codes.shape[1] + len(moved.steps)),
            moved.codes, moved.steps, moved.at,
        )  # fmt: skip
        return logs

    def strongest_in(self, name: str, moved: Moved) -> dict[tuple[str, ...], Ints]:
        """Return the worlds in which others are the strongest predictors, by these."""
        candidates = self.candidates(name)
        if len(candidates) <= self.choice.most or not len(moved.steps):
            return {}
        scores = self.scores(name, candidates)
        chosen = np.zeros(len(candidates), bool)
        chosen[np.argsort(-scores, kind="stable")[: self.choice.most]] = True
        worlds, sets = picked_sets(
            self.codes, self.place[name], candidates, scores, chosen,
            whole_entropy(self.codes.shape[1] + len(moved.steps)),
            moved.codes, moved.steps, moved.at,
        )  # fmt: skip
        different, which = np.unique(sets, axis=0, return_inverse=True)
        return {
            self.in_order(name, candidates[marks]): worlds[which.reshape(-1) == i]
            for i, marks in enumerate(different)
        }

    @property
    def drawn_columns(self) -> list[str]:
        """The columns whose predictors are drawn."""
        return [n for n in self.choice.declared if is_drawn(self.columns[n].settings)]

    @property
    def taken_columns(self) -> list[str]:
        """The columns for which the strongest are taken."""
        return [n for n in self.choice.declared if not is_drawn(self.columns[n].settings)]


def narrowed(
    columns: Mapping[str, ColumnPlan],
    table: Table,
    most: int,
    told: Iterable[str],
    rules: Sequence[Fixed | Order],
    strata: str,
    seed: int | None,
) -> tuple[dict[str, ColumnPlan], Choice | None]:
    """Return the plan of each column with chosen predictors, and how they were chosen, if any.

    Parameters
    ----------
    columns
        The plans, each with all predictors that it can have.
    table
        The original.
    most
        Predictors that are chosen for a column.
    told
        Columns whose predictors somebody named: they stay.
    rules, strata
        Those of the plan; what they need stays too.
    seed
        Of the draw for guarded trees; None for one that nobody can repeat.
    """
    needs = _needs(columns, rules, strata)
    told = set(told)
    declared = {
        name: tuple(other for other in entry.predictors if other in needs.get(name, ()))
        for name, entry in columns.items()
        if entry.settings.method not in NOT_CHOSEN and name not in told
    }
    declared = {
        name: others
        for name, others in declared.items()
        if len(columns[name].predictors) - len(others) > most
    }
    if not declared:
        return dict(columns), None
    choice = Choice(most, min(ROWS, table.n_rows), TEMPERATURE, declared)
    choosing = Choosing(columns, table, choice, Bins(table.columns, columns))
    return _with_chosen(choosing, seed), choice


def _with_chosen(choosing: Choosing, seed: int | None) -> dict[str, ColumnPlan]:
    """Return the plan of each column with predictors taken, or drawn with a seed."""
    columns = choosing.columns
    places = {name: i for i, name in enumerate(columns)}
    root = random_root() if seed is None else seed

    def choose(name: str) -> tuple[str, ...]:
        if not is_drawn(columns[name].settings):
            return choosing.strongest(name)
        return choosing.drawn(name, rng_of(root, Stream.PREDICTORS, places[name]))

    names = list(choosing.choice.declared)
    found = zip(names, _in_threads(choose, names), strict=True)
    return {**columns, **{n: replace(columns[n], predictors=others) for n, others in found}}


def _in_threads(work: Any, names: Sequence[str]) -> list[Any]:
    """Return the work of each column; the last have most candidates and come first."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(work, names[::-1]))[::-1]


def _needs(
    columns: Mapping[str, ColumnPlan], rules: Sequence[Fixed | Order], strata: str
) -> dict[str, set[str]]:
    """Return which columns somebody's word ties to each column."""
    tied = [{rule.target, *rule.sources} for rule in rules]
    tied += [
        {*Expression(entry.settings.formula).columns}
        for entry in columns.values()
        if entry.settings.method == "derived"
    ]
    needs: dict[str, set[str]] = {name: {strata} for name in columns} if strata else {}
    for group in tied:
        for name in group:
            needs[name] = needs.get(name, set()) | group
    return needs


def log_choice(plan: Plan, table: Table, bins: Bins) -> float:
    """Return the log probability that these records give the drawn predictors of a plan."""
    if plan.choice is None:
        return 0.0
    choosing = Choosing(plan.columns, table, plan.choice, bins)
    logs = _in_threads(lambda name: choosing.log_drawn(name)[-1], choosing.drawn_columns)
    return float(sum(logs))


def chosen_again(plan: Plan, table: Table, bins: Bins) -> Plan:
    """Return the plan with the strongest predictors that these records have; drawn ones stay."""
    if plan.choice is None:
        return plan
    choosing = Choosing(plan.columns, table, plan.choice, bins)
    names = choosing.taken_columns
    found = dict(zip(names, _in_threads(choosing.strongest, names), strict=True))
    if all(plan.columns[name].predictors == others for name, others in found.items()):
        return plan
    again = {name: replace(plan.columns[name], predictors=found[name]) for name in names}
    return replace(plan, columns={**plan.columns, **again})


def drawn_again(plan: Plan, table: Table, seed: int, bins: Bins) -> Plan:
    """Return the plan with predictors that these records give, drawn ones with another seed."""
    if plan.choice is None:
        return plan
    choosing = Choosing(plan.columns, table, plan.choice, bins)
    return replace(plan, columns=_with_chosen(choosing, seed))
