"""Promises: what a mechanism guarantees, what several add up to, and noise that keeps it."""

from caveat.privacy.ledger import BUDGET, RELEASE, TABLE, Budget, Ledger, Limit, Spent
from caveat.privacy.noise import (
    choice_rho,
    choose,
    delta_of,
    discrete_gaussian,
    discrete_gaussian_log_pmf,
    epsilon_of,
    gaussian_rho,
    poisson_counts,
    poisson_delta,
    poisson_hockey_stick,
    rho_of,
    simple_rho,
)

__all__ = [
    "BUDGET",
    "RELEASE",
    "TABLE",
    "Budget",
    "Ledger",
    "Limit",
    "Spent",
    "choice_rho",
    "choose",
    "delta_of",
    "discrete_gaussian",
    "discrete_gaussian_log_pmf",
    "epsilon_of",
    "gaussian_rho",
    "poisson_counts",
    "poisson_delta",
    "poisson_hockey_stick",
    "rho_of",
    "simple_rho",
]
