"""Protections: what lowers the risk of a synthetic table, one function each."""

from caveat.protect.counts import stochastic_round
from caveat.protect.distance import distance_filter, too_close
from caveat.protect.ecap import Population, add_noise, ecap, scale_for
from caveat.protect.levels import group_rare_levels, label
from caveat.protect.microaggregation import mdav, microaggregate
from caveat.protect.numbers import code_extremes, round_numbers, smooth
from caveat.protect.pram import epsilon0, pram, pram_matrix, theta_for_epsilon
from caveat.protect.record import Protected, Step
from caveat.protect.spectral import spectral
from caveat.protect.uniques import remove_replicated_uniques

__all__ = [
    "Population",
    "Protected",
    "Step",
    "add_noise",
    "code_extremes",
    "distance_filter",
    "ecap",
    "epsilon0",
    "group_rare_levels",
    "label",
    "mdav",
    "microaggregate",
    "pram",
    "pram_matrix",
    "remove_replicated_uniques",
    "round_numbers",
    "scale_for",
    "smooth",
    "spectral",
    "stochastic_round",
    "theta_for_epsilon",
    "too_close",
]
