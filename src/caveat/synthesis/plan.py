"""The plan: which column is modelled when, from what, and how; and how that is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from caveat.errors import CaveatError, Mistakes
from caveat.showing import Summary, frame_of, in_short, on_page
from caveat.synthesis.choosing import (
    Choice,
    all_that_fit,
    derived_last,
    how_many,
    narrowed,
    usual_method,
)
from caveat.synthesis.coding import Coding, Grid
from caveat.synthesis.margins.plan import MARGINS, MarginsPlan, plan_margins
from caveat.synthesis.methods import METHODS, Settings
from caveat.synthesis.methods.tables import margins_of
from caveat.synthesis.options import (
    GIVEN,
    TOP_LEVEL,
    WITHOUT_MODEL,
    Fixed,
    Order,
    check_formulas,
    check_leaves,
    check_margins_block,
    check_predictors,
    check_rules,
    check_settings,
    check_strata,
    check_use,
    column_named,
    kept,
    look_ups,
    parents_first,
    parse_rule,
    refuse_own,
    refuse_unknown,
    single_columns,
    visit_order,
)
from caveat.synthesis.replacing import dropping
from caveat.synthesis.seen import (
    LEFT_OUT,
    RareLevels,
    declared_levels,
    find_rare,
    pool_table,
    rare_below,
    refuse_strata,
    remarks_on_rare,
    said_about,
    weight_unit,
    with_grids,
    with_guards,
)
from caveat.table import Column, Kind, Table
from caveat.table.identifying import Judgement, judge
from caveat.table.table import survey_weights

__all__ = [
    "SYNTHPOP",
    "ColumnPlan",
    "Plan",
    "check_plan",
    "described",
    "make_plan",
    "methods_of",
    "our_method",
    "summary_of",
]


SYNTHPOP = {
    "norm": "normal",
    "logreg": "logistic",
    "polyreg": "multinomial",
    "polr": "ordinal",
    "rf": "forest",
    "ranger": "forest",
    "ctree": "cart",
    "satcat": "saturated",
    "catall": "saturated",
    "parametric": "",
}
"""What the methods of synthpop are called here; parametric is another one for each kind."""


def our_method(method: str, column: Column, name: str, remarks: list[str]) -> str:
    """Return the method for a column by our name, and remark on a change.

    Examples
    --------
    >>> from caveat.table import Table
    >>> said = []
    >>> our_method("logreg", Table.from_frame({"x": ["no", "yes"]})["x"], "x", said), said
    ('logistic', ["synthpop's method logreg is logistic here"])
    """
    used = int(np.count_nonzero(column.counts[: len(column.levels)]))
    ours = SYNTHPOP.get(method, method)
    if method == "parametric":
        ours = _parametric(column, used)
    elif ours != method:
        told = f"synthpop's method {method} is {ours} here"
        remarks += [] if told in remarks else [told]
    if ours == "logistic" and not column.kind.is_number and used == 2 and column.is_missing.any():
        remarks.append(
            f"{name} is yes, no or missing: logistic is for two classes, so that it is drawn by "
            "multinomial"
        )
        return "multinomial"
    return ours


def _parametric(column: Column, used: int) -> str:
    if column.kind.is_number:
        return "normrank"
    if column.kind is Kind.ORDERED:
        return "ordinal"
    return "logistic" if used == 2 else "multinomial"


# -------------------------------------------------------------------------------------------------
# How a plan is told: a line for each column, and the table that a notebook shows.


USUAL = Settings()


def described(entry: ColumnPlan) -> str:
    """Return in one line how a column is made."""
    method, predictors, settings = _parts(entry)
    if method == "derived":
        return f"derived: {settings}"
    told = [text for text in (settings, str(entry.grid or "")) if text]
    source = f" from {predictors}" if predictors else ""
    return method + source + (f" ({'; '.join(told)})" if told else "")


def _parts(entry: ColumnPlan) -> tuple[str, str, str]:
    """Return the method, what it draws from and what is not usual about it.

    Without the grid, whose ends may be somebody's.
    """
    settings = entry.settings
    if settings.method == "derived":
        return "derived", "", settings.formula
    names = [item.name for item in fields(Settings) if item.name != "method"]
    changed = [
        f"{name} {getattr(settings, name)}"
        for name in names
        if getattr(settings, name) != getattr(USUAL, name)
    ]
    if entry.special:
        changed.append(f"special {', '.join(map(str, entry.special))}")
    return settings.method, ", ".join(entry.predictors), "; ".join(changed)


def methods_of(columns: Mapping[str, ColumnPlan]) -> str:
    """Return how many columns are made by which method."""
    methods = Counter(entry.settings.method for entry in columns.values())
    return ", ".join(f"{count} {method}" for method, count in methods.items())


def summary_of(columns: Mapping[str, ColumnPlan], remarks: Sequence[str]) -> Summary:
    """Return what a notebook shows of a plan."""
    rows = [(name, *_parts(entry)) for name, entry in columns.items()]
    header = ("column", "method", "drawn from", "settings")
    return Summary(f"Plan: {len(rows)} columns ({methods_of(columns)})", header, rows, remarks)


# -------------------------------------------------------------------------------------------------
# The plan: which column is modelled when, from what, and how.


JOINT = ("saturated", "ipf")
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
    grid
        What guarded trees and margins take as public about a number; None where there are none.
    """

    settings: Settings
    predictors: tuple[str, ...] = ()
    special: tuple[Any, ...] = ()
    grid: Grid | None = field(default=None, repr=False)  # may hold ends that are somebody's


@dataclass(frozen=True, repr=False)
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
    weight_unit
        The weight that counts as one record in guarded trees; 1 where there are none.
    structure_seed
        The seed that the structures of guarded trees are drawn with, once they are; the attacker
        is given them.
    margins
        The tables that columns with the method margins are made from; None where there are none.
    choice
        How predictors were chosen in a wide table; None where nobody chose.
    rare
        What happens to rare levels, by column; see :mod:`caveat.synthesis.seen`.
    rare_below
        Units that must have a level before it may leave.
    """

    columns: Mapping[str, ColumnPlan]
    rules: tuple[Fixed | Order, ...] = ()
    strata: str = ""
    weights: str = ""
    remarks: tuple[str, ...] = field(default=(), compare=False)
    weight_unit: float = 1.0
    structure_seed: int | None = field(default=None, compare=False, repr=False)
    margins: MarginsPlan | None = None
    choice: Choice | None = None
    rare: Mapping[str, RareLevels] = field(default_factory=dict, repr=False)
    rare_below: int = 1

    def __post_init__(self) -> None:
        for name in ("columns", "rare"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def rare_columns(self) -> Iterator[tuple[str, RareLevels]]:
        """The columns with rare levels, and what happens to these."""
        yield from self.rare.items()

    def pooled(self, table: Table) -> Table:
        """Return a table with nothing but levels that leave, as every fit and attacker sees it."""
        return pool_table(table, self.rare)

    def _summary(self) -> Summary:
        return summary_of(self.columns, self.remarks)

    __repr__ = in_short
    _repr_html_ = on_page

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row for each column, in the order in which they are drawn."""
        header, rows = self._summary()[1:3]
        return frame_of(dict(zip(header, zip(*rows, strict=True), strict=True)), backend)

    def __str__(self) -> str:
        width = max(map(len, self.columns), default=0)
        lines = []
        for name, entry in self.columns.items():
            lines.append(f"{name:<{width}}  {described(entry)}")
        lines += [] if self.margins is None else [str(self.margins)]
        lines += [f"rule: {rule}" for rule in self.rules]
        if self.choice is not None:
            lines.append(f"predictors: {self.choice.words(self.columns)}")
        if self.strata:
            lines.append(f"strata: {self.strata}")
        if self.weights:
            lines.append(f"weights: {self.weights} (the output needs none)")
        return "\n".join([*lines, *(f"note: {remark}" for remark in self.remarks)])


def make_plan(
    table: Table, options: Mapping[str, Any] | None = None, seed: int | None = None
) -> Plan:
    """Return the plan for a table: what the options say, and the usual for the rest.

    Parameters
    ----------
    table
        The original table.
    options
        The entries of ``[synthesis]`` in a specification: order, drop, keep, method, predictors …,
        any setting of a method for all columns, and ``columns`` with those of single columns.
        ``judged`` is what :func:`caveat.table.identifying.judge` says about the whole table, where
        this one is a part of it, ``left_out`` the columns with too many rare levels there. Columns
        that name people are left out unless ``keep`` or a method of their own says otherwise.
        ``given`` columns are not drawn and stand before all others, ``only_for`` those of them that
        serve one column alone; ranges of ``exact_ends`` are not made wider than the data.
    seed
        Of the draw of predictors for guarded trees in a wide table; at random by default.

    Examples
    --------
    >>> rows = {"sex": ["f", "m"] * 9, "age": range(18), "group": [0, 1] * 9}
    >>> table = Table.from_frame({name: [*values] * 300 for name, values in rows.items()})
    >>> print(make_plan(table, {"guard": "strong", "columns": {"group": {"method": "sample"}}}))
    sex    guarded (guard strong)
    age    guarded from sex (guard strong; range 0 to 17 by 1, even cells, assumed public)
    group  sample (guard strong; range 0 to 1 by 1, geometric cells, assumed public)
    """
    options = dropping(options or {})
    judged, left_out = options.pop("judged", None), options.pop("left_out", None)
    linked = "given" in options  # a stage of linked tables: its rare levels are pooled
    given_ones, only_for = options.pop("given", ()), options.pop("only_for", {})
    exact_ends, remarks = options.pop("exact_ends", ()), list[str]()
    refuse_unknown(options, (*TOP_LEVEL, *SETTINGS))
    weights = column_named(table, options.get("weights", ""), "weights")
    strata = column_named(table, options.get("strata", ""), "strata")
    single = single_columns(options, table)
    order = visit_order(table, options.get("order"), strata, weights, look_ups(options))
    rules = tuple(parse_rule(text) for text in options.get("rules", ()))
    shared = {name: options[name] for name in SETTINGS if name in options}
    judged = judge(table) if judged is None else judged
    k = 1 if linked else rare_below(options.get("rare_below"))
    rare = {} if linked else _rare(table, options, order, shared, single, judged, k, left_out)
    table = pool_table(table, rare)
    columns, margins = _column_plans(
        table, options, order, shared, single, judged, given_ones, only_for, rare, remarks
    )
    remarks += remarks_on_rare(rare, k)
    check_use(shared, single, {n: entry.settings.method for n, entry in columns.items()})
    gridded = with_grids(derived_last(columns), table, single, exact_ends)
    columns = with_guards(gridded, table.n_rows)
    columns, choice = _narrowed(columns, table, None if linked else options, single, rules, seed)
    check_formulas(columns, table)
    check_strata(columns, strata)
    check_margins_block(columns, margins, rules)
    check_rules(rules, columns, table, remarks)
    unit = weight_unit(columns, table, weights)
    said = tuple(remarks)
    return Plan(columns, rules, strata, weights, said, unit, None, margins, choice, rare, k)


def _narrowed(
    columns: dict[str, ColumnPlan],
    table: Table,
    options: Mapping[str, Any] | None,
    single: Mapping[str, Mapping[str, Any]],
    rules: tuple[Any, ...],
    seed: int | None,
) -> tuple[dict[str, ColumnPlan], Choice | None]:
    """Choose predictors in a wide table; without options nothing is chosen."""
    drawn = [n for n, entry in columns.items() if entry.settings.method not in WITHOUT_MODEL]
    most = None if options is None else how_many(options, len(drawn))
    if options is None or most is None:
        return columns, None
    named_ones = [name for name, entry in single.items() if "predictors" in entry]
    return narrowed(columns, table, most, named_ones, rules, options.get("strata", ""), seed)


def _rare(
    table: Table,
    options: Mapping[str, Any],
    order: Iterable[str],
    shared: Mapping[str, Any],
    single: Mapping[str, Mapping[str, Any]],
    judged: Mapping[str, Judgement],
    k: int,
    left_out: Collection[str] | None,
) -> dict[str, RareLevels]:
    """Return what happens to the rare levels of the columns that leave."""
    words = kept(options, table, single)
    found = {}
    for name in order:
        method = {**shared, **single.get(name, {})}.get("method")
        if (name in judged and name not in words) or method in ("drop", "derived", "constant"):
            continue
        # A method is somebody's word for a column that names people, and for no rare level.
        keep = name in options.get("keep", ()) or method == "copy" or name in judged
        leave = None if left_out is None else name in left_out
        rare = find_rare(table[name], k, declared=declared_levels(options, name), keep=keep,
                         leave_out=leave)  # fmt: skip
        if rare is not None:
            found[name] = rare
    return found


def _column_plans(
    table: Table,
    options: Mapping[str, Any],
    order: list[str],
    shared: Mapping[str, Any],
    single: Mapping[str, Mapping[str, Any]],
    judged: Mapping[str, Judgement],
    given_ones: Iterable[str],
    only_for: Mapping[str, str],
    rare: Mapping[str, RareLevels],
    remarks: list[str],
) -> tuple[dict[str, ColumnPlan], MarginsPlan | None]:
    """Return the plan of each column, one after the other, and the tables some are made from."""
    columns = {name: ColumnPlan(Settings(GIVEN)) for name in given_ones}
    keep = kept(options, table, single)
    left = {*judged} - {*keep} | {name for name, of in rare.items() if of.how == LEFT_OUT}
    wanted = {n: {**shared, **single.get(n, {})} for n in order if n not in left}
    margins, parents = _margins(table, wanted, options, remarks)
    with Mistakes() as mistakes:
        for name in (name for name in parents_first(order, parents) if name not in columns):
            given = {**shared, **single.get(name, {}), **parents.get(name, {})}
            before = {n: e for n, e in columns.items() if only_for.get(n, name) == name}
            columns[name] = ColumnPlan(Settings())  # for those behind it, if it is a mistake
            with mistakes.caught():
                if name in judged:
                    remarks += said_about(
                        name, judged[name], given, name in keep, options.get("strata", "")
                    )
                elif name in left:
                    refuse_strata(name, options.get("strata", ""))
                    given = {"method": "drop"}
                columns[name] = _column_plan(table, name, given, before, remarks)
    return columns, margins


def _margins(
    table: Table,
    wanted: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Any],
    remarks: list[str],
) -> tuple[MarginsPlan | None, dict[str, dict[str, Any]]]:
    """Return the tables that columns are made from, and what these columns are drawn from."""
    block = {n: e for n, e in wanted.items() if e.get("method") == MARGINS}
    clearing = options.get("clearing")
    refuse_own(block, clearing)
    if not block:
        return None, {}
    entries = {
        n: ColumnPlan(Settings(MARGINS), (), tuple(e.get("special", ()))) for n, e in block.items()
    }
    entries = with_grids(entries, table, wanted)
    codings = {n: Coding.of(table[n], e.special, n, e.grid) for n, e in entries.items()}
    given = list(dict.fromkeys(tuple(m) for e in block.values() for m in e.get("margins", ())))
    weights = options.get("weights", "")
    held = survey_weights(table[weights], weights) if weights else None
    margins, said = plan_margins(table, codings, given, clearing, held)
    remarks += said
    read_off = [n for n, e in entries.items() if e.grid is not None and not e.grid.declared]
    if clearing is not None and read_off:
        remarks.append(
            f"{', '.join(read_off)}: the range was read off the data, so that the ends of the "
            "cells may be somebody's; declare it, range = [lowest, highest, step]"
        )
    parents = margins.arranged(list(block))
    return margins, {n: {"predictors": names, "margins": ()} for n, names in parents.items()}


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
        if _is_given(entry):
            before[name] = replace(entry, settings=Settings(GIVEN), predictors=())
            continue
        own = {"predictors": list(entry.predictors), "special": list(entry.special)}
        given = {**asdict(entry.settings), **own}
        before[name] = replace(_column_plan(table, name, given, before, []), grid=entry.grid)
    texts = (plan.strata, plan.weights, *plan.remarks)
    if (
        before != dict(plan.columns)
        or list(derived_last(before)) != list(before)
        or _arranged(plan) != {n: e.predictors for n, e in before.items() if _is_from_margins(e)}
        or plan.strata not in ("", *list(before)[:1], *(n for n in before if _is_given(before[n])))
        or plan.weights in before
        or not all(isinstance(text, str) for text in texts)
    ):
        raise CaveatError("the plan contradicts itself", code="model.file.damaged")
    check_strata(before, plan.strata)
    check_margins_block(before, plan.margins, plan.rules)
    check_rules(plan.rules, before, table, [])
    if plan.choice is not None:
        plan.choice.check(before)
    block = [n for n, entry in before.items() if entry.settings.method == "ipf"]
    if block:
        margins_of(block, [m for name in block for m in before[name].settings.margins])


def _is_from_margins(entry: ColumnPlan) -> bool:
    return entry.settings.method == MARGINS


def _arranged(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the parents of the columns that are made from margins."""
    names = [name for name, entry in plan.columns.items() if _is_from_margins(entry)]
    if plan.margins is None:
        return {}
    if {*names} != {name for margin in plan.margins.margins for name in margin}:
        raise CaveatError("the plan contradicts itself", code="model.file.damaged")
    return plan.margins.arranged(names)


def _is_given(entry: ColumnPlan) -> bool:
    return entry.settings.method == GIVEN


def _column_plan(
    table: Table,
    name: str,
    given: Mapping[str, Any],
    before: Mapping[str, ColumnPlan],
    remarks: list[str],
) -> ColumnPlan:
    column = table[name]
    public = ("range", "scale", "bins", "levels")
    refuse_unknown(given, (*SETTINGS, "predictors", "special", *public), name)
    settings = _settings({k: v for k, v in given.items() if k in SETTINGS}, name)
    settings = replace(settings, method=our_method(settings.method, column, name, remarks))
    _check_method(settings.method, name)
    if "method" not in given and int(np.count_nonzero(column.counts)) <= 1:
        settings = replace(settings, method="constant")
    elif "method" not in given or settings.method == "guarded":
        settings = usual_method(column, name, settings, remarks)
    check_leaves(settings, column, name)
    if settings.method == "copy":
        remarks.append(f"{name} is copied from the original: it is not protected at all")
    usable = [
        other
        for other, entry in before.items()
        if entry.settings.method not in ("derived", "drop", "constant", "copy")
    ]
    chosen = given.get("predictors")
    if chosen is None:
        chosen = all_that_fit(table, name, settings, usable, remarks)
    elif isinstance(chosen, str):
        chosen = [chosen]
    if settings.method == "lookup" and "predictors" not in given:
        raise CaveatError(
            "a lookup needs its predictors",
            where="synthesis",
            column=name,
            do='name them: predictors = ["age"]',
            code="synthesis.predictor.absent",
        )
    check_predictors(chosen, usable, name)
    if settings.method in ("sample", *WITHOUT_MODEL):
        chosen = ()
    if settings.method == "nested":
        chosen = (settings.within,)
        check_predictors(chosen, usable, name)
    if settings.method in JOINT:
        chosen = [n for n in usable if before[n].settings.method == settings.method]
        if sorted(given.get("predictors", chosen)) != sorted(chosen):
            raise CaveatError(
                f"a {settings.method} column is drawn from its whole block",
                where="synthesis",
                column=name,
                do="leave its predictors out",
                code="synthesis.setting.conflict",
            )
    return ColumnPlan(settings, tuple(chosen), tuple(given.get("special", ())))


def _check_method(method: str, column: str) -> None:
    """Refuse a method that no column can have."""
    choices = [known for known in (*METHODS, *WITHOUT_MODEL) if known != GIVEN]
    if method not in choices:
        raise CaveatError(
            f"there is no method {method!r}",
            where="synthesis",
            column=column,
            do=f"use {', '.join(choices)}",
            code="synthesis.method.unknown",
        )


def _settings(given: Mapping[str, Any], column: str) -> Settings:
    margins = tuple(tuple(margin) for margin in given.get("margins", ()))
    settings = replace(Settings(), **{**given, "margins": margins})
    check_settings(settings, column)
    return settings
