"""Compare an original with its synthetic copies: every measure beside values to judge it by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import t

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.progress import Progress
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement
from caveat.seeds import rng_of
from caveat.table import Pair, Table, align_copies
from caveat.table.overlap import refuse_strangers
from caveat.utility.analyses import ModelComparison, check_model, compare_model
from caveat.utility.associations import Associations
from caveat.utility.edits import EditRule
from caveat.utility.entries.associations import associations_of
from caveat.utility.entries.tables import tables_of
from caveat.utility.entries.variables import variables_of
from caveat.utility.measures import BEST, MEASURES, find_measure
from caveat.utility.pair import WeightedPair
from caveat.utility.tables import Tables
from caveat.utility.variables import Variable
from caveat.utility.weighting import Weights, effective_size, redraw, split_weights, weights_apart

__all__ = ["References", "Result", "Utility", "compare", "compare_pairs"]

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
    control
        Records that were not used to make the release against as many of the original.
    """

    resample: float | None = None
    second_copy: float | None = None
    control: float | None = None


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
            "control": self.references.control,
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
    pairs
        The original with each copy, on common levels.
    results
        Every measure that was computed.
    models
        The models that were fitted.
    control_rows
        Rows of the control, if there is one.
    """

    pairs: tuple[WeightedPair, ...]
    results: tuple[Result, ...]
    models: tuple[ModelComparison, ...]
    control_rows: int | None

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
    def first(self) -> WeightedPair:
        """The pair with the first copy: the one that is shown in detail."""
        return self.pairs[0]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was found or decided on the way."""
        every = [remark for pair in self.pairs for remark in pair.remarks]
        n, rows, weights = self.first.n_original, self.control_rows, self.first.weights
        if weights is not None:
            every.append(
                "utility is measured against the weighted original: its "
                f"{n:,} records tell as much as {effective_size(weights):,.0f} of equal weight"
            )
        if rows is not None and min(rows, n) < 0.9 * n:
            every.append(
                f"the control has {rows:,} rows, the original {n:,}: its reference values carry "
                "the sampling error of the smaller number"
            )
        return tuple(dict.fromkeys(every))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What puts in doubt that the tables belong together."""
        return tuple(dict.fromkeys(doubt for c in self.pairs for doubt in c.doubts))

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
            "n_synthetic": [c.n_synthetic for c in self.pairs],
            "n_control": self.control_rows,
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
    control
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
        weighted original; a control with such a column is weighted too.
    progress
        Called before each measure with its name and the share of all that is done.

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
    ours, numbers = weights_apart(Table.from_frame(original), weights)
    outside, their_numbers = (None, None) if control is None else _outside(control, weights)
    tables = [Table.from_frame(copy) for copy in copies]
    names = [n for n in ours if all(n in table for table in tables)]
    lacking = [] if outside is None else [n for n in names if n not in outside]
    if lacking:
        raise CaveatError("the control lacks a column", where=f"column {lacking[0]}", do="add it")
    pairs = align_copies(ours, tables, None if outside is None else outside.select(names))
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
    for model in models:  # before the work, not after it
        check_model(model, pairs[0].names)
    others = _reference_pairs(pairs, resamples, seed)
    jobs = _jobs(measures, models, targets, rules, pairs)
    results = []
    for done, (measure, label, keywords) in enumerate(jobs):
        if progress is not None:
            progress(label, done / len(jobs))
        results.append(
            Result(
                measure,
                label,
                tuple(_said(measure(c, **keywords), c) for c in pairs),
                References(
                    **{name: _mean(measure, found, keywords) for name, found in others.items()}
                ),
            )
        )
    return Utility(
        pairs,
        tuple(results),
        tuple(compare_model(pairs, model) for model in models),
        None if outside is None else len(outside),
    )


def _said(result: Measurement, pair: WeightedPair) -> Measurement:
    """Add to a result what holds for all measures of a pair."""
    return replace(result, notes=(*result.notes, *pair.doubts))


def _outside(control: Any, weights: Any) -> tuple[Table, Weights]:
    """Return the control and its weights, if it has the column that the original has."""
    table = Table.from_frame(control)
    return weights_apart(table, weights if isinstance(weights, str) and weights in table else None)


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


def _mean(
    measure: Measure, pairs: Sequence[WeightedPair], keywords: Mapping[str, Any]
) -> float | None:
    """Return the mean of a measure; a pair for which it fails has no value."""
    values = []
    for pair in pairs:
        try:
            values.append(measure(pair, **keywords).value)
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
