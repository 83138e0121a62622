"""What an analyst does with the release: models, predictions, rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement, undefined
from caveat.utility.analyses import ModelComparison, compare_model
from caveat.utility.correlations import independent_pair
from caveat.utility.edits import EditRule, check_rules, rule_notes
from caveat.utility.measures import measured, rows_of, utility_measure
from caveat.utility.pair import WeightedPair
from caveat.utility.regressions import AS_MANY, ROWS, agreement, automatic_models, mean_of
from caveat.utility.sampling import sampled_note
from caveat.utility.tstr import train_on_synthetic
from caveat.utility.weighting import WEIGHTED, unweighted

__all__ = ["ENTRIES"]


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
