"""Compare an original with its synthetic copies: every measure beside values to judge it by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from caveat.errors import CaveatError
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement
from caveat.stopping import Progress
from caveat.table import Pair, Table, align_copies
from caveat.table.align import refuse_strangers
from caveat.table.grouping import Groups
from caveat.table.linked import Linked, without_keys
from caveat.utility.analyses import check_model, compare_model
from caveat.utility.edits import EditRule
from caveat.utility.grouping import PairGroups, groups_of, groups_of_children
from caveat.utility.measures import MEASURES, find_measure
from caveat.utility.pair import WeightedPair
from caveat.utility.reference_pairs import RESAMPLES, reference_pairs
from caveat.utility.result import References, Result, Utility
from caveat.utility.sampling import FEWEST
from caveat.utility.weighting import Weights, split_weights, weights_apart

__all__ = ["compare", "compare_linked", "compare_pairs"]


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
