"""The attacker who has the released table only: an audit as evidence."""

from __future__ import annotations

import numpy as np

from caveat.release.at_risk import AtRisk, Signs
from caveat.release.collect import Done, entry, plain
from caveat.release.collected import Collected
from caveat.release.material import Material
from caveat.risk import Audit, audit_pairs
from caveat.spec.scenarios import ScenarioSpec

__all__ = ["collect_audit"]

# The measures whose records are named: who is found, and whose target is told.
NAMED = ("repU", "DiSCO")


def collect_audit(material: Material, spec: ScenarioSpec, signs: Signs, done: Done) -> Collected:
    """Measure what the released tables give away to someone who knows the keys."""
    found = audit_pairs(
        material.pairs,
        keys=spec.keys,
        targets=material.columns(spec.keys) if spec.targets is None else spec.targets,
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
        at_risk=_at_risk(found, spec, signs),
    )


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
