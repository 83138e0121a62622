"""The attacker who has the released table only: an audit as evidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caveat.errors import CaveatError
from caveat.release.at_risk import AtRisk, Signs
from caveat.release.collect import Done, entry, plain
from caveat.release.collected import Collected
from caveat.release.material import Material
from caveat.risk import Audit, audit_pairs
from caveat.spec.scenarios import ScenarioSpec
from caveat.table import Pair, align_copies
from caveat.table.grouping import size_columns
from caveat.table.per_group import SIZE, group_tables

__all__ = ["as_groups", "collect_audit"]

# The measures whose records are named: who is found, and whose target is told.
NAMED = ("repU", "DiSCO")


def collect_audit(material: Material, spec: ScenarioSpec, signs: Signs, done: Done) -> Collected:
    """Measure what the released tables give away to someone who knows the keys."""
    targets = material.columns(spec.keys) if spec.targets is None else spec.targets
    pairs, keys = material.pairs, spec.keys
    if spec.unit:
        pairs, keys, targets = as_groups(material, keys, targets)
    found = audit_pairs(
        pairs,
        keys=keys,
        targets=targets,
        measures=spec.measures,
        **spec.circumstances,
        unit=spec.unit,
    )
    done(1.0)
    content = found.to_dict()
    return Collected(
        circumstances=plain(spec.scenario().to_dict()),
        measurements=[
            entry(row.measure, row.result, spec.limits, target=row.scenario.target, copy=row.copy)
            for row in found.rows
        ],
        checks=plain(content["checks"]),
        remarks=[*content["differences"], *content["remarks"]],
        # A group is no record that could be named by its row.
        at_risk=[] if spec.unit else _at_risk(found, spec, signs),
    )


def as_groups(
    material: Material, keys: Sequence[str], targets: Sequence[str]
) -> tuple[tuple[Pair, ...], tuple[str, ...], tuple[str, ...]]:
    """Return pairs with a row for each group, and what keys and targets are called there.

    What the members of a group share is a column as before. Of other columns there are the numbers
    of members of each kind; who knows any of them knows how many they are in all.
    """
    assert material.groups is not None
    constant = material.groups.constant or ()
    named = tuple(dict.fromkeys([*keys, *targets]))
    held = [name for name in named if name in constant]
    control = [] if material.control is None else [material.control]
    tables = [
        table.select([material.key, *named])
        for table in (material.fitted, *material.releases, *control)
    ]
    ours, *others = group_tables(
        tables, material.key, held, [name for name in named if name not in held]
    )
    outside = others.pop() if control else None
    pairs = align_copies(ours, others, outside)

    def called(names: Sequence[str]) -> list[str]:
        kinds = tuple(f"number of {name} " for name in names if name not in held)
        return [n for n in ours if (n in held and n in names) or n.startswith(kinds)]

    known = (SIZE, *called(keys))
    counted = size_columns(material.fitted, material.key, constant)
    sought = [n for n in called(targets) if n not in known and n not in counted]
    if not sought:
        raise CaveatError(
            "nothing is left to learn about a group", where="scenario", do="name other targets"
        )
    return pairs, known, tuple(sought)


def _at_risk(found: Audit, spec: ScenarioSpec, signs: Signs) -> list[AtRisk]:
    """Return the records that carry a measure in every table, those with most signs first."""
    out = []
    for name in NAMED:
        rows = [row for row in found.rows if row.measure == name and row.result.trace is not None]
        for target in dict.fromkeys(row.scenario.target for row in rows):
            shares = [r.result.per_record for r in rows if r.scenario.target == target]
            mean = np.mean([share for share in shares if share is not None], axis=0)
            out += [
                AtRisk(spec.name, int(i), target, name, float(mean[i]), None)
                for i in np.flatnonzero(mean > 0)
            ]
    return sorted(out, key=lambda one: (-one.value, -signs.score(one.record)))
