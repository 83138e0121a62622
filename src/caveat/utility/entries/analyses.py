"""Entries: what an analyst does with the release, and how rows belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.risk.measure import Measure, Measurement, undefined
from caveat.utility.analyses import ModelComparison, compare_model
from caveat.utility.correlations import independent_pair
from caveat.utility.entries.general import pmse_of, s_pmse_of
from caveat.utility.entries.tables import mean_of_tables
from caveat.utility.pair import (
    WEIGHTED,
    WeightedPair,
    measured,
    rows_of,
    unweighted,
    utility_measure,
)
from caveat.utility.regressions import (
    AS_MANY,
    ROWS,
    agreement,
    automatic_models,
    mean_of,
    train_on_synthetic,
)
from caveat.utility.stacked import sampled_note
from caveat.utility.structure import (
    EditRule,
    check_rules,
    compositions,
    constant_of,
    group_counts,
    groups_in,
    joined_pair,
    one_value,
    rule_notes,
    size_agreement,
    size_column,
    size_distance,
    within_groups,
)


def _model(pair: WeightedPair, model: str, figure: str) -> Measurement:
    found: ModelComparison = pair.once(("model", model), lambda: compare_model(pair, model))
    value: float | None
    if figure == "fit ratio":
        value = None if found.lack_of_fit is None else found.lack_of_fit / found.df
    else:
        value = {
            "overlap": found.mean_overlap,
            "difference": found.mean_standardised,
            "sign": float(found.coefficients.same_sign.mean()),
            "significance": float(found.coefficients.same_significance.mean()),
        }[figure]
    why = Note("singular", "the covariance matrix is singular")
    return measured(pair, value, why, notes=found.notes)


def _model_agreement(pair: WeightedPair, model: str, figure: str) -> Measurement:
    found = _agreement(pair, [model], figure)
    if pair.weights is None or found.value is None:
        return found
    is_weighted = agreement(pair, model).family != "multinomial"
    note = WEIGHTED if is_weighted else unweighted("a multinomial model")
    return replace(found, notes=(*found.notes, note))


def _automatic_agreement(pair: WeightedPair, figure: str) -> Measurement:
    models = automatic_models(pair)
    if not models:
        says = "no column of the original can be explained by others"
        return undefined(Note("no-regression", says, public=True), n=rows_of(pair))
    return _agreement(pair, models, figure)


def _agreement(pair: WeightedPair, models: Sequence[str], figure: str) -> Measurement:
    """Return the mean over the coefficients of some regressions."""
    shuffled = independent_pair(pair)
    chance = pair.once_of_original(
        ("chance", figure, *models), lambda: _mean_agreement(shuffled, models, figure)
    )
    says = "no coefficient of the original differs from 0"
    return measured(
        pair,
        _mean_agreement(pair, models, figure),
        Note("no-coefficient", says, public=True),
        details={"independent columns": chance},
        notes=(
            Note("regressions", "{n:,} regressions", public=True, n=len(models)),
            *sampled_note(pair, most=ROWS),
        ),
    )


def _mean_agreement(pair: WeightedPair, models: Sequence[str], figure: str) -> float | None:
    return mean_of(np.concatenate([getattr(agreement(pair, m), figure) for m in models]))


def _tstr(pair: WeightedPair, target: str) -> Measurement:
    pair.choose([target])
    try:
        found = train_on_synthetic(pair, target)
    except CaveatError as error:  # too few records to learn from
        return undefined(Note("refused", error.what), n=rows_of(pair))
    seen = Note("tested-on-original", "tested on a third of the original: the release saw it")
    return Measurement(
        found.trained_on_synthetic - found.trained_on_original,
        n=found.n_test,
        notes=(
            Note("score", "score: {score}", score=found.score),
            *(() if found.outside else (seen,)),
        ),
        details={
            "trained on synthetic": found.trained_on_synthetic,
            "trained on original": found.trained_on_original,
            "naive": found.naive,
        },
    )


def _rules(pair: WeightedPair, rules: Mapping[str, EditRule]) -> Measurement:
    found = check_rules(pair, rules)
    shares = [r.synthetic for r in found.values() if r.synthetic is not None]
    details = {f"{name}, synthetic": r.synthetic for name, r in found.items()}
    details |= {f"{name}, original": r.original for name, r in found.items()}
    value = float(np.mean(shares)) if shares else None
    why = Note("no-record-for-rules", "no record falls under any of the rules")
    return measured(pair, value, why, details=details, notes=rule_notes(pair, rules))


def _entries() -> Iterator[Measure]:
    """Yield the entries of this family."""
    for name, figure, says, formula, best in (
        ("CI overlap", "overlap", "mean overlap of confidence intervals",
         "mean over coefficients of ½ (shared / width_o + shared / width_s), at least 0", 1.0),
        ("coefficient difference", "difference", "mean absolute standardised difference",
         "mean |b_s − b_o| / se_o", 0.0),
        ("same sign", "sign", "share of coefficients with the same sign",
         "mean 1[sign equal]", 1.0),
        ("same significance", "significance", "share of coefficients that agree on significance",
         "mean 1[both or neither interval excludes 0]", 1.0),
        ("lack of fit", "fit ratio", "lack of fit over its degrees of freedom: 1 expected",
         "Δᵀ V⁻¹ Δ / df", 0.0),
    ):  # fmt: skip
        yield utility_measure(
            name,
            partial(_model, figure=figure),
            family="analyses",
            says=says,
            formula=formula,
            source="Karr and others (2006); Raab, Nowok and Dibben (2016), compare.fit.synds",
            blind_spot="It says how this one model fares, and nothing about any other.",
            blind="other models",
            best=best,
            direction="higher is better" if best else "lower is better",
            unit="ratio" if figure == "fit ratio" else "score",
            needs=frozenset({"model"}),
            weighted=None,
        )
    yield from _agreement_entries()
    yield utility_measure(
        "TSTR",
        _tstr,
        family="analyses",
        says="score of a model trained on the release minus one trained on the original",
        formula="R² or macro F1 on real records, boosted trees",
        source="Miletic and Sariyar (2024); Slokom and others (2024)",
        blind_spot="Without a control the release knows the test records: copies score well.",
        blind="copies look good",
        direction="higher is better",
        needs=frozenset({"target"}),
    )
    yield utility_measure(
        "rule violations",
        _rules,
        family="analyses",
        says="records or groups that break a given rule, mean over rules",
        formula="100 · violations / records under the condition",
        source="Slokom and others; Aghaddar and others; Thees, Novak and Templ (all 2024)",
        blind_spot="Rules that nobody stated. The original may break them too.",
        blind="unstated rules",
        unit="share",
        needs=frozenset({"rules"}),
        weighted=None,
    )


def _agreement_entries() -> Iterator[Measure]:
    """Yield the measures of coefficients that do not depend on the number of records."""
    for name, figure, says, formula in (
        ("coefficient ratio", "ratios",
         "how near the coefficients of {which} come to the original's",
         "100 · mean over coefficients that differ from 0 of the smaller over the larger of b_s "
         "and b_o; 0 for opposite signs"),
        ("interval overlap", "overlaps",
         f"overlap of the confidence intervals that {AS_MANY:,} records give in {{which}}",
         f"100 · CI overlap of the coefficients that differ from 0, with standard errors times "
         f"√(n / {AS_MANY:,}) where n is larger"),
    ):  # fmt: skip
        for prefix, which, function, needs in (
            ("automatic ", "up to five automatic regressions", _automatic_agreement, frozenset()),
            ("", "a model", _model_agreement, frozenset({"model"})),
        ):
            yield utility_measure(
                f"{prefix}{name}",
                partial(function, figure=figure),
                family="analyses",
                says=says.format(which=which),
                formula=formula,
                source="our own; the overlap is that of Karr and others (2006)",
                blind_spot="Coefficients that fewer than a thousand records would not tell from 0, "
                f"and models that were not fitted. On at most {ROWS:,} rows of each table.",
                blind="weak effects; other models",
                best=1.0,
                direction="higher is better",
                unit="share",
                needs=needs,
                weighted=None if needs else True,
            )


ENTRIES = tuple(_entries())


# -------------------------------------------------------------------------------------------------
# How rows belong together: households in one table, children of a parent in another.


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


def _entries_structure() -> Iterator[Measure]:
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


STRUCTURE_ENTRIES = tuple(_entries_structure())
