"""The plan of linked tables: what is drawn in which stages, one plan each, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from caveat.errors import CaveatError, Mistakes, hint
from caveat.expressions import Expression
from caveat.synthesis.choosing import all_or_named
from caveat.synthesis.linked.unfold import (
    FIRST,
    PREVIOUS,
    SO_FAR,
    Drawn,
    Shape,
    Stage,
    complete,
    least_children,
    shape_of,
    unfold,
)
from caveat.synthesis.methods import Settings
from caveat.synthesis.options import GIVEN, Fixed, look_ups, parse_rule, sources_first
from caveat.synthesis.plan import ColumnPlan, Plan, make_plan
from caveat.synthesis.replacing import dropping
from caveat.synthesis.seen import (
    LEFT_OUT,
    RareLevels,
    declared_levels,
    find_rare,
    left_out,
    pool_linked,
    pool_table,
    rare_below,
    remarks_on_rare,
)
from caveat.table import Kind, Table
from caveat.table.identifying import Judgement, judge
from caveat.table.linked import Linked, number_of

__all__ = [
    "LinkedPlan",
    "check_names",
    "check_order",
    "check_rules",
    "kind_columns",
    "make_linked_plan",
    "references",
    "refuse_clashes",
    "rules_of_stage",
    "some_of",
]


BEFORE = (FIRST, PREVIOUS)


def check_names(linked: Linked, options: Mapping[str, Any]) -> None:
    """Refuse options about columns that no table has."""
    known = list(dict.fromkeys(n for t in linked.sequence for n in linked.tables[t]))
    predictors = options.get("predictors", {})
    lists = [[told] if isinstance(told, str) else told for told in predictors.values()]
    asked = {
        "order": options.get("order") or (),
        "drop": options.get("drop", ()),
        "keep": options.get("keep", ()),
        "columns": options.get("columns", {}),
        "special": options.get("special", {}),
        "derived": options.get("derived", {}),
        "predictors": [*predictors, *(n for told in lists for n in told if _is_plain(n))],
        "weights": [options["weights"]] if options.get("weights") else (),
        "strata": [options["strata"]] if options.get("strata") else (),
    }
    for entry, names in asked.items():
        for name in names:
            if name not in known:
                raise CaveatError(
                    f"there is no column {name!r}",
                    where=f"synthesis, {entry}",
                    do=hint(name, known),
                    entry=(entry,),
                    code="data.column.unknown",
                )
    strata = options.get("strata", "")
    roots = [t for t in linked.sequence if linked.parent_of(t) is None]
    if strata and not any(
        strata in linked.tables[t] and strata != linked.keys.get(t) for t in roots
    ):
        raise CaveatError(
            f"{strata} is not shared by the members of a group",
            where="synthesis, strata",
            do="name a column that has one value in each group",
            entry=("strata",),
            code="synthesis.strata.type",
        )


def _is_plain(name: str) -> bool:
    """Whether a name is not one of a member before."""
    return not name.startswith(BEFORE)


def check_order(linked: Linked, dropped: Sequence[str], some: Mapping[str, Any]) -> None:
    """Refuse orders that cannot be kept."""
    for table, by in linked.order.items():
        name = by.removeprefix("-")
        column = linked.tables[table][name]
        if name in dropped:
            raise CaveatError(
                "the children stand by it, and it is left out",
                where=f"table {table}, order",
                column=name,
                do="keep it, or name another order",
                code="synthesis.column.absent",
            )
        if by == name and column.kind in (Kind.DATE, Kind.DATETIME):
            missing = int(column.is_missing.sum())
            if missing:
                raise CaveatError(
                    f"the children stand by it, and {missing:,} rows have none",
                    where=f"table {table}, order",
                    column=name,
                    do="complete it, or leave the order out",
                    code="data.value.absent",
                )
            if table in some:
                raise CaveatError(
                    "a rule about some member does not go with an order in time",
                    where=f"table {table}, order",
                    column=name,
                    do="leave one of them out",
                    code="synthesis.rule.conflict",
                )


def refuse_clashes(shape: Shape) -> None:
    """Refuse columns whose names the synthesis of groups needs itself."""
    for stage in shape:
        names = [*stage.given, *stage.drawn]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise CaveatError(
                "the synthesis of groups has a column of this name of its own",
                column=twice[0],
                do="rename the column",
                code="synthesis.name.conflict",
            )


def references(linked: Linked, kept: set[str]) -> dict[str, str]:
    """Return columns that hold keys of rows, though nobody said so, and the table they refer to.

    Only words are compared: whole numbers such as ages are among keys by chance.
    """
    keys = {
        table: {str(level) for level in linked.tables[table][key].levels.tolist()}
        for table, key in linked.keys.items()
        if table not in linked.lookups and linked.tables[table][key].levels.dtype == object
    }
    found = {}
    for table in linked.sequence:
        link = linked.parent_of(table)
        own = {linked.keys.get(table, ""), "" if link is None else link.column, *kept}
        own |= {k.column for k in linked.links if k.child == table}
        for name, column in linked.tables[table].columns.items():
            if name in own or column.levels.dtype != object or not len(column.levels):
                continue
            words = {str(level) for level in column.levels.tolist()}
            for parent, held in keys.items():
                if words <= held:
                    found[name] = parent
    return found


def rules_of_stage(stage: Stage, texts: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the rules that a stage can keep; nobody is before the first child of a parent."""
    found = []
    for text in texts:
        rule = parse_rule(text)
        if rule.target not in stage.drawn or not all(name in names for name in rule.sources):
            continue
        asks = any(name.startswith(BEFORE) for name in rule.sources)
        if asks and stage.part == "each" and isinstance(rule, Fixed):
            condition = f"({rule.condition.text}) and `{SO_FAR}` > 0"
            tail = str(rule).removeprefix(f"if {rule.condition.text} then ")
            text = f"if {condition} then {tail}"
        found.append(text)
    return found


def check_rules(texts: Sequence[str], shape: Shape, plans: Mapping[str, Plan]) -> None:
    """Refuse a rule that a stage which draws its target cannot keep."""
    for text in texts:
        rule = parse_rule(text)
        stages = [stage for stage in shape if rule.target in stage.drawn.values()]
        if any(name.startswith(BEFORE) for name in rule.sources):
            stages = [stage for stage in stages if stage.part in ("later", "each")]
        unable = [
            stage
            for stage in stages
            if not rules_of_stage(stage, [text], list(plans[stage.name].columns))
        ]
        if unable or not stages:
            raise CaveatError(
                "no stage of the synthesis knows all its columns"
                if unable == stages
                else "it cannot be kept for members behind the first",
                where=f"rule {text!r}",
                do="let it decide about a member from itself, its group or the members before it, "
                "and not about the date by which they stand",
                entry=("rules",),
                code="synthesis.rule.unsupported",
            )


# -------------------------------------------------------------------------------------------------
# The plan of linked tables: what is drawn of each, in which stages, and one plan per stage.


CONTEXT = re.compile(
    r"(?i)(^|[_.\W])(age|alter|sex|gender|geschlecht|role|relation\w*)($|[_.\W\d])"
)
"""Names of columns that say what kind of member somebody is, unless a plan says it."""
SEXES = ({"f", "m"}, {"female", "male"}, {"woman", "man"}, {"w", "m"}, {"weiblich", "männlich"})
"""Levels, in small letters, of columns that do so whatever their name is."""
FEW_COLUMNS = 2
"""Columns that do so in tables that have none of these names."""


@dataclass(frozen=True)
class LinkedPlan:
    """A complete, checked plan for linked tables.

    Parameters
    ----------
    shape
        The stages.
    stages
        The plan of each stage, by its name.
    dropped
        Columns that are left out.
    late
        Formulas of columns that follow from all members of a group, in the order in which they are
        computed.
    rules
        What must hold in the output.
    rare
        What happens to rare levels, by table and column; units are rows of the topmost table.
    rare_below
        Units that must have a level before it may leave.
    """

    shape: Shape
    stages: Mapping[str, Plan]
    dropped: tuple[str, ...] = ()
    late: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = field(default=(), compare=False)
    rules: tuple[Any, ...] = ()
    structure_seed: int | None = field(default=None, compare=False, repr=False)
    rare: Mapping[str, Mapping[str, RareLevels]] = field(default_factory=dict, repr=False)
    rare_below: int = 1

    def __post_init__(self) -> None:
        for name in ("stages", "late", "rare"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def rare_columns(self) -> Iterator[tuple[str, RareLevels]]:
        """The columns of all tables with rare levels, and what happens to these."""
        for rare in self.rare.values():
            yield from rare.items()

    def pooled(self, linked: Linked) -> Linked:
        """Return tables with nothing but levels that leave, as every fit and attacker sees them."""
        return pool_linked(linked, self.rare)

    def pooled_rows(self, table: Table) -> Table:
        """Return the rows of one table, or joined ones, with nothing but levels that leave."""
        for rare in self.rare.values():
            table = pool_table(table, rare)
        return table

    @cached_property
    def columns(self) -> Mapping[str, ColumnPlan]:
        """How each column is made where it is made first."""
        found: dict[str, ColumnPlan] = {}
        for stage in self.shape:
            plan = self.stages[stage.name]
            for name, column in stage.drawn.items():
                found.setdefault(column, plan.columns[name])
        late = {
            name: ColumnPlan(replace(Settings(), method="derived", formula=text))
            for name, text in self.late.items()
        }
        left = {n: ColumnPlan(replace(Settings(), method="drop")) for n in self.dropped}
        return MappingProxyType({**found, **late, **left})

    @property
    def strata(self) -> str:
        """The column within whose levels all others are modelled apart; "" for none."""
        return next(iter(self.stages.values())).strata

    @property
    def weights(self) -> str:
        """The column of survey weights; "" for none."""
        return next(iter(self.stages.values())).weights

    @property
    def weight_unit(self) -> float:
        """The weight that counts as one group."""
        return next(iter(self.stages.values())).weight_unit

    def __str__(self) -> str:
        parts = []
        for stage in self.shape:
            plan = self.stages[stage.name]
            own = {n: e for n, e in plan.columns.items() if e.settings.method != GIVEN}
            lines = str(replace(plan, columns=own, remarks=())).splitlines()
            parts.append("\n".join([f"{stage.name}:", *(f"  {line}" for line in lines)]))
        parts += [f"{name}  derived: {text}" for name, text in self.late.items()]
        return "\n".join([*parts, *(f"note: {remark}" for remark in self.remarks)])


def make_linked_plan(
    linked: Linked,
    options: Mapping[str, Any] | None = None,
    *,
    context: Mapping[str, Sequence[str]] = MappingProxyType({}),
    late: Mapping[str, str] = MappingProxyType({}),
    after: Sequence[str] = (),
    falling: Mapping[str, str] = MappingProxyType({}),
) -> LinkedPlan:
    """Return the plan for linked tables: what the options say, and the usual for the rest.

    Parameters
    ----------
    linked
        The original tables.
    options
        As for :func:`caveat.synthesis.make_plan`, for a column in each table that has it.
    context
        The columns of a table that say what kind of child a row is.
    late
        Columns that are computed when everything else is there, and their formulas.
    after
        Columns of parents that are drawn when the children are there.
    falling
        The number by which children behind the first are put in order, by table.
    """
    options = dropping(options or {})
    options = {**options, "predictors": all_or_named(options)}
    judged, left_out = options.pop("judged", None), options.pop("left_out", None)
    check_names(linked, {**options, "derived": {**options.get("derived", {}), **late}})
    dropped, remarks = _dropped(linked, options, judged)
    k = rare_below(options.pop("rare_below", None))
    rare = _rare(linked, options, {*dropped, *late}, k, left_out)
    remarks += [text for of in rare.values() for text in remarks_on_rare(of, k, "groups")]
    dropped += tuple(n for of in rare.values() for n in of if of[n].how == LEFT_OUT)
    linked = pool_linked(linked, rare)
    some = _conditions(linked, options)
    check_order(linked, dropped, some)
    options["rules"] = [text for text in options.get("rules", ()) if not _is_some(text)]
    weights = _weights(linked, options.get("weights", ""))
    left = {*dropped, *late, *([weights[1]] if weights else [])}
    made = {}
    for table in linked.sequence:
        told = _drawn(linked, table, options, left, after, context.get(table), some.get(table))
        by = falling.get(table, "")
        made[table] = replace(told, falling=by if by in told.columns else "")
    shape = shape_of(linked, made, weights)
    refuse_clashes(shape)
    remarks += _incomplete(linked, complete(linked, shape), shape)
    tables = unfold(linked, shape)
    shape = tuple(stage for stage in shape if tables[stage.name].n_rows)
    plans = _stage_plans(linked, shape, tables, options)
    check_rules(options["rules"], shape, plans)
    for plan in plans.values():
        remarks += [remark for remark in plan.remarks if remark not in remarks]
    rules: list[Any] = [parse_rule(text) for text in options["rules"]]
    rules += [made[t].some for t in made if made[t].some is not None]
    return LinkedPlan(shape, plans, dropped, late, tuple(remarks), tuple(rules), None, rare, k)


def _rare(
    linked: Linked,
    options: Mapping[str, Any],
    left: set[str],
    k: int,
    left_out: Collection[str] | None,
) -> dict[str, dict[str, RareLevels]]:
    """Return what happens to the rare levels of each table, counted in rows of the topmost one."""
    found: dict[str, dict[str, RareLevels]] = {}
    single, left = options.get("columns", {}), {*left, options.get("weights", "")}
    listed = {link.column: linked.tables[link.parent][linked.keys[link.parent]].levels.tolist()
              for link in linked.links if link.parent in linked.lookups}  # fmt: skip
    for name in linked.sequence:
        table, of = linked.tables[name], {}
        out = {*left, *_keys(linked, name), linked.order.get(name, "").removeprefix("-")}
        for column in (n for n in table if n not in out):
            method = single.get(column, {}).get("method")
            if method in ("derived", "constant") or isinstance(
                options.get("derived", {}).get(column), str
            ):
                continue
            declared = [*declared_levels(options, column), *listed.get(column, ())]
            keep = column in options.get("keep", ()) or method == "copy"
            leave = None if left_out is None else column in left_out
            rare = find_rare(table[column], k, declared=declared, keep=keep,
                             units=linked.owners[name], leave_out=leave)  # fmt: skip
            if rare is not None:
                of[column] = rare
        if of:
            found[name] = of
    return found


def _stage_plans(
    linked: Linked,
    shape: tuple[Stage, ...],
    tables: Mapping[str, Table],
    options: Mapping[str, Any],
) -> dict[str, Plan]:
    """Return the plan of each stage; the mistakes of all of them are one error."""
    plans = {}
    with Mistakes() as mistakes:
        for stage in shape:
            with mistakes.caught():
                plans[stage.name] = _stage_plan(linked, stage, shape, tables, options)
    return plans


def _stage_plan(
    linked: Linked,
    stage: Stage,
    shape: tuple[Stage, ...],
    tables: Mapping[str, Table],
    options: Mapping[str, Any],
) -> Plan:
    """Return the plan of a stage whose numbers of children begin where the original's can begin.

    The ends of an assumed range are round numbers, and 0 is one: groups without a member would be
    drawn although every original group has one.
    """
    table = tables[stage.name]
    plan = make_plan(table, _stage_options(stage, shape, tables, options))
    columns = dict(plan.columns)
    for name in map(number_of, linked.children_of(stage.table)):
        entry = columns.get(name)
        if entry is None or entry.grid is None:
            continue
        least = float(least_children(table[name]))
        if entry.grid.low < least:
            columns[name] = replace(entry, grid=replace(entry.grid, low=least))
    return replace(plan, columns=columns)


def kind_columns(table: Table, names: Sequence[str]) -> list[str]:
    """Return the columns that say what kind of member somebody is, by their names or levels."""

    def levels(name: str) -> set[str]:
        few = table[name].levels.tolist()[:3]
        return {str(level).lower() for level in few}

    return [name for name in names if CONTEXT.search(name) or levels(name) in SEXES]


def _drawn(
    linked: Linked,
    table: str,
    options: Mapping[str, Any],
    left: set[str],
    after: Sequence[str],
    context: Sequence[str] | None,
    some: Expression | None,
) -> Drawn:
    """Return what is drawn of one table."""
    columns = _own(linked, table, options.get("order") or (), left)
    told = context or kind_columns(linked.tables[table], columns) or columns[:FEW_COLUMNS]
    if linked.parent_of(table) is not None and table not in linked.order:
        columns = _kind_first(linked.tables[table], columns, told, options.get("order") or ())
    columns = tuple(sources_first(columns, look_ups(options), options.get("order") or ()))
    return Drawn(
        (
            *map(number_of, linked.children_of(table)),
            *(name for name in columns if name not in after),
        ),
        frozenset(options.get("derived", {})) & frozenset(columns),
        tuple(name for name in told if name in columns),
        some,
        tuple(name for name in columns if name in after),
    )


def _kind_first(
    table: Table, columns: Sequence[str], kind: Sequence[str], order: Sequence[str]
) -> tuple[str, ...]:
    """Return the visit sequence with what says the kind of a child in front: classes, then numbers.

    Whether somebody is a man or a woman is drawn before the age: of partners it says more.
    """

    def place(name: str) -> int:
        if name in order:
            return 0
        return 3 if name not in kind else 2 if table[name].kind.is_number else 1

    return tuple(sorted(columns, key=place))


def _dropped(
    linked: Linked, options: Mapping[str, Any], judged: Mapping[str, Judgement] | None
) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns that are left out, and what has to be said about them."""
    single = options.get("columns", {})
    keep = {*options.get("keep", ()), *(n for n, entry in single.items() if "method" in entry)}
    dropped = [n for n, entry in single.items() if entry.get("method") == "drop"]
    dropped += [n for n in options.get("drop", ()) if n not in dropped]
    remarks = []
    for name, table in linked.tables.items():
        if name in linked.lookups:
            continue
        found = judge(table) if judged is None else judged
        # The children stand by their order: a date may be different in every row.
        order = linked.order.get(name, "").removeprefix("-")
        apart = {*keep, *options.get("drop", ()), *_keys(linked, name), order}
        for column in table:
            if column in found and column not in apart:
                dropped.append(column)
                remarks.append(left_out(column, found[column]))
    for column, parent in references(linked, {*keep, *dropped}).items():
        dropped.append(column)
        remarks.append(
            f"{column} is left out: all its values are keys of {parent}; "
            f'keep = ["{column}"] would release real ones'
        )
    return tuple(dict.fromkeys(dropped)), remarks


def _keys(linked: Linked, table: str) -> set[str]:
    """Return the columns of a table that are made afresh: its key, and that of its parent."""
    link = linked.parent_of(table)
    return {linked.keys.get(table, ""), "" if link is None else link.column}


def _own(linked: Linked, table: str, order: Sequence[str], left: set[str]) -> tuple[str, ...]:
    """Return the columns of a table that are drawn, in the order in which they are visited."""
    out = {*left, *_keys(linked, table)}
    names = [name for name in linked.tables[table] if name not in out]
    return tuple(sorted(names, key=lambda n: order.index(n) if n in order else len(order)))


def _weights(linked: Linked, name: str) -> tuple[str, str] | None:
    """Return where the weights stand: in a table without parent, for all that belongs to it."""
    if not name:
        return None
    for table in linked.sequence:
        if linked.parent_of(table) is None and name in linked.tables[table]:
            return table, name
    raise CaveatError(
        "the weight is not one of whole groups",
        where="synthesis, weights",
        column=name,
        do="name a weight that is the same for all members of a group and stands in constant, if "
        "[groups] names its constant columns",
        entry=("weights",),
        code="synthesis.weights.type",
    )


def _is_some(text: str) -> bool:
    return re.match(r"\s*any\s*\(", text) is not None


def some_of(text: str) -> Expression:
    """Return the condition that some member has to meet, from ``any(age >= 18)``."""
    whole = Expression(text)
    inner = re.fullmatch(r"\s*any\s*\((.*)\)\s*", text, re.DOTALL)
    alone = inner is not None and whole.is_one_call
    condition = Expression(inner.group(1)) if inner is not None and alone else None
    if condition is None or len(whole.columns) != 1 or condition.is_of_groups:
        raise CaveatError(
            "a rule about some member is one any() that asks one column of it",
            where=f"rule {text!r}",
            do="write it as in: any(age >= 18), once for a table of members",
            entry=("rules",),
            code="synthesis.rule.malformed",
        )
    return condition


def _conditions(linked: Linked, options: Mapping[str, Any]) -> dict[str, Expression]:
    """Return by table what at least one child of every parent has to meet."""
    found: dict[str, Expression] = {}
    for text in filter(_is_some, options.get("rules", ())):
        condition = some_of(text)
        tables = [
            t for t in linked.sequence
            if linked.parent_of(t) is not None and condition.columns[0] in linked.tables[t]
        ]  # fmt: skip
        if len(tables) != 1 or tables[0] in found:
            what = "no table of members has its column" if not tables else "it is one too many"
            raise CaveatError(
                what, where=f"rule {text!r}", do="give one such rule for a table of members",
                entry=("rules",),
                code="synthesis.rule.duplicate" if tables else "data.column.unknown",
            )  # fmt: skip
        found[tables[0]] = condition
    return found


def _incomplete(linked: Linked, kept: Linked, shape: Shape) -> list[str]:
    """Say how many groups break a condition on their members, and take no part."""
    remarks = []
    for stage in shape:
        link = linked.parent_of(stage.table)
        if stage.made.some is None or stage.part != "first" or link is None:
            continue
        whole, left = linked.tables[link.parent].n_rows, kept.tables[link.parent].n_rows
        if not left:
            raise CaveatError(
                "no group meets it",
                where=f"rule 'any({stage.made.some.text})'",
                do="leave it out",
                entry=("rules",),
                code="synthesis.rule.empty",
            )
        if left < whole:
            remarks.append(
                f"rule 'any({stage.made.some.text})' does not hold in {whole - left:,} of "
                f"{whole:,} groups; they take no part"
            )
    return remarks


def _stage_options(
    stage: Stage, shape: Shape, tables: Mapping[str, Table], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the options say about one stage."""
    table = tables[stage.name]
    drawn = [name for name in stage.drawn if name in table]
    here = {**options, "given": stage.given, "only_for": stage.only_for, "judged": {}}
    here["order"] = [*stage.given, *drawn]
    # Numbers of children, distances and what a first child has to meet keep their range.
    some = stage.made.some.columns if stage.made.some is not None else ()
    exact = {*some, *map(number_of, {one.table for one in shape})}
    here["exact_ends"] = [n for n, own in stage.drawn.items() if n != own or n in exact]
    for entry in ("columns", "special", "predictors", "derived"):
        here[entry] = {n: value for n, value in options.get(entry, {}).items() if n in drawn}
    here["predictors"] = {
        name: [n for n in ([told] if isinstance(told, str) else told) if n in table]
        for name, told in here["predictors"].items()
    }
    for entry in ("drop", "keep"):
        here[entry] = [name for name in options.get(entry, ()) if name in drawn]
    for entry in ("strata", "weights"):
        here[entry] = options.get(entry, "") if options.get(entry, "") in table else ""
    here["rules"] = rules_of_stage(stage, options["rules"], table.names)
    return here
