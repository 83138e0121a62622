"""Compare an original with its synthetic copies: every measure beside values to judge it by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy

from caveat.errors import CaveatError
from caveat.risk.measure import Measure, Measurement
from caveat.seeds import rng_of
from caveat.showing import Summary, as_table, frame_of, in_short, on_page
from caveat.stopping import Progress
from caveat.table import Pair, Table, align_copies
from caveat.table.align import refuse_strangers
from caveat.table.grouping import Groups
from caveat.table.linked import Linked, Members, without_keys
from caveat.utility.analyses import ModelComparison, check_model, compare_model
from caveat.utility.correlations import Associations
from caveat.utility.entries.tables import associations_of, tables_of, variables_of
from caveat.utility.pair import (
    BEST,
    MEASURES,
    PairGroups,
    WeightedPair,
    Weights,
    draw_again,
    draw_some,
    effective_size,
    find_measure,
    groups_of,
    groups_of_children,
    redraw,
    split_weights,
    weights_apart,
)
from caveat.utility.stacked import FEWEST
from caveat.utility.structure import EditRule
from caveat.utility.tables import Tables
from caveat.utility.variables import Variable

RESAMPLES = 3


def reference_pairs(
    pairs: Sequence[WeightedPair], resamples: int, seed: int
) -> dict[str, list[WeightedPair]]:
    """Return pairs of tables that are as good as can be, by the kind of reference value."""
    first = pairs[0]
    original, weights, n, groups = first.original, first.weights, first.n_original, first.groups
    found: dict[str, list[WeightedPair]] = {"resample": []}
    for resample in range(resamples):
        generator, drawn = rng_of(seed, resample), None
        if groups is not None:
            rows, again = draw_again(groups.original, weights, generator)
            drawn = replace(groups, synthetic=again)
        elif weights is None:
            rows = generator.integers(0, n, n)
        else:
            rows = generator.choice(n, n, p=weights / n)
        pair = _against(first, original, original.take(rows), weights, drawn)
        pair.with_original_of(first)
        pair.twin = found["resample"][0] if resample else None
        found["resample"].append(pair)
    if len(pairs) > 1:
        second = pairs[1]
        theirs = None
        if groups is not None and second.groups is not None:
            theirs = replace(groups, original=groups.synthetic, synthetic=second.groups.synthetic)
        found["second_copy"] = [_against(first, first.synthetic, second.synthetic, None, theirs)]
    if first.control is not None:
        others, outside = first.control, None if groups is None else groups.control
        if first.control_weights is not None:
            rng = rng_of(seed, RESAMPLES, 2)
            if outside is None:
                rows = redraw(first.control_weights, len(others), rng)
            else:
                by_group = outside.means(first.control_weights)
                rows, outside = outside.take(redraw(by_group, outside.n_groups, rng))
            others = others.take(rows)
        if groups is None or outside is None:
            found["control"] = [_equal_sizes(first, others, seed)]
        else:
            found["control"] = [_equal_groups(first, others, groups, outside, seed)]
    return found


def _against(
    pair: WeightedPair,
    original: Table,
    synthetic: Table,
    weights: Weights,
    groups: PairGroups | None = None,
) -> WeightedPair:
    """Return other tables on the levels of a pair, with its control."""
    found = WeightedPair(
        original, synthetic, weights=weights,
        control=pair.control, control_weights=pair.control_weights, groups=groups,
    )  # fmt: skip
    found.model_rows = pair.model_rows
    return found


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


def _equal_groups(
    pair: WeightedPair, control: Table, groups: PairGroups, outside: Members, seed: int
) -> WeightedPair:
    """Compare as many whole groups of both."""
    n = min(groups.original.n_groups, outside.n_groups)
    generator = rng_of(seed, RESAMPLES, 1)
    rows, ours = draw_some(groups.original, n, generator)
    theirs_rows, theirs = draw_some(outside, n, generator)
    return _against(
        pair,
        pair.original.take(rows),
        control.take(theirs_rows),
        None if pair.weights is None else pair.weights[rows],
        replace(groups, original=ours, synthetic=theirs),
    )


# -------------------------------------------------------------------------------------------------
# What a comparison found: every measure of every copy, with values to judge it by.


FORMAT = 1


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
        half = float(scipy.stats.t.ppf(0.975, m - 1) * spread)
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

    def _summary(self) -> Summary:
        rows = [
            (r.measure.says, r.label, r.value, r.references.resample, BEST[r.measure.name])
            for r in self.results
        ]
        copies = "one copy" if len(self.pairs) == 1 else f"{len(self.pairs)} copies"
        title = f"Utility: {len(rows)} measures of {copies} of {self.first.n_synthetic:,} rows"
        header = ("what it says", "measure", "value", "by sampling error alone", "best")
        return Summary(title, header, rows, (*self.warnings, *self.remarks))

    __repr__ = in_short
    _repr_html_ = on_page

    def __str__(self) -> str:
        """Return the measures as a table that fits a terminal: their names say what they are."""
        whole = self._summary()
        return as_table(
            whole._replace(header=whole.header[1:], rows=[row[1:] for row in whole.rows])
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row for each measure as a pandas or polars frame."""
        found = [(r, r.measurement) for r in self.results]
        columns = {
            "measure": [r.label for r, _ in found],
            "family": [r.measure.family for r, _ in found],
            "says": [r.measure.says for r, _ in found],
            "value": [m.value for _, m in found],
            "low": [m.interval and m.interval[0] for _, m in found],
            "high": [m.interval and m.interval[1] for _, m in found],
            "resample": [r.references.resample for r, _ in found],
            "second_copy": [r.references.second_copy for r, _ in found],
            "control": [r.references.control for r, _ in found],
            "best": [BEST[r.measure.name] for r, _ in found],
            "unit": [r.measure.unit for r, _ in found],
        }
        return frame_of(columns, backend)

    def plot(self, what: str = "distributions") -> Any:
        """Draw the first copy beside the original as an Altair chart.

        Parameters
        ----------
        what
            "distributions" of all variables, "two-way" tables, or "correlations".
        """
        from caveat.utility.charts import correlation_difference, distributions, two_way

        if what == "distributions":
            return distributions(self.first)
        if what == "two-way":
            return two_way(self.tables(2), self.tables(1))
        if what == "correlations":
            return correlation_difference(self.associations)
        raise CaveatError(
            f"{what!r} is no chart of a comparison",
            do="choose distributions, two-way or correlations",
            code="chart.name.unknown",
        )

    def __getitem__(self, label: str) -> Result:
        for result in self.results:
            if result.label == label:
                return result
        raise CaveatError(
            f"{label!r} was not computed",
            do=f"choose among {', '.join(result.label for result in self.results)}",
            code="measure.result.absent",
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


# -------------------------------------------------------------------------------------------------
# Compare an original with its synthetic copies: every measure beside values to judge it by.


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
    groups: str | Groups | None = None,
    model_rows: int | None = None,
    progress: Progress | None = None,
) -> Utility:
    """Measure the utility of a release.

    Parameters
    ----------
    original, synthetic
        The confidential table, and the release or a list of copies: each a Table, a pandas, polars
        or pyarrow frame, or a dict of arrays.
    models, targets
        Formulas of models to fit on both sides (:func:`caveat.utility.analyses.compare_model`), and
        columns to predict after training on the release (TSTR).
    rules
        Rules that records should obey, by name.
    control
        Records of the same population that were not used to make the release.
    measures
        Names from ``MEASURES``; without it those marked as default.
    resamples, seed
        Number and seed of bootstrap resamples of the original, for the reference values.
    weights
        Survey weights that the release was made with: a column of the original, which is then no
        data, or a number for each record. The weighted original, and control, is compared with.
    groups
        The column that says which rows belong together, as members of a household; it is in all
        tables and is no data. The structure of the groups is then measured, and the reference
        values come from whole groups.
    model_rows
        Rows of each table that models are fitted to (50,000): the others are counted only.
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
    pairs, found = _aligned(ours, synthetic, outside, groups)
    return compare_pairs(
        pairs, models=models, targets=targets, rules=rules, measures=measures,
        resamples=resamples, seed=seed, weights=numbers, control_weights=their_numbers,
        groups=found, model_rows=model_rows, progress=progress,
    )  # fmt: skip


def compare_linked(
    original: Linked,
    synthetic: Linked | Sequence[Linked],
    *,
    measures: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Utility]:
    """Measure every table of a release of linked tables, and how children hang on their parents.

    Parameters
    ----------
    original, synthetic
        The tables, and those of the release or of its copies. Keys are no data. The column by which
        the original's children stand says which of them are the first and the second.
    measures, resamples, seed
        As for :func:`compare`.

    Returns
    -------
    The results by table. A table that holds nothing but keys is left out.

    Examples
    --------
    >>> from caveat.table.linked import Link
    >>> patients = Table.from_frame({"id": list(range(20)), "sex": ["f", "m"] * 10})
    >>> visits = Table.from_frame({"of": [i // 2 for i in range(20)], "cost": list(range(20))})
    >>> link = Link("visits", "of", "patients")
    >>> tables = Linked({"patients": patients, "visits": visits}, {"patients": "id"}, (link,))
    >>> found = compare_linked(tables, tables, measures=["KS", "group sizes"])
    >>> found["visits"]["group sizes"].value
    0.0
    """
    copies = [synthetic] if isinstance(synthetic, Linked) else list(synthetic)
    found = {}
    for name in original.sequence:
        ours = without_keys(original, name)
        if not ours.names:
            continue
        pairs, _ = _aligned(ours, [without_keys(copy, name) for copy in copies], None, None)
        groups = None
        if original.parent_of(name) is not None:
            groups = [groups_of_children(original, copy, name) for copy in copies]
        found[name] = compare_pairs(
            pairs, measures=measures, resamples=resamples, seed=seed, groups=groups
        )
    return found


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
    groups: str | Groups | Sequence[PairGroups] | None = None,
    model_rows: int | None = None,
    progress: Progress | None = None,
) -> Utility:
    """Measure tables that are on common levels already, as :func:`compare` measures others.

    Weights are numbers here, one for each record of the original and of the control. Groups are
    the key, which is then taken out of the tables, or who belongs together in each pair.
    """
    if model_rows is not None and model_rows < FEWEST:
        raise CaveatError(
            f"models cannot be fitted to {model_rows:,} rows",
            do=f"take {FEWEST} or more",
            code="measure.setting.range",
        )
    aligned, members = _apart(aligned, groups)
    first = aligned[0]
    original, numbers = split_weights(first.original, weights)
    outside, their_numbers = None, None
    if first.control is not None:
        outside, their_numbers = split_weights(first.control, control_weights)
    members = [_with_weight(one, weights, control_weights) for one in members]
    refuse_strangers(
        original,
        [pair.synthetic for pair in aligned],
        [name for name in targets if name in original],
        outside,
    )
    pairs = tuple(
        WeightedPair(
            original, pair.synthetic, pair.differences, numbers, outside, their_numbers, who
        )
        for pair, who in zip(aligned, members, strict=True)
    )
    for pair in pairs:
        pair.with_original_of(pairs[0]).model_rows = model_rows
    jobs = _jobs(measures, models, targets, rules, pairs)
    others = reference_pairs(pairs, resamples, seed)
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


def _apart(
    aligned: Sequence[Pair], groups: str | Groups | Sequence[PairGroups] | None
) -> tuple[Sequence[Pair], Sequence[PairGroups | None]]:
    """Return the pairs without a key, and who belongs together in each."""
    if groups is None:
        return aligned, [None] * len(aligned)
    if isinstance(groups, str | Groups):
        said = Groups.of(groups)
        apart = [groups_of(pair, said) for pair in aligned]
        return [bare for bare, _ in apart], [found for _, found in apart]
    return aligned, groups


def _with_weight(
    groups: PairGroups | None, weights: Weights, control_weights: Weights
) -> PairGroups | None:
    """Return the groups without the records of weight 0, which stand for nobody."""
    if groups is None:
        return None
    ours, outside = groups.original, groups.control
    if weights is not None and not np.all(weights > 0):
        ours = ours.of_rows(np.flatnonzero(weights > 0))
    if outside is not None and control_weights is not None and not np.all(control_weights > 0):
        outside = outside.of_rows(np.flatnonzero(control_weights > 0))
    return replace(groups, original=ours, control=outside)


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


def _aligned(
    ours: Table, synthetic: Any, outside: Table | None, groups: str | Groups | None
) -> tuple[tuple[Pair, ...], list[PairGroups] | None]:
    """Bring all tables on common levels; of the control only what all copies have.

    A key is taken out before: fresh keys have no levels in common with the others.
    """
    copies = list(synthetic) if isinstance(synthetic, list | tuple) else [synthetic]
    if not copies:
        raise CaveatError(
            "there is no synthetic table", do="give at least one", code="data.release.absent"
        )
    tables, members = [Table.from_frame(copy) for copy in copies], None
    if groups is not None:
        said = Groups.of(groups)
        apart = [groups_of(Pair(ours, table, outside), said) for table in tables]
        members = [found for _, found in apart]
        ours, outside = apart[0][0].original, apart[0][0].control
        tables = [bare.synthetic for bare, _ in apart]
    if outside is not None:
        names = [name for name in ours if all(name in table for table in tables)]
        lacking = [name for name in names if name not in outside]
        if lacking:
            raise CaveatError(
                "the control lacks a column",
                column=lacking[0],
                do="add it",
                code="data.column.absent",
            )
        outside = outside.select(names)
    return align_copies(ours, tables, outside), members


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
        elif "groups" in measure.needs:
            if copies[0].groups is not None:
                jobs.append(_Job(measure, measure.name, {}))
        elif "rules" in measure.needs:
            if rules:
                jobs.append(_Job(measure, measure.name, {"rules": rules}))
        else:
            jobs.append(_Job(measure, measure.name, {}))
    return jobs
