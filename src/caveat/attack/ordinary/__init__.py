"""Attackers with ordinary means: what anyone can do with the released table alone.

The strong attacker of :mod:`caveat.attack` is the upper bound; these are lower bounds, each with
what could be had without the release and with the same attack on people who were not in the data.
"""

from caveat.attack.ordinary.classifiers import CLASSIFIERS, Prediction, prediction
from caveat.attack.ordinary.density import MembershipScores, membership_scores
from caveat.attack.ordinary.distances import (
    closer_than_neighbour,
    closest_record,
    closest_share,
    epsilon_identifiability,
    identical_matches,
    neighbour_ratio,
)
from caveat.attack.ordinary.frnn import frnn
from caveat.attack.ordinary.inference import inference
from caveat.attack.ordinary.linkability import linkability
from caveat.attack.ordinary.outliers import outlier_links
from caveat.attack.ordinary.rates import residual_risk
from caveat.attack.ordinary.singling_out import singling_out

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
