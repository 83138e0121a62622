"""What the evidence says about a release of several tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caveat.release.content import (
    described_file,
    described_inputs,
    described_plan,
    described_purpose,
    described_replaced,
    labels_of,
    named,
    private_numbers,
)
from caveat.release.material_tables import TablesMaterial
from caveat.release.proven import described_rare
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.plan import ColumnPlan
from caveat.table.identifying import Judgement
from caveat.table.linked import Linked

__all__ = ["described_inputs_of_tables", "described_plan_of_tables", "described_tables"]


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
