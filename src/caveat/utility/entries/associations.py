"""How variables go together."""

from __future__ import annotations

from functools import partial

import numpy as np

from caveat.notes import Note
from caveat.risk.measurement import Measurement
from caveat.utility.associations import Associations, associations, kendall_difference, pca_ks
from caveat.utility.measures import add, measured
from caveat.utility.pair import WeightedPair

__all__ = ["associations_of", "register"]


def associations_of(pair: WeightedPair) -> Associations:
    """Return the associations, computed once for each pair."""
    return pair.once("associations", lambda: associations(pair))


def _correlations(pair: WeightedPair, figure: str) -> Measurement:
    value = getattr(associations_of(pair), figure)
    return measured(pair, value, Note("no-varying-pair", "there are no two variables that vary"))


def _kendall(pair: WeightedPair) -> Measurement:
    value = pair.once("kendall", lambda: kendall_difference(pair))
    return measured(
        pair, value, Note("no-ordered-pair", "there are no two variables with an order")
    )


def _pca(pair: WeightedPair) -> Measurement:
    found = pair.once("pca", lambda: pca_ks(pair))
    value = float(np.mean(found)) if found else None
    details = {f"component {i}": ks for i, ks in enumerate(found, 1)}
    return measured(
        pair,
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
