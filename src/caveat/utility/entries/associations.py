"""How variables go together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from caveat.notes import Note
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement
from caveat.utility.associations import Associations, associations, kendall_difference, pca_ks
from caveat.utility.correlations import (
    LEAST,
    MOST_COLUMNS,
    ROWS,
    TOLERANCE,
    Correlations,
    correlations,
    independent_pair,
)
from caveat.utility.measures import measured, utility_measure
from caveat.utility.pair import WeightedPair
from caveat.utility.sampling import sampled_note

__all__ = ["ENTRIES", "associations_of", "correlations_of"]


def associations_of(pair: WeightedPair) -> Associations:
    """Return the associations, computed once for each pair."""
    return pair.once("associations", lambda: associations(pair))


def correlations_of(pair: WeightedPair) -> Correlations:
    """Return the coefficients of both tables, computed once for each pair."""
    return pair.once("correlations", lambda: correlations(pair))


def _kept(pair: WeightedPair) -> Measurement:
    found = correlations_of(pair)
    independent = pair.once_of_original(
        "correlations of independent columns", lambda: correlations(independent_pair(pair)).share
    )
    says = "{kept:,} of {pairs:,} pairs"
    notes = [Note("pairs-kept", says, public=True, kept=found.kept, pairs=found.measurable)]
    if found.n_columns > len(found.names):
        says = "on {columns:,} of {of:,} columns, drawn at random"
        of = {"columns": len(found.names), "of": found.n_columns}
        notes.append(Note("sampled-columns", says, public=True, **of))
    return measured(
        pair,
        found.share,
        Note("no-correlation", "no two columns of the original go together", public=True),
        details={"independent columns": independent},
        notes=(*notes, *sampled_note(pair, most=ROWS)),
    )


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


def _entries() -> Iterator[Measure]:
    """Yield the entries of this family."""
    yield from _kept_entries()
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
        yield utility_measure(
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
    yield utility_measure(
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
    yield utility_measure(
        "PCA-KS",
        _pca,
        family="associations",
        says="mean distance of the distributions on five principal components",
        formula="mean sup |F_o − F_s| on the components of the original",
        source="NIST's SDNist; Francis (2024)",
        blind_spot="Nominal variables; whatever has little variance.",
        blind="nominal variables",
    )


def _kept_entries() -> Iterator[Measure]:
    yield utility_measure(
        "correlations kept",
        _kept,
        family="associations",
        says="pairs of columns that go together in the release as in the original",
        formula="100 · pairs kept / pairs with a coefficient of the original that is at least "
        f"{LEAST} and differs from 0 at the 1 % level; kept: same sign, at least half as strong, "
        f"and at most {TOLERANCE} away; Pearson's and Spearman's r, correlation ratio and Cramér's "
        "V without bias",
        source="Bergsma (2013) for Cramér's V without bias; the share is our own",
        blind_spot="Relations that are not a trend, all that involve three variables, and pairs "
        f"that hardly go together in the original. On at most "
        f"{MOST_COLUMNS} columns and {ROWS:,} rows of each table.",
        blind="three variables",
        best=1.0,
        direction="higher is better",
        unit="share",
    )


ENTRIES = tuple(_entries())
