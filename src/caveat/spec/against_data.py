"""What can be said about a specification, of one table or several, once the data are there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from caveat.errors import CaveatError, Mistakes, hint
from caveat.expressions import Expression
from caveat.generators import Setting
from caveat.spec._kinds import Entry, Many, Named, Number, Text, dotted
from caveat.spec.document import Document
from caveat.spec.scenarios import ScenarioSpec, UtilitySpec
from caveat.synthesis import Plan, Synthesizer
from caveat.synthesis.linked import LinkedPlan
from caveat.synthesis.linked.model import GroupPlan
from caveat.synthesis.linked.plan import some_of
from caveat.synthesis.linked.unfold import FIRST, PREVIOUS
from caveat.synthesis.options import parse_rule
from caveat.table import Table
from caveat.table.grouping import found_groups
from caveat.table.linked import Joined, Linked, joined_of, number_of
from caveat.utility.analyses import check_model
from caveat.utility.pair import WeightedPair
from caveat.utility.structure import EditRule, check_rule

if TYPE_CHECKING:
    from caveat.spec.spec import ReleaseSpec


def is_of_groups(rule: str) -> bool:
    """Whether a rule asks for some member of every group, as ``any(age >= 18)`` does."""
    return re.match(r"\s*any\s*\(", rule) is not None


def columns_of(rule: str, grouped: bool) -> tuple[str, ...]:
    """Return the columns that a rule names, or say why it cannot be read.

    Parameters
    ----------
    rule
        The text.
    grouped
        Whether rows belong together.

    Examples
    --------
    >>> columns_of("any(age >= 18)", grouped=True), columns_of("begin <= end", grouped=False)
    (('age',), ('begin', 'end'))
    """
    if not is_of_groups(rule):
        read = parse_rule(rule)
        names = (*read.sources, read.target)
        # What is asked of the first member, or of the one before, is a column of members.
        before = (FIRST, PREVIOUS) if grouped else ()
        return tuple(name.split(".", 1)[1] if name.startswith(before) else name for name in names)
    if not grouped:
        raise CaveatError(
            "any() asks the members of a group, and no group is named",
            do='add [groups] with key = "…"',
            code="spec.entry.absent",
        )
    return tuple(some_of(rule).columns)


# -------------------------------------------------------------------------------------------------
# What can be said about a specification once the data are there.


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


# -------------------------------------------------------------------------------------------------
# What can be said about a specification of several tables once the data are there.
#
# Measures are about the rows of one table, with the columns of the rows that they belong to (see
# :mod:`caveat.table.linked`). Which table that is follows from the columns that are named.


@dataclass(frozen=True)
class OfTables:
    """What a specification asks of each of its tables.

    Parameters
    ----------
    joined
        What the columns are called where they stand beside each other.
    plan
        How the tables are made.
    scenarios
        The attackers, each with the table that it is about; those who know the generator have none.
    utility
        What analysts need, by table.
    """

    joined: Joined
    plan: LinkedPlan
    scenarios: tuple[ScenarioSpec, ...]
    utility: Mapping[str, UtilitySpec]

    def released(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table that are released."""
        left = {*self.plan.dropped, self.plan.weights}
        return tuple(n for n, column in self.joined.own[table].items() if column not in left)


def check_tables(spec: ReleaseSpec, linked: Linked) -> OfTables:
    """Hold a specification against its tables; return what it asks of each of them."""
    document = spec.document
    if len(linked.roots) != 1:
        document.fail(
            ("tables",),
            f"tables: {' and '.join(linked.roots) or 'none'} stand by themselves: a release "
            "protects the rows of one table, and all that belongs to them",
            "link them, declare public lists as lookup = true, or make a release of each",
            code="spec.link.absent",
        )
    joined = joined_of(linked)
    if not joined.tables:
        document.fail(
            ("tables",),
            "tables: they hold nothing but keys",
            "name tables with data",
            code="data.table.empty",
        )
    n_rows = linked.tables[linked.roots[0]].n_rows
    held_out = spec.release.held_out(n_rows)
    if spec.release.control is not None and not 0 < held_out < n_rows:
        document.fail(
            ("release", "control"),
            f"release.control: {held_out:,} of {n_rows:,} rows of {linked.roots[0]} would be held "
            "out",
            "leave rows on both sides",
            code="spec.entry.range",
        )
    with document.at("synthesis"):
        plan = Synthesizer.of(spec.options).plan(linked)
    found = OfTables(joined, plan, (), {})
    return replace(
        found,
        scenarios=tuple(_scenarios_against_tables(spec, found)),
        utility=_utility_against_tables(spec, found, linked),
    )


def _scenarios_against_tables(spec: ReleaseSpec, found: OfTables) -> Iterator[ScenarioSpec]:
    """Return the scenarios, each with its table."""
    joined, document = found.joined, spec.document
    named: dict[int, dict[str, Entry]] = {}
    for entry, name in columns_of_scenarios(spec):
        _check_column(spec, found, entry, name)
        named.setdefault(int(entry[1]), {})[name] = entry
    for i, scenario in enumerate(spec.scenarios):
        columns, entry = named.get(i, {}), ("scenario", i)
        if scenario.attacker not in ("release", "ordinary"):
            _refuse_numbers(spec, found, columns)
            yield scenario
            continue
        if scenario.table and scenario.table not in joined.tables:
            document.fail(
                (*entry, "table"),
                f"scenario.table: {scenario.table} has no column that is drawn",
                f"choose {' or '.join(joined.tables)}",
                code="data.table.empty",
            )
        holding = joined.holding(columns)
        if scenario.unit:
            holding = tuple(name for name in holding if name != joined.root)
        if scenario.table:
            for name, place in columns.items():
                if name not in joined.names(scenario.table):
                    what = f"rows of {scenario.table} have no column {name!r}"
                    document.fail(
                        place,
                        f"{dotted(place)}: {what}",
                        _elsewhere(joined, name, columns),
                        code="data.column.unknown",
                    )
            if scenario.unit and scenario.table == joined.root:
                document.fail(
                    (*entry, "unit"),
                    f"scenario.unit: a row of {joined.root} is a group by itself",
                    "leave unit out, or name a table whose rows belong to it",
                    code="spec.entry.conflict",
                )
            holding = (scenario.table,)
        if not holding:
            unit = f" and belong to a row of {joined.root}" if scenario.unit else ""
            document.fail(
                entry,
                f"scenario: there is no table whose rows have all these columns{unit}",
                "name columns of one table and of those that its rows belong to",
                code="data.column.conflict",
            )
        yield replace(scenario, table=holding[0])


def _refuse_numbers(spec: ReleaseSpec, found: OfTables, columns: Mapping[str, Entry]) -> None:
    """Refuse a strong attacker who wants what is no column of a file."""
    for name, entry in columns.items():
        children = [t for t in found.joined.own if name == number_of(t)]
        if children:
            spec.document.fail(
                entry,
                f"{dotted(entry)}: {name} is no column of a file",
                "the strong attacker learns it from nothing but the rows: ask for another target",
                code="attack.target.unsupported",
            )


def _elsewhere(joined: Joined, name: str, columns: Sequence[str] | Mapping[str, Entry]) -> str:
    """Say which tables have a column, with all others that are named beside it."""
    tables = joined.holding(columns) or joined.holding([name])
    return f"choose table = {' or '.join(map(repr, tables))}"


def _check_column(spec: ReleaseSpec, found: OfTables, entry: Entry, name: str) -> None:
    """Refuse a column that no table has, that several have, or that is not released."""
    joined, document = found.joined, spec.document
    every = [n for table in joined.own for n in joined.own[table]]
    if name not in every:
        called = joined.called(name)
        what = f"several tables have a column {name!r}" if called else f"no table has {name!r}"
        do = f"write {' or '.join(called)}" if called else hint(name, every)
        document.fail(
            entry,
            f"{dotted(entry)}: {what}",
            do,
            code="data.column.duplicate" if called else "data.column.unknown",
        )
    if name not in found.released(joined.home(name)[0]):
        document.fail(
            entry,
            f"{dotted(entry)}: {name} is not released",
            "what is not in the release cannot be compared: name another column",
            code="release.column.absent",
        )


def _utility_against_tables(
    spec: ReleaseSpec, found: OfTables, linked: Linked
) -> dict[str, UtilitySpec]:
    """Return what analysts need, each part in the first table that has its columns."""
    joined, asked = found.joined, spec.utility
    models: dict[str, list[str]] = {table: [] for table in joined.tables}
    targets: dict[str, list[str]] = {table: [] for table in joined.tables}
    rules: dict[str, dict[str, EditRule]] = {table: {} for table in joined.tables}
    for i, name in enumerate(asked.targets):
        _check_column(spec, found, ("utility", "targets", i), name)
        targets[joined.home(name)[0]].append(name)
    for i, model in enumerate(asked.models):
        with spec.document.at("utility", "models", i):
            models[_table_of_model(found, model)].append(model)
    for name, rule in asked.rules.items():
        table = _table_of_rule(spec, found, name, rule)
        check_utility_rule(spec.document, joined.table(linked, table), name, rule)
        rules[table][name] = rule
    return {
        table: replace(
            asked, models=tuple(models[table]), targets=tuple(targets[table]), rules=rules[table]
        )
        for table in joined.tables
    }


def _table_of_model(found: OfTables, model: str) -> str:
    """Return the first table whose rows have all columns of a model, or say what is wrong."""
    last: CaveatError | None = None
    for table in found.joined.tables:
        tables = (table, *found.joined.above[table])
        try:
            check_model(model, [name for part in tables for name in found.released(part)])
        except CaveatError as error:
            last = error
        else:
            return table
    assert last is not None  # there is a table
    raise last


def _table_of_rule(spec: ReleaseSpec, found: OfTables, name: str, rule: EditRule) -> str:
    """Return the first table whose rows have all columns of an edit rule."""
    joined = found.joined
    names: dict[str, None] = {}
    for key, text in (("if", rule.condition), ("then", rule.consequence)):
        for column in Expression(text).columns if text is not None else ():
            _check_column(spec, found, ("utility", "rules", name, key), column)
            names[column] = None
    tables = joined.holding(names)
    if rule.group is not None:
        entry = ("utility", "rules", name, "group")
        if rule.group != joined.key:
            what = f"utility.rules: rows of several tables belong together by {joined.key}"
            spec.document.fail(
                entry, what, f'write group = "{joined.key}"', code="spec.entry.mismatch"
            )
        tables = tuple(table for table in tables if table != joined.root)
    if not tables:
        spec.document.fail(
            ("utility", "rules", name),
            "utility.rules: there is no table whose rows have all these columns",
            "name columns of one table and of those that its rows belong to",
            code="data.column.conflict",
        )
    return tables[0]
