"""Protections: what lowers the risk of a synthetic table, one function each."""

from caveat.protect.area import Area
from caveat.protect.by_group import Burden, OddsRatio, burdens, odds_ratios
from caveat.protect.counts import rounded_table, stochastic_round
from caveat.protect.distance import distance_filter, too_close
from caveat.protect.donut import donut
from caveat.protect.ecap import Population, add_noise, ecap, scale_for
from caveat.protect.lattice import Hierarchy, Lattice, Levels
from caveat.protect.levels import group_rare_levels, label
from caveat.protect.microaggregation import mdav, microaggregate
from caveat.protect.numbers import code_extremes, round_numbers, smooth
from caveat.protect.pram import epsilon0, pram, pram_matrix, theta_for_epsilon
from caveat.protect.record import Protected, Step
from caveat.protect.robin_hood import (
    attempts,
    effective_k,
    k_minimal,
    masked_outside,
    robin_hood,
)
from caveat.protect.safepub import (
    Promise,
    beta_max,
    delta_of,
    promise_for,
    safepub,
    smallest_k,
)
from caveat.protect.spectral import spectral
from caveat.protect.uniques import remove_replicated_uniques

__all__ = [
    "Area",
    "Burden",
    "Hierarchy",
    "Lattice",
    "Levels",
    "OddsRatio",
    "Population",
    "Promise",
    "Protected",
    "Step",
    "add_noise",
    "attempts",
    "beta_max",
    "burdens",
    "code_extremes",
    "delta_of",
    "distance_filter",
    "donut",
    "ecap",
    "effective_k",
    "epsilon0",
    "group_rare_levels",
    "k_minimal",
    "label",
    "masked_outside",
    "mdav",
    "microaggregate",
    "odds_ratios",
    "pram",
    "pram_matrix",
    "promise_for",
    "remove_replicated_uniques",
    "robin_hood",
    "round_numbers",
    "rounded_table",
    "safepub",
    "scale_for",
    "smallest_k",
    "smooth",
    "spectral",
    "stochastic_round",
    "theta_for_epsilon",
    "too_close",
]
