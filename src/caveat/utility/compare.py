"""Compare an original with its synthetic copies: every measure beside values to judge it by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from caveat.errors import CaveatError
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement
from caveat.table import Table, align
from caveat.table.align import common_levels
from caveat.table.overlap import refuse_strangers
from caveat.utility.analyses import check_model, compare_model
from caveat.utility.comparison import Comparison
from caveat.utility.edits import EditRule
from caveat.utility.measures import MEASURES, find_measure
from caveat.utility.result import References, Result, Utility
from caveat.utility.weighting import Weights, redraw, split_weights

__all__ = ["compare"]

RESAMPLES = 3


def compare(
    original: Any,
    synthetic: Any,
    *,
    models: Sequence[str] = (),
    targets: Sequence[str] = (),
    rules: Mapping[str, EditRule] | None = None,
    holdout: Any = None,
    measures: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    weights: Any = None,
    progress: Callable[[str], None] | None = None,
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
    holdout
        Records of the same population that were not used to make the release.
    measures
        Names from ``MEASURES``; without it those marked as default.
    resamples, seed
        Number and seed of bootstrap resamples of the original, for the reference values.
    weights
        Survey weights that the release was made with: the name of a column of the original, which
        is then no data, or one number for each of its records. The release is compared with the
        weighted original; a holdout with such a column is weighted too.
    progress
        Called with the name of each measure before it is computed.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "m", "f"] * 10, "age": list(range(40))}
    >>> compare(people, people, measures=["total variation", "KS"])["KS"].value
    0.0
    """
    ours, numbers = split_weights(Table.from_frame(original), weights)
    outside = _outside(holdout, weights)
    comparisons, held_out = _prepare(ours, synthetic, outside, targets, numbers)
    jobs = _jobs(measures, models, targets, rules, comparisons, outside)
    others = _reference_comparisons(comparisons, held_out, resamples, seed)
    return Utility(
        comparisons,
        tuple(_result(job, comparisons, others, progress) for job in jobs),
        tuple(compare_model(comparisons, model) for model in models),
        None if outside is None else len(outside.table),
    )


class _Job(NamedTuple):
    """A measure, its label and what it needs beside a comparison."""

    measure: Measure
    label: str
    needs: dict[str, Any]


class _Outside(NamedTuple):
    """A holdout without its column of weights, and these."""

    table: Table
    weights: Weights


def _result(
    job: _Job,
    comparisons: Sequence[Comparison],
    others: Mapping[str, Sequence[Comparison]],
    progress: Callable[[str], None] | None,
) -> Result:
    if progress is not None:
        progress(job.label)
    return Result(
        job.measure,
        job.label,
        tuple(_said(job.measure(c, **job.needs), c) for c in comparisons),
        References(**{name: _mean(job, found) for name, found in others.items()}),
    )


def _said(result: Measurement, comparison: Comparison) -> Measurement:
    """Add to a result what holds for all measures of a comparison."""
    return replace(result, notes=(*result.notes, *comparison.doubts))


def _outside(holdout: Any, weights: Any) -> _Outside | None:
    """Return the holdout and its weights, if it has the column that the original has."""
    if holdout is None:
        return None
    table = Table.from_frame(holdout)
    named = weights if isinstance(weights, str) and weights in table else None
    return _Outside(*split_weights(table, named))


def _prepare(
    original: Table,
    synthetic: Any,
    holdout: _Outside | None,
    targets: Sequence[str],
    weights: Weights,
) -> tuple[tuple[Comparison, ...], _Outside | None]:
    """Bring all tables on common levels; only columns that all copies have are compared."""
    copies = list(synthetic) if isinstance(synthetic, list | tuple) else [synthetic]
    if not copies:
        raise CaveatError("there is no synthetic table", do="give at least one")
    tables = [Table.from_frame(copy) for copy in copies]
    aligned = [align(original, table) for table in tables]
    names = [n for n in original if all(n in table for table in tables)]
    every = [aligned[0].original, *(found.synthetic for found in aligned)]
    if holdout is not None:
        lacking = [n for n in names if n not in holdout.table]
        if lacking:
            raise CaveatError("the holdout lacks a column", column=lacking[0], do="add it")
        every.append(align(original.select(names), holdout.table.select(names)).synthetic)
    columns = {name: common_levels([table[name] for table in every], name) for name in names}
    united = [
        Table({name: columns[name][i] for name in names}, table.backend)
        for i, table in enumerate(every)
    ]
    refuse_strangers(united[0], united[1:], [name for name in targets if name in names])
    comparisons = tuple(
        Comparison(united[0], united[i], found.differences, weights)
        for i, found in enumerate(aligned, 1)
    )
    return comparisons, None if holdout is None else holdout._replace(table=united[-1])


def _reference_comparisons(
    comparisons: Sequence[Comparison],
    holdout: _Outside | None,
    resamples: int,
    seed: int,
) -> dict[str, list[Comparison]]:
    original, weights = comparisons[0].original, comparisons[0].weights
    found: dict[str, list[Comparison]] = {"resample": []}
    for child in np.random.SeedSequence(seed).spawn(resamples):
        generator, n = np.random.default_rng(child), original.n_rows
        rows = (
            generator.integers(0, n, n)
            if weights is None
            else generator.choice(n, n, p=weights / n)
        )
        found["resample"].append(Comparison(original, original.take(rows), weights=weights))
    if len(comparisons) > 1:
        first, second = comparisons[:2]
        found["second_copy"] = [Comparison(first.synthetic, second.synthetic)]
    if holdout is not None:
        others = holdout.table.select(original.names)
        if holdout.weights is not None:
            child = np.random.SeedSequence(seed, spawn_key=(RESAMPLES, 2))
            others = others.take(redraw(holdout.weights, len(others), child))
        found["holdout"] = [_equal_sizes(comparisons[0], others, seed)]
    return found


def _equal_sizes(comparison: Comparison, holdout: Table, seed: int) -> Comparison:
    """Compare as many rows of both: most measures depend on the share of either table."""
    original, weights = comparison.original, comparison.weights
    n = min(len(original), len(holdout))
    generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(RESAMPLES, 1)))
    if len(original) > n:
        rows = np.sort(generator.permutation(len(original))[:n])
        original, weights = original.take(rows), None if weights is None else weights[rows]
    if len(holdout) > n:
        holdout = holdout.take(np.sort(generator.permutation(len(holdout))[:n]))
    return Comparison(original, holdout, weights=weights)


def _mean(job: _Job, comparisons: Sequence[Comparison]) -> float | None:
    """Return the mean of a measure; a comparison for which it fails has no value."""
    values = []
    for comparison in comparisons:
        try:
            values.append(job.measure(comparison, **job.needs).value)
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
    copies: Sequence[Comparison],
    outside: _Outside | None,
) -> list[_Job]:
    """Return each measure with its label and what it needs; a wrong model is refused here."""
    for model in models:  # before the work, not after it
        check_model(model, copies[0].names)
    chosen = (
        [m for m in MEASURES.values() if m.default]
        if names is None
        else [find_measure(name) for name in names]
    )
    unseen = (
        {} if outside is None else {"holdout": outside.table, "holdout_weights": outside.weights}
    )
    jobs: list[_Job] = []
    for measure in chosen:
        if "model" in measure.needs:
            jobs += [
                _Job(measure, f"{measure.name}: {model}", {"model": model}) for model in models
            ]
        elif "target" in measure.needs:
            jobs += [
                _Job(measure, f"{measure.name}: {name}", {"target": name, **unseen})
                for name in targets
            ]
        elif "copies" in measure.needs:
            if len(copies) > 1:
                jobs.append(_Job(measure, measure.name, {"copies": copies}))
        elif "rules" in measure.needs:
            if rules:
                jobs.append(_Job(measure, measure.name, {"rules": rules}))
        else:
            jobs.append(_Job(measure, measure.name, {}))
    return jobs
