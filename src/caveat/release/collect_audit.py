"""The attacker who has the released table only: an audit as evidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.release.at_risk import AtRisk, Signs
from caveat.release.collect import Done, entry, plain, without_value
from caveat.release.collected import Collected
from caveat.release.material import Material
from caveat.risk import MEASURES, Audit, audit_pairs
from caveat.spec.scenarios import ScenarioSpec
from caveat.synthesis.plan import Plan
from caveat.table.grouping import SIZE, size_columns
from caveat.table.linked import Members

__all__ = ["as_groups", "collect_audit"]

NO_TARGET = Note(
    "no-target", "every released column is a key: nothing is left to learn", public=True
)

# The measures whose records are named: who is found, and whose target is told.
NAMED = ("repU", "DiSCO")


def collect_audit(material: Material, spec: ScenarioSpec, signs: Signs, done: Done) -> Collected:
    """Measure what the released tables give away to someone who knows the keys.

    A scenario with a unit of its own is about groups: of a group that is found all records are
    named.
    """
    pairs, members, keys, targets = material.pairs, None, spec.keys, spec.targets
    if spec.unit and material.members is not None:
        pairs, members = material.pairs_of_groups, material.members[0].original
        keys, targets = as_groups(material, spec)
    if targets is None:
        original = pairs[0].original
        others = [name for name in original if name not in keys]
        # There is nothing to learn about a column with a single value, or about one that is looked
        # up by what the attacker knows.
        known = {*keys, *_looked_up_by(keys, material.plan)}
        varied = [name for name in others if np.count_nonzero(original[name].counts) > 1]
        targets = tuple([name for name in varied if name not in known] or varied or others)
    about_targets = [m for m in spec.measures if "target" in MEASURES[m].needs and not targets]
    found = audit_pairs(
        pairs,
        keys=keys,
        targets=targets,
        measures=[m for m in spec.measures if m not in about_targets],
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
        ]
        + without_value(about_targets, NO_TARGET, spec.limits),
        checks=plain(content["checks"]),
        remarks=[*content["differences"], *content["remarks"]],
        at_risk=_at_risk(found, spec, signs, members),
    )


def _looked_up_by(keys: Sequence[str], plan: Plan | None) -> set[str]:
    """Return the columns that are looked up by keys alone."""
    columns = {} if plan is None else plan.columns
    return {
        name
        for name, column in columns.items()
        if column.settings.method == "lookup" and set(column.predictors) <= set(keys)
    }


def as_groups(
    material: Material, spec: ScenarioSpec
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return what keys and targets are called in a table with a row for each group.

    What the members of a group share is a column as before. Of others there are the numbers of
    members of each kind; who knows any of these knows how many members there are in all.
    """
    names = material.pairs_of_groups[0].original.names

    def called(wanted: Sequence[str]) -> list[str]:
        found = [[w] if w in names else [n for n in names if n.startswith(f"number of {w} ")]
                 for w in wanted]  # fmt: skip
        return [name for each in found for name in each]

    keys = called(spec.keys)
    if SIZE not in keys and len(keys) > len([key for key in spec.keys if key in names]):
        keys.insert(0, SIZE)
    counted = size_columns(
        material.fitted, material.key, [name for name in names if name in material.fitted]
    )
    wanted = names if spec.targets is None else called(spec.targets)
    targets = tuple(n for n in wanted if n not in keys and not (SIZE in keys and n in counted))
    if not targets:
        raise CaveatError(
            "nothing is left to learn about a group",
            where=f"scenario {spec.name}",
            do="name other targets",
            code="attack.target.absent",
        )
    return tuple(keys), targets


def _at_risk(
    found: Audit, spec: ScenarioSpec, signs: Signs, members: Members | None
) -> list[AtRisk]:
    """Return the records that carry a measure in every table, those with most signs first."""
    out = []
    for name in NAMED:
        rows = [row for row in found.rows if row.measure == name and row.result.trace is not None]
        for target in dict.fromkeys(row.scenario.target for row in rows):
            shares = [r.result.per_record for r in rows if r.scenario.target == target]
            mean = np.mean([share for share in shares if share is not None], axis=0)
            if members is not None:  # whoever belongs to a group that is found
                mean = mean[members.group]
            out += [
                AtRisk(spec.name, int(i), target, name, float(mean[i]), None)
                for i in np.flatnonzero(mean > 0)
            ]
    return sorted(out, key=lambda one: (-one.value, -signs.score(one.record)))
