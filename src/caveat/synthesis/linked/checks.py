"""What the plan of linked tables must not ask for, said before anything is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caveat.errors import CaveatError, hint
from caveat.synthesis.linked.stages import FIRST, PREVIOUS, SO_FAR, Shape, Stage
from caveat.synthesis.plan import Plan
from caveat.synthesis.rules import Fixed, parse_rule
from caveat.table import Kind
from caveat.table.linked import Linked

__all__ = [
    "check_names",
    "check_order",
    "check_rules",
    "references",
    "refuse_clashes",
    "rules_of_stage",
]  # fmt: skip

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
