"""Results as charts that stand alone: Altair charts, which ``save`` writes to files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caveat import charts
from caveat.charts import COLOURS, FOREST_KEY, FORMATS, SIDES_KEY, save, titled
from caveat.charts.marks import SHOWN
from caveat.notes import Z95
from caveat.utility.analyses import ModelComparison
from caveat.utility.correlations import Associations
from caveat.utility.pair import WeightedPair
from caveat.utility.propensity import Propensity
from caveat.utility.tables import Tables
from caveat.utility.variables import bars_of, is_spread, suitable_bins

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

BINS = 20


def distributions(
    pair: WeightedPair,
    names: Sequence[str] | None = None,
    *,
    columns: int = 4,
    bins: int = BINS,
) -> Any:
    """Draw every variable, in per cent of the rows: first the numbers, then the categories.

    Parameters
    ----------
    pair
        The two tables.
    names
        The variables; all unless given.
    columns
        Charts in a row.
    bins
        About how many bins numbers get.
    """
    chosen = pair.choose(names)
    numbers = [name for name in chosen if is_spread(pair, name)]
    categories = {
        name: charts.distribution(
            [_group(*bar) for bar in bars_of(pair, name)],
            pair.original[name].kind.has_order,
        )
        for name in chosen
        if name not in numbers
    }
    panels = [_histogram(pair, name, bins) for name in numbers]
    return titled(
        charts.distributions(panels, categories, columns=columns),
        "Distributions",
        "per cent of rows; missing cells are bars of their own",
        SIDES_KEY,
    )


def _group(label: str, original: float, synthetic: float) -> dict[str, Any]:
    return {"label": label, "original": float(original), "synthetic": float(synthetic)}


def _bins(limits: Any, original: Any, synthetic: Any) -> charts.Rows:
    return [
        {"low": float(low), "high": float(high), "original": float(a), "synthetic": float(b)}
        for low, high, a, b in zip(limits, limits[1:], original, synthetic, strict=False)
    ]


def _histogram(pair: WeightedPair, name: str, bins: int) -> Any:
    bars, is_cut = suitable_bins(pair, name, bins)
    assert bars.limits is not None
    ways = zip(bars.labels, *bars.shares, strict=True)
    missing = [(label.partition(" (")[0], a, b) for label, a, b in ways][len(bars.limits) - 1 :]
    return charts.histogram(
        f"{name} (ends hold all beyond)" if is_cut else name,
        _bins(bars.limits, *bars.shares),
        [_group(*way) for way in missing],
    )


def two_way(pairs: Tables, singles: Tables, by: str = "S_pMSE") -> Any:
    """Draw a statistic of all two-way tables, and of the one-way tables on the diagonal.

    Parameters
    ----------
    pairs, singles
        The two-way and the one-way tables.
    by
        The statistic; for those that start with S_, 1 is expected and 10 is the usual limit.
    """

    def finite(tables: Tables) -> dict[tuple[str, ...], float]:
        values = zip(tables.tables, tables.columns[by], strict=True)
        return {names: float(value) for names, value in values if np.isfinite(value)}

    twos = {(a, b): value for (a, b), value in finite(pairs).items()}
    ones = {name: value for (name,), value in finite(singles).items()}
    return titled(
        charts.two_way(pairs.variables, twos, ones, by),
        f"Two-way tables: {by}",
        "1 is expected of a right synthesis, above 10 is poor; on the diagonal single variables",
    )


def correlation_difference(found: Associations) -> Any:
    """Draw the association in the synthetic table minus that in the original."""
    rows = [
        {
            "a": found.names[j],
            "b": found.names[i],
            "original": float(found.original[i, j]),
            "synthetic": float(found.synthetic[i, j]),
        }
        for i, j in np.argwhere(np.isfinite(found.difference))
        if j < i
    ]
    return titled(
        charts.associations(found.names, rows),
        "Associations: synthetic minus original",
        "Pearson's r, correlation ratio or Cramér's V; numbers are hundredths, from "
        f"{round(100 * SHOWN)} on",
    )


def propensity_scores(found: Propensity) -> Any:
    """Draw the scores: two equal sets of bars around the dashed line mean that nothing shows."""
    limits = np.linspace(0, 1, BINS + 1)
    shares = []
    for mask in (~found.is_synthetic, found.is_synthetic):
        weights = None if found.weights is None else found.weights[mask]
        bars, _ = np.histogram(found.scores[mask], limits, weights=weights)
        shares.append(bars / mask.sum())
    name = {"cart": "classification tree", "logit": "logistic regression"}.get(
        found.model, "boosted trees"
    )
    return titled(
        charts.propensity_scores(_bins(limits, *shares), float(found.share)),
        "Propensity scores",
        f"{name}; pMSE {found.pMSE:.5f}; dashed: share of synthetic rows",
        SIDES_KEY,
    )


def coefficient_forest(found: ModelComparison) -> Any:
    """Draw each coefficient with its 95 % interval, in standard errors around the original's."""
    terms = found.coefficients
    rows = []
    for i, term in enumerate(terms.terms):
        gap, half = float(terms.standardised[i]), Z95 * terms.synthetic_se[i] / terms.original_se[i]
        values = f"{terms.original[i]:.4g} → {terms.synthetic[i]:.4g}".replace("-", "−")
        ends = {"original_low": -Z95, "original_high": Z95}
        ends |= {"synthetic_low": gap - float(half), "synthetic_high": gap + float(half)}
        rows.append({"term": term, "values": values, "gap": gap, **ends})
    return titled(
        charts.coefficients(rows),
        found.formula,
        f"{found.family} model; mean overlap of the 95 % intervals {found.mean_overlap:.2f}",
        FOREST_KEY,
    )
