"""From tables to what the measures need: common levels, groups of numbers, exclusions as codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.risk.exclusions import Flags, Rules
from caveat.risk.scenario import Scenario
from caveat.table import Column, Kind, Table
from caveat.table.cells import breaks, cut

__all__ = ["group", "resolve", "select_common"]


def select_common(tables: Sequence[Table], columns: Sequence[str]) -> list[Table]:
    """Return the named columns of all tables, the original first, or say which table lacks one."""
    original, *others = tables
    for name in columns:
        original[name]  # raises where it is missing, with the names to choose from
        for position, table in enumerate(others, 1):
            if name not in table:
                raise CaveatError(
                    f"table {position} of those compared with the original lacks a column",
                    column=name,
                    do=f"it has {', '.join(table.names)}",
                    code="data.column.absent",
                )
    return [table.select(columns) for table in tables]


def group(tables: Sequence[Table], groups: Mapping[str, int]) -> tuple[list[Table], list[str]]:
    """Cut numeric columns into groups with the same breaks in all tables.

    The breaks are quantiles of the ordinary values of all tables together. Missing cells and
    declared codes stay levels of their own.

    Returns
    -------
    The tables, and a remark for each column that could not be cut as asked.
    """
    tables, remarks = list(tables), []
    for name, n in groups.items():
        columns = [table[name] for table in tables]
        if not columns[0].kind.is_number:
            remarks.append(f"{name} is not numeric and was not cut into groups")
            continue
        counts = np.sum([column.counts for column in columns], axis=0)
        limits = breaks(columns[0].numbers, counts[: len(columns[0].levels)], n)
        if not len(limits):  # nothing but missing cells
            limits = np.zeros(1)
        if len(limits) - 1 < n:
            remarks.append(f"{name} has {len(limits) - 1} groups instead of {n}: values repeat")
        tables = [
            table.with_columns({name: _cut(column, limits)})
            for table, column in zip(tables, columns, strict=True)
        ]
    return tables, remarks


def _cut(column: Column, limits: NDArray[np.float64]) -> Column:
    """Replace numbers by intervals closed on the left, the last one on both sides."""
    n = max(len(limits) - 1, 1)
    lookup = np.concatenate([cut(column.numbers, limits), n + np.arange(len(column.missing))])
    edges = [f"{limit:.6g}" for limit in limits]
    if len(limits) == 1:
        labels = [f"[{edges[0]},{edges[0]}]"]
    else:
        labels = [f"[{low},{high})" for low, high in pairwise(edges)]
        labels[-1] = labels[-1][:-1] + "]"
    return Column(
        lookup[column.codes], np.array(labels, dtype=object), Kind.ORDERED, column.missing
    )


def resolve(
    scenario: Scenario, table: Table, key_codes: Mapping[str, NDArray[np.integer[Any]]]
) -> Rules:
    """Turn the exclusions of a scenario into flags on codes.

    Parameters
    ----------
    scenario
        The scenario; its columns are in ``table``.
    table
        Any of the tables on common levels.
    key_codes
        For each key, its code in each cell.
    """
    rules = Rules(limit=scenario.limit, denominator=scenario.denominator)
    missing_key = [
        key_codes[name] >= len(table[name].levels)
        for name in scenario.exclude_missing
        if name in scenario.keys
    ]
    if missing_key:
        rules = replace(rules, missing_key=np.any(missing_key, axis=0))
    if scenario.target is None:
        return rules
    target = table[scenario.target]
    levels = scenario.exclude_levels.get(scenario.target, ())
    if len(levels):
        rules = replace(rules, levels=_flags(target, levels, scenario.target))
    if scenario.target in scenario.exclude_missing:
        rules = replace(rules, missing_target=np.arange(target.n_levels) >= len(target.levels))
    return replace(rules, pairs=tuple(_pairs(scenario, table, key_codes)))


def _pairs(
    scenario: Scenario, table: Table, key_codes: Mapping[str, NDArray[np.integer[Any]]]
) -> Iterable[tuple[Flags, int]]:
    for target, target_level, key, key_level in scenario.exclude_pairs:
        if target != scenario.target:
            continue
        if key not in scenario.keys:
            raise CaveatError(
                "an excluded pair names a column that is no key",
                where=key,
                code="attack.key.unknown",
            )
        hit = _flags(table[key], [key_level], key)[key_codes[key]]
        code = np.flatnonzero(_flags(table[target], [target_level], target))
        yield hit, int(code[0])


def _flags(column: Column, levels: Sequence[Any], name: str) -> Flags:
    """Return which codes of a column are among the named levels; numbers may be given as text."""
    present = [*column.levels.tolist(), *(m.code for m in column.missing)]
    flags = np.zeros(len(present), dtype=bool)
    for level in levels:
        # What stands between two quotation marks is an empty cell here.
        hit = [
            value == level or str(value) == str(level) or (value is None and level == "")
            for value in present
        ]
        if not any(hit):
            raise CaveatError(
                "a level that is to be excluded does not occur",
                column=name,
                do="check its spelling; with groups=, levels are intervals",
                code="data.level.unknown",
            )
        flags |= hit
    return flags
