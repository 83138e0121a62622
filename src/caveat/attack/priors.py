"""What the attacker believes about the unknown values before she sees the release."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, hint
from caveat.risk import key_cells
from caveat.risk.scenario import DEFAULT_PRIOR, PRIORS, NamedPrior
from caveat.table import Table

__all__ = ["DEFAULT_PRIOR", "PRIORS", "NamedPrior", "Prior", "named_prior", "prior_of"]

Prior = NamedPrior | Sequence[float] | NDArray[np.float64]

PSEUDO_RECORDS = 1.0
"""Records spread over the candidates, so that no prior excludes a world outright."""


def prior_of(prior: Prior, others: Table, known: Table, candidates: Table) -> NDArray[np.float64]:
    """Return the prior probability of each candidate.

    Parameters
    ----------
    prior
        "uniform"; "marginal": how often a candidate occurs among the other records; "conditional":
        the same among those that agree with the record in all known columns, with one more record
        that has the marginal distribution; or one number per candidate.
    others
        The other records, with all columns.
    known
        The record's known columns, one row; no columns when nothing is known.
    candidates
        The candidates, on the dictionaries of the others.
    """
    n = candidates.n_rows
    if not isinstance(prior, str):
        return _given(prior, n)
    if prior == "uniform":
        return np.full(n, 1 / n)
    named_prior(prior)
    cells = _cells(others.select(candidates.names), candidates)
    marginal = (np.bincount(cells, minlength=n + 1)[:n] + PSEUDO_RECORDS / n) / (
        (cells < n).sum() + PSEUDO_RECORDS
    )
    if prior == "marginal" or not known.names:
        return np.asarray(marginal)
    alike = np.ones(others.n_rows, dtype=bool)
    for name in known:
        alike &= others[name].codes == known[name].codes[0]
    counts = np.bincount(cells[alike], minlength=n + 1)[:n]
    return np.asarray((counts + PSEUDO_RECORDS * marginal) / (counts.sum() + PSEUDO_RECORDS))


def named_prior(name: str) -> NamedPrior:
    """Return the prior of this name, or say which there are."""
    for known in PRIORS:
        if known == name:
            return known
    raise CaveatError(
        f"there is no prior {name!r}",
        where="prior",
        do=hint(name, PRIORS),
        code="attack.prior.unknown",
    )


def _cells(rows: Table, candidates: Table) -> NDArray[np.int64]:
    """Return the candidate that each row equals, or the number of candidates if none."""
    tables = [[table[name].codes for name in candidates] for table in (candidates, rows)]
    (ours, theirs), n_cells = key_cells(tables, [candidates[name].n_levels for name in candidates])
    place = np.full(n_cells, candidates.n_rows, dtype=np.int64)
    place[ours] = np.arange(candidates.n_rows)
    return np.asarray(place[theirs])


def _given(prior: Sequence[float] | NDArray[np.float64], n: int) -> NDArray[np.float64]:
    numbers = np.asarray(prior, dtype=np.float64)
    if numbers.shape != (n,):
        raise CaveatError(
            f"the prior has not one number for each of {n:,} candidates",
            code="attack.prior.mismatch",
        )
    if not (np.isfinite(numbers).all() and (numbers >= 0).all() and numbers.sum() > 0):
        raise CaveatError(
            "the prior has a number that is no probability",
            do="give shares from 0",
            code="attack.prior.range",
        )
    return np.asarray(numbers / numbers.sum())
