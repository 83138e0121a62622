"""What can be said about a specification once the data are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from caveat.errors import CaveatError, Mistakes, hint
from caveat.generators import Setting
from caveat.spec._kinds import Many, Named, Number, Text, dotted
from caveat.spec.document import Document
from caveat.spec.lines import Entry
from caveat.spec.rules import columns_of
from caveat.synthesis import Plan, Synthesizer
from caveat.synthesis.linked.groups import GroupPlan
from caveat.table import Table
from caveat.table.grouping import found_groups
from caveat.utility.analyses import check_model
from caveat.utility.edits import EditRule, check_rule
from caveat.utility.pair import WeightedPair

if TYPE_CHECKING:
    from caveat.spec.spec import ReleaseSpec

__all__ = ["check_against", "check_utility_rule", "columns_of_scenarios"]

ROWS_FOR_RULES = 100  # enough to see whether an expression can be evaluated
LISTS, NUMBERS = Many(Text(), "column names"), Named(Number(), "columns with numbers")


def check_against(
    spec: ReleaseSpec, table: Table, released: Sequence[str] | None
) -> Plan | GroupPlan | None:
    """Hold a specification against the data; see :meth:`ReleaseSpec.check`."""
    document = spec.document
    held_out = spec.release.held_out(table.n_rows)
    plan, names = None, list(table if released is None else released)
    with Mistakes() as mistakes:
        with mistakes.caught():
            if spec.release.control is not None and not 0 < held_out < table.n_rows:
                document.fail(
                    ("release", "control"),
                    f"release.control: {held_out:,} of {table.n_rows:,} records would be held out",
                    "leave records on both sides",
                    code="spec.entry.range",
                )
        declared = ((("columns", name), name) for name in spec.schema.columns)
        with mistakes.caught():
            _columns(document, table.names, declared)
        if released is None:
            with mistakes.caught():
                plan = _planned(spec, table)
                drawn = plan.columns.items()
                names = [name for name, entry in drawn if entry.settings.method != "drop"]
                names = [name for name in table if name in names]
        with mistakes.caught():
            _protections(spec, names)
        with mistakes.caught():
            _scenarios(spec, table.names, names)
        with mistakes.caught():
            together = () if spec.groups is None else (spec.groups.key,)
            _utility(spec, table.select([*together, *names]) if released is None else table)
        with mistakes.caught():
            if plan is not None:
                _map(spec, table)
    return plan


def _planned(spec: ReleaseSpec, table: Table) -> Any:
    """Return the plan, if the synthesis names columns that there are."""
    _columns(spec.document, table.names, _of_synthesis(spec.document))
    _groups(spec, table)
    with spec.document.at("synthesis"):
        return Synthesizer.of(spec.options).plan(table)


def _scenarios(spec: ReleaseSpec, known: Sequence[str], released: Sequence[str]) -> None:
    """Check that the columns of scenarios are in the data, and in the release."""
    places = list(columns_of_scenarios(spec))
    with Mistakes() as mistakes:
        with mistakes.caught():
            _columns(spec.document, known, places)
        for entry, name in places:
            with mistakes.caught():
                if name in known and name not in released:
                    spec.document.fail(
                        entry,
                        f"{dotted(entry)}: {name} is not released",
                        "what is not in the release cannot be compared: name another column",
                        code="release.column.absent",
                    )


def _map(spec: ReleaseSpec, table: Table) -> None:
    """Check that every setting of the map can be planned."""
    for key, values in spec.map.settings.items() if spec.map is not None else ():
        for i, value in enumerate(values if key != "protect" else ()):
            with spec.document.at("map", "settings", key, i):
                Synthesizer.of(_tried(spec, key, value)).plan(table)


def _groups(spec: ReleaseSpec, table: Table) -> None:
    """Check what is said about groups."""
    groups, document = spec.groups, spec.document
    if groups is None:
        return
    for key in ("key", "order", "role"):
        name = getattr(groups, key).removeprefix("-" if key == "order" else "")
        if name:
            _columns(document, table.names, [(("groups", key), name)])
    held = enumerate(groups.constant or ())
    _columns(document, table.names, ((("groups", "constant", i), name) for i, name in held))
    try:
        found_groups(table, groups)
    except CaveatError as error:
        named = [i for i, name in enumerate(groups.constant or ()) if name == error.column]
        with document.at("groups", *(("constant", named[0]) if named else ())):
            raise


def _tried(spec: ReleaseSpec, key: str, value: Any) -> Mapping[str, Any]:
    """Return options with a setting of the map, and a method of it that has a use for that."""
    methods = spec.map.settings.get("method", ()) if spec.map and key != "method" else ()
    tried = [{**spec.options, key: value, "method": method} for method in methods]
    settings = [Setting(options).used for options in tried or [{**spec.options, key: value}]]
    return next((used for used in settings if key in used), settings[0])


def _columns(document: Document, known: Sequence[str], places: Iterable[tuple[Entry, str]]) -> None:
    """Refuse all columns that the data do not have."""
    with Mistakes() as mistakes:
        for entry, name in places:
            with mistakes.caught():
                if name not in known:
                    what = f"{dotted(entry)}: the data have no column {name!r}"
                    document.fail(
                        entry,
                        what,
                        hint(name, known, "caveat look FILE"),
                        code="data.column.unknown",
                    )


def _of_synthesis(document: Document) -> Iterable[tuple[Entry, str]]:
    """Return the columns that the section names, with their places; formulas check their own."""
    given = document.content.get("synthesis", {})
    for key in ("order", "drop", "keep"):
        for i, name in enumerate(given.get(key, ())):
            yield ("synthesis", key, i), name
    for key in ("strata", "weights", "within"):
        if given.get(key):
            names = [given[key]] if isinstance(given[key], str) else given[key]
            yield from ((("synthesis", key), name) for name in names)
    for key in ("special", "derived", "predictors", "columns", "replace"):
        told = given.get(key, {})
        for name in told if isinstance(told, Mapping) else ():
            yield ("synthesis", key, name), name
    for i, rule in enumerate(given.get("rules", ())):
        for name in columns_of(rule, grouped=True):
            yield ("synthesis", "rules", i), name


def columns_of_scenarios(spec: ReleaseSpec) -> Iterable[tuple[Entry, str]]:
    """Return every column that a scenario names, with its place."""
    for i, scenario in enumerate(spec.document.content["scenario"]):
        for key in ("keys", "targets", "second", "exclude_missing"):
            for j, name in enumerate(scenario.get(key, ())):
                yield ("scenario", i, key, j), name
        for key in ("groups", "tolerance", "exclude_levels"):
            for name in scenario.get(key, ()):
                yield ("scenario", i, key, name), name
        for j, pair in enumerate(scenario.get("exclude_pairs", ())):
            for k in (0, 2):
                yield ("scenario", i, "exclude_pairs", j, k), pair[k]


def _protections(spec: ReleaseSpec, released: Sequence[str]) -> None:
    """Check the columns that protections name: lists of names, and names with numbers."""
    known = list(released)
    for i, step in enumerate(spec.protect):
        if step["name"] == "label":
            made = step.get("column", "synthetic")
            spec.document.refuse(Text(filled=True).problems(made, ("protect", i, "column")))
            known.append(made)
            continue
        for key in ("columns", "keys", "by"):
            names = step.get(key, [])
            spec.document.refuse(LISTS.problems(names, ("protect", i, key)))
            places = [(("protect", i, key, j), name) for j, name in enumerate(names)]
            _columns(spec.document, known, places)
        for key in ("top", "bottom", "base", "population"):
            names = step.get(key, {})
            spec.document.refuse(NUMBERS.problems(names, ("protect", i, key)))
            _columns(spec.document, known, [(("protect", i, key, name), name) for name in names])


def _utility(spec: ReleaseSpec, table: Table) -> None:
    document = spec.document
    for i, name in enumerate(spec.utility.targets):
        _columns(document, table.names, [(("utility", "targets", i), name)])
    for i, model in enumerate(spec.utility.models):
        with document.at("utility", "models", i):
            check_model(model, table.names)
    for name, rule in spec.utility.rules.items():
        if rule.group is not None:
            entry = ("utility", "rules", name, "group")
            _columns(document, table.names, [(entry, rule.group)])
        check_utility_rule(document, table, name, rule)


def check_utility_rule(document: Document, table: Table, name: str, rule: EditRule) -> None:
    """Refuse an edit rule whose expressions cannot be held against a table."""
    # A rule sees what is compared, so neither text nor ids; all levels are there.
    head = table.take(range(min(table.n_rows, ROWS_FOR_RULES)))
    head = WeightedPair(head, head).original
    for key, expression in (("if", rule.condition), ("then", rule.consequence)):
        if expression is not None:
            with document.at("utility", "rules", name, key):
                check_rule(head, EditRule(expression), name)
