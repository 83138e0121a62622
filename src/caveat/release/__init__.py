"""Releases: the limits they must meet, the map of risk and utility, and the search for settings."""

from caveat.release.bench import Point, Question, Setting, settings_of
from caveat.release.limits import Limit, read_limits
from caveat.release.map import RiskUtilityMap, risk_utility_map
from caveat.release.spec import ReleaseSpec
from caveat.release.tune import Tuning, tune

__all__ = [
    "Limit",
    "Point",
    "Question",
    "ReleaseSpec",
    "RiskUtilityMap",
    "Setting",
    "Tuning",
    "read_limits",
    "risk_utility_map",
    "settings_of",
    "tune",
]
