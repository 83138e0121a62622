"""Fitted groups and linked tables as plain states, and back; every stage is a model of its own.

Nothing in a file is used before it was checked: what loads can be drawn from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from caveat.expressions import Expression
from caveat.synthesis.linked.model import GroupModel, GroupPlan, LinkedModel
from caveat.synthesis.linked.plan import LinkedPlan, some_of
from caveat.synthesis.linked.unfold import PARTS, Drawn, Shape, Stage
from caveat.synthesis.methods import State
from caveat.synthesis.methods.base import need
from caveat.synthesis.model import Model
from caveat.synthesis.options import parse_rule
from caveat.synthesis.replacing import (
    FreshKeys,
    Replaced,
    column_from_state,
    table_from_state,
    table_state,
)
from caveat.synthesis.seen import RareLevels, rare_below
from caveat.table import Table
from caveat.table.code_files import dictionary_state
from caveat.table.frames import BACKENDS
from caveat.table.grouping import GROUPS, Groups
from caveat.table.linked import Link, Linked

__all__ = ["linked_model", "linked_state"]

MOST_ROWS = 2**31


def linked_state(model: GroupModel | LinkedModel, of_model: Callable[[Model], State]) -> State:
    """Return what a file has to hold; ``of_model`` gives the state of one stage."""
    inner = model.model if isinstance(model, GroupModel) else model
    plan, outline = inner.plan, inner.outline
    state: State = {
        "stages": [
            {"stage": _stage_state(stage), **of_model(inner.stages[stage.name])}
            for stage in plan.shape
        ],
        "dropped": list(plan.dropped),
        "late": dict(plan.late),
        "remarks": list(plan.remarks),
        "rules": [_rule_text(rule) for rule in plan.rules],
        "rare": {
            table: {name: of.state() for name, of in rare.items()}
            for table, rare in plan.rare.items()
        },
        "rare_below": plan.rare_below,
        "tables": {name: table_state(table) for name, table in outline.tables.items()},
        "keys": dict(outline.keys),
        "links": [[link.child, link.column, link.parent] for link in outline.links],
        "lookups": sorted(outline.lookups),
        "order": dict(outline.order),
        "fresh": {name: [keys.start, keys.prefix] for name, keys in inner.keys.items()},
        "rows": dict(inner.rows),
        "dictionaries": {name: table_state(table) for name, table in inner.dictionaries.items()},
        "replaced": {name: of.state() for name, of in inner.replaced.items()},
        "group": None,
    }
    if isinstance(model, GroupModel):
        groups = model.groups
        state["group"] = {
            "groups": [groups.key, list(groups.constant or ()), groups.order, groups.role],
            "names": list(model.names),
            "n_rows": model.n_rows,
            "kinds": {n: [dictionary_state(c), d] for n, (c, d) in model.kinds.items()},
            "backend": model.backend,
            "population": model.population,
            "replaced": model.replaced.state(),
        }
    return state


def _rule_text(rule: Any) -> str:
    return f"any({rule.text})" if isinstance(rule, Expression) else str(rule)


def _stage_state(stage: Stage) -> State:
    made = stage.made
    return {
        "table": stage.table,
        "part": stage.part,
        "columns": list(made.columns),
        "silent": sorted(made.silent),
        "context": list(made.context),
        "some": "" if made.some is None else made.some.text,
        "after": list(made.after),
        "falling": made.falling,
        "above": {name: list(source) for name, source in stage.above.items()},
        "gap": stage.gap,
        "ordered": stage.ordered,
        "weights": list(stage.weights or ()),
        "below": {name: list(source) for name, source in stage.below.items()},
        "own": list(stage.own),
        "classes": sorted(stage.classes),
    }


def _texts(values: Any, n: int | None = None) -> tuple[str, ...]:
    need(isinstance(values, list) and all(isinstance(v, str) for v in values), "no texts")
    need(n is None or len(values) == n, "another number of texts")
    return tuple(values)


def _stage(state: State) -> Stage:
    one = _texts([state["table"], state["part"], state["some"], state["falling"], state["gap"]])
    need(one[1] in PARTS and type(state["ordered"]) is bool, "no part of a table")
    made = Drawn(
        _texts(state["columns"]),
        frozenset(_texts(state["silent"])),
        _texts(state["context"]),
        Expression(one[2]) if one[2] else None,
        _texts(state["after"]),
        one[3],
    )
    above = {name: _texts(source, 2) for name, source in state["above"].items()}
    below = {name: _texts(source, 3) for name, source in state["below"].items()}
    weights = _texts(state["weights"])
    need(len(weights) in (0, 2), "no place of weights")
    return Stage(
        one[0], one[1], made, above, one[4], state["ordered"],  # type: ignore[arg-type]
        (weights[0], weights[1]) if weights else None, below,  # type: ignore[arg-type]
        _texts(state["own"]), frozenset(_texts(state["classes"])),
    )  # fmt: skip


def linked_model(
    state: State, seed: int, to_model: Callable[[State, int], Model]
) -> GroupModel | LinkedModel:
    """Return the model of a file; ``to_model`` makes that of one stage from its state and seed."""
    shape: Shape = tuple(_stage(entry.pop("stage")) for entry in state["stages"])
    seeds = [entry.pop("seed") for entry in state["stages"]]
    need(all(type(s) is int and s >= 0 for s in seeds), "no seed of a stage")
    models = [to_model(e, s) for e, s in zip(state["stages"], seeds, strict=True)]
    stages = dict(zip([stage.name for stage in shape], models, strict=True))
    need(len(stages) == len(shape), "a stage that is there twice")
    outline = _outline(state, shape)
    for stage in shape:
        need(set(stages[stage.name].columns) == {*stage.given, *stage.drawn}, "another stage")
    rules = tuple(
        some_of(text) if text.startswith("any(") else parse_rule(text)
        for text in _texts(state["rules"])
    )
    late = {name: Expression(text).text for name, text in state["late"].items()}
    said = (_texts(state["dropped"]), late, _texts(state["remarks"]), rules, seed)
    plans = {name: model.plan for name, model in stages.items()}
    keys = {
        name: _fresh(outline.tables[name], outline.keys[name], given)
        for name, given in state["fresh"].items()
    }
    need(set(keys) == set(outline.keys) - outline.lookups, "keys of other tables")
    roots = {name for name in outline.sequence if outline.parent_of(name) is None}
    rows = dict(state["rows"])
    need(set(rows) == roots and all(_is_number(n) for n in rows.values()), "no rows")
    dictionaries = {n: table_from_state(t) for n, t in state["dictionaries"].items()}
    need(set(dictionaries) == set(outline.sequence) - roots, "dictionaries of other tables")
    given = state["group"]
    rare = {
        table: {name: RareLevels.from_state(of) for name, of in entries.items()}
        for table, entries in state.get("rare", {}).items()
    }
    need(set(rare) <= set(outline.sequence), "rare levels of other tables")
    told = (*said, rare, rare_below(state.get("rare_below", 1)))
    plan = LinkedPlan(shape, plans, *told)
    if given is not None:
        key, constant, order, role = given["groups"]
        _texts([key, order, role])
        groups = Groups(key, _texts(constant), order, role)
        plan = GroupPlan(shape, plans, *told, groups=groups)
    replaced = {n: Replaced.from_state(of) for n, of in state.get("replaced", {}).items()}
    _check_replaced(replaced, outline)
    model = LinkedModel(plan, stages, outline, keys, rows, seed, dictionaries, replaced)
    return model if given is None else _group_model(given, model)


def _check_replaced(replaced: Mapping[str, Replaced], outline: Linked) -> None:
    """Need invented columns of tables that there are, and tables above that have them too."""
    need(set(replaced) <= set(outline.sequence), "replaced columns of other tables")
    for table, of in replaced.items():
        above = {""}
        while (link := outline.parent_of(table)) is not None:
            table = link.parent
            above.add(table)
        for name, one in of.columns.items():
            need(one.above in above and not one.shared, "values of another table")
            first = replaced[one.above].columns[name] if one.above else one
            need(not first.above or not one.above, "values of a table that has none")


def _is_number(n: Any) -> bool:
    return type(n) is int and 0 < n < MOST_ROWS


def _outline(state: State, shape: Shape) -> Linked:
    tables = {name: table_from_state(table) for name, table in state["tables"].items()}
    links = tuple(Link(*_texts(link, 3)) for link in state["links"])
    lookups = frozenset(_texts(state["lookups"]))
    outline = Linked(tables, dict(state["keys"]), links, lookups, dict(state["order"]))
    need({stage.table for stage in shape} <= set(outline.sequence), "stages of other tables")
    need(all(not tables[name].n_rows for name in outline.sequence), "rows of the original")
    return outline


def _fresh(table: Table, key: str, given: Any) -> FreshKeys:
    start, prefix = given
    need(type(start) is int and 0 <= start < 2**62 and isinstance(prefix, str), "no keys")
    need(bool(prefix) == (table[key].levels.dtype.kind not in "iuf"), "keys of another kind")
    return FreshKeys(table[key], start, prefix)


def _group_model(given: State, model: LinkedModel) -> GroupModel:
    kinds = {n: (column_from_state(c), d) for n, (c, d) in given["kinds"].items()}
    need(set(kinds) == set(model.plan.late), "columns that nothing computes")
    need(all(type(d) is int and 0 <= d <= 15 for _, d in kinds.values()), "no decimals")
    need(GROUPS in model.rows and given["backend"] in BACKENDS, "no groups")
    population = given["population"]
    need(type(population) is int and 0 <= population < 2**40, "no population")
    need(_is_number(given["n_rows"]), "no rows")
    none = {n: (column.with_codes(np.zeros(0, np.uint8)), d) for n, (column, d) in kinds.items()}
    return GroupModel(
        model, _texts(given["names"]), given["n_rows"], none, given["backend"], population,
        Replaced.from_state(given.get("replaced")),
    )  # fmt: skip
