"""What can be said about a specification of several tables once the data are there.

Measures are about the rows of one table, with the columns of the rows that they belong to (see
:mod:`caveat.table.joined`). Which table that is follows from the columns that are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from caveat.errors import CaveatError, hint
from caveat.expressions import Expression
from caveat.spec._kinds import dotted
from caveat.spec.against_data import check_utility_rule, columns_of_scenarios
from caveat.spec.analyses import UtilitySpec
from caveat.spec.lines import Entry
from caveat.spec.scenarios import ScenarioSpec
from caveat.synthesis import Synthesizer
from caveat.synthesis.linked import LinkedPlan
from caveat.table.joined import Joined, joined_of, number_of
from caveat.table.linked import Linked
from caveat.utility.analyses import check_model
from caveat.utility.edits import EditRule

if TYPE_CHECKING:
    from caveat.spec.spec import ReleaseSpec

__all__ = ["OfTables", "check_tables"]


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
        scenarios=tuple(_scenarios(spec, found)),
        utility=_utility(spec, found, linked),
    )


def _scenarios(spec: ReleaseSpec, found: OfTables) -> Iterator[ScenarioSpec]:
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


def _utility(spec: ReleaseSpec, found: OfTables, linked: Linked) -> dict[str, UtilitySpec]:
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
