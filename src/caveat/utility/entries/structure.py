"""How rows belong together: households in one table, children of a parent in another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from caveat.notes import Note
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement, undefined
from caveat.utility.entries.general import pmse_of, s_pmse_of
from caveat.utility.entries.tables import mean_of_tables
from caveat.utility.measures import measured, rows_of, utility_measure
from caveat.utility.pair import WeightedPair
from caveat.utility.structure import (
    compositions,
    constant_of,
    group_counts,
    groups_in,
    joined_pair,
    one_value,
    size_agreement,
    size_column,
    size_distance,
    within_groups,
)

__all__ = ["ENTRIES"]

GROUPS = frozenset({"groups"})
THEES = "Thees, Novak and Templ (2024), Table 3"
OURS = "this project"


def _count(pair: WeightedPair) -> Measurement:
    found = group_counts(pair)
    return Measurement(
        abs(found.relative),
        n=rows_of(pair),
        details={
            "groups, original": found.original,
            "groups, synthetic": found.synthetic,
            "relative": found.relative,
        },
    )


def _sizes(pair: WeightedPair) -> Measurement:
    ours, theirs = groups_in(pair).original, groups_in(pair).synthetic
    return Measurement(
        size_distance(pair),
        n=ours.n_groups + theirs.n_groups,
        details={
            "largest, original": int(ours.sizes.max(initial=0)),
            "largest, synthetic": int(theirs.sizes.max(initial=0)),
            "without members, original": int((ours.sizes == 0).sum()),
            "without members, synthetic": int((theirs.sizes == 0).sum()),
        },
    )


def _composition(pair: WeightedPair) -> Measurement:
    found: dict[str, float] = pair.once("compositions", lambda: compositions(pair))
    why = Note("no-composition", "all columns have one value per group")
    if not found:
        return undefined(why, n=rows_of(pair))
    worst = max(found, key=lambda name: found[name])
    return Measurement(
        float(np.mean(list(found.values()))),
        n=len(found),
        details={"largest": found[worst]},
        notes=(Note("largest-for", "largest for {columns}", columns=worst),),
    )


def _one_value(pair: WeightedPair) -> Measurement:
    if not constant_of(pair):
        none = Note("no-constant-column", "no column has one value in every group of the original")
        return undefined(none, n=rows_of(pair))
    shares = [share for share in one_value(pair).values() if share is not None]
    single = Note("single-members", "no synthetic group has two members")
    value = float(np.mean(shares)) if shares else None
    return measured(pair, value, single, details={"smallest": min(shares, default=None)})


def _size_column(pair: WeightedPair) -> Measurement:
    name = size_column(pair)
    if name is None:
        none = Note("no-size-column", "no column of the original holds the size of the group")
        return undefined(none, n=rows_of(pair))
    ours, theirs = size_agreement(pair, name)
    return Measurement(theirs, n=pair.n_synthetic, details={"original": ours})


def _within(pair: WeightedPair) -> Measurement:
    found: dict[str, tuple[float, float]] = pair.once("within", lambda: within_groups(pair))
    if not found:
        none = Note("no-varying-member", "no column varies among members of a group in both tables")
        return undefined(none, n=rows_of(pair))
    gaps = {name: abs(theirs - ours) for name, (ours, theirs) in found.items()}
    worst = max(gaps, key=lambda name: gaps[name])
    return Measurement(
        float(np.mean(list(gaps.values()))),
        n=len(gaps),
        details={"largest": gaps[worst]},
        notes=(Note("largest-for", "largest for {columns}", columns=worst),),
    )


def _joined_pmse(pair: WeightedPair) -> Measurement:
    return pmse_of(joined_pair(pair))


def _joined_s_pmse(pair: WeightedPair) -> Measurement:
    return s_pmse_of(joined_pair(pair))


def _joined_tables(pair: WeightedPair) -> Measurement:
    return mean_of_tables(joined_pair(pair), 2, "S_pMSE")


def _entries() -> Iterator[Measure]:
    """Yield the entries of this family."""
    yield utility_measure(
        "group count",
        _count,
        family="structure",
        says="difference in the number of groups for as many rows, relative to the original",
        formula="|(G_s / n_s) / (G_o / n_o) − 1|",
        source=THEES,
        blind_spot="Which groups there are: too many small and too many large ones cancel out.",
        blind="sizes of groups",
        unit="share",
        needs=GROUPS,
    )
    yield utility_measure(
        "group sizes",
        _sizes,
        family="structure",
        says="share of groups that would have to change their number of members; of parents, their "
        "number of children, 0 included",
        formula="½ Σ |p − q| over numbers of members",
        source="total variation of the sizes; Thees, Novak and Templ (2024) count households",
        blind_spot="Who the members are.",
        blind="who the members are",
        unit="share",
        needs=GROUPS,
    )
    yield utility_measure(
        "group composition",
        _composition,
        family="structure",
        says="share of groups that would have to change which classes their members have, mean "
        "over columns",
        formula="½ Σ |p − q| over the sets of classes that occur in a group; numbers in 5 bands, "
        "classes below 5 % together",
        source=f"{THEES}: households of children only and of both sexes",
        blind_spot="How many members have a class, and who is with whom by two columns at once.",
        blind="two columns at once",
        unit="share",
        needs=GROUPS,
    )
    yield from _share_entries()
    yield utility_measure(
        "within-group correlation",
        _within,
        family="structure",
        says="how much less, or more, members of a group go together, mean over columns (Pearson, "
        "Cramér's V)",
        formula="mean |r_synthetic − r_original|, of the first and second member, or without an "
        "order of every two members, each member counted once",
        source="the intraclass correlation; Fisher (1925)",
        blind_spot="One column of one member with another column of another.",
        blind="different columns",
        needs=GROUPS,
    )
    yield from _joined_entries()


def _share_entries() -> Iterator[Measure]:
    yield utility_measure(
        "one value per group",
        _one_value,
        family="structure",
        says="groups in which a column has one value, as it has in every group of the original",
        formula="100 · groups with one value / groups of two members or more, mean over columns",
        source=OURS,
        blind_spot="Whether it is the right value.",
        blind="the value itself",
        best=1.0,
        direction="higher is better",
        unit="share",
        needs=GROUPS,
        weighted=None,
    )
    yield utility_measure(
        "size column",
        _size_column,
        family="structure",
        says="rows whose column of the group's size is the number of rows in the group",
        formula="100/n_s · #(i: column_i = size of the group of i)",
        source=OURS,
        blind_spot="Whether sizes are distributed as they were.",
        blind="distribution of sizes",
        best=1.0,
        direction="higher is better",
        unit="share",
        needs=GROUPS,
        weighted=None,
    )


def _joined_entries() -> Iterator[Measure]:
    """Yield the measures of a table with a row per group."""
    tree = "A tree overlooks relations in which no single column differs."
    means = "What sums, means and ends of the members do not show."
    for name, function, says, formula, cannot, blind in (
        ("pMSE joined", _joined_pmse, "how far a tree's guesses are from chance",
         "pMSE of the table with a row per group", f"{means} {tree}", "single members"),
        ("S_pMSE joined", _joined_s_pmse, "pMSE over what permuted rows give: 1 expected",
         "pMSE / (½ mean pMSE with permuted labels), a row per group", f"{means} {tree}",
         "single members"),
        ("S_pMSE two-way joined", _joined_tables, "pMSE over its expectation: 1 expected, mean of "
         "all two-way tables", "VW / df of the table with a row per group", means,
         "more than pairs"),
    ):  # fmt: skip
        yield utility_measure(
            name,
            function,
            family="structure",
            says=f"{says}; a row per group: what its members share, or the parent's columns, and "
            "their number, means, ends and share of the commonest class",
            formula=formula,
            source="Snoke, Raab, Nowok, Dibben and Slavkovic (2018), on parents joined with their "
            "children",
            blind_spot=cannot,
            blind=blind,
            unit="ratio" if name.startswith("S_") else "score",
            needs=GROUPS,
            default=name != "pMSE joined",
        )


ENTRIES = tuple(_entries())
