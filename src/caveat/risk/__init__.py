"""Measures of disclosure that need only the two tables and a scenario."""

from caveat.risk import cap, identity, isolation
from caveat.risk.auditing import audit, audit_pairs
from caveat.risk.isolation import Chance, isolation_chances
from caveat.risk.measure import (
    MEASURES,
    Measure,
    Measurement,
    Property,
    beyond_control,
    rate,
    register,
    undefined,
    wilson,
)
from caveat.risk.pair import Disclosure, ScenarioPair, disclosure, disclosure_of_codes, pair
from caveat.risk.result import Audit
from caveat.risk.scenario import Scenario
from caveat.table.cells import Joint, cross, key_cells

ENTRIES: tuple[Measure, ...] = (
    *identity.ENTRIES,
    *identity.ATTRIBUTE_ENTRIES,
    *cap.ENTRIES,
    *cap.CAP_UNMATCHED_ENTRIES,
    *cap.GTCAP_ENTRIES,
    *identity.MATCHING_ENTRIES,
    *isolation.ENTRIES,
    *isolation.TABLES_ENTRIES,
    *isolation.ROWS_ENTRIES,
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
