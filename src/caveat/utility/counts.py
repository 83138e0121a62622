"""The statistics of one table of counts: every figure of synthpop's ``utility.tab``.

``o`` and ``s`` are counts of the same cells in the original and in the synthetic table, ``n_o`` and
``n_s`` their sums, ``c = n_s / (n_o + n_s)``. Cells that are empty in both do not count.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["STANDARDISED", "STATISTICS", "count_statistics"]

STATISTICS = (
    "VW", "FT", "JSD", "SPECKS", "WMabsDD", "U", "G", "pMSE", "PO50", "MabsDD", "dBhatt",
)  # fmt: skip
STANDARDISED = ("S_VW", "S_FT", "S_JSD", "S_WMabsDD", "S_G", "S_pMSE")

Floats = NDArray[np.float64]


def count_statistics(
    observed: NDArray[np.integer], synthetic: NDArray[np.integer], *, k_syn: bool = False
) -> dict[str, float]:
    """Return all statistics of a table.

    Parameters
    ----------
    observed, synthetic
        Counts of the same cells.
    k_syn
        Whether the total of the synthetic table was free: one more degree of freedom.

    Returns
    -------
    The statistics by the names they have in synthpop:

    VW
        Voas and Williamson: Σ (s − e)² / (c (o + s)) with e = o n_s / n_o.
    FT
        Freeman and Tukey: 4 Σ (√s − √e)².
    G
        Likelihood ratio over the cells that both tables have, with shares among those cells.
    JSD
        Jensen–Shannon divergence in bits; dBhatt is √(1 − Σ √(p q)).
    MabsDD, WMabsDD
        Σ |p − q|, and the same in standard deviations over its expectation.
    pMSE, SPECKS, PO50, U
        The propensity statistics with a score s / (o + s) for each cell. PO50 counts a score above
        ½ as "synthetic": if the tables differ in size it is not 0 for equal distributions.
    S_…
        The statistic over its expectation if the synthesis is right, df = cells − 1. S_JSD uses
        synthpop's scale 2 N / ln 2, which makes it 4 % larger than S_VW for small differences.
        Not a number where there are no degrees of freedom.

    Examples
    --------
    >>> found = count_statistics(np.array([2182, 2818]), np.array([2174, 2826]))
    >>> round(found["S_pMSE"], 7), found["df"]
    (0.0520637, 1)
    """
    o, s = np.asarray(observed, np.float64).ravel(), np.asarray(synthetic, np.float64).ravel()
    filled = o + s > 0
    o, s = o[filled], s[filled]
    found = _distances(o, s)
    df, df_g = len(o) - 1 + k_syn, int(((o > 0) & (s > 0)).sum()) - 1 + k_syn
    found |= {f"S_{name}": _ratio(found[name], df) for name in ("VW", "FT", "WMabsDD")}
    found["S_JSD"] = _ratio(found["JSD"] * 2 * float(o.sum() + s.sum()) / math.log(2), df)
    found["S_G"] = _ratio(found["G"], df_g)
    found["S_pMSE"] = found["S_VW"]
    return found | {"df": df, "dfG": df_g}


def _distances(o: Floats, s: Floats) -> dict[str, float]:
    """Return the statistics of the filled cells as they are, over no expectation."""
    n_o, n_s = o.sum(), s.sum()
    total, c = n_o + n_s, n_s / (n_o + n_s)
    p, q = o / n_o, s / n_s
    expected, variance = o * (c / (1 - c)), (o + s) * c
    vw = float(((s - expected) ** 2 / variance).sum())
    specks = float(np.abs(p - q).sum() / 2)
    return {
        "VW": vw,
        "FT": float(4 * ((np.sqrt(s) - np.sqrt(expected)) ** 2).sum()),
        "JSD": (_relative_entropy(p, (p + q) / 2) + _relative_entropy(q, (p + q) / 2)) / 2,
        "SPECKS": specks,
        "WMabsDD": float((np.abs(s - expected) / np.sqrt(variance)).sum()) * math.sqrt(math.pi / 2),
        "U": _wins(o, s),
        "G": _likelihood_ratio(o, s),
        "pMSE": float(vw * c * (1 - c) ** 2 / total),
        "PO50": float(np.where(s > o, s, o).sum() / total - 0.5),
        "MabsDD": 2 * specks,
        # The same as √(1 − Σ √(p q)), without its rounding error near 0.
        "dBhatt": math.sqrt(float(((np.sqrt(p) - np.sqrt(q)) ** 2).sum()) / 2),
    }


def _ratio(value: float, df: int) -> float:
    return value / df if df > 0 else math.nan


def _relative_entropy(p: Floats, q: Floats) -> float:
    """Return Σ p log2(p / q)."""
    held = p > 0
    return float((p[held] * np.log2(p[held] / q[held])).sum())


def _likelihood_ratio(o: Floats, s: Floats) -> float:
    both = (o > 0) & (s > 0)
    if not both.any():
        return 0.0
    p, q = o[both] / o[both].sum(), s[both] / s[both].sum()
    return float(2 * (s[both] * np.log(q / p)).sum())


def _wins(o: Floats, s: Floats) -> float:
    """Return in how many pairs the synthetic row has the higher score; ties are halves."""
    _, rank = np.unique(s / (o + s), return_inverse=True)
    originals, synthetics = np.bincount(rank, o), np.bincount(rank, s)
    below = np.cumsum(originals) - originals
    return float((synthetics * (below + originals / 2)).sum())
