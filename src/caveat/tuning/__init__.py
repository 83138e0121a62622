"""The map of risk and utility, and the search for the setting that meets the limits."""

from caveat.generators import Setting, settings_of
from caveat.spec.limits import Question
from caveat.tuning.bench import Point
from caveat.tuning.tune import RiskUtilityMap, Tuning, risk_utility_map, tune

__all__ = [
    "Point",
    "Question",
    "RiskUtilityMap",
    "Setting",
    "Tuning",
    "risk_utility_map",
    "settings_of",
    "tune",
]
