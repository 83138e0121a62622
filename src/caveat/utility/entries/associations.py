"""How variables go together."""

from __future__ import annotations

from functools import partial

import numpy as np

from caveat.notes import Note
from caveat.risk.measurement import Measurement
from caveat.utility.associations import Associations, associations, kendall_difference, pca_ks
from caveat.utility.comparison import Comparison
from caveat.utility.measures import add, measured

__all__ = ["associations_of", "register"]


def associations_of(comparison: Comparison) -> Associations:
    """Return the associations, computed once for each comparison."""
    return comparison.once("associations", lambda: associations(comparison))


def _correlations(comparison: Comparison, figure: str) -> Measurement:
    value = getattr(associations_of(comparison), figure)
    return measured(
        comparison, value, Note("no-varying-pair", "there are no two variables that vary")
    )


def _kendall(comparison: Comparison) -> Measurement:
    value = comparison.once("kendall", lambda: kendall_difference(comparison))
    return measured(
        comparison, value, Note("no-ordered-pair", "there are no two variables with an order")
    )


def _pca(comparison: Comparison) -> Measurement:
    found = comparison.once("pca", lambda: pca_ks(comparison))
    value = float(np.mean(found)) if found else None
    details = {f"component {i}": ks for i, ks in enumerate(found, 1)}
    return measured(
        comparison,
        value,
        Note("no-ordered-pair", "there are no two variables with an order"),
        details=details,
    )


def register() -> None:
    """Add the entries of this family to the table of measures."""
    for name, figure, says, default in (
        ("correlation difference", "mean_absolute", "mean difference of associations", True),
        ("correlation difference, largest", "largest", "largest difference of associations", True),
        (
            "correlation distance",
            "distance",
            "Euclidean distance of the association matrices",
            False,
        ),
    ):
        add(
            name,
            partial(_correlations, figure=figure),
            family="associations",
            says=f"{says} (Pearson, correlation ratio, Cramér's V)",
            formula="|a_synthetic − a_original| over all pairs of variables",
            source="Miletic and Sariyar (2024), with Cramér's V",
            blind_spot="Relations that are not a trend, and all that involve three variables.",
            blind="curved relations",
            default=default,
        )
    add(
        "Kendall difference",
        _kendall,
        family="associations",
        says="median difference of Kendall's tau over pairs of ordered variables",
        formula="median |τ_b synthetic − τ_b original|",
        source="Francis (2024)",
        blind_spot="Nominal variables, and relations that are not monotone.",
        blind="nominal variables",
        default=False,
        weighted=False,
    )
    add(
        "PCA-KS",
        _pca,
        family="associations",
        says="mean distance of the distributions on five principal components",
        formula="mean sup |F_o − F_s| on the components of the original",
        source="NIST's SDNist; Francis (2024)",
        blind_spot="Nominal variables; whatever has little variance.",
        blind="nominal variables",
    )
