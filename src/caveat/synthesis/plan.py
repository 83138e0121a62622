"""The plan: which column is modelled when, from what, and how."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.synthesis.leaving_out import left_out, refuse_both, refuse_strata, released
from caveat.synthesis.methods import METHODS, Settings
from caveat.synthesis.methods.ipf import margins_of
from caveat.synthesis.rules import Fixed, Order, parse_rule
from caveat.table import Column, Table
from caveat.table.identifying import Judgement, judge

__all__ = ["ColumnPlan", "Plan", "check_plan", "make_plan"]

# Methods that the plan itself carries out: they have no model of their own.
WITHOUT_MODEL = ("constant", "copy", "derived", "drop")
JOINT = ("saturated", "ipf")
MOST_CLASSES = 65_535  # limits of the tree engine
MOST_CELLS = 1 << 24
ROWS_FOR_FORMULAS = 100  # enough to see whether a formula can be computed
MOST_WHOLE = 1 << 31  # whole numbers of the tree engine
TOP_LEVEL = ("order", "method", "columns", "rules", "strata", "weights", "derived", "drop",
             "special", "predictors", "keep")  # fmt: skip
SETTINGS = tuple(item.name for item in fields(Settings))


@dataclass(frozen=True)
class ColumnPlan:
    """How one column is made.

    Parameters
    ----------
    settings
        The method and its settings.
    predictors
        The columns it is drawn from.
    special
        Values that are modelled apart from the ordinary ones.
    """

    settings: Settings
    predictors: tuple[str, ...] = ()
    special: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A complete, checked plan for a table.

    Parameters
    ----------
    columns
        The columns in the order in which they are visited.
    rules
        What must hold in the output.
    strata
        The column within whose levels all others are modelled apart; "" for none.
    weights
        The column of survey weights; "" for none. It is not part of the output.
    remarks
        What the user should know about decisions that were made for her.
    """

    columns: Mapping[str, ColumnPlan]
    rules: tuple[Fixed | Order, ...] = ()
    strata: str = ""
    weights: str = ""
    remarks: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    def __str__(self) -> str:
        width = max(map(len, self.columns), default=0)
        lines = []
        for name, entry in self.columns.items():
            lines.append(f"{name:<{width}}  {_describe(entry)}")
        lines += [f"rule: {rule}" for rule in self.rules]
        if self.strata:
            lines.append(f"strata: {self.strata}")
        if self.weights:
            lines.append(f"weights: {self.weights} (the output needs none)")
        return "\n".join([*lines, *(f"note: {remark}" for remark in self.remarks)])


def _describe(entry: ColumnPlan) -> str:
    settings, usual = entry.settings, Settings()
    if settings.method == "derived":
        return f"derived: {settings.formula}"
    changed = [
        f"{name} {getattr(settings, name)}"
        for name in SETTINGS[1:]
        if getattr(settings, name) != getattr(usual, name)
    ]
    if entry.special:
        changed.append(f"special {', '.join(map(str, entry.special))}")
    source = f" from {', '.join(entry.predictors)}" if entry.predictors else ""
    return settings.method + source + (f" ({'; '.join(changed)})" if changed else "")


def make_plan(table: Table, options: Mapping[str, Any] | None = None) -> Plan:
    """Return the plan for a table: what the options say, and the usual for the rest.

    Parameters
    ----------
    table
        The original table.
    options
        Any of: order, drop, keep, method, predictors, special, derived, rules, strata, weights; any
        setting of a method for all columns; and ``columns``, a mapping of names to settings of
        single columns.
        The ``[synthesis]`` part of a specification has the same entries.
        ``judged`` is what :func:`caveat.table.identifying.judge` says about the whole table, where
        this one is a part of it. Columns that name people are left out unless ``keep`` names them
        or they have a method of their own.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f", "m"] * 9, "age": range(18), "group": [0, 1] * 9})
    >>> print(make_plan(table, {"minbucket": 3, "columns": {"group": {"method": "sample"}}}))
    sex    cart (minbucket 3)
    age    cart from sex (minbucket 3)
    group  sample (minbucket 3)
    """
    options = dict(options or {})
    judged: Mapping[str, Judgement] | None = options.pop("judged", None)
    _refuse_unknown(options, (*TOP_LEVEL, *SETTINGS), "synthesis")
    weights = _named(table, options.get("weights", ""), "weights")
    strata = _named(table, options.get("strata", ""), "strata")
    single = {name: dict(entry) for name, entry in options.get("columns", {}).items()}
    for name in options.get("drop", ()):
        single.setdefault(name, {})["method"] = "drop"
    for name, value in options.get("derived", {}).items():
        single.setdefault(name, {}).update(_derivation(value, name))
    for key in ("special", "predictors"):
        for name, value in options.get(key, {}).items():
            single.setdefault(name, {})[key] = value
    for name in single:
        _named(table, name, "columns")
    order = _order(table, options.get("order"), strata, weights)
    rules = tuple(parse_rule(text) for text in options.get("rules", ()))
    shared = {name: options[name] for name in SETTINGS if name in options}
    remarks: list[str] = []
    columns: dict[str, ColumnPlan] = {}
    judged = judge(table) if judged is None else judged
    keep = [_named(table, name, "keep") for name in options.get("keep", ())]
    refuse_both(keep, options.get("drop", ()))
    # A method of its own is somebody's word for a column, a method for all columns is none.
    keep += [name for name, entry in single.items() if "method" in entry]
    for name in order:
        given = {**shared, **single.get(name, {})}
        if name in judged and name not in keep:
            refuse_strata(name, strata)
            given["method"] = "drop"
            remarks.append(left_out(name, judged[name]))
        elif name in judged and given.get("method") not in ("drop", "derived"):
            remarks.append(released(name, judged[name]))
        columns[name] = _column_plan(table, name, given, columns, remarks)
    columns = _derived_last(columns)
    _check_formulas(columns, table)
    _check_strata(columns, strata)
    _check_rules(rules, columns, table, remarks)
    return Plan(columns, rules, strata, weights, tuple(remarks))


def check_plan(plan: Plan, table: Table) -> None:
    """Raise CaveatError unless a plan that comes from a file is one for such a table.

    Parameters
    ----------
    plan
        Any plan.
    table
        The columns of the plan; their cells do not matter.
    """
    before: dict[str, ColumnPlan] = {}
    for name, entry in plan.columns.items():
        own = {"predictors": list(entry.predictors), "special": list(entry.special)}
        before[name] = _column_plan(table, name, {**asdict(entry.settings), **own}, before, [])
    texts = (plan.strata, plan.weights, *plan.remarks)
    if (
        before != dict(plan.columns)
        or list(_derived_last(before)) != list(before)
        or plan.strata not in ("", *list(before)[:1])
        or plan.weights in before
        or not all(isinstance(text, str) for text in texts)
    ):
        raise CaveatError("the plan contradicts itself")
    _check_strata(before, plan.strata)
    _check_rules(plan.rules, before, table, [])
    block = [n for n, entry in before.items() if entry.settings.method == "ipf"]
    if block:
        margins_of(block, [m for name in block for m in before[name].settings.margins])


def _check_strata(columns: Mapping[str, ColumnPlan], strata: str) -> None:
    if strata and columns[strata].settings.method in ("derived", "drop"):
        raise CaveatError(
            f"{strata} is not drawn, so that nothing can be drawn within its levels",
            where="synthesis, strata",
            do="name another column",
        )
    block = [n for n, entry in columns.items() if entry.settings.method == "ipf"]
    if strata and block:
        raise CaveatError(
            "a block with the method ipf cannot be fitted within strata",
            where=f"synthesis, column {block[0]}",
            do="give the strata column the method ipf too, and put it into the margins",
        )


def _refuse_unknown(options: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}" if near else f"use {', '.join(known)}"
            raise CaveatError(f"{name!r} is no setting", where=where, do=hint)


def _derivation(value: Any, name: str) -> dict[str, Any]:
    """Return the settings for a formula, or for the column that a value is looked up by."""
    if isinstance(value, str):
        return {"method": "derived", "formula": value}
    if isinstance(value, Mapping) and set(value) == {"lookup"}:
        return {"method": "lookup", "predictors": value["lookup"]}
    raise CaveatError(
        "a derived column has a formula or a lookup",
        where=f"synthesis, derived, {name}",
        do='write "weight / 2" or { lookup = "age" }',
    )


def _named(table: Table, name: str, where: str) -> str:
    if name and name not in table:
        raise CaveatError(
            f"there is no column {name!r}",
            where=f"synthesis, {where}",
            do=f"choose among {', '.join(table.names)}",
        )
    return name


def _order(table: Table, order: Sequence[str] | None, strata: str, weights: str) -> list[str]:
    """Return the visit sequence: the named columns first, the others after them as they stand."""
    given = [_named(table, name, "order") for name in order or ()]
    repeated = [name for name in given if given.count(name) > 1]
    if repeated:
        raise CaveatError(
            f"{repeated[0]!r} is listed twice", where="synthesis, order", do="list it once"
        )
    whole = [*given, *(name for name in table if name not in given)]
    first = [strata] if strata else []
    return first + [name for name in whole if name not in (strata, weights)]


def _fits(predictor: Column, column: Column) -> bool:
    """Whether the tree engine can tabulate the levels of a predictor by these classes."""
    if predictor.kind.has_order:
        return True
    classes = 1 if column.kind.is_number else column.n_levels
    return predictor.n_levels <= MOST_CLASSES and predictor.n_levels * classes <= MOST_CELLS


def _column_plan(
    table: Table,
    name: str,
    given: Mapping[str, Any],
    before: Mapping[str, ColumnPlan],
    remarks: list[str],
) -> ColumnPlan:
    column, where = table[name], f"synthesis, column {name}"
    _refuse_unknown(given, (*SETTINGS, "predictors", "special"), where)
    settings = _settings({k: v for k, v in given.items() if k in SETTINGS}, where)
    if settings.method not in (*METHODS, *WITHOUT_MODEL):
        choices = ", ".join((*METHODS, *WITHOUT_MODEL))
        raise CaveatError(
            f"there is no method {settings.method!r}", where=where, do=f"use {choices}"
        )
    if "method" not in given:
        settings = _usual_method(column, name, settings, remarks)
    _check_leaves(settings, column, where)
    if settings.method == "copy":
        remarks.append(f"{name} is copied from the original: it is not protected at all")
    usable = [
        other
        for other, entry in before.items()
        if entry.settings.method not in ("derived", "drop", "constant", "copy")
    ]
    chosen = given.get("predictors")
    if chosen is None:
        chosen = [other for other in usable if _fits(table[other], column)]
        if len(chosen) < len(usable):
            left_out = ", ".join(other for other in usable if other not in chosen)
            remarks.append(f"{name} is drawn without {left_out}, whose levels are too many for it")
    elif isinstance(chosen, str):
        chosen = [chosen]
    if settings.method == "lookup" and "predictors" not in given:
        raise CaveatError(
            "a lookup needs its predictors", where=where, do='name them: predictors = ["age"]'
        )
    _check_predictors(chosen, usable, name)
    if settings.method in ("sample", *WITHOUT_MODEL):
        chosen = ()
    if settings.method == "nested":
        chosen = (settings.within,)
        _check_predictors(chosen, usable, name)
    if settings.method in JOINT:
        chosen = [n for n in usable if before[n].settings.method == settings.method]
        if sorted(given.get("predictors", chosen)) != sorted(chosen):
            raise CaveatError(
                f"a {settings.method} column is drawn from its whole block",
                where=where,
                do="leave its predictors out",
            )
    return ColumnPlan(settings, tuple(chosen), tuple(given.get("special", ())))


def _check_leaves(settings: Settings, column: Column, where: str) -> None:
    """Refuse smoothing within leaves where there are none."""
    without_leaves = settings.method not in ("cart", *WITHOUT_MODEL)
    if settings.smoothing == "density" and without_leaves and column.kind.is_number:
        raise CaveatError(
            f"the method {settings.method} has no leaves to smooth within",
            where=where,
            do='use smoothing = "kernel", which smooths the column as a whole',
        )


def _settings(given: Mapping[str, Any], where: str) -> Settings:
    margins = tuple(tuple(margin) for margin in given.get("margins", ()))
    settings = replace(Settings(), **{**given, "margins": margins})
    for name, least in (("minbucket", 1), ("minsplit", 2), ("max_depth", 1), ("trees", 1)):
        value = getattr(settings, name)
        if value is None and name == "minsplit":
            continue
        if not isinstance(value, int | np.integer) or not least <= value < MOST_WHOLE:
            raise CaveatError(f"{name} must be a whole number, {least} or more", where=where)
    for name in ("cp", "pseudo_count"):
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
            raise CaveatError(f"{name} must be a number, 0 or more", where=where)
    if settings.smoothing not in ("", "kernel", "density", "spline"):
        raise CaveatError(
            f"there is no smoothing {settings.smoothing!r}",
            where=where,
            do="use kernel, density or spline",
        )
    for name in ("method", "within", "formula"):
        if not isinstance(getattr(settings, name), str):
            raise CaveatError(f"{name} must be text", where=where)
    for name in ("proper", "prune"):
        if not isinstance(getattr(settings, name), bool):
            raise CaveatError(f"{name} must be true or false", where=where)
    if settings.method == "derived":
        Expression(settings.formula)
    return settings


def _usual_method(column: Column, name: str, settings: Settings, remarks: list[str]) -> Settings:
    """Return the settings for a column that nobody gave a method for."""
    if int(np.count_nonzero(column.counts)) <= 1:
        return replace(settings, method="constant")
    if not column.kind.is_number and column.n_levels > MOST_CLASSES:
        remarks.append(
            f"{name} has {column.n_levels:,} levels, too many for a tree: it is drawn from its own "
            'distribution; method = "nested" would draw it within the levels of another column'
        )
        return replace(settings, method="sample")
    return settings


def _check_predictors(chosen: Sequence[str], usable: Sequence[str], name: str) -> None:
    for other in chosen:
        if other not in usable:
            raise CaveatError(
                f"{name} cannot be drawn from {other}",
                where=f"synthesis, column {name}",
                do="predictors must come before it in the order and be synthesised themselves",
            )


def _derived_last(columns: dict[str, ColumnPlan]) -> dict[str, ColumnPlan]:
    """Put derived columns behind the columns they need; a circle is an error."""
    plain = {n: e for n, e in columns.items() if e.settings.method != "derived"}
    waiting = {n: e for n, e in columns.items() if n not in plain}
    needs = {n: Expression(e.settings.formula).columns for n, e in waiting.items()}
    for name, sources in needs.items():
        absent = [s for s in sources if s not in columns or columns[s].settings.method == "drop"]
        if absent:
            raise CaveatError(
                f"the formula needs {absent[0]}, which is not synthesised",
                where=f"synthesis, column {name}",
                do="use columns of the output",
            )
    while waiting:
        ready = [n for n in waiting if all(s in plain for s in needs[n])]
        if not ready:
            circle = " and ".join(waiting)
            raise CaveatError(
                f"{circle} are derived from each other",
                where="synthesis, derived",
                do="synthesise one of them",
            )
        plain |= {name: waiting.pop(name) for name in ready}
    return plain


def _check_formulas(columns: Mapping[str, ColumnPlan], table: Table) -> None:
    """Try the formulas on a few rows, and see that their columns can hold what they give."""
    head = table.take(range(min(table.n_rows, ROWS_FOR_FORMULAS)))
    for name, entry in columns.items():
        if entry.settings.method == "derived":
            if len(table[name].levels) and table[name].levels.dtype.kind not in "biufM":
                raise CaveatError(
                    "a formula gives numbers, and the column holds text",
                    where=f"synthesis, column {name}",
                    do='use { lookup = "column" }, or synthesise it',
                )
            Expression(entry.settings.formula).evaluate(head.columns)


def _check_rules(
    rules: Sequence[Fixed | Order],
    columns: Mapping[str, ColumnPlan],
    table: Table,
    remarks: list[str],
) -> None:
    place = {name: i for i, name in enumerate(columns)}
    for rule in rules:
        sources, target = _involved(rule)
        for name in (*sources, target):
            _named(table, name, f"rule {str(rule)!r}")
            if name not in place or columns[name].settings.method == "drop":
                raise CaveatError(f"{name} is not synthesised", where=f"rule {str(rule)!r}")
        late = [name for name in sources if place[name] >= place[target]]
        if late:
            raise CaveatError(
                f"{target} must come after {late[0]} in the order",
                where=f"rule {str(rule)!r}",
                do="change the order",
            )
        if isinstance(rule, Order) and not all(
            table[n].kind.is_number for n in _involved(rule)[0] + (target,)
        ):
            raise CaveatError("only numbers and dates can be compared", where=f"rule {str(rule)!r}")
        contradictions = rule.contradictions(table)
        if contradictions:
            remarks.append(
                f"rule {str(rule)!r} does not hold for {contradictions:,} of {table.n_rows:,} "
                f"original records; they take no part in the model of {target}"
            )


def _involved(rule: Fixed | Order) -> tuple[tuple[str, ...], str]:
    if isinstance(rule, Fixed):
        return rule.condition.columns, rule.column
    return (rule.lower,), rule.upper
