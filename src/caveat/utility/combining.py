"""Estimates from several synthetic copies: one estimate, and the variance that fits the question.

``q_i`` and ``u_i`` are the estimate and its variance from copy i of m; q̄ and ū their means and b
the variance of the q_i. n and k are the rows of the original and of each copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values

__all__ = ["RULES", "Combined", "Rule", "combine"]

Floats = NDArray[np.float64]

Rule = Literal[
    "original", "population", "population, proper", "between", "partial", "full", "full, adjusted"
]

RULES: dict[Rule, str] = {
    "original": "ū k/n: the standard error that the original would have given",
    "population": "ū (k/n + 1/m): for the population, synthesis with fixed parameters",
    "population, proper": "ū (k/n + (1 + k/n)/m): for the population, parameters drawn per copy",
    "between": "(1 + 1/m) b, t with m − 1 degrees of freedom",
    "partial": "ū + b/m: only part of the values is synthetic (Reiter 2003)",
    "full": "(1 + 1/m) b − ū: fully synthetic by imputation; can be negative",
    "full, adjusted": "max(0, (1 + 1/m) b − ū), and ū k/n where that is 0 (Reiter 2002)",
}
"""The variance of q̄ under each rule."""


@dataclass(frozen=True, eq=False)
class Combined:
    """Estimates combined over copies.

    Attributes
    ----------
    estimate, variance
        One number for each quantity. A variance may be negative under "full": not a number in `se`.
    df
        Degrees of freedom of the t distribution for each quantity; infinite for the normal.
    """

    estimate: Floats
    variance: Floats
    df: Floats

    __repr__ = without_values

    @property
    def se(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.where(self.variance >= 0, self.variance, np.nan))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the limits of confidence intervals."""
        tail = (1 + level) / 2
        finite = np.isfinite(self.df)
        width = np.where(
            finite,
            scipy.stats.t.ppf(tail, np.where(finite, self.df, 1)),
            scipy.stats.norm.ppf(tail),
        )
        return self.estimate - width * self.se, self.estimate + width * self.se


def combine(
    estimates: Sequence[Floats] | Floats,
    variances: Sequence[Floats] | Floats,
    rule: Rule = "original",
    *,
    n_original: int = 1,
    n_synthetic: int = 1,
) -> Combined:
    """Combine the estimates of m copies.

    Parameters
    ----------
    estimates, variances
        One row per copy, one column per quantity.
    rule
        Which variance; see ``RULES``. "original" and "population" are those of Raab, Nowok and
        Dibben (2016), as in synthpop.
    n_original, n_synthetic
        Rows of the original and of each copy.

    Examples
    --------
    >>> found = combine([[1.0], [3.0]], [[0.5], [0.7]], "between")
    >>> found.estimate.tolist(), found.variance.tolist(), found.df.tolist()
    ([2.0], [3.0], [1.0])
    """
    q, u = np.atleast_2d(np.asarray(estimates, float)), np.atleast_2d(np.asarray(variances, float))
    m = len(q)
    if m == 1 and rule in ("between", "partial", "full", "full, adjusted"):
        raise CaveatError(
            f"the rule {rule!r} needs at least two copies",
            do="give more copies or choose another",
            code="measure.copy.too-few",
        )
    mean_u, ratio = u.mean(axis=0), n_synthetic / n_original
    b = q.var(axis=0, ddof=1) if m > 1 else np.zeros(q.shape[1])
    df = np.full(q.shape[1], np.inf)
    if rule == "original":
        variance = mean_u * ratio
    elif rule == "population":
        variance = mean_u * (ratio + 1 / m)
    elif rule == "population, proper":
        variance = mean_u * (ratio + (1 + ratio) / m)
    elif rule == "between":
        variance, df = (1 + 1 / m) * b, np.full(q.shape[1], m - 1.0)
    elif rule == "partial":
        variance = mean_u + b / m
        df = _df_partial(mean_u, b / m, m)
    elif rule in ("full", "full, adjusted"):
        variance = (1 + 1 / m) * b - mean_u
        df = _df_full(mean_u, (1 + 1 / m) * b, m)
        if rule == "full, adjusted":
            df = np.where(variance > 0, df, np.inf)
            variance = np.where(variance > 0, variance, mean_u * ratio)
    else:
        what, do = f"there is no rule {rule!r}", f"choose among {', '.join(RULES)}"
        raise CaveatError(what, do=do, code="measure.setting.unknown")
    return Combined(q.mean(axis=0), variance, df)


def _df_partial(within: Floats, between: Floats, m: int) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray((m - 1) * (1 + within / between) ** 2)


def _df_full(within: Floats, between: Floats, m: int) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray((m - 1) * (1 - within / between) ** 2)
