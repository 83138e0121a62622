"""General utility: the propensity scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.risk.measure import Measure, Measurement, undefined
from caveat.utility.pair import WeightedPair, rows_of, utility_measure
from caveat.utility.propensity import (
    Null,
    Propensity,
    expected_pmse,
    pairs_null,
    permutation_null,
    propensity,
)
from caveat.utility.stacked import (
    TRANSPORT_ROWS,
    Detection,
    auc_error,
    detection,
    null_pair,
    pmse_error,
    sample_of,
    sampled_note,
    transport,
)

__all__ = ["ENTRIES", "cart_of", "pmse_of", "s_pmse_of"]

# Permutations of whole groups, and rows, for the design effect of a logistic model: its pMSE is a
# sum over all coefficients, so that few do.
LOGIT_PERMUTATIONS, LOGIT_ROWS = 5, 5_000
SNOKE = "Snoke, Raab, Nowok, Dibben and Slavkovic (2018), synthpop's utility.gen"


def cart_of(pair: WeightedPair) -> Propensity:
    """Return the scores of the propensity tree, computed once for each pair."""
    return pair.once("cart", lambda: propensity(sample_of(pair)))


def _logit(pair: WeightedPair) -> Propensity:
    return pair.once("logit", lambda: propensity(sample_of(pair), "logit"))


def _null(pair: WeightedPair) -> Null:
    which = null_pair(pair)
    return which.once("cart null", lambda: permutation_null(sample_of(which), repetitions=20))


def _design_effect(pair: WeightedPair) -> float:
    """Return how much larger the logistic pMSE is by chance since rows of a group are alike.

    It is that of the first release compared with an original.
    """

    def found() -> float:
        sample = sample_of(pair, LOGIT_ROWS)
        null = permutation_null(sample, "logit", repetitions=LOGIT_PERMUTATIONS)
        df = propensity(sample, "logit").df
        return null.halved / expected_pmse(max(df, 1), sample.n_original, sample.n_synthetic)

    return pair.once_of_original("design effect", found)


def _rows(pair: WeightedPair) -> int:
    """Return the rows that the models are fitted to."""
    return rows_of(sample_of(pair))


def _error(pair: WeightedPair, scores: Propensity) -> float:
    return pair.once(("error", scores.model), lambda: pmse_error(pair, scores.scores))


def pmse_of(pair: WeightedPair) -> Measurement:
    """Return pMSE of the propensity tree."""
    found = cart_of(pair)
    largest = found.share * (1 - found.share)
    return Measurement(
        found.pMSE,
        n=_rows(pair),
        details={"leaves": found.df, "largest": largest},
        notes=sampled_note(pair, _error(pair, found)),
    )


def s_pmse_of(pair: WeightedPair) -> Measurement:
    """Return pMSE of the tree over what permuted rows give."""
    found, null = cart_of(pair), _null(pair)
    if null.mean == 0:
        return undefined(Note("no-split", "no tree on permuted rows splits"), n=_rows(pair))
    value = found.pMSE / null.halved
    # That of the sample, and that of so few permutations.
    apart = _error(pair, found) / null.halved, value * null.error / null.mean
    return Measurement(
        value,
        n=_rows(pair),
        details={
            "pMSE": found.pMSE,
            "null (halved)": null.halved,
            "not halved": found.pMSE / null.mean,
            "permutations": len(null.values),
            "without split": null.without_split,
        },
        notes=sampled_note(pair, math.hypot(*apart)),
    )


def _s_pmse_pairs(pair: WeightedPair, copies: Sequence[WeightedPair]) -> Measurement:
    samples = [sample_of(copy) for copy in copies]
    null: Null = copies[0].once(("pairs", len(copies)), lambda: pairs_null(samples))
    found = cart_of(pair)
    if null.mean == 0:
        return undefined(
            Note("copies-alike", "the copies cannot be told apart at all"), n=_rows(pair)
        )
    return Measurement(
        found.pMSE / null.halved,
        n=_rows(pair),
        details={"null (halved)": null.halved, "not halved": found.pMSE / null.mean},
        notes=sampled_note(pair, _error(pair, found) / null.halved),
    )


def _s_pmse_logit(pair: WeightedPair) -> Measurement:
    try:
        found = _logit(pair)
    except CaveatError as error:  # long factors on many rows
        return undefined(Note("left-out", f"left out: {error.what}"), n=_rows(pair))
    if found.df == 0:
        return undefined(Note("constant-columns", "the columns are constant"), n=_rows(pair))
    sample = sample_of(pair)
    expected = expected_pmse(found.df, sample.n_original, sample.n_synthetic)
    if sample.groups is not None:
        expected *= max(1.0, _design_effect(pair))
    notes = sampled_note(pair, _error(pair, found) / expected)
    if not found.converged:
        notes = (Note("not-converged", "the logistic model did not settle"), *notes)
    if found.pooled:
        says = "{n:,} rare levels are pooled, to keep the logistic model small"
        notes = (Note("rare-levels-pooled", says, n=found.pooled), *notes)
    return Measurement(
        found.pMSE / expected,
        n=_rows(pair),
        details={"pMSE": found.pMSE, "df": found.df},
        notes=notes,
    )


def _from_scores(pair: WeightedPair, figure: str) -> Measurement:
    found = cart_of(pair)
    value = found.AUC if figure == "U" else getattr(found, figure)
    details = {"U": found.U} if figure == "U" else {}
    return Measurement(float(value), n=_rows(pair), details=details, notes=sampled_note(pair))


def _auc(pair: WeightedPair) -> Measurement:
    if min(pair.n_original, pair.n_synthetic) < 3:
        return undefined(
            Note("few-rows", "there are too few rows for three folds"), n=rows_of(pair)
        )
    groups = pair.groups
    if groups is not None and min(groups.original.n_filled, groups.synthetic.n_filled) < 3:
        few = Note("few-groups", "there are too few groups for three folds")
        return undefined(few, n=rows_of(pair))
    found: Detection = pair.once("detection", lambda: detection(sample_of(pair)))
    notes: tuple[Note, ...] = ()
    if found.leaks:
        notes = (
            Note(
                "twins",
                "clearly below ½: many synthetic rows have a twin in the original; a hint of "
                "copies, not of quality",
            ),
        )
    if sample_of(pair) is not pair:
        notes += sampled_note(pair, auc_error(pair, found.scores))
    return Measurement(found.auc, n=_rows(pair), notes=notes)


def _wasserstein(pair: WeightedPair) -> Measurement:
    found = transport(pair)
    details = {"rows": found.rows, "root": found.cost**0.5}
    return Measurement(found.cost, n=rows_of(pair), details=details)


def _entries() -> Iterator[Measure]:
    """Yield the entries of this family."""
    yield from _ratio_entries()
    yield from _score_entries()
    yield utility_measure(
        "detection AUC",
        _auc,
        family="general",
        says="how well boosted trees tell unseen rows apart: ½ cannot, 1 always",
        formula="mean area under the ROC curve over three shuffled folds",
        source="Foessing and Drechsler (2024), with shuffled folds",
        blind_spot="Rows with a twin in the other table pull it below ½: read a low value together "
        "with the measures of risk.",
        blind="copies look good",
        best=0.5,
    )
    yield utility_measure(
        "joint Wasserstein",
        _wasserstein,
        family="general",
        says="how far rows must be moved to turn one table into the other, squared",
        formula=f"min over pairings π of mean ‖x_i − z_π(i)‖² over at most "
        f"{TRANSPORT_ROWS:,} rows of each; "
        "numbers 0 to 1, categories as 0/1 columns",
        source="Miletic and Sariyar (2024), Table 2; they name neither cost nor sample: squared "
        "Euclidean is what their sizes point to",
        blind_spot="Never 0 for another sample of the same people, and larger for fewer rows and "
        "more columns: read it beside the resample of the original. Categories with many levels "
        "count as much as numbers at their ends.",
        blind="fresh data are not 0; depends on rows and columns",
        default=False,
        weighted=False,
    )


def _ratio_entries() -> Iterator[Measure]:
    """Yield the propensity score and its ratios to what a correct synthesis gives."""
    yield utility_measure(
        "pMSE",
        pmse_of,
        family="general",
        says="how far a tree's guesses are from chance",
        formula="mean (p − c)² of the scores p of a classification tree (cp 0.001, minbucket 5)",
        source=SNOKE,
        blind_spot="It depends on the tree's settings and on the number of rows; a tree of this "
        "size sees strong differences in single variables first.",
        blind="weak differences",
    )
    yield utility_measure(
        "S_pMSE",
        s_pmse_of,
        family="general",
        says="pMSE over what a right synthesis gives: 1 expected, below 10 acceptable",
        formula="pMSE / (½ mean pMSE with permuted labels; of whole groups where rows belong "
        "together)",
        source=SNOKE,
        blind_spot="It grows with the number of rows: never compare it between data sets. The tree "
        "overlooks weak differences.",
        blind="weak differences",
        unit="ratio",
    )
    yield utility_measure(
        "S_pMSE pairs",
        _s_pmse_pairs,
        family="general",
        says="pMSE over what pairs of copies give: 1 if copies differ from the original as from "
        "each other",
        formula="pMSE / (½ mean pMSE of all pairs of copies)",
        source="synthpop's utility.gen; not halved it is the pMSE ratio of Kolb and others (2024)",
        blind_spot="Copies that share a defect do not show it: it falls when they vary more.",
        blind="shared defects",
        unit="ratio",
        needs=frozenset({"copies"}),
    )
    yield utility_measure(
        "S_pMSE logit",
        _s_pmse_logit,
        family="general",
        says="the same with a logistic regression on all variables: 1 expected",
        formula="pMSE / (df (1 − c)² c / N); where rows belong together times the design effect: "
        "½ mean pMSE with permuted labels of whole groups over the same of rows",
        source=SNOKE,
        blind_spot="Main effects only: a table whose columns were shuffled apart can score 1.",
        blind="interactions",
        unit="ratio",
    )


def _score_entries() -> Iterator[Measure]:
    """Yield the other measures of the scores of the tree."""
    for name, says in (
        ("SPECKS", "largest distance of the tree's score distributions"),
        ("PO50", "per cent of rows told apart by the tree, beyond 50"),
        ("U", "share of pairs of rows that the tree's scores order rightly: ½ is best"),
    ):
        yield utility_measure(
            name,
            partial(_from_scores, figure=name),
            family="general",
            says=says,
            formula={
                "SPECKS": "sup |F_original − F_synthetic| of the scores",
                "PO50": "100 · share of rows on the right side of ½ − 50",
                "U": "Mann–Whitney U of the scores over n_o n_s",
            }[name],
            source=SNOKE,
            blind_spot="The tree scores the rows it was grown on, so that different tables never "
            "reach the best value; see the resample of the original.",
            blind="overfitting",
            best=0.5 if name == "U" else 0.0,
            unit="share" if name == "PO50" else "score",
            default=False,
        )


ENTRIES = tuple(_entries())
