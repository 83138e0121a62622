"""People whom a release proves to be in the data, whatever its models hide.

A rare level that leaves, a level that exactly as many people have as are needed, and an end of a
range that one person holds are read off the data. An attacker who knows all other records and the
rule sees that they would not be there without that person.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.release.material import Material
from caveat.synthesis import Plan
from caveat.synthesis.linked.plan import LinkedPlan
from caveat.synthesis.seen import KEPT, assumed_ranges, rare_threshold, sole_ends
from caveat.table import Column, Table
from caveat.table.identifying import level_texts, units_of_levels

__all__ = ["described_ends", "described_rare", "proven_records"]

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
