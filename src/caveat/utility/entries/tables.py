"""Entries: all tables of some variables, one variable at a time, and how variables go together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from caveat.notes import Note, Unit
from caveat.risk.measure import Measure, Measurement, undefined
from caveat.utility.correlations import (
    LEAST,
    MOST_COLUMNS,
    ROWS,
    TOLERANCE,
    Associations,
    Correlations,
    associations,
    correlations,
    independent_pair,
    kendall_difference,
    pca_ks,
)
from caveat.utility.pair import ONE_AT_A_TIME, WeightedPair, measured, rows_of, utility_measure
from caveat.utility.stacked import sampled_note
from caveat.utility.tables import Tables, all_tables, cross_table
from caveat.utility.variables import (
    Variable,
    aitchison,
    count_errors,
    k_marginal_by_group,
    k_marginal_score,
    univariate_error,
    variables,
)

SYNTHPOP = "Raab, Nowok and Dibben (2021), synthpop's utility.tab and utility.tables"
LEAST_ROWS = 50  # of the original in a group of records; smaller ones differ by chance
MOST_GROUPS = 30
PAIRS_ONLY = "What needs three or more variables to be seen."


def tables_of(pair: WeightedPair, ways: int, groups: int = 5) -> Tables:
    """Return the tables of `ways` variables, computed once for each pair."""
    return pair.once(("tables", ways, groups), lambda: all_tables(pair, ways, groups=groups))


def _too_few(pair: WeightedPair, ways: str) -> Measurement:
    note = Note("few-variables", "there are fewer than {ways} variables", ways=ways)
    return undefined(note, n=rows_of(pair))


def mean_of_tables(pair: WeightedPair, ways: int, statistic: str) -> Measurement:
    """Return the mean of a statistic over all tables of so many variables."""
    if len(pair.names) < ways:
        return _too_few(pair, str(ways))
    found = tables_of(pair, ways)
    values = found.columns[statistic]
    if not np.isfinite(values).any():
        return undefined(Note("one-cell", "no table has more than one cell"), n=rows_of(pair))
    worst, largest = found.ranked(statistic)[0]
    return Measurement(
        found.mean(statistic),
        n=len(found),
        details={"median": float(np.nanmedian(values)), "largest": largest},
        notes=(
            Note("largest-for", "largest for {columns}", columns=" × ".join(worst)),
            *_counted(found),
        ),
    )


def _counted(found: Tables) -> tuple[Note, ...]:
    """Say which tables were counted, if not all."""
    if len(found) == found.possible:
        return ()
    says = "{n:,} of {possible:,} tables are counted, drawn at random"
    return (Note("some-tables", says, public=True, n=len(found), possible=found.possible),)


def _k_marginal(pair: WeightedPair) -> Measurement:
    if len(pair.names) < 2:
        return _too_few(pair, "two")
    found = tables_of(pair, 2, groups=20)
    return Measurement(k_marginal_score(found), n=len(found), notes=_counted(found))


def _k_marginal_worst(pair: WeightedPair) -> Measurement:
    """Return the score of the group of records that is met worst, and say of which variable."""
    if len(pair.names) < 3:
        return _too_few(pair, "three")
    found: list[tuple[float, str]] = []
    for name in pair.names:
        if pair.categories(5)[name].n_levels > MOST_GROUPS:
            continue
        scores, rows = k_marginal_by_group(pair, name)
        found += [(float(score), name) for score in scores[rows >= LEAST_ROWS]]
    if not found:
        few = Note(
            "small-groups", "no variable has groups of {rows} records or more", rows=str(LEAST_ROWS)
        )
        return undefined(few, n=rows_of(pair))
    worst, name = min(found)
    return Measurement(
        worst,
        n=len(found),
        details={"median": float(np.median([score for score, _ in found])), "groups": len(found)},
        notes=(Note("lowest-for", "lowest in a group of {columns}", columns=name),),
    )


def _count_distance(pair: WeightedPair, figure: str) -> Measurement:
    if len(pair.names) < 2:
        return _too_few(pair, "two")
    values = []
    for names in tables_of(pair, 2).tables:
        table = cross_table(pair, names)
        if figure == "Aitchison":
            values.append(aitchison(table.observed, table.synthetic))
        else:
            values.append(count_errors(table.observed, table.synthetic)[figure])
    return Measurement(float(np.mean(values)), n=len(values))


_TABLE_FORMULAS = {
    "S_pMSE": ("VW / df", "pMSE over its expectation: 1 expected"),
    "S_FT": ("FT / df", "Freeman–Tukey statistic over its expectation"),
    "S_G": ("G / df of the cells both have", "likelihood ratio over its expectation"),
    "S_JSD": ("JSD · 2 N / (df ln 2)", "Jensen–Shannon divergence over its expectation"),
    "S_WMabsDD": ("WMabsDD / df", "weighted absolute differences over their expectation"),
    "pMSE": ("VW c (1 − c)² / N", "mean squared distance of the cells' scores from chance"),
    "VW": ("Σ (s − e)² / (c (o + s))", "Voas and Williamson's statistic"),
    "FT": ("4 Σ (√s − √e)²", "Freeman and Tukey's statistic"),
    "G": ("2 Σ s ln(q / p)", "likelihood ratio of the cells that both tables have"),
    "JSD": ("½ KL(p‖m) + ½ KL(q‖m) in bits", "Jensen–Shannon divergence"),
    "MabsDD": ("Σ |p − q|", "sum of absolute differences of shares"),
    "WMabsDD": ("√(π/2) Σ |s − e| / √(c (o + s))", "absolute differences in standard deviations"),
    "SPECKS": ("½ Σ |p − q|", "total variation"),
    "PO50": ("100 Σ max(o, s) / N − 50", "per cent of rows told apart, beyond 50"),
    "dBhatt": ("√(1 − Σ √(p q))", "Hellinger distance"),
}


def _unit(statistic: str) -> Unit:
    if statistic in ("PO50", "MAPE"):
        return "share"
    return "ratio" if statistic.startswith("S_") else "score"


def _entries() -> Iterator[Measure]:
    """Yield the entries of this family."""
    for statistic, (formula, text) in _TABLE_FORMULAS.items():
        for ways, word in ((1, "one-way"), (2, "two-way"), (3, "three-way")):
            if statistic != "S_pMSE" and ways != 2:
                continue
            label = "Hellinger" if statistic == "dBhatt" else statistic
            yield utility_measure(
                f"{label} {word}",
                partial(mean_of_tables, ways=ways, statistic=statistic),
                family="tables",
                says=f"{text}, mean of all {word} tables",
                formula=formula,
                source=SYNTHPOP,
                blind_spot={1: ONE_AT_A_TIME, 2: PAIRS_ONLY}.get(
                    ways, "Small cells: most three-way tables are sparse."
                ),
                blind={1: "relations", 2: "more than pairs"}.get(ways, "small cells"),
                unit=_unit(statistic),
                default=label in ("S_pMSE", "Hellinger") and ways < 3,
            )
    yield from _k_marginal_entries()
    for figure, text in (
        ("MAE", "mean absolute error of the counts of all two-way tables"),
        ("RMSE", "root mean squared error of these counts"),
        ("MAPE", "mean absolute error in per cent of the original count"),
        ("Aitchison", "distance of the centred log-ratios of these tables"),
    ):
        yield utility_measure(
            f"{figure} two-way",
            partial(_count_distance, figure=figure),
            family="tables",
            says=text,
            formula={
                "MAE": "mean |s n_o/n_s − o|",
                "RMSE": "√ mean (s n_o/n_s − o)²",
                "MAPE": "100 mean |s n_o/n_s − o| / o over cells with o > 0",
                "Aitchison": "‖clr(o) − clr(s)‖, ½ added to all cells if one is empty",
            }[figure],
            source="Thees, Novak and Templ (2024)",
            blind_spot="Small cells dominate the relative ones, large cells the absolute ones.",
            blind="cell sizes",
            unit=_unit(figure),
            default=False,
        )


def _k_marginal_entries() -> Iterator[Measure]:
    yield utility_measure(
        "k-marginal",
        _k_marginal,
        family="tables",
        says="overlap of all two-way tables: 1000 if all are equal, 0 if none overlaps",
        formula="(2 − mean Σ |p − q|) · 500, numbers in 20 groups",
        source="NIST's SDNist; Francis (2024)",
        blind_spot="Scores with different numbers of columns or levels cannot be compared.",
        blind="not comparable",
        best=1000.0,
        direction="higher is better",
    )
    yield utility_measure(
        "k-marginal by subgroup",
        _k_marginal_worst,
        family="tables",
        says="the k-marginal score of the subgroup that is met worst: 0 if the release lacks it",
        formula="min over variables and their levels with 50 originals or more of (2 − mean Σ |p − "
        "q|) · 500, shares within the subgroup; variables with more than 30 levels make no groups",
        source="NIST's SDNist, score in each PUMA; Francis (2024)",
        blind_spot="Subgroups of fewer than 50, and those of two variables together. Small "
        "subgroups score lower by chance: read it beside the resample of the original.",
        blind="groups below 50; low by chance in small ones",
        best=1000.0,
        direction="higher is better",
        default=False,
    )


ENTRIES = tuple(_entries())


# -------------------------------------------------------------------------------------------------
# One variable at a time.


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


def _entries_variables() -> Iterator[Measure]:
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


VARIABLES_ENTRIES = tuple(_entries_variables())


# -------------------------------------------------------------------------------------------------
# How variables go together.


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


def _entries_associations() -> Iterator[Measure]:
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


ASSOCIATIONS_ENTRIES = tuple(_entries_associations())
