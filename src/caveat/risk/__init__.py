"""Measures of disclosure that need only the two tables and a scenario."""

from caveat.risk import (
    attribute,
    cap,
    cap_unmatched,
    gtcap,
    identity,
    isolation,
    matching,
    rows,
    tables,
)
from caveat.risk.audit import audit, audit_pairs
from caveat.risk.disclosure import Disclosure, disclosure, disclosure_of_codes
from caveat.risk.isolation import Chance, isolation_chances
from caveat.risk.measure import MEASURES, Measure, Property, register
from caveat.risk.measurement import Measurement, beyond_control, rate, undefined, wilson
from caveat.risk.pair import ScenarioPair, pair
from caveat.risk.result import Audit
from caveat.risk.scenario import Scenario
from caveat.table.cells import Joint, cross, key_cells

ENTRIES: tuple[Measure, ...] = (
    *identity.ENTRIES,
    *attribute.ENTRIES,
    *cap.ENTRIES,
    *cap_unmatched.ENTRIES,
    *gtcap.ENTRIES,
    *matching.ENTRIES,
    *isolation.ENTRIES,
    *tables.ENTRIES,
    *rows.ENTRIES,
)
register(*ENTRIES, built_in=True)

__all__ = [
    "ENTRIES",
    "MEASURES",
    "Audit",
    "Chance",
    "Disclosure",
    "Joint",
    "Measure",
    "Measurement",
    "Property",
    "Scenario",
    "ScenarioPair",
    "audit",
    "audit_pairs",
    "beyond_control",
    "cross",
    "disclosure",
    "disclosure_of_codes",
    "isolation_chances",
    "key_cells",
    "pair",
    "rate",
    "register",
    "undefined",
    "wilson",
]
