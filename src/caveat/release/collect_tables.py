"""What analysts can still do with several tables, as evidence: each, and how they hang together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from caveat.release.collect import Done, limits_of
from caveat.release.collect_structure import collect_structure
from caveat.release.collect_utility import collect_utility, measurements_of
from caveat.release.material import Material
from caveat.release.material_tables import TablesMaterial
from caveat.seeds import Stream, child_seed
from caveat.spec.spec import ReleaseSpec
from caveat.table import align_copies
from caveat.table.linked import without_keys
from caveat.utility import MEASURES, compare_pairs
from caveat.utility.grouping import groups_of_children
from caveat.utility.weighting import weights_apart

__all__ = ["collect_tables"]

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
