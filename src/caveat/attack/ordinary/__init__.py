"""Attackers with ordinary means: what anyone can do with the released table alone.

The strong attacker of :mod:`caveat.attack` is the upper bound; these are lower bounds, each with
what could be had without the release and with the same attack on people who were not in the data.
"""

from caveat.attack.ordinary.common import residual_risk
from caveat.attack.ordinary.density import MembershipScores, membership_scores
from caveat.attack.ordinary.distances import (
    closer_than_neighbour,
    closest_record,
    closest_share,
    epsilon_identifiability,
    identical_matches,
    neighbour_ratio,
)
from caveat.attack.ordinary.outliers import outlier_links
from caveat.attack.ordinary.predicting import CLASSIFIERS, Prediction, frnn, prediction
from caveat.attack.ordinary.three_risks import inference, linkability, singling_out

__all__ = [
    "CLASSIFIERS",
    "MembershipScores",
    "Prediction",
    "closer_than_neighbour",
    "closest_record",
    "closest_share",
    "epsilon_identifiability",
    "frnn",
    "identical_matches",
    "inference",
    "linkability",
    "membership_scores",
    "neighbour_ratio",
    "outlier_links",
    "prediction",
    "residual_risk",
    "singling_out",
]
