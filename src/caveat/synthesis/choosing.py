"""From which columns each is drawn: all that may be, or in wide tables a few that tell most."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.seeds import Stream, random_root, rng_of
from caveat.showing import without_values
from caveat.synthesis.methods import Settings
from caveat.synthesis.options import WITHOUT_MODEL, Fixed, Order
from caveat.synthesis.pairs import (
    BINS,
    UNIT,
    Bins,
    Moved,
    drawn_logs,
    picked_sets,
    sampled,
    scores_for,
    whole_entropy,
)
from caveat.synthesis.seen import too_many_levels, tree_fits
from caveat.table import Column, Table

__all__ = [
    "ALL",
    "AUTO",
    "MOST",
    "MOST_CLASSES",
    "WIDE",
    "Choice",
    "Choosing",
    "all_or_named",
    "all_that_fit",
    "chosen_again",
    "derived_last",
    "drawn_again",
    "fits",
    "how_many",
    "is_drawn",
    "log_choice",
    "narrowed",
    "usual_method",
]

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan, Plan


MOST_CLASSES = 65_535  # limits of the tree engine
MOST_CELLS = 1 << 24


def usual_method(column: Column, name: str, settings: Settings, remarks: list[str]) -> Settings:
    """Return the settings for a column, with a method that can hold its levels."""
    if not column.kind.is_number and column.n_levels > MOST_CLASSES:
        remarks.append(
            f"{name} has {column.n_levels:,} levels, too many for a tree: it is drawn from its own "
            'distribution; method = "nested" would draw it within the levels of another column'
        )
        return replace(settings, method="sample")
    return settings


def all_that_fit(
    table: Table, name: str, settings: Settings, usable: Sequence[str], remarks: list[str]
) -> list[str]:
    """Return the columns that one can be drawn from, and remark on those that it cannot."""
    column = table[name]
    guarded = settings.method == "guarded"
    chosen = [other for other in usable if fits(table[other], column, settings)]
    if guarded and too_many_levels(column):
        remarks.append(
            f"{name} has {column.n_levels:,} levels, too many for guarded trees to draw it from "
            "others: it is drawn from its own shares"
        )
    elif len(chosen) < len(usable):
        out = ", ".join(other for other in usable if other not in chosen)
        remarks.append(f"{name} is drawn without {out}, whose levels are too many for it")
    return chosen


def fits(predictor: Column, column: Column, settings: Settings) -> bool:
    """Whether trees can split a predictor of a column, or tabulate its levels by classes."""
    if settings.method == "guarded":
        return tree_fits(predictor, column)
    if predictor.kind.has_order:
        return True
    classes = 1 if column.kind.is_number else column.n_levels
    return predictor.n_levels <= MOST_CLASSES and predictor.n_levels * classes <= MOST_CELLS


def derived_last(columns: dict[str, ColumnPlan]) -> dict[str, ColumnPlan]:
    """Put derived columns behind the columns they need; a circle is an error."""
    plain = {n: e for n, e in columns.items() if e.settings.method != "derived"}
    waiting = {n: e for n, e in columns.items() if n not in plain}
    needs = {n: Expression(e.settings.formula).columns for n, e in waiting.items()}
    for name, sources in needs.items():
        absent = [s for s in sources if s not in columns or columns[s].settings.method == "drop"]
        if absent:
            raise CaveatError(
                f"the formula needs {absent[0]}, which is not synthesised",
                where="synthesis",
                column=name,
                do="use columns of the output",
                code="synthesis.column.absent",
            )
    while waiting:
        ready = [n for n in waiting if all(s in plain for s in needs[n])]
        if not ready:
            circle = " and ".join(waiting)
            raise CaveatError(
                f"{circle} are derived from each other",
                where="synthesis, derived",
                do="synthesise one of them",
                entry=("derived",),
                code="synthesis.formula.conflict",
            )
        plain |= {name: waiting.pop(name) for name in ready}
    return plain


# -------------------------------------------------------------------------------------------------
# How many predictors are chosen for the columns of a wide table, and what is said about it.


AUTO, ALL = "auto", "all"
WIDE = 60
"""Columns up to which every one is drawn from all before it."""
MOST = 20
"""Columns that one of a wide table is drawn from."""


def is_drawn(settings: Settings) -> bool:
    """Whether predictors of a column with these settings are drawn, not taken."""
    return settings.method == "guarded"


@dataclass(frozen=True)
class Choice:
    """How predictors were chosen in a plan.

    Parameters
    ----------
    most
        Predictors that were chosen for a column, beside those that were declared.
    rows
        Records in which columns were compared, at most.
    temperature
        The chance in the choice for guarded trees, in nats.
    declared
        The columns whose predictors were chosen, each with those that were not: rules, derived
        columns and strata need them.
    """

    most: int
    rows: int
    temperature: float
    declared: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "declared", MappingProxyType(dict(self.declared)))

    def described(self, columns: Mapping[str, ColumnPlan]) -> dict[str, Any]:
        """Return how it was done, for the evidence; there is a temperature if any are drawn."""
        drawn = any(is_drawn(columns[name].settings) for name in self.declared)
        return {
            "columns": len(self.declared),
            "most": self.most,
            "rows": self.rows,
            "temperature": self.temperature if drawn else None,
            "says": self.words(columns),
        }

    def words(self, columns: Mapping[str, ColumnPlan]) -> str:
        """Return how it was done, for people."""
        taken = "the strongest are taken, and the strong attacker takes them again in every world"
        drawn = (
            f"they are drawn, of two columns the one that tells {self.temperature:g} nats more e "
            "times as often, and the strong attacker knows which, and how probable that was"
        )
        kinds = {is_drawn(columns[name].settings) for name in self.declared}
        how = drawn if kinds == {True} else taken
        if len(kinds) > 1:
            how = f"for guarded trees {drawn}; for others {taken}"
        return (
            f"{len(self.declared):,} columns are drawn from {self.most} columns before them each, "
            "those that tell most about them (mutual information less chance, in "
            f"{self.rows:,} records), beside what rules, derived columns and strata need; {how}"
        )

    def worst_case(self, columns: Mapping[str, ColumnPlan]) -> float:
        """Return a bound on what a record can do to the log probability of all draws.

        A score of n records changes by at most log n + 1, and by 29/2 where codes come or go in
        both columns; so each draw changes by at most twice as much over the temperature.
        """
        drawn = sum(is_drawn(columns[name].settings) for name in self.declared)
        most = log(self.rows) + 1 + (2 * BINS - 3) / 2
        return drawn * self.most * 2 * most / self.temperature

    def state(self) -> dict[str, Any]:
        """Return the choice as plain values."""
        declared = {name: list(others) for name, others in self.declared.items()}
        return {
            "most": self.most,
            "rows": self.rows,
            "temperature": self.temperature,
            "declared": declared,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Choice:
        """Return the choice from plain values, or raise ValueError."""
        most, rows, temperature = state["most"], state["rows"], state["temperature"]
        if not (type(most) is type(rows) is int and most >= 1 and rows >= 1):
            raise ValueError("no numbers of columns and rows")
        if not (isinstance(temperature, float) and 0 < temperature < np.inf):
            raise ValueError("no temperature")
        declared = {name: tuple(others) for name, others in state["declared"].items()}
        return cls(most, rows, temperature, declared)

    def check(self, columns: Mapping[str, ColumnPlan]) -> None:
        """Raise CaveatError unless the predictors of these columns can have been chosen so."""
        for name, declared in self.declared.items():
            entry = columns.get(name)
            if (
                entry is None
                or not set(declared) <= set(entry.predictors)
                or len(entry.predictors) - len(declared) > self.most
            ):
                raise CaveatError("the plan contradicts itself", code="model.file.damaged")


def how_many(options: Mapping[str, Any], n_columns: int) -> int | None:
    """Return how many predictors are chosen for a column, as the options say; None for all.

    ``predictors`` is "auto", "all", a whole number, or a table with those of single columns.

    Examples
    --------
    >>> [how_many({"predictors": given}, 100) for given in ("auto", "all", 7, {"b": ["a"]})]
    [20, None, 7, 20]
    """
    given = options.get("predictors", AUTO)
    if isinstance(given, Mapping) or given == AUTO:
        return MOST if n_columns > WIDE else None
    if given == ALL:
        return None
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and given >= 1:
        return int(given)
    raise CaveatError(
        "predictors must be auto, all, a whole number, 1 or more, or a table of columns",
        where="synthesis",
        do='write predictors = "auto", or name those of a column in its own entry',
        entry=("predictors",),
        code="synthesis.setting.type",
    )


def all_or_named(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the predictors that are named for single columns of linked tables or groups.

    All others are drawn from everything before them there: a number of columns is refused.
    """
    given = options.get("predictors", {})
    if isinstance(given, Mapping):
        return given
    if how_many(options, 0) is not None:
        raise CaveatError(
            "predictors are chosen in a table that stands by itself, not in groups or linked ones",
            where="synthesis",
            do="leave the number out, or name the predictors of a column in its own entry",
            entry=("predictors",),
            code="synthesis.setting.conflict",
        )
    return {}


# -------------------------------------------------------------------------------------------------
# Wide tables: each column is drawn from the few columns before it that tell most about it.
#
# What two columns tell about each other is their mutual information in a sample of the records,
# less what chance gives. The choice looks at the records, so it is part of what the strong
# attacker follows: plain trees take the strongest columns, and she takes them again in every
# world; for guarded trees they are drawn, a column that tells more with a larger probability, and
# the probability of what was drawn is part of that of their structure.


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
