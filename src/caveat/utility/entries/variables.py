"""One variable at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from caveat.notes import Note
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement, undefined
from caveat.utility.measures import ONE_AT_A_TIME, rows_of, utility_measure
from caveat.utility.pair import WeightedPair
from caveat.utility.variables import Variable, univariate_error, variables

__all__ = ["ENTRIES", "variables_of"]


def variables_of(pair: WeightedPair) -> list[Variable]:
    """Return the figures of all variables, computed once for each pair."""
    return pair.once("variables", lambda: variables(pair))


def _over_variables(pair: WeightedPair, figure: str, total: bool = False) -> Measurement:
    found = {v.name: getattr(v, figure) for v in variables_of(pair)}
    held = {name: value for name, value in found.items() if value is not None}
    if not held:
        return undefined(
            Note("no-such-kind", "no variable is of a kind that has this figure"),
            n=rows_of(pair),
        )
    values = np.array(list(held.values()))
    return Measurement(
        float(values.sum() if total else values.mean()),
        n=len(values),
        details={"smallest": float(values.min()), "largest": float(values.max())},
    )


_VARIABLE_MEASURES: tuple[tuple[str, str, str, str, float, bool], ...] = (
    # name, field, what it says, formula, value for identical tables, whether it is default
    ("KS", "ks", "largest distance of the distribution functions", "sup |F_o − F_s|", 0, True),
    ("Wasserstein", "wasserstein", "area between the distribution functions over the range",
     "∫ |F_o − F_s| / (max − min)", 0, True),
    ("total variation", "total_variation", "share of rows that would have to change their bar",
     "½ Σ |p − q|", 0, True),
    ("Hellinger one-way", "hellinger", "Hellinger distance of the bars",
     "√(½ Σ (√p − √q)²)", 0, False),
    ("range coverage", "range_coverage", "share of the original range that is spanned",
     "1 − uncovered ends / (max − min)", 1, True),
    ("boundary adherence", "boundary_adherence", "share of values inside the original range",
     "mean 1[min ≤ x ≤ max]", 1, False),
    ("median similarity", "median_similarity", "closeness of the medians",
     "1 − |median_o − median_s| / (max − min)", 1, False),
    ("category coverage", "category_coverage", "share of the original's levels that are there",
     "|levels of both| / |levels of the original|", 1, True),
    ("missing similarity", "missing_similarity", "closeness of the shares of missing cells",
     "1 − ½ Σ |p − q| over the ways to be missing", 1, True),
    ("spikes kept", "spikes_kept", "share of the mass at outstanding values that is there",
     "Σ min(p, q) / Σ p over the spikes", 1, True),
)  # fmt: skip


def _entries() -> Iterator[Measure]:
    """Yield the entries of this family."""
    for name, field, says, formula, best, default in _VARIABLE_MEASURES:
        yield utility_measure(
            name,
            partial(_over_variables, figure=field),
            family="variables",
            says=f"{says}, mean over variables",
            formula=formula,
            source="SDMetrics; Trindade and others (2024); Miletic and Sariyar (2024)",
            blind_spot=ONE_AT_A_TIME,
            blind="relations",
            best=best,
            direction="higher is better" if best else "lower is better",
            default=default,
        )
    for name, field, says in (
        ("vanished", "vanished_share", "shares of categories that are gone"),
        ("invented", "invented_share", "shares of synthetic rows with values the original lacks"),
    ):
        yield utility_measure(
            name,
            partial(_over_variables, figure=field, total=True),
            family="variables",
            says=f"{says}, summed over variables",
            formula="Σ p over levels that one table lacks",
            source="Foessing and Drechsler (2024)",
            blind_spot="Rare categories should not all be there: a release that keeps every unique "
            "level gives it away.",
            blind="rare levels are a risk",
        )
    yield utility_measure(
        "univariate error",
        lambda pair: Measurement(univariate_error(pair), n=rows_of(pair)),
        family="variables",
        says="median error of the count of a value, absolute or in per cent, whichever is less",
        formula="median over all values of min(|Δ|, 100 |Δ| / o)",
        source="Francis (2024)",
        blind_spot="Values that occur once count as much as common ones.",
        blind="relations",
        default=False,
    )


ENTRIES = tuple(_entries())
