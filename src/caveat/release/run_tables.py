"""A release of several tables: its run, its evidence and its content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from caveat import evidence
from caveat.evidence import with_verdict
from caveat.notes import Note
from caveat.release.collect import (
    AtRisk,
    Collected,
    Done,
    Signs,
    limits_of,
    without_value,
    worst_records,
)
from caveat.release.collect_strong import Whole, collect_groups, collect_simulated
from caveat.release.collect_utility import (
    GROUPS,
    collect_structure,
    collect_utility,
    left_out,
    measurements_of,
)
from caveat.release.content import (
    described_file,
    described_inputs,
    described_plan,
    described_purpose,
    described_rare,
    described_replaced,
    described_scenario,
    labels_of,
    measures_used,
    named,
    private_numbers,
    software,
)
from caveat.release.data_dictionary import described_tables_of, write_dictionaries
from caveat.release.material import (
    Material,
    TablesMaterial,
    planned_whole,
    synthesise_tables,
    within_levels,
)
from caveat.release.run import Run, title_of
from caveat.seeds import Stream, child_seed
from caveat.spec.against_data import check_tables
from caveat.spec.data_entries import TableSpec, forms_of
from caveat.spec.scenarios import ScenarioSpec
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.plan import ColumnPlan
from caveat.synthesis.replacing import Replaced
from caveat.synthesis.seen import release_output
from caveat.table import align_copies
from caveat.table.files import TextForm, check_target
from caveat.table.frames import write_several
from caveat.table.identifying import Judgement, Origin, Output, joined, judge
from caveat.table.linked import Linked, without_keys
from caveat.table.source import file_of, name_of
from caveat.utility import MEASURES, compare_pairs
from caveat.utility.pair import groups_of_children, weights_apart


def described_tables(
    spec: ReleaseSpec,
    material: TablesMaterial,
    files: list[dict[str, Any]],
    judged: Mapping[str, Mapping[str, Judgement]],
) -> dict[str, Any]:
    """Return what is released, for whom, and how many records are behind it.

    Numbers of rows are those of the table without parent: its rows, with all that belongs to them,
    are what is protected.
    """
    joined, root = material.joined, material.joined.root
    released = {name: material.asked.released(name) for name in joined.own}
    keys = dict.fromkeys(k for n in material.original.sequence for k in _keys(material.original, n))
    data = [n for name, own in joined.own.items() for n, c in own.items()
            if c in material.original.tables[name]]  # fmt: skip
    out = {n for names in released.values() for n in names} | _invented(material)
    control = material.control
    rows = [one.tables[root].n_rows for one in material.releases]
    fitted = material.fitted.tables[root].n_rows
    held_out = 0 if control is None else control.tables[root].n_rows
    return {
        **described_purpose(spec.release),
        "copies": len(material.releases),
        "rows": rows,
        "columns": [*keys, *(name for name in data if name in out)],
        "not_released": [name for name in data if name not in out],
        **labels_of(
            {
                called: material.original.tables[name][column]
                for name, own in joined.own.items()
                for called, column in own.items()
                if column in material.original.tables[name]
            }
        ),
        "original_rows": material.original.tables[root].n_rows,
        "fitted_rows": fitted,
        "control_rows": held_out,
        "files": files,
        "synthesised_by": "caveat",
        "groups": {
            "key": joined.key, "fitted": fitted, "control": held_out, "released": rows,
        },
        "tables": [_table(material, name) for name in material.original.tables],
        "identifying": [
            named(called, judged[name][column])
            for name, own in joined.own.items()
            for called, column in own.items()
            if called in out - _invented(material) and column in judged[name]
        ],
        **described_replaced(material.model.replaced.values()),
        "private_numbers": [
            entry
            for name, view in material.views.items()
            for entry in private_numbers(view, [n for n in data if n in released[name]])
        ],
        **described_rare(material.model.plan),
    }  # fmt: skip


def _invented(material: TablesMaterial) -> set[str]:
    """Return what the columns are called that invented values take the place of."""
    replaced = {name: of.columns for name, of in material.model.replaced.items()}
    return {
        called
        for name, own in material.joined.own.items()
        for called, column in own.items()
        if column in replaced.get(name, ())
    }


def _keys(linked: Linked, name: str) -> list[str]:
    """Return the columns of a table that are made afresh."""
    if name in linked.lookups:
        return []
    link = linked.parent_of(name)
    own = [linked.keys[name]] if name in linked.keys else []
    return [*own, *([] if link is None else [link.column])]


def _table(material: TablesMaterial, name: str) -> dict[str, Any]:
    original = material.original
    link = original.parent_of(name)
    control = material.control
    return {
        "name": name,
        "keys": _keys(original, name),
        "belongs_to": None if link is None else link.parent,
        "lookup": name in original.lookups,
        "original": original.tables[name].n_rows,
        "fitted": material.fitted.tables[name].n_rows,
        "control": 0 if control is None else control.tables[name].n_rows,
        "released": [one.tables[name].n_rows for one in material.releases],
    }


def described_inputs_of_tables(spec: ReleaseSpec, material: TablesMaterial) -> dict[str, Any]:
    """Return names and checksums of the specification and of all data files; no paths."""
    tables = material.original.tables
    return {
        **described_inputs(spec, tables[spec.tables[0].name]),
        "tables": [described_file(table.path, tables[table.name]) for table in spec.tables],
    }


def described_plan_of_tables(spec: ReleaseSpec, material: TablesMaterial) -> dict[str, Any]:
    """Return what was done to which column, where it is drawn first."""
    plan, own = material.model.plan, material.joined.own
    found: dict[str, tuple[str, ColumnPlan, ColumnModel | None]] = {}
    for stage in plan.shape:
        called = {column: name for name, column in own[stage.table].items()}
        for name, column in stage.drawn.items():
            entry = plan.stages[stage.name].columns[name]
            fitted = material.model.stages[stage.name].columns.get(name)
            found.setdefault(called[column], (called[column], entry, fitted))
    return described_plan(spec, material.model, list(found.values()))


# -------------------------------------------------------------------------------------------------
# What analysts can still do with several tables, as evidence: each, and how they hang together.


PARTS = (
    "measurements", "variables", "pairs", "associations", "models", "regressions", "rules",
)  # fmt: skip
OF_PAIRS = ("pairs", "associations")


def collect_tables(material: TablesMaterial, spec: ReleaseSpec, done: Done) -> dict[str, Any]:
    """Compare every released table with the fitted one, and how children hang on their parents.

    Rows of a table have the columns of the rows that they belong to: two-way tables and models go
    across tables. Of single columns and of pairs each is listed where it belongs.
    """
    found: dict[str, Any] = {part: [] for part in PARTS}
    found |= {"structures": [], "remarks": []}
    share = 1 / len(material.views)
    for name, view in material.views.items():
        if material.is_empty(name):
            found["remarks"].append(f"{name} has no rows: nothing is measured")
            done(share)
            continue
        one = _of_rows(material, spec, view, lambda ready: done(share * ready))
        own = set(material.joined.own[name])
        one["variables"] = [v for v in one["variables"] if v["name"] in own]
        for part in OF_PAIRS:
            one[part] = [p for p in one[part] if own & set(p["names"])]
        if name != material.joined.root and _columns(material, name):
            _add_structure(one, material, spec, view)
        for part in PARTS:
            # Names of columns say to which table a pair belongs.
            tagged = {} if part in OF_PAIRS else {"table": name}
            found[part] += [{**entry, **tagged} for entry in one[part]]
        found["structures"] += [{"table": name, **one["structure"]}] if "structure" in one else []
        found["remarks"] += [f"{name}: {remark}" for remark in one["remarks"]]
    return {"limits": limits_of(spec.utility.limits), **found}


def _of_rows(
    material: TablesMaterial, spec: ReleaseSpec, view: Material, done: Done
) -> dict[str, Any]:
    """Return what is measured of the rows of a table and of those that they belong to."""
    asked = material.asked.utility[view.table]
    rows = tuple(n for n in asked.measures if "groups" not in MEASURES[n].needs)
    weights = _weights(material, spec)
    part = replace(
        spec,
        utility=replace(asked, measures=rows),
        synthesis={**spec.synthesis, "weights": weights},
    )
    return collect_utility(view, part, done)


def _weights(material: TablesMaterial, spec: ReleaseSpec) -> str:
    """Return what the weights are called where columns of several tables stand together."""
    column = spec.synthesis.get("weights") or ""
    root = material.joined.own[material.joined.root]
    return next((called for called, name in root.items() if name == column), "")


def _columns(material: TablesMaterial, name: str) -> list[str]:
    """Return the columns of a table that all releases have, keys not among them."""
    released = material.asked.released(name)
    return [c for n, c in material.joined.own[name].items()
            if n in released and c in material.fitted.tables[name]]  # fmt: skip


def _add_structure(
    found: dict[str, Any], material: TablesMaterial, spec: ReleaseSpec, view: Material
) -> None:
    """Add how the rows of a table hang on those of its parent."""
    name, fitted = view.table, material.fitted
    asked = [n for n in spec.utility.measures if "groups" in MEASURES[n].needs]
    columns = _columns(material, name)
    weights = weights_apart(view.fitted, _weights(material, spec) or None)[1]
    pairs = align_copies(
        without_keys(fitted, name).select(columns),
        [without_keys(release, name).select(columns) for release in material.releases],
        None,
    )
    result = compare_pairs(
        pairs,
        measures=asked,
        seed=child_seed(material.seed, Stream.RESAMPLES),
        weights=weights,
        groups=[groups_of_children(fitted, release, name) for release in material.releases],
    )
    named = spec.document.content.get("utility", {}).get("measures", ())
    found["measurements"] += [
        m
        for m in measurements_of(result, spec.utility.limits)
        # Parents are rows of their own: children seldom share a value, or say how many they are.
        if m["value"] is not None or m["limit"] is not None or m["measure"] in named
    ]
    called = {column: n for n, column in material.joined.own[name].items()}
    found["structure"] = _renamed(collect_structure(result.first), called)


def _renamed(structure: dict[str, Any], called: Mapping[str, str]) -> dict[str, Any]:
    """Return what is behind the measures with the names that columns have in the evidence."""

    def named(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [{**entry, "name": called.get(entry["name"], entry["name"])} for entry in entries]

    size = structure["size_column"]
    lists = {part: named(structure[part]) for part in ("one_value", "compositions", "within")}
    return {**structure, **lists, "size_column": None if size is None else named([size])[0]}


# -------------------------------------------------------------------------------------------------
# A release of several tables: the parts of a run that differ from those of one table.


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
