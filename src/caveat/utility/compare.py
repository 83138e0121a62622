"""Compare an original with its synthetic copies: every measure beside values to judge it by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from caveat.errors import CaveatError
from caveat.progress import Progress
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement
from caveat.seeds import rng_of
from caveat.table import Pair, Table, align_copies
from caveat.table.overlap import refuse_strangers
from caveat.utility.analyses import check_model, compare_model
from caveat.utility.edits import EditRule
from caveat.utility.measures import MEASURES, find_measure
from caveat.utility.pair import WeightedPair
from caveat.utility.result import References, Result, Utility
from caveat.utility.weighting import Weights, redraw, split_weights, weights_apart

__all__ = ["compare", "compare_pairs"]

RESAMPLES = 3


def compare(
    original: Any,
    synthetic: Any,
    *,
    models: Sequence[str] = (),
    targets: Sequence[str] = (),
    rules: Mapping[str, EditRule] | None = None,
    control: Any = None,
    measures: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    weights: Any = None,
    progress: Progress | None = None,
) -> Utility:
    """Measure the utility of a release.

    Parameters
    ----------
    original, synthetic
        The confidential table, and the release or a list of copies: each a Table, a pandas, polars
        or pyarrow frame, or a dict of arrays.
    models
        Formulas of models to fit on both sides; see :func:`caveat.utility.analyses.compare_model`.
    targets
        Columns to predict after training on the release (TSTR).
    rules
        Rules that records should obey, by name.
    control
        Records of the same population that were not used to make the release.
    measures
        Names from ``MEASURES``; without it those marked as default.
    resamples, seed
        Number and seed of bootstrap resamples of the original, for the reference values.
    weights
        Survey weights that the release was made with: the name of a column of the original, which
        is then no data, or one number for each of its records. The release is compared with the
        weighted original; a control with such a column is weighted too.
    progress
        Called before each measure with its name and the share of all that is done.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "m", "f"] * 10, "age": list(range(40))}
    >>> compare(people, people, measures=["total variation", "KS"])["KS"].value
    0.0
    """
    ours, numbers = weights_apart(Table.from_frame(original), weights)
    outside, their_numbers = (None, None) if control is None else _outside(control, weights)
    pairs = _aligned(ours, synthetic, outside)
    return compare_pairs(
        pairs, models=models, targets=targets, rules=rules, measures=measures,
        resamples=resamples, seed=seed, weights=numbers, control_weights=their_numbers,
        progress=progress,
    )  # fmt: skip


def compare_pairs(
    aligned: Sequence[Pair],
    *,
    models: Sequence[str] = (),
    targets: Sequence[str] = (),
    rules: Mapping[str, EditRule] | None = None,
    measures: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    weights: Weights = None,
    control_weights: Weights = None,
    progress: Progress | None = None,
) -> Utility:
    """Measure tables that are on common levels already, as :func:`compare` measures others.

    Weights are numbers here, one for each record of the original and of the control.
    """
    first = aligned[0]
    original, numbers = split_weights(first.original, weights)
    outside, their_numbers = None, None
    if first.control is not None:
        outside, their_numbers = split_weights(first.control, control_weights)
    refuse_strangers(
        original,
        [*(pair.synthetic for pair in aligned), *([] if outside is None else [outside])],
        [name for name in targets if name in original],
    )
    pairs = tuple(
        WeightedPair(original, pair.synthetic, pair.differences, numbers, outside, their_numbers)
        for pair in aligned
    )
    jobs = _jobs(measures, models, targets, rules, pairs)
    others = _reference_pairs(pairs, resamples, seed)
    results = []
    for done, job in enumerate(jobs):
        if progress is not None:
            progress(job.label, done / len(jobs))
        results.append(_result(job, pairs, others))
    return Utility(
        pairs,
        tuple(results),
        tuple(compare_model(pairs, model) for model in models),
        None if outside is None else len(outside),
    )


class _Job(NamedTuple):
    """A measure, its label and what it needs beside a pair."""

    measure: Measure
    label: str
    needs: dict[str, Any]


def _result(
    job: _Job, pairs: Sequence[WeightedPair], others: Mapping[str, Sequence[WeightedPair]]
) -> Result:
    return Result(
        job.measure,
        job.label,
        tuple(_said(job.measure(pair, **job.needs), pair) for pair in pairs),
        References(**{name: _mean(job, found) for name, found in others.items()}),
    )


def _said(result: Measurement, pair: WeightedPair) -> Measurement:
    """Add to a result what holds for all measures of a pair."""
    return replace(result, notes=(*result.notes, *pair.doubts))


def _outside(control: Any, weights: Any) -> tuple[Table, Weights]:
    """Return the control and its weights, if it has the column that the original has."""
    table = Table.from_frame(control)
    return weights_apart(table, weights if isinstance(weights, str) and weights in table else None)


def _aligned(ours: Table, synthetic: Any, outside: Table | None) -> tuple[Pair, ...]:
    """Bring all tables on common levels; of the control only what all copies have."""
    copies = list(synthetic) if isinstance(synthetic, list | tuple) else [synthetic]
    if not copies:
        raise CaveatError("there is no synthetic table", do="give at least one")
    tables = [Table.from_frame(copy) for copy in copies]
    if outside is not None:
        names = [name for name in ours if all(name in table for table in tables)]
        lacking = [name for name in names if name not in outside]
        if lacking:
            raise CaveatError("the control lacks a column", column=lacking[0], do="add it")
        outside = outside.select(names)
    return align_copies(ours, tables, outside)


def _reference_pairs(
    pairs: Sequence[WeightedPair], resamples: int, seed: int
) -> dict[str, list[WeightedPair]]:
    first = pairs[0]
    original, weights, n = first.original, first.weights, first.n_original
    found: dict[str, list[WeightedPair]] = {"resample": []}
    for resample in range(resamples):
        generator = rng_of(seed, resample)
        rows = (
            generator.integers(0, n, n)
            if weights is None
            else generator.choice(n, n, p=weights / n)
        )
        found["resample"].append(_against(first, original, original.take(rows), weights))
    if len(pairs) > 1:
        found["second_copy"] = [_against(first, first.synthetic, pairs[1].synthetic, None)]
    if first.control is not None:
        others = first.control
        if first.control_weights is not None:
            rng = rng_of(seed, RESAMPLES, 2)
            others = others.take(redraw(first.control_weights, len(others), rng))
        found["control"] = [_equal_sizes(first, others, seed)]
    return found


def _against(
    pair: WeightedPair, original: Table, synthetic: Table, weights: Weights
) -> WeightedPair:
    """Return other tables on the levels of a pair, with its control."""
    return WeightedPair(
        original, synthetic, weights=weights,
        control=pair.control, control_weights=pair.control_weights,
    )  # fmt: skip


def _equal_sizes(pair: WeightedPair, control: Table, seed: int) -> WeightedPair:
    """Compare as many rows of both: most measures depend on the share of either table."""
    original, weights = pair.original, pair.weights
    n = min(len(original), len(control))
    generator = rng_of(seed, RESAMPLES, 1)
    if len(original) > n:
        rows = np.sort(generator.permutation(len(original))[:n])
        original, weights = original.take(rows), None if weights is None else weights[rows]
    if len(control) > n:
        control = control.take(np.sort(generator.permutation(len(control))[:n]))
    return _against(pair, original, control, weights)


def _mean(job: _Job, pairs: Sequence[WeightedPair]) -> float | None:
    """Return the mean of a measure; a pair for which it fails has no value."""
    values = []
    for pair in pairs:
        try:
            values.append(job.measure(pair, **job.needs).value)
        except CaveatError:  # a model that cannot be fitted to a resample
            values.append(None)
    if not values or any(value is None for value in values):
        return None
    return float(np.mean([value for value in values if value is not None]))


def _jobs(
    names: Sequence[str] | None,
    models: Sequence[str],
    targets: Sequence[str],
    rules: Mapping[str, EditRule] | None,
    copies: Sequence[WeightedPair],
) -> list[_Job]:
    """Return each measure with its label and what it needs; a wrong model is refused here."""
    for model in models:  # before the work, not after it
        check_model(model, copies[0].names)
    chosen = (
        [m for m in MEASURES.values() if m.default]
        if names is None
        else [find_measure(name) for name in names]
    )
    jobs: list[_Job] = []
    for measure in chosen:
        if "model" in measure.needs:
            jobs += [
                _Job(measure, f"{measure.name}: {model}", {"model": model}) for model in models
            ]
        elif "target" in measure.needs:
            jobs += [_Job(measure, f"{measure.name}: {name}", {"target": name}) for name in targets]
        elif "copies" in measure.needs:
            if len(copies) > 1:
                jobs.append(_Job(measure, measure.name, {"copies": copies}))
        elif "rules" in measure.needs:
            if rules:
                jobs.append(_Job(measure, measure.name, {"rules": rules}))
        else:
            jobs.append(_Job(measure, measure.name, {}))
    return jobs
