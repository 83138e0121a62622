"""A release of several tables: the parts of a run that differ from those of one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from caveat import evidence
from caveat.evidence import with_verdict
from caveat.notes import Note
from caveat.release.at_risk import AtRisk, Signs, worst_records
from caveat.release.collect import without_value
from caveat.release.collect_groups import Whole, collect_groups
from caveat.release.collect_settings import GROUPS, left_out
from caveat.release.collect_simulated import collect_simulated
from caveat.release.collect_tables import collect_tables
from caveat.release.collected import Collected
from caveat.release.content import described_scenario, measures_used, software
from caveat.release.content_tables import (
    described_inputs_of_tables,
    described_plan_of_tables,
    described_tables,
)
from caveat.release.data_dictionary import described_tables_of, write_dictionaries
from caveat.release.material import planned_whole, within_levels
from caveat.release.material_tables import TablesMaterial, synthesise_tables
from caveat.release.run import Run, title_of
from caveat.seeds import Stream, child_seed
from caveat.spec.against_data import check_tables
from caveat.spec.data_entries import TableSpec, forms_of
from caveat.spec.scenarios import ScenarioSpec
from caveat.synthesis.replacing import Replaced
from caveat.synthesis.seen import release_output
from caveat.table.files import TextForm, check_target
from caveat.table.frames import write_several
from caveat.table.identifying import Judgement, Origin, Output, joined, judge
from caveat.table.linked import Linked, without_keys
from caveat.table.source import file_of, name_of

__all__ = ["TablesRun"]

NO_ROWS = Note("no-rows", "the table has no rows in the data or in the release")


def _judged(linked: Linked, name: str) -> dict[str, Judgement]:
    """Return the columns of a table that name people; keys are fresh and name nobody."""
    data = without_keys(linked, name)
    return {n: found for n, found in judge(linked.tables[name]).items() if n in data}


class TablesRun(Run):
    """One run of a specification with ``[tables]``."""

    def whole(self, anyway: bool) -> dict[str, Any]:
        """Synthesise and measure."""
        self.steps.step("read")
        self._prepare_folders()
        linked = self.spec.read_linked()
        sizes = [(table.n_rows, len(table.names)) for table in linked.tables.values()]
        columns = max(width for _, width in sizes)
        self.expect(sum(rows * width for rows, width in sizes) // columns, columns)
        # Of the whole tables, before records are held out: a part of a numbering has gaps.
        by_table = {name: _judged(linked, name) for name in linked.sequence}
        self.judged = {
            column: found
            for name, judged in by_table.items()
            for column, found in judged.items()
            # Children stand by their order, and it stays: a date may be different in every row.
            if column != linked.order.get(name, "").removeprefix("-")
        }
        self.spec = replace(self.spec, synthesis={**self.spec.synthesis, "judged": self.judged})
        asked = check_tables(self.spec, linked)
        self.spec = planned_whole(self.spec, asked.plan)
        material = synthesise_tables(
            self.spec, linked, asked, self.seed, self.threads, self.steps.step, anyway
        )
        self.tables, self.by_table, root = material, by_table, material.joined.root
        remarks = [
            f"{name}: {note}" for name in linked.tables for note in linked.tables[name].notes
        ]
        if material.control is not None:
            n, m = material.control.tables[root].n_rows, linked.tables[root].n_rows
            remarks.append(
                f"{n:,} of {m:,} rows of {root}, with all that belongs to them, were drawn at "
                "random and held out before anything was fitted: they are the control"
            )
        scenarios, risky = [], []
        for number, scenario in enumerate(asked.scenarios):
            view = material.views[scenario.table] if scenario.table else None
            scenario = scenario if view is None else within_levels(scenario, view)
            found = self._attacked(material, scenario, number)
            if scenario.attacker == "strong":
                scenario = replace(scenario, unit=f"row of {root}")
            scenarios.append(described_scenario(scenario, view, found))
            risky += self._signs(material, scenario, found)
        utility = collect_tables(material, self.spec, self.steps.step("utility"))
        return with_verdict({
            "format": evidence.FORMAT,
            "release": described_tables(self.spec, material, self.files, by_table),
            "software": software(),
            "inputs": described_inputs_of_tables(self.spec, material),
            **self.randomness,
            "synthesis": described_plan_of_tables(self.spec, material),
            "protection": [],
            "measures": measures_used(scenarios, utility, {}),
            "scenarios": scenarios,
            "records_at_risk": worst_records(risky),
            "utility": utility,
            "map": None,
            "other_settings": left_out(GROUPS),
            "remarks": remarks,
        })  # fmt: skip

    def audit(self, synthetic: Sequence[str | Path] | None) -> NoReturn:
        """Refuse to measure tables that were made elsewhere."""
        del synthetic
        self.spec.document.fail(
            ("tables",),
            "tables that were made elsewhere are measured one by one, and [tables] names several",
            "name one of them as path in [data], and what its rows belong to as key in [groups]",
            code="spec.entry.unsupported",
        )

    def _attacked(self, material: TablesMaterial, scenario: ScenarioSpec, number: int) -> Collected:
        """Attack the rows of one table, or groups with all that belongs to them."""
        if scenario.attacker == "strong":
            done = self.steps.step(title_of(scenario))
            fitted, seed = material.fitted, child_seed(material.seed, Stream.RECORDS, number)
            whole = Whole(
                fitted,
                material.releases,
                material.model,
                fitted.tables[material.joined.root].n_rows,
                sum(fitted.tables[name].n_rows for name in fitted.sequence),
            )
            return collect_groups(
                whole, scenario, seed, self.threads, done, material.joined.home, self.bound
            )
        root = material.views[material.joined.tables[0]]
        if scenario.attacker == "simulated":
            done = self.steps.step(title_of(scenario))
            return collect_simulated(root, scenario, number, self.threads, done)
        if material.is_empty(scenario.table):
            return Collected({}, without_value(scenario.measures, NO_ROWS, scenario.limits))
        view = material.views[scenario.table]
        found = self._attack(view, scenario, number, Signs(view, scenario.keys))
        if scenario.unit:
            found.remarks.append(self._with_members(material, scenario))
        return found

    def _with_members(self, material: TablesMaterial, scenario: ScenarioSpec) -> str:
        """Say whose groups a scenario is about."""
        owners = material.fitted.owners[scenario.table]
        root = material.joined.root
        return (
            f"groups are rows of {root} with all their rows of {scenario.table}: "
            f"{len(set(owners.tolist())):,} of {material.fitted.tables[root].n_rows:,} have any"
        )

    def _signs(
        self, material: TablesMaterial, scenario: ScenarioSpec, found: Collected
    ) -> list[tuple[list[AtRisk], Signs]]:
        """Return who is at risk, and by which signs one would have known, table by table."""
        by_table: dict[str, list[AtRisk]] = {}
        for one in found.at_risk:
            table = scenario.table or material.joined.home(one.target or "")[0]
            by_table.setdefault(table, []).append(one)
        return [
            (some, Signs(material.views[table], scenario.keys)) for table, some in by_table.items()
        ]

    def _files(self, name: str) -> list[str]:
        """Return the files of a table in the folder of a copy."""
        file = next(one.file_name for one in self.spec.tables if one.name == name)
        if "formats" not in self.spec.document.content.get("output", {}):
            return [file]
        return [f"{name_of(file)}.{form}" for form in self.spec.output.formats]

    def _forms(self) -> dict[str, TextForm]:
        """Return the forms of text files that are written as they came in."""
        wanted = self.spec.output.as_read
        return forms_of(self.spec.tables, self.spec.data.form) if wanted else {}

    def _prepare_folders(self) -> None:
        """Make the folders of the copies; refuse names of files before any work is done."""
        for copy in range(1, self.spec.release.copies + 1):
            (self.draft / f"synthetic-{copy}").mkdir()
        seen: set[str] = set()
        for table in self.spec.tables:
            for name in self._files(table.name):
                with self.spec.document.at("tables", table.name, "file"):
                    check_target(self.draft / "synthetic-1" / name)
                if name in seen:
                    self.spec.document.fail(
                        ("tables", table.name, "file"),
                        f"tables.{table.name}.file: two files would be called {name}",
                        "rename one, or leave formats out of [output]",
                        code="release.file.duplicate",
                    )
                seen.add(name)

    def write_tables(self) -> list[Output]:
        """Write a folder for each copy, with files of the names that the original ones have."""
        outputs = []
        by_table = {one.name: self._output_of(one) for one in self.spec.tables}
        for copy, linked in enumerate(self.tables.complete, 1):
            folder = f"synthetic-{copy}"
            tables = {one.name: linked.tables[one.name].compact() for one in self.spec.tables}
            named = {file: tables[name] for name in tables for file in self._files(name)}
            escape = self.spec.output.escape_formulas
            written = write_several(
                named, self.draft / folder, escape_formulas=escape, forms=self._forms()
            )
            for file in written:
                held = [
                    by_table[name]
                    for name in tables
                    if file in (str(file_of(each)) for each in self._files(name))
                ]
                outputs.append(joined(f"{folder}/{file}", held))
            for name, table in tables.items():
                for file in self._files(name):
                    path = file_of(f"{folder}/{file}")
                    self.list_file(self.draft / path, str(path), copy, table)
                    self.files[-1]["table"] = name
        variables, title = described_tables_of(self.tables), self.spec.release.title
        names = write_dictionaries(variables, self.draft, title, self.files)
        return outputs + [joined(name, list(by_table.values())) for name in names]

    def _output_of(self, table: TableSpec) -> Output:
        """Return where the columns of a released table come from; lookups are public lists."""
        names = self.tables.releases[0].tables[table.name].names
        if table.lookup:
            return Output("release", dict.fromkeys(names, Origin.LOOKED_UP))
        judged = self.by_table.get(table.name, {})
        # Children stand by their order, which stays.
        data = {name: one for name, one in judged.items() if name in self.judged}
        columns = self.tables.model.plan.columns
        replaced = self.tables.model.replaced.get(table.name, Replaced()).columns
        return release_output(columns, names, data, table.schema.public, replaced)
