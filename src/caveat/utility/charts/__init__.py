"""Charts, one function each. They return Altair charts; ``save`` writes them to files."""

from caveat.utility.charts.coefficients import coefficient_forest
from caveat.utility.charts.distributions import distributions
from caveat.utility.charts.matrices import correlation_difference, two_way
from caveat.utility.charts.scores import propensity_scores
from caveat.utility.charts.style import COLOURS, FORMATS, save

__all__ = [
    "COLOURS",
    "FORMATS",
    "coefficient_forest",
    "correlation_difference",
    "distributions",
    "propensity_scores",
    "save",
    "two_way",
]
