"""What several attacks share: options, tables as arrays and vectors, and rates of success."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.attack.figures import Option
from caveat.errors import CaveatError
from caveat.nearest import Codes, Floats, Ints, Mixed, Nearest, Vectors, gower_nearest
from caveat.notes import Z95, Note
from caveat.risk.measure import Measure, Measurement, rate
from caveat.risk.scenario import select_common
from caveat.table import Column, Kind, Pair, Table, align
from caveat.table.align import refuse_strangers

KEYS = Option(
    "keys", "columns", "Columns she knows.", (), lacking="no key is named",
    do="say which columns an attacker may know (keys)",
)  # fmt: skip
TARGET = Option(
    "target", "column", "The column she wants to learn.", lacking="no target is named",
    do="say what she wants to learn (target)",
)  # fmt: skip
TARGET_TOLERANCE = Option("tolerance", "number", "How far a guess of a number may lie off.")
CONTROL = Option("control", "table", "People who were not in the data.")
N_ATTACKS = Option("n_attacks", "whole", "How often the attack is tried.", 2000)
SEED = Option("seed", "whole", "Root of the randomness.", 0, least=0)

GIOMI = (
    "Giomi, Boenisch, Wehmeyer, Tasnádi (2023), A Unified Framework for Quantifying Privacy Risk"
)
ONE_ATTACK = (
    "One attacker with one method: a low rate says that this attack failed, not that all do. The "
    "control does not take away all that the release says about the population."
)
ONE_ATTACK_SHORT = "one attack; that it fails is no all-clear"


def attack_measure(*needs: str, family: str = "ordinary attackers", **entry: Any) -> Measure:
    """Return an entry of MEASURES whose function takes two tables and keywords, not a Pair.

    It needs "attack", so that an audit does not run it.
    """
    return Measure(family=family, needs=frozenset({"attack", *needs}), default=False, **entry)


# -------------------------------------------------------------------------------------------------
# Tables as an attacker's arrays: numbers, categories, and dense matrices for classifiers.
#
# What may be near are numbers; what must be equal are categories and the way a number is missing.


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


# -------------------------------------------------------------------------------------------------
# Tables as vectors: what categories add comes first, so that a search can pass over records.


# Variances below this share of the largest, and lengths below its root, are rounding errors.
NOTHING = 1e-10


class Part(NamedTuple):
    """What one column adds to the vectors: a row for each level, from some coordinate on."""

    name: str
    start: int
    levels: Floats


def categories_first(table: Table) -> tuple[list[str], list[str]]:
    """Return the names of categories, and those of columns with an order.

    The categories in which two records differ least often come first: where they differ at all,
    Mahalanobis' distance and weights by entropy make this the largest difference.
    """
    ordered = [name for name in table.names if table[name].kind.has_order]
    categories = [name for name in table.names if name not in ordered]
    categories.sort(key=lambda name: -float(np.square(table[name].counts, dtype=np.float64).sum()))
    return categories, ordered


def place(table: Table, parts: Sequence[Part], ends: Ints) -> Vectors:
    """Return the rows of a table as vectors; the first parts are those of the categories.

    Sums are taken column by column: equal records have vectors equal to the last digit, which a
    product of matrices does not promise.
    """
    width = max((part.start + part.levels.shape[1] for part in parts), default=0)
    values = np.zeros((len(table), width))
    for name, start, levels in parts:
        values[:, start : start + levels.shape[1]] += levels[table[name].codes]
    codes = [table[part.name].codes for part in parts[: len(ends)]]
    stacked = np.stack(codes, axis=1) if codes else np.zeros((len(table), 0))
    return Vectors(stacked.astype(np.int32), values, ends)


def whitened(scale: Table, tables: Sequence[Table]) -> list[Vectors]:
    """Return vectors whose Euclidean distance is Mahalanobis' distance.

    Parameters
    ----------
    scale
        The table whose covariance, of standardised numbers and 0/1 columns, is the measure.
    tables
        Tables on common levels.
    """
    categories, ordered = categories_first(scale)
    names = [*categories, *ordered]
    inputs = [level_values(scale[name]) for name in names]
    with threadpool_limits(1):
        covariance = np.atleast_2d(np.cov(dense(scale, [scale], names)[0], rowvar=False))
        variances, directions = np.linalg.eigh(covariance)
    kept = variances > max(float(variances.max(initial=0.0)), 1e-300) * NOTHING
    turn, sizes = staircase(
        directions[:, kept] / np.sqrt(variances[kept]), [part.shape[1] for part in inputs]
    )
    parts, row, start = [], 0, 0
    for name, levels, size in zip(names, inputs, sizes, strict=True):
        parts.append(Part(name, start, levels @ turn[row : row + levels.shape[1], start:]))
        row, start = row + levels.shape[1], start + size
    ends = np.cumsum(sizes[: len(categories)], dtype=np.int64)
    return [place(table, parts, ends) for table in tables]


def staircase(turn: Floats, widths: Sequence[int]) -> tuple[Floats, list[int]]:
    """Rotate what a matrix maps to, so that the first coordinates depend on the first inputs only.

    Parameters
    ----------
    turn
        A matrix of full column rank with a row for each input: x ↦ x·turn.
    widths
        The inputs come in groups of these sizes.

    Returns
    -------
    The matrix times a rotation, and for each group the number of coordinates that depend on it and
    perhaps on groups before it, but on none after it.
    """
    taken = np.zeros((turn.shape[1], 0))
    groups: list[Floats] = []
    stop = len(turn)
    for width in reversed(widths):
        rows = turn[stop - width : stop]
        stop -= width
        # What later groups do not reach yet; twice, against rounding.
        left = rows - (rows @ taken) @ taken.T
        left -= (left @ taken) @ taken.T
        _, length, new = np.linalg.svd(left, full_matrices=False)
        groups.append(new[length > np.sqrt(NOTHING) * np.linalg.norm(rows)].T)
        taken = np.concatenate([taken, groups[-1]], axis=1)
    groups.reverse()
    return turn @ np.concatenate(groups, axis=1), [group.shape[1] for group in groups]


# -------------------------------------------------------------------------------------------------
# How often an attack succeeds: on people in the data, on others, and without the release.


def attack_rate(
    success: Floats | NDArray[np.bool_],
    control: Floats | NDArray[np.bool_] | None = None,
    *,
    baseline: float,
    **more: Any,
) -> Measurement:
    """Return a success rate with what it is to be compared with.

    Parameters
    ----------
    success
        For each attack on people in the data whether it succeeds, or the chance of it.
    control
        The same for people who were not in the data.
    baseline
        The chance of success without the release, 0 to 1.
    **more
        Further fields of the measurement.
    """
    details = dict(more.pop("details", {}))
    if control is not None and len(control) and len(success):
        value, low, high = residual_risk(
            float(np.sum(success)), len(success), float(np.sum(control)), len(control)
        )
        details |= {"residual": value, "residual low": low, "residual high": high}
        more |= {"control": float(np.mean(control)), "control_n": len(control)}
    return rate(float(np.sum(success)), len(success), baseline=baseline, details=details, **more)


def residual_risk(
    successes: float, n: int, control: float, n_control: int
) -> tuple[float, float, float]:
    """Return (attack − control)/(1 − control) with limits, 0 to 1, as Giomi et al. (2023) do.

    The two rates are the centres of their Wilson intervals, their errors are propagated to first
    order, and all three numbers are cut to 0 … 1.

    Examples
    --------
    >>> [round(x, 4) for x in residual_risk(80, 100, 50, 100)]
    [0.5778, 0.4024, 0.7532]
    """
    a, a_error = _wilson_centre(successes, n)
    c, c_error = _wilson_centre(control, n_control)
    value = (a - c) / (1 - c)
    error = math.hypot(a_error / (1 - c), c_error * (a - 1) / (1 - c) ** 2)
    low, middle, high = (min(max(x, 0.0), 1.0) for x in (value - error, value, value + error))
    return middle, low, high


def _wilson_centre(count: float, n: int) -> tuple[float, float]:
    weight = n + Z95**2
    spread = count * (n - count) / n + Z95**2 / 4
    return (count + Z95**2 / 2) / weight, Z95 / weight * math.sqrt(spread)


def chosen(n: int, attacks: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the records that are attacked: all, or a sample without replacement, in order."""
    if attacks >= n:
        return np.arange(n)
    return np.sort(rng.choice(n, attacks, replace=False))


def cut_note(size: int, whole: str) -> Note:
    """Say that the value is that of a part of the original, and what it is for the whole."""
    return Note(
        "cut-to-size",
        "original and control were cut to {size:,} records each, to be compared; "
        "on the whole original the value is {whole}",
        size=size,
        whole=whole,
    )
