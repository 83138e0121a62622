"""Releases: the specification, the run, the limits, the map of risk and utility, the search."""

from caveat.release.bench import Point, Question, Setting, settings_of
from caveat.release.limits import Limit, read_limits
from caveat.release.map import RiskUtilityMap, risk_utility_map
from caveat.release.run import Outcome, Release
from caveat.release.spec import ReleaseSpec
from caveat.release.tune import Tuning, tune

__all__ = [
    "Limit",
    "Outcome",
    "Point",
    "Question",
    "Release",
    "ReleaseSpec",
    "RiskUtilityMap",
    "Setting",
    "Tuning",
    "read_limits",
    "risk_utility_map",
    "settings_of",
    "tune",
]
