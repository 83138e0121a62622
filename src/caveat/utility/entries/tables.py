"""The statistics of all tables of some variables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from caveat.notes import Note, Unit
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement, undefined
from caveat.utility.distances import (
    aitchison,
    count_errors,
    k_marginal_by_group,
    k_marginal_score,
)
from caveat.utility.measures import ONE_AT_A_TIME, rows_of, utility_measure
from caveat.utility.pair import WeightedPair
from caveat.utility.tables import Tables, all_tables, cross_table

__all__ = ["ENTRIES", "mean_of_tables", "tables_of"]

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
