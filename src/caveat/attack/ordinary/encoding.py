"""Tables as an attacker's arrays: numbers, categories, and dense matrices for classifiers.

What may be near are numbers; what must be equal are categories and the way a number is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.nearest import Codes, Floats, Ints, Mixed, Nearest, gower_nearest
from caveat.risk.prepare import select_common
from caveat.table import Column, Kind, Pair, Table, align
from caveat.table.align import refuse_strangers

__all__ = [
    "code_matrix",
    "dense",
    "level_values",
    "mixed",
    "nearest_rows",
    "prepare",
    "seeds",
]


def prepare(
    original: Any, synthetic: Any, control: Any = None, columns: Sequence[str] | None = None
) -> Pair:
    """Put all tables on common levels.

    Parameters
    ----------
    original, synthetic, control
        Frames or tables.
    columns
        The columns to use; by default all that the tables share, identifiers and free text left
        out.

    Raises
    ------
    CaveatError
        Among others, where a table shares no value of a named column with the original.
    """
    given = [Table.from_frame(t) for t in (original, synthetic, control) if t is not None]
    named = columns
    if columns is None:
        columns = [
            name
            for name in given[0]
            if all(name in table for table in given)
            and given[0][name].kind not in (Kind.ID, Kind.TEXT)
        ]
    if not columns:
        raise CaveatError(
            "the tables have no column in common", do="name the columns", code="data.column.too-few"
        )
    for what, table in zip(("original", "release", "control"), given, strict=False):
        if not len(table):
            raise CaveatError(
                f"the {what} has no row", do="give a table with records", code="data.table.empty"
            )
    found = align(*select_common(given, list(dict.fromkeys(columns))))
    refuse_strangers(found.original, [found.synthetic], named or (), found.control)
    return found


def mixed(tables: Sequence[Table], columns: Sequence[str], scale: Table) -> list[Mixed]:
    """Return numbers and categories of each table.

    Parameters
    ----------
    tables
        Tables on common levels.
    columns
        The columns to use.
    scale
        The table whose ranges are the units of the numbers: the release, since an attacker has no
        other. A number that is constant there counts in full wherever it differs.
    """
    numeric = [name for name in columns if scale[name].kind.is_number]
    others = [name for name in columns if name not in numeric]
    # A comparison ends sooner when the columns that differ most often come first.
    others.sort(key=lambda name: float(np.square(scale[name].counts, dtype=np.float64).sum()))
    units = [_in_ranges(scale[name]) for name in numeric]
    return [
        Mixed(
            _stack([unit[table[n].codes] for n, unit in zip(numeric, units, strict=True)], table),
            _stack([table[name].codes for name in others], table).astype(np.int32),
        )
        for table in tables
    ]


def nearest_rows(
    people: Table,
    data: Table,
    columns: Sequence[str],
    k: int,
    *,
    scale: Table,
    rng: np.random.Generator | None = None,
    own: Ints | None = None,
) -> Nearest:
    """Return the k nearest rows of ``data`` for each of the people.

    Parameters
    ----------
    people, data, scale
        Tables on common levels; ``scale`` is the one whose ranges are the units of numbers.
    columns
        The columns that are compared.
    k, rng, own
        As for :func:`~caveat.nearest.gower_nearest`.
    """
    query, offered = mixed([people, data], columns, scale)
    return gower_nearest(query, offered, k, rng=rng, own=own)


def _in_ranges(column: Column) -> Floats:
    """Return each level in units of the range; ways to be missing are far from all and each."""
    numbers, used = column.numbers, column.counts[: len(column.levels)] > 0
    span = float(np.ptp(numbers[used])) if used.any() else 0.0
    scaled: Floats = numbers / span if span else 2.0 * np.arange(len(numbers), dtype=np.float64)
    limit = float(np.abs(scaled).max(initial=0.0))
    return np.append(scaled, limit + 2.0 + 2.0 * np.arange(len(column.missing)))


def _stack(columns: list[NDArray[Any]], table: Table) -> NDArray[Any]:
    if not columns:
        return np.zeros((len(table), 0))
    return np.ascontiguousarray(np.stack(columns, axis=1))


def code_matrix(table: Table, columns: Sequence[str]) -> Codes:
    """Return the codes, one row per column (a scan of one column reads memory in order)."""
    return np.ascontiguousarray([table[name].codes for name in columns], dtype=np.int32)


def dense(train: Table, tables: Sequence[Table], columns: Sequence[str]) -> list[Floats]:
    """Return a matrix for each table: standardised numbers, categories as 0/1 columns.

    Means, standard deviations and the categories that get a column are those of ``train``. Missing
    numbers get the mean and a 0/1 column for each way to be missing.
    """
    parts = [(name, level_values(train[name])) for name in columns]
    if not sum(values.shape[1] for _, values in parts):
        return [np.zeros((len(table), 1)) for table in tables]
    return [
        np.concatenate([values[table[name].codes] for name, values in parts], axis=1)
        for table in tables
    ]


def level_values(column: Column) -> Floats:
    """Return a row for each level of a column: its standardised number or 0/1 columns."""
    n, counts, codes = len(column.levels), column.counts, np.arange(column.n_levels)
    flags = codes[n:] if column.kind.has_order else codes
    values = [(codes == flag).astype(np.float64) for flag in flags if counts[flag]]
    if column.kind.has_order:
        numbers = column.numbers if column.kind.is_number else np.arange(n, dtype=np.float64)
        values.insert(0, _standardised(numbers, counts[:n], column.n_levels))
    return np.stack(values, axis=1) if values else np.zeros((column.n_levels, 0))


FARTHEST = 1e15
"""In standard deviations: other people's numbers beyond it are as far as can be.

Trees compute in single precision, and distances square the numbers.
"""


def _standardised(values: Floats, counts: NDArray[np.int64], n_levels: int) -> Floats:
    out = np.zeros(n_levels)
    total = counts.sum()
    if total:
        mean = float(values @ counts / total)
        sd = float(np.sqrt((values - mean) ** 2 @ counts / total))
        out[: len(values)] = np.clip((values - mean) / (sd or 1.0), -FARTHEST, FARTHEST)
    return out


def seeds(seed: int, n: int) -> list[np.random.Generator]:
    """Return independent generators, children of one seed."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(n)]
