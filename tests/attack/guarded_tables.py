"""Small tables with guarded plans, and the same things for the slow implementation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from tests.tree.guarded.slow import Absent, Declared, Design, Record, Rule, Settings, Structure

from caveat.attack.worlds import Worlds, draw_release
from caveat.synthesis import Plan, make_plan
from caveat.synthesis.methods.guarded import Stratified, guard_of
from caveat.table import Column, Kind, Table

SMALL = {"method": "guarded", "smallest": 8.0, "depth": 4, "temperature": 1.5, "backoff": 3.0,
         "rare_below": 1}  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A table, its plan and seed, and the rules as functions."""

    table: Table
    plan: Plan
    seed: int
    rules: tuple[Rule, ...] = ()

    @property
    def worlds(self) -> Worlds:
        worlds = Worlds(self.table, self.plan, [], seed=self.seed)
        release = draw_release(worlds.model(self.table, ()), self.table.n_rows, self.seed, 1)
        return Worlds(self.table, self.plan, [release], seed=self.seed)


def values_of(column: Column) -> list[Any]:
    """Return the cells as plain values: numbers as numbers, dates as days."""
    levels = column.numbers if column.kind.is_number else column.levels
    known = [*levels.tolist(), *(Absent(m.key) for m in column.missing)]
    return [known[code] for code in column.codes]


def records_of(table: Table, plan: Plan) -> list[Record]:
    """Return the records of a table: values by name."""
    names = [n for n in (*plan.columns, plan.weights) if n and n in table]
    cells = {name: values_of(table[name]) for name in names}
    return [{n: cells[n][i] for n in names} for i in range(table.n_rows)]


def declared(column: Column, plan: Plan, name: str) -> Declared:
    """Return what the dictionary and the plan say about a column."""
    absent = tuple(Absent(m.key) for m in column.missing)
    grid = plan.columns[name].grid
    if grid is not None:
        return Declared(absent, True, True, True, grid.low, grid.high, grid.step,
                        grid.scale == "geometric", tuple(grid.special))  # fmt: skip
    levels = column.numbers if column.kind.is_number else column.levels
    return Declared((*levels.tolist(), *absent), in_line=column.kind is Kind.ORDERED,
                    cut_in_order=column.kind.has_order)  # fmt: skip


def design_of(problem: Problem, worlds: Worlds) -> Design:
    """Return plan and structures for the slow implementation; no count of the fit goes in."""
    plan, table = problem.plan, problem.table
    columns = {name: declared(table[name], plan, name) for name in plan.columns}

    def structures(fitted: Any) -> Mapping[Any, Structure]:
        if fitted is None:
            return {}
        trees = {None: fitted}
        if isinstance(fitted, Stratified):
            levels = columns[plan.strata].values
            trees = {levels[code]: one for code, one in fitted.models.items()}
        return {
            key: Structure(one.tree.candidate.tolist(), one.tree.place.tolist())
            for key, one in trees.items()
        }

    guards = {n: guard_of(e.settings) for n, e in plan.columns.items()}
    return Design(
        columns,
        {n: e.predictors for n, e in plan.columns.items()},
        {
            n: Settings(g.temperature, g.smallest, g.backoff, g.floor, g.depth)
            for n, g in guards.items()
        },
        {n: structures(m.kinds) for n, m in worlds.base.items()},
        {n: structures(m.values) for n, m in worlds.base.items()},
        problem.rules,
        plan.strata,
        plan.weights,
        plan.weight_unit,
    )


def classes(rng: np.random.Generator, n: int, k: int, signal: Any, missing: bool = False) -> Any:
    codes = np.clip(np.rint(signal * (k - 1) + rng.normal(0, 0.8, n)), 0, k - 1).astype(int)
    values = np.array([f"c{c}" for c in codes], object)
    if missing:
        values[rng.random(n) < 0.2] = None
    return values


def _numbers(rng: np.random.Generator, n: int, kind: str, signal: Any) -> Any:
    raw = signal * 40 + rng.exponential(30, n)
    if kind == "few":
        return np.rint(raw / 12).astype(int)
    whole = np.rint(np.where(rng.random(n) < 0.5, np.rint(raw / 10) * 10, raw * 7))
    if kind == "many":
        return whole.astype(int)
    if kind == "decimals":
        return np.round(raw / 9, 1)
    if kind == "dates":
        return pd.Series(pd.to_datetime("2020-01-01") + pd.to_timedelta(whole, "D"))
    values = whole.copy()
    if kind == "missing":
        values[rng.random(n) < 0.25] = np.nan
    else:
        values[rng.random(n) < 0.3] = 30.0
        if kind == "both":
            values[rng.random(n) < 0.2] = np.nan
        values[1] = 30.0
    return values


CLASSES = {"two": 2, "three": 3, "seven": 7, "eighty": 80, "hundreds": 310}
KINDS = ("two", "three", "seven", "gaps", "ordered", "few", "many", "decimals", "missing",
         "special", "both", "dates")  # fmt: skip


def cells_of(rng: np.random.Generator, n: int, kind: str, signal: Any) -> Any:
    """Return the cells of a column of some kind."""
    if kind == "gaps":
        return classes(rng, n, 3, signal, missing=True)
    if kind == "ordered":
        levels = [f"c{i}" for i in range(5)]
        return pd.Categorical(classes(rng, n, 5, signal), levels, ordered=True)
    if kind in ("eighty", "hundreds"):
        levels = [f"c{i}" for i in range(CLASSES[kind])]
        return pd.Categorical(classes(rng, n, len(levels), signal), levels)
    if kind in CLASSES:
        return classes(rng, n, CLASSES[kind], signal)
    return _numbers(rng, n, kind, signal)


def make_problem(
    kinds: list[str], n: int, seed: int, weights: str = "", rule: bool = False, strata: str = "",
    **options: Any,
) -> Problem:  # fmt: skip
    """Return a table with columns of these kinds, a, b, c, …, and a plan."""
    rng = np.random.default_rng(seed)
    signal, frame, single = rng.random(n), {}, {}
    if strata:
        frame["s"] = classes(rng, n, 3, rng.random(n))
    for name, kind in zip("abcdef", kinds, strict=False):
        single[name] = {"method": "guarded"}
        frame[name] = cells_of(rng, n, kind, signal)
        if kind in ("special", "both"):
            single[name]["special"] = [30.0]
        if kind == "many" and seed % 2:
            single[name] |= {"range": [0, 5000, 1], "scale": "geometric"}
    if rule:
        frame["r"] = classes(rng, n, 3, signal)
        frame["r"][0] = "c1"
    rules: tuple[Rule, ...] = ()
    given = {**SMALL, **options, "columns": single}
    if weights:
        choices = {"equal": [3.0], "two": [1.0, 2.0], "any": [0.0, 0.5, 1.0, 1.7, 6.0]}[weights]
        frame["w"] = rng.choice(choices, n)
        frame["w"][0] = choices[-1]
        given["weights"] = "w"
    table = Table.from_frame(pd.DataFrame(frame))
    if rule:
        first = next(iter(frame))
        value = values_of(table[first])[0]
        if isinstance(value, str | float) and table[first].kind not in (Kind.DATE, Kind.DATETIME):
            text = repr(value) if isinstance(value, str) else f"{value:.12g}"
            given["rules"] = [f"if {first} == {text} then r = 'c1'"]
            rules = (Rule("r", lambda record: record[first] == value, "c1"),)
    if strata:
        given["strata"] = "s"
    plan = make_plan(table, given)
    if weights:
        plan = replace(plan, weight_unit=1.6)
    return Problem(table, plan, seed, rules)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Small tables of all kinds of columns, with ties, weights, rules and strata."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=4))
    rule = draw(st.booleans())
    # See test_strata_with_a_number_of_two_parts_before.
    alone = not {"missing", "special", "both"} & set(kinds if rule else kinds[:-1])
    return make_problem(
        kinds,
        draw(st.integers(10, 60)),
        draw(st.integers(0, 2**20)),
        draw(st.sampled_from(["", "", "equal", "two", "any"])),
        rule,
        draw(st.sampled_from(["", "", "s"])) if alone else "",
        temperature=draw(st.sampled_from([0.3, 1.5, 10.0])),
        floor=draw(st.sampled_from([0.1, 2.0])),
    )
