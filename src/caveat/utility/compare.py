"""Compare an original with its synthetic copies: every measure beside values to judge it by."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import t

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement
from caveat.table import Table, align
from caveat.table.align import common_levels
from caveat.table.overlap import refuse_strangers
from caveat.utility.analyses import ModelComparison, check_model, compare_model
from caveat.utility.associations import Associations
from caveat.utility.comparison import Comparison
from caveat.utility.edits import EditRule
from caveat.utility.entries.associations import associations_of
from caveat.utility.entries.tables import tables_of
from caveat.utility.entries.variables import variables_of
from caveat.utility.measures import BEST, MEASURES, find_measure
from caveat.utility.tables import Tables
from caveat.utility.variables import Variable
from caveat.utility.weighting import Weights, effective_size, redraw, split_weights

__all__ = ["References", "Result", "Utility", "compare"]

FORMAT = 1
RESAMPLES = 3


@dataclass(frozen=True)
class References:
    """Values of the same measure to judge a release by; ``None`` where there is none.

    Attributes
    ----------
    resample
        A bootstrap resample of the original against the original, mean over resamples: what a
        release that is nothing but sampling error would give.
    second_copy
        The second synthetic copy against the first.
    holdout
        Records that were not used to make the release against as many of the original.
    """

    resample: float | None = None
    second_copy: float | None = None
    holdout: float | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """One measure of one release.

    Attributes
    ----------
    measure
        Its entry in the table.
    label
        Its name, with the model or the target it was computed for.
    copies
        The measurement of each copy.
    references
        Values to judge it by.
    """

    measure: Measure
    label: str
    copies: tuple[Measurement, ...]
    references: References

    @property
    def value(self) -> float | None:
        """Mean over the copies; ``None`` if one of them has none."""
        values = [copy.value for copy in self.copies]
        if any(value is None for value in values):
            return None
        return float(np.mean([value for value in values if value is not None]))

    @property
    def measurement(self) -> Measurement:
        """The mean with its interval over copies, and the reference values as details."""
        first, value = self.copies[0], self.value
        details = dict(first.details)
        if len(self.copies) > 1:
            details = {f"copy {i}": copy.value for i, copy in enumerate(self.copies, 1)}
        details |= {
            "resample of the original": self.references.resample,
            "second copy": self.references.second_copy,
            "holdout": self.references.holdout,
        }
        notes = next((copy.notes for copy in self.copies if copy.value is None), first.notes)
        return replace(
            first,
            value=value,
            interval=self._interval(),
            reference=self.references.resample,
            details=details,
            notes=notes,
        )

    def _interval(self) -> tuple[float, float] | None:
        m = len(self.copies)
        if m < 2 or self.value is None:
            return None
        values = np.array([copy.value for copy in self.copies], dtype=np.float64)
        spread = values.std(ddof=1) / math.sqrt(m)
        half = float(t.ppf(0.975, m - 1) * spread)
        return self.value - half, self.value + half


@dataclass(frozen=True, eq=False)
class Utility:
    """What an analyst can still do with a release.

    Attributes
    ----------
    comparisons
        The original with each copy, on common levels.
    results
        Every measure that was computed.
    models
        The models that were fitted.
    holdout_rows
        Rows of the holdout, if there is one.
    """

    comparisons: tuple[Comparison, ...]
    results: tuple[Result, ...]
    models: tuple[ModelComparison, ...]
    holdout_rows: int | None

    __repr__ = without_values

    def __getitem__(self, label: str) -> Result:
        for result in self.results:
            if result.label == label:
                return result
        raise CaveatError(
            f"{label!r} was not computed",
            do=f"choose among {', '.join(result.label for result in self.results)}",
        )

    @property
    def first(self) -> Comparison:
        """The comparison with the first copy: the one that is shown in detail."""
        return self.comparisons[0]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was found or decided on the way."""
        every = [remark for comparison in self.comparisons for remark in comparison.remarks]
        n, rows, weights = self.first.n_original, self.holdout_rows, self.first.weights
        if weights is not None:
            every.append(
                "utility is measured against the weighted original: its "
                f"{n:,} records tell as much as {effective_size(weights):,.0f} of equal weight"
            )
        if rows is not None and min(rows, n) < 0.9 * n:
            every.append(
                f"the holdout has {rows:,} rows, the original {n:,}: its reference values carry "
                "the sampling error of the smaller number"
            )
        return tuple(dict.fromkeys(every))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What puts in doubt that the tables belong together."""
        return tuple(dict.fromkeys(doubt for c in self.comparisons for doubt in c.doubts))

    @cached_property
    def variables(self) -> list[Variable]:
        """Every variable of the first copy."""
        return variables_of(self.first)

    @cached_property
    def associations(self) -> Associations:
        """The associations in the original and in the first copy."""
        return associations_of(self.first)

    def tables(self, ways: int = 2) -> Tables:
        """Return the tables of the first copy."""
        return tables_of(self.first, ways)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON: no value of any record is in it."""
        two_way = self.tables(2) if len(self.first.names) > 1 else None
        return {
            "format": FORMAT,
            "n_original": self.first.n_original,
            "n_synthetic": [c.n_synthetic for c in self.comparisons],
            "n_holdout": self.holdout_rows,
            "measures": {
                result.label: {
                    "measure": result.measure.name,
                    "family": result.measure.family,
                    "says": result.measure.says,
                    "direction": result.measure.direction,
                    "unit": result.measure.unit,
                    "best": BEST[result.measure.name],
                    "blind_spot": result.measure.blind_spot,
                    **result.measurement.to_dict(),
                }
                for result in self.results
            },
            "variables": [variable.to_dict() for variable in self.variables],
            "tables": {
                "one-way": _table_rows(self.tables(1)),
                "two-way": _table_rows(two_way) if two_way else [],
            },
            "models": [model.to_dict() for model in self.models],
            "remarks": list(self.remarks),
        }


def _table_rows(tables: Tables) -> list[dict[str, Any]]:
    return [
        {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
        for row in tables.rows()
    ]


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
    original
        The confidential table: a Table, or a pandas, polars or pyarrow frame, or a dict of arrays.
    synthetic
        The release, or a list of copies.
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
    resamples
        Number of bootstrap resamples of the original for the reference values.
    seed
        Seed of the resamples.
    weights
        Survey weights that the release was made with: the name of a column of the original, which
        is then no data, or one number for each of its records. The release is compared with the
        weighted original; a holdout with such a column is weighted too.
    progress
        Called with the name of each measure before it is computed.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "m", "f"] * 10, "age": list(range(40))}
    >>> found = compare(people, people, measures=["total variation", "KS"])
    >>> found["KS"].value
    0.0
    """
    copies = list(synthetic) if isinstance(synthetic, list | tuple) else [synthetic]
    if not copies:
        raise CaveatError("there is no synthetic table", do="give at least one")
    ours, numbers = split_weights(Table.from_frame(original), weights)
    outside, their_numbers = (None, None) if holdout is None else _outside(holdout, weights)
    comparisons, held_out = _prepare(ours, copies, outside, targets, numbers)
    for model in models:  # before the work, not after it
        check_model(model, comparisons[0].names)
    others = _reference_comparisons(comparisons, held_out, their_numbers, resamples, seed)
    results = []
    for measure, label, keywords in _jobs(measures, models, targets, rules, comparisons):
        if progress is not None:
            progress(label)
        if measure.name == "TSTR":
            keywords = {**keywords, "holdout": outside, "holdout_weights": their_numbers}
        results.append(
            Result(
                measure,
                label,
                tuple(_said(measure(c, **keywords), c) for c in comparisons),
                References(
                    **{name: _mean(measure, found, keywords) for name, found in others.items()}
                ),
            )
        )
    return Utility(
        comparisons,
        tuple(results),
        tuple(compare_model(comparisons, model) for model in models),
        None if outside is None else len(outside),
    )


def _said(result: Measurement, comparison: Comparison) -> Measurement:
    """Add to a result what holds for all measures of a comparison."""
    return replace(result, notes=(*result.notes, *comparison.doubts))


def _outside(holdout: Any, weights: Any) -> tuple[Table, Weights]:
    """Return the holdout and its weights, if it has the column that the original has."""
    table = Table.from_frame(holdout)
    return split_weights(table, weights if isinstance(weights, str) and weights in table else None)


def _prepare(
    original: Table,
    copies: Sequence[Any],
    holdout: Table | None,
    targets: Sequence[str],
    weights: Weights,
) -> tuple[tuple[Comparison, ...], Table | None]:
    """Bring all tables on common levels; only columns that all copies have are compared."""
    tables = [Table.from_frame(copy) for copy in copies]
    aligned = [align(original, table) for table in tables]
    names = [n for n in original if all(n in table for table in tables)]
    every = [aligned[0].original, *(found.synthetic for found in aligned)]
    if holdout is not None:
        lacking = [n for n in names if n not in holdout]
        if lacking:
            raise CaveatError("the holdout lacks a column", column=lacking[0], do="add it")
        every.append(align(original.select(names), holdout.select(names)).synthetic)
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
    return comparisons, united[-1] if holdout is not None else None


def _reference_comparisons(
    comparisons: Sequence[Comparison],
    holdout: Table | None,
    holdout_weights: Weights,
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
        others = holdout.select(original.names)
        if holdout_weights is not None:
            child = np.random.SeedSequence(seed, spawn_key=(RESAMPLES, 2))
            others = others.take(redraw(holdout_weights, len(others), child))
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


def _mean(
    measure: Measure, comparisons: Sequence[Comparison], keywords: Mapping[str, Any]
) -> float | None:
    """Return the mean of a measure; a comparison for which it fails has no value."""
    values = []
    for comparison in comparisons:
        try:
            values.append(measure(comparison, **keywords).value)
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
) -> list[tuple[Measure, str, dict[str, Any]]]:
    """Return each measure with its label and what it needs."""
    chosen = (
        [m for m in MEASURES.values() if m.default]
        if names is None
        else [find_measure(name) for name in names]
    )
    jobs: list[tuple[Measure, str, dict[str, Any]]] = []
    for measure in chosen:
        if "model" in measure.needs:
            jobs += [(measure, f"{measure.name}: {model}", {"model": model}) for model in models]
        elif "target" in measure.needs:
            jobs += [(measure, f"{measure.name}: {name}", {"target": name}) for name in targets]
        elif "copies" in measure.needs:
            if len(copies) > 1:
                jobs.append((measure, measure.name, {"copies": copies}))
        elif "rules" in measure.needs:
            if rules:
                jobs.append((measure, measure.name, {"rules": rules}))
        else:
            jobs.append((measure, measure.name, {}))
    return jobs
