"""What the evidence says about the release itself, and about people whom it proves."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat import __version__
from caveat.notes import Note
from caveat.release.collect import Collected, entries_of, limits_of, plain
from caveat.release.folder import sha256_of
from caveat.release.material import Material
from caveat.spec.limits import STRONGEST as STRONG
from caveat.spec.scenarios import ScenarioSpec
from caveat.spec.spec import ReleasePart, ReleaseSpec
from caveat.synthesis import Model, Plan
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.linked import GroupModel, LinkedModel
from caveat.synthesis.linked.plan import LinkedPlan
from caveat.synthesis.methods.guarded import Guarded, Stratified, guard_of
from caveat.synthesis.methods.trees import Cart
from caveat.synthesis.options import GIVEN
from caveat.synthesis.plan import ColumnPlan
from caveat.synthesis.replacing import HOW, Replaced
from caveat.synthesis.seen import KEPT, assumed_public, assumed_ranges, rare_threshold, sole_ends
from caveat.table import Column, Table
from caveat.table.cells import PrivateNumbers, chance_alone, share_alone
from caveat.table.code_files import content_hash
from caveat.table.identifying import CODES, Judgement, level_texts, units_of_levels
from caveat.table.source import file_of, source_of
from caveat.tree.guarded import structure_bound

Records = NDArray[np.int64]


def proven_records(material: Material) -> dict[str, Records]:
    """Return the fitted records that are proven: by a rare level, by the rule, by an end.

    Nobody is where the plan is not that of single rows.
    """
    plan, table = material.plan, material.fitted
    none = np.zeros(0, np.int64)
    if plan is None:
        return {"levels": none, "edge": none, "ends": none}
    released = material.drawn or list(material.releases)
    levels = _with_levels(plan, table, released, kept=True)
    edge = _with_levels(plan, table, released, kept=False)
    ends = [
        end.record
        for end in sole_ends(plan.columns, table)
        if any(_beyond(copy[end.column], end.low, end.high, plan.columns[end.column].special)
               for copy in released if end.column in copy)
    ]  # fmt: skip
    return {"levels": levels, "edge": edge, "ends": np.unique(np.array(ends, np.int64))}


def _with_levels(plan: Plan, table: Table, released: list[Table], *, kept: bool) -> Records:
    """Return the records with a released level that few, or just enough, records have."""
    found = np.zeros(table.n_rows, bool)
    k = rare_threshold(plan.rare_below)
    for name, of in plan.rare.items():
        if name not in released[0] or (of.how == KEPT) != kept:
            continue
        column = table[name]
        counts, texts = units_of_levels(column), level_texts(column)
        wanted = counts < k if kept else counts == k
        seen = {text for copy in released for text in _used(copy[name])}
        wanted &= np.isin(texts, sorted(seen))
        if of.into:
            wanted &= texts != of.into
        found |= np.append(wanted, np.zeros(len(column.missing), bool))[column.codes]
    return np.flatnonzero(found)


def _used(column: Column) -> list[str]:
    return list(level_texts(column)[column.counts[: len(column.levels)] > 0])


def _beyond(column: Column, low: float, high: float, special: tuple[Any, ...]) -> bool:
    """Whether a released number lies where none could be without a record."""
    used = column.numbers[column.counts[: len(column.levels)] > 0]
    used = used[~np.isin(used, [v for v in special if isinstance(v, int | float)])]
    return bool(((used < low) | (used > high)).any())


def described_rare(
    plan: Plan | LinkedPlan, proven: Mapping[str, Records] | None = None
) -> dict[str, Any]:
    """Return what happened to rare levels, without a level.

    Parameters
    ----------
    plan
        The plan of the release.
    proven
        The records that are proven; of groups and linked tables people are counted by column.
    """
    columns = list(plan.rare_columns)
    edge = sum(of.edge for _, of in columns)
    kept = sum(of.people for _, of in columns if of.how == KEPT)
    if proven is not None:
        edge, kept = len(proven["edge"]), len(proven["levels"])
    return {
        "rare_levels": {
            "below": rare_threshold(plan.rare_below),
            "columns": [
                {"column": name, "how": of.how, "levels": of.n_levels, "records": of.records}
                for name, of in columns
                if of.n_levels
            ],
            "people_kept": kept,
            "people_at_threshold": edge,
        }
    }


def described_ends(material: Material, proven: Mapping[str, Records]) -> dict[str, Any]:
    """Return of which columns the range was read off the data, and whom that proves."""
    plan = material.plan
    if plan is None or not assumed_ranges(plan.columns):
        return {}
    moved = {end.record for end in sole_ends(plan.columns, material.fitted)}
    return {
        "range_ends": {
            "columns": [n for n in assumed_ranges(plan.columns) if n in material.releases[0]],
            "people": len(moved),
            "proven": len(proven["ends"]),
        }
    }


# -------------------------------------------------------------------------------------------------
# What the evidence says about the release itself: what it is, and how it was made.


PACKAGES = ("numba", "numpy", "pandas", "polars", "pyarrow", "pyreadstat", "scikit-learn", "scipy",
            "statsmodels")  # fmt: skip
WORST_CASE = (
    "bound on the log ratio of the structures of all trees, one record of weight 1 added or "
    "removed, over all data sets: far too large to mean anything at useful settings, and the draws "
    "from counts are not covered; the protection is measured on these data, not guaranteed"
)
"""What the worst case is, wherever it is shown."""


def described_release(
    spec: ReleaseSpec,
    material: Material,
    files: list[dict[str, Any]],
    judged: Mapping[str, Judgement],
) -> dict[str, Any]:
    """Return what is released, for whom, and how many records are behind it."""
    release, control = spec.release, material.control
    columns = material.complete[0].names
    unknown = material.model is None and control is None
    return {
        **described_purpose(release),
        "copies": len(material.releases),
        "rows": [table.n_rows for table in material.releases],
        "columns": list(columns),
        "not_released": [name for name in material.original if name not in columns],
        **labels_of({name: material.original[name] for name in material.original}),
        "original_rows": material.original.n_rows,
        "fitted_rows": None if unknown else material.fitted.n_rows,
        "control_rows": 0 if control is None else control.n_rows,
        "files": files,
        "synthesised_by": "elsewhere" if material.model is None else "caveat",
        **_groups(material),
        "identifying": _identifying(material, judged),
        **described_replaced([] if material.model is None else [material.model.replaced]),
        "private_numbers": private_numbers(material, material.columns()),
        **_undeclared_groups(material, judged),
        **_proven(material),
    }


def labels_of(columns: Mapping[str, Column]) -> dict[str, Any]:
    """Return what columns are called in words, if any has such a label."""
    labels = {name: column.label for name, column in columns.items() if column.label}
    return {"labels": labels} if labels else {}


def described_purpose(release: ReleasePart) -> dict[str, Any]:
    """Return what a release is called and what it is for."""
    names = ("title", "unit", "purpose", "recipients", "access")
    return {name: getattr(release, name) for name in names}


def _groups(material: Material) -> dict[str, Any]:
    """Return which rows belong together, and how many groups there are, if there are any."""
    if material.groups is None:
        return {}

    def number(table: Table) -> int:
        return int(np.count_nonzero(table[material.key].counts))

    return {
        "groups": {
            "key": material.key,
            "fitted": number(material.fitted),
            "control": 0 if material.control is None else number(material.control),
            "released": [number(table) for table in material.releases],
        }
    }


def _undeclared_groups(material: Material, judged: Mapping[str, Judgement]) -> dict[str, Any]:
    """Return the keys of groups in the data, where the specification names none."""
    keys = [name for name, found in judged.items() if found.code == "group-key"]
    if material.groups is not None or not keys:
        return {}
    return {"undeclared_groups": {"columns": keys}}


def _proven(material: Material) -> dict[str, Any]:
    """Return what rare levels and ends of ranges prove; nothing of tables made elsewhere."""
    if material.model is None:
        return {}
    if material.plan is None:
        return described_rare(material.model.plan)
    proven = proven_records(material)
    return {**described_rare(material.plan, proven), **described_ends(material, proven)}


def _identifying(material: Material, judged: Mapping[str, Judgement]) -> list[dict[str, Any]]:
    """Return the columns that name people and are released all the same."""
    plan = None if material.model is None else material.model.plan
    derived = {n for n, e in plan.columns.items() if e.settings.method == "derived"} if plan else ()
    released = material.columns()  # a key of groups is fresh
    return [
        named(name, found)
        for name, found in judged.items()
        if name in released and name not in derived
    ]


def described_replaced(replaced: Iterable[Replaced]) -> dict[str, Any]:
    """Return the columns that invented values take the place of, if there are any."""
    how = {name: one.how for of in replaced for name, one in of.columns.items()}
    if not how:
        return {}
    return {"replaced": [{"column": name, "by": by, "is": HOW[by]} for name, by in how.items()]}


def named(column: str, found: Judgement) -> dict[str, Any]:
    """Return that a column names people, and why one thinks so."""
    return {"column": column, "code": found.code, "is": CODES[found.code], "reason": found.reason}


def private_numbers(material: Material, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return how many numbers belong to exactly one person, in the original and in the release.

    Beside them stands the share of held-out records, or by chance of other ones, that would count.

    Of a release from noisy tables nothing: its numbers are points of a range, by chance.
    """
    plan = material.plan
    if plan is not None and plan.margins is not None and plan.margins.promise is not None:
        return []
    count, outside = (PrivateNumbers(material.fitted, names) for _ in range(2))
    for table in material.releases:
        count.add(table)
    if material.control is not None:
        outside.add(material.control)
    return [
        {
            "column": name,
            "original": share_alone(material.fitted[name]),
            "released": share,
            "baseline": chance_alone(material.fitted[name]),
            "control": None if material.control is None else outside.shares[name],
        }
        for name, share in count.shares.items()
    ]


def described_inputs(spec: ReleaseSpec, original: Table) -> dict[str, Any]:
    """Return names and checksums of the specification and the data; no paths."""
    return {
        "spec": {"name": spec.path.name, "sha256": hashlib.sha256(spec.text).hexdigest()},
        "data": described_file(spec.data.path, original),
    }


def described_file(path: Path, table: Table) -> dict[str, Any]:
    """Return name, checksum and size of a data file.

    A table on a server has no bytes to be hashed: its checksum is that of what was read.
    """
    source = source_of(path)
    on_server = source is not None and not source.is_file
    place = source.place if source and on_server else file_of(path).name
    return {
        "name": place if source is None or not source.part else f"{place}#{source.part}",
        "sha256": content_hash(table.columns) if on_server else sha256_of(file_of(path)),
        "rows": table.n_rows,
        "columns": len(table.names),
        **({"notes": plain(table.notes)} if table.notes else {}),
    }


def software() -> dict[str, Any]:
    """Return the versions of everything that a number may depend on."""
    return {
        "caveat": __version__,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def described_synthesis(spec: ReleaseSpec, material: Material) -> dict[str, Any] | None:
    """Return what was done by whom to which column, without a value of any record."""
    if material.model is None:
        return None
    plan, models = material.model.plan, _column_models(material.model)
    columns = [(name, entry, models.get(name)) for name, entry in plan.columns.items()]
    return described_plan(spec, material.model, columns)


def described_plan(
    spec: ReleaseSpec,
    model: Model | GroupModel | LinkedModel,
    columns: Sequence[tuple[str, ColumnPlan, ColumnModel | None]],
) -> dict[str, Any]:
    """Return how columns were made, one after the other."""
    apart = ("order", "derived", "rules", "judged", "left_out", "replace")
    return {
        "order": [name for name, *_ in columns],
        "settings": plain({k: v for k, v in spec.synthesis.items() if k not in apart}),
        "columns": [
            {
                "name": name,
                "method": entry.settings.method,
                "predictors": list(entry.predictors),
                **({} if fitted is None else _leaves(fitted)),
            }
            for name, entry, fitted in columns
        ],
        "derived": plain(spec.synthesis.get("derived", {})),
        "rules": [str(rule) for rule in model.plan.rules],
        "remarks": list(model.plan.remarks),
        **_choice(model),
        **_guard(model, columns),
    }


def _choice(model: Model | GroupModel | LinkedModel) -> dict[str, Any]:
    """Return how predictors were chosen, where they were."""
    if not isinstance(model, Model) or model.plan.choice is None:
        return {}
    return {"choice": model.plan.choice.described(model.plan.columns)}


def _column_models(model: Model | GroupModel) -> Mapping[str, ColumnModel]:
    """Return the models by column; of groups that with which a column is drawn first."""
    if isinstance(model, Model):
        return model.columns
    found: dict[str, ColumnModel] = {}
    for stage in model.plan.shape:
        for name, column in stage.drawn.items():
            found.setdefault(column, model.model.stages[stage.name].columns[name])
    return found


def _guard(
    model: Model | GroupModel | LinkedModel,
    columns: Sequence[tuple[str, ColumnPlan, ColumnModel | None]],
) -> dict[str, Any]:
    """Return the numbers of guarded trees, what they take as public, and the worst case."""
    guarded = {
        name: entry.settings for name, entry, _ in columns if entry.settings.method == "guarded"
    }
    if not guarded:
        return {}
    whole = model.model if isinstance(model, GroupModel) else model
    parts = [whole] if isinstance(whole, Model) else list(whole.stages.values())
    public: dict[str, None] = {}
    worst_case = 0.0
    for part in parts:
        held = {name: fitted.coding.column for name, fitted in part.columns.items()}
        # What a stage is given was drawn, and told, in another.
        own = {n: e for n, e in part.plan.columns.items() if e.settings.method != GIVEN}
        public |= dict.fromkeys(assumed_public(replace(part.plan, columns=own), held))
        drawn = [name for name, entry in own.items() if entry.settings.method == "guarded"]
        worst_case += sum(_worst_case(part.columns[name]) for name in drawn)
        choice = part.plan.choice
        worst_case += 0.0 if choice is None else choice.worst_case(part.plan.columns)
    return {
        "assumed_public": list(public),
        "guard": {
            "columns": [
                {"name": name, "guard": settings.guard, **asdict(guard_of(settings))}
                for name, settings in guarded.items()
            ],
            "worst_case": worst_case,
            "worst_case_says": WORST_CASE,
        },
    }


def _worst_case(model: ColumnModel) -> float:
    """Return the bound on what one record can do to the structures of a column."""
    total = 0.0
    for part in (model.kinds, model.values):
        # A record is in one stratum.
        fits = part.models.values() if isinstance(part, Stratified) else (part,)
        bounds = [structure_bound(fit.tree) for fit in fits if isinstance(fit, Guarded)]
        total += max(bounds, default=0.0)
    return total


def _leaves(model: ColumnModel) -> dict[str, int]:
    trees = [part.tree for part in (model.kinds, model.values) if isinstance(part, Cart)]
    return {"leaves": sum(tree.n_leaves for tree in trees)} if trees else {}


def described_protection(material: Material) -> list[dict[str, Any]]:
    """Return what each protection was told and what it did, to every table."""
    described = []
    for same in zip(*(copy.steps for copy in material.copies), strict=True):
        several = len(same) > 1
        counts = {
            f"{name}, table {i}" if several else name: value
            for i, step in enumerate(same, 1)
            for name, value in step.counts.items()
        }
        notes = list(dict.fromkeys(note for step in same for note in step.notes))
        if same[0].reads_original:
            notes.append(Note("reads-original", "what it did depends on original records"))
        described.append(
            {
                "name": same[0].name,
                "arguments": plain(same[0].parameters),
                "counts": plain(counts),
                "notes": plain(notes),
            }
        )
    return described


def described_scenario(
    scenario: ScenarioSpec, material: Material | None, found: Collected
) -> dict[str, Any]:
    """Return one attacker with what was measured; on several tables she may be after all."""
    targets = scenario.targets
    if targets is None:
        alone = scenario.attacker in ("strong", "simulated")
        targets = () if alone or material is None else material.columns(scenario.keys)
    return {
        "name": scenario.name,
        "attacker": scenario.attacker,
        **({"table": scenario.table} if scenario.table else {}),
        **({"unit": scenario.unit} if scenario.unit else {}),
        "keys": list(scenario.keys),
        "targets": list(targets),
        "circumstances": found.circumstances,
        "limits": limits_of(scenario.limits),
        "measurements": found.measurements,
        "checks": found.checks,
        "remarks": found.remarks,
    }


def measures_used(
    scenarios: Sequence[Mapping[str, Any]],
    utility: Mapping[str, Any],
    others: Mapping[str, Any],
) -> dict[str, dict[str, Any]]:
    """Return the entries of all measures that were computed, of other settings too."""
    names = [m["measure"] for scenario in scenarios for m in scenario["measurements"]]
    names += [m["measure"] for m in utility["measurements"]]
    tried = [found for found in others.values() if found is not None]
    names += [name for found in tried for name in (found["risk"], found["utility"])
              if name not in STRONG]  # fmt: skip
    return entries_of(names)
