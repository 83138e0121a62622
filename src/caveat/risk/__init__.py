"""Measures of disclosure that need only the two tables and a scenario."""

from caveat.risk import attribute, cap, identity
from caveat.risk.cells import Joint, cross, key_cells
from caveat.risk.disclosure import Disclosure, disclosure, disclosure_of_codes
from caveat.risk.measure import MEASURES, Measure, Property, register
from caveat.risk.measurement import Measurement, beyond_control, rate, undefined, wilson
from caveat.risk.pair import Pair, pair
from caveat.risk.scenario import Scenario

register(*identity.ENTRIES, *attribute.ENTRIES, *cap.ENTRIES)

__all__ = [
    "MEASURES",
    "Disclosure",
    "Joint",
    "Measure",
    "Measurement",
    "Pair",
    "Property",
    "Scenario",
    "beyond_control",
    "cross",
    "disclosure",
    "disclosure_of_codes",
    "key_cells",
    "pair",
    "rate",
    "register",
    "undefined",
    "wilson",
]
