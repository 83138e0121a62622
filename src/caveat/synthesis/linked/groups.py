"""Groups in one table: a household file in, a household file out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.derived import computed
from caveat.synthesis.linked.model import LinkedModel, fit_linked
from caveat.synthesis.linked.plan import LinkedPlan, kind_columns, make_linked_plan
from caveat.synthesis.model import LogProb, whole_number
from caveat.synthesis.options import look_ups, sources_first
from caveat.synthesis.replacing import Replaced, dropping
from caveat.table import Column, Kind, Table
from caveat.table.grouping import (
    GROUPS,
    MEMBERS,
    Groups,
    found_groups,
    join_groups,
    size_columns,
    split_groups,
)
from caveat.table.identifying import judge
from caveat.table.linked import Linked
from caveat.table.table import decimals_of, survey_weights

__all__ = ["GroupModel", "GroupPlan", "fit_groups", "plan_groups"]

AGE = re.compile(r"(?i)^(age|alter|edad)$")
ADULT = 18
NEARLY_ALL = 0.999
"""Share of groups with an adult from which on every synthetic group has one, unless rules say."""
SIZE = "sum(1)"
"""The formula of columns that say how many members a group has."""


@dataclass(frozen=True)
class GroupPlan(LinkedPlan):
    """The plan of a table with groups; its groups are in ``groups``."""

    groups: Groups = field(default_factory=lambda: Groups(""))


def plan_groups(table: Table, given: Any, options: Mapping[str, Any]) -> GroupPlan:
    """Return the plan of a table whose rows belong to groups; what is not said is found.

    Parameters
    ----------
    table
        The original table.
    given
        The name of the key, :class:`caveat.table.grouping.Groups` or entries of a specification.
    options
        As for :func:`caveat.synthesis.make_plan`. Rules may say what some member of every group
        meets, ``any(age >= 18)``; derived columns may sum up the members, ``sum(income)``.
    """
    groups = found_groups(table, given)
    options = dropping(options)
    derived = dict(options.get("derived", {}))
    sizes = [
        name
        for name in size_columns(table, groups.key, groups.constant or ())
        if name not in derived and "method" not in options.get("columns", {}).get(name, {})
    ]
    after = _after_members(table, groups, options)
    late = _late({**dict.fromkeys(sizes, SIZE), **derived}, after)
    options["derived"] = {n: text for n, text in derived.items() if n not in late}
    remarks = []
    if "rules" not in options and (rule := adult_rule(table, groups)):
        options["rules"] = [rule]
        remarks.append(f"every group gets an adult: rule {rule!r} was found; rules = [] drops it")
    if groups.role:
        order = [n for n in options.get("order") or () if n != groups.role]
        options["order"] = [groups.role, *order]
    linked = split_groups(table, groups)
    plan = make_linked_plan(
        linked,
        options,
        context=_context(linked, groups),
        late=late,
        after=after,
        falling={} if groups.order else {MEMBERS: age_column(table, groups)},
    )
    whole = {item: getattr(plan, item) for item in plan.__dataclass_fields__}
    return GroupPlan(**{**whole, "remarks": (*remarks, *plan.remarks)}, groups=groups)


def _after_members(table: Table, groups: Groups, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of groups that the visit sequence has behind one of the members."""
    given = [n for n in options.get("order") or () if n in table]
    whole = [*given, *(n for n in table if n not in given)]
    whole = sources_first(whole, look_ups(options), given)
    constant = (groups.key, *(groups.constant or ()))
    left = {*options.get("drop", ()), options.get("weights", "")}
    judged = options.get("judged")
    left |= set(judge(table) if judged is None else judged)
    first = next((i for i, n in enumerate(whole) if n not in constant and n not in left), 0)
    strata = options.get("strata", "")
    return tuple(n for n in whole[first:] if n in constant and n != strata)


def _late(derived: Mapping[str, Any], after: Sequence[str]) -> dict[str, str]:
    """Return the formulas that can be computed when everything is drawn, each after its sources."""
    needs = {n: Expression(text).columns for n, text in derived.items() if isinstance(text, str)}
    late = {n for n in needs if Expression(derived[n]).is_of_groups}
    while more := {n for n in needs if n not in late and {*late, *after} & set(needs[n])}:
        late |= more
    found: dict[str, str] = {}
    while left := [n for n in needs if n in late and n not in found]:
        ready = [n for n in left if not set(needs[n]) & (set(left) - {n})]
        if not ready or any(n in needs[n] for n in ready):
            raise CaveatError(
                f"{' and '.join(left)} are derived from each other",
                where="synthesis, derived",
                do="synthesise one of them",
                entry=("derived",),
                code="synthesis.formula.conflict",
            )
        found |= {n: str(derived[n]) for n in ready}
    return found


def _context(linked: Linked, groups: Groups) -> dict[str, list[str]]:
    """Return the columns that say what kind of member somebody is, if the groups name some."""
    told = [name for name in (groups.role, groups.order.removeprefix("-")) if name]
    table = linked.tables[MEMBERS]
    found = kind_columns(table, [name for name in table if name not in told])
    return {MEMBERS: [*told, *found]}


def adult_rule(table: Table, groups: Groups) -> str:
    """Return the rule that some member is an adult, if (nearly) every group of the table has one.

    Examples
    --------
    >>> people = Table.from_frame({"hh": [1, 1, 2], "age": [40, 3, 71]})
    >>> adult_rule(people, found_groups(people, "hh"))
    'any(age >= 18)'
    """
    name = age_column(table, groups)
    if not name:
        return ""
    ages, key = table[name].cell_numbers, table[groups.key]
    if not (ages < ADULT).any():
        return ""
    adults = np.bincount(key.codes, ages >= ADULT, key.n_levels)[key.counts > 0]
    return f"any({name} >= {ADULT})" if (adults > 0).mean() >= NEARLY_ALL else ""


def age_column(table: Table, groups: Groups) -> str:
    """Return the column that holds the age of members, "" if there is none."""
    constant = groups.constant or ()
    ages = [n for n in table if AGE.match(n) and n not in constant]
    return next((n for n in ages if table[n].kind in (Kind.INTEGER, Kind.NUMERIC)), "")


@dataclass(frozen=True)
class GroupModel:
    """A fitted synthesiser of a table with groups. It is as confidential as the table.

    Parameters
    ----------
    model
        The fitted groups and members.
    names
        The columns of the output in their order.
    n_rows
        Number of original records.
    kinds
        What computed columns are like, without rows, and their decimals.
    backend
        The kind of frame that came in.
    population
        Number of groups that the weights of the sample stand for; 0 without weights.
    replaced
        The columns that are replaced by invented values once the others are drawn.
    """

    model: LinkedModel
    names: tuple[str, ...]
    n_rows: int
    kinds: Mapping[str, tuple[Column, int]]
    backend: str = ""
    population: int = 0
    replaced: Replaced = field(default_factory=Replaced, repr=False)

    __repr__ = without_values

    @property
    def plan(self) -> GroupPlan:
        """The plan it was fitted by."""
        plan = self.model.plan
        assert isinstance(plan, GroupPlan)
        return plan

    @property
    def groups(self) -> Groups:
        """Which rows belong together."""
        return self.plan.groups

    @property
    def seed(self) -> int:
        """The root seed."""
        return self.model.seed

    @property
    def n_groups(self) -> int:
        """Number of original groups."""
        return self.model.rows[GROUPS]

    def with_seed(self, seed: int) -> GroupModel:
        """Return the same fit with another seed for its draws."""
        return replace(self, model=replace(self.model, seed=seed))

    def sample(
        self,
        groups: int | Literal["population"] | None = None,
        copies: int = 1,
        threads: int | None = None,
    ) -> Any:
        """Draw synthetic copies as frames of the kind that came in.

        Parameters
        ----------
        groups
            Groups of each copy; as many as the original has by default. "population": as many as
            the weights of the sample stand for.
        copies
            Number of copies. One gives a frame, several a list of frames.
        threads
            Blocks drawn at the same time; all cores by default. The result does not depend on it.
        """
        drawn = enumerate(self.tables(groups, copies, threads))
        frames = [self.complete(table, copy).compact().to_frame() for copy, table in drawn]
        return frames[0] if copies == 1 else frames

    def complete(self, table: Table, copy: int = 0) -> Table:
        """Return a drawn copy with its invented columns."""
        return self.replaced.complete(table, self.seed, copy, key=self.groups.key)

    def tables(
        self,
        groups: int | Literal["population"] | None = None,
        copies: int = 1,
        threads: int | None = None,
    ) -> list[Table]:
        """Draw synthetic copies as tables."""
        if groups == "population" and not self.population:
            raise CaveatError(
                "a population is expanded by the weights of groups, and there are none",
                where="rows",
                do='name them: weights = "…" in [synthesis]',
                code="synthesis.weights.absent",
            )
        n = self.population if groups == "population" else groups
        rows = None if n is None else {GROUPS: whole_number(n, "groups", 1)}
        return [self._joined(linked) for linked in self.model.tables(rows, copies, threads)]

    def _joined(self, linked: Linked) -> Table:
        """Return one table; what follows from all members of a group is computed now."""
        table = join_groups(linked, [*linked.tables[GROUPS], *linked.tables[MEMBERS]])
        codes = table[self.groups.key].codes
        for name, text in self.plan.late.items():
            column, decimals = self.kinds[name]
            values = Expression(text).evaluate(table.columns, codes)
            table = table.with_columns({name: computed(column, values, decimals)})
        return replace(table.select([n for n in self.names if n in table]), backend=self.backend)

    def split(self, data: Any) -> Linked:
        """Return a table, the original or a release, as the model sees it."""
        table = Table.from_frame(data)
        groups = replace(
            self.groups,
            constant=tuple(n for n in self.groups.constant or () if n in table),
        )
        return split_groups(table, groups)

    def log_prob(self, data: Any) -> dict[str, LogProb]:
        """Return the log probability of every cell of a table, stage by stage."""
        return self.model.log_prob(self.split(data))


def fit_groups(
    table: Table,
    plan: GroupPlan,
    seed: int | None = None,
    threads: int | None = None,
    done: Callable[[str, ColumnModel], None] | None = None,
) -> GroupModel:
    """Fit a table whose rows belong to groups."""
    linked = split_groups(table, plan.groups)
    model = fit_linked(linked, plan, seed, threads, done)
    kinds = {name: (table[name].take(slice(0, 0)), decimals_of(table[name])) for name in plan.late}
    left = {*plan.dropped, plan.weights}
    names = tuple(name for name in table if name not in left)
    population = 0
    if plan.weights:
        top = linked.tables[GROUPS][plan.weights]
        population = round(float(survey_weights(top, plan.weights).sum()))
    return GroupModel(model, names, table.n_rows, kinds, table.backend, population)
