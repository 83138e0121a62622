"""The shape of single columns: names, long factors, rare levels, and numbers that stand out."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.findings.codes_and_kinds import LONG_FACTOR
from caveat.findings.profile import (
    Finding,
    Strength,
    listed,
    percent,
    plain,
    plural,
    shown,
    shown_level,
)
from caveat.table.cells import quantities, share_alone
from caveat.table.identifying import Judgement, K, has_open_vocabulary, is_mostly_rare, rare_levels
from caveat.table.table import Column, Kind, Table

# From this share of the rows on, one value is nearly all there is.
NEARLY_ALL = 0.95
# Rare levels have fewer rows than this, and less than this share of them.
RARE_ROWS = 10
RARE_SHARE = 0.01
# Shorter tables say nothing about shapes: in six rows all is rare and distinct.
LEAST_ROWS = 20
# From this share of records on that have a number for themselves, it is said.
ALONE = 0.05

# Whole numbers with this many different values may be codes of groups (two need no decision).
FEW_NUMBERS = range(3, 11)

# How the look calls what the judgement finds.
FINDINGS = {
    "identifier": "id-like",
    "group-key": "group-id",
    "free-text": "free-text",
    "person-name": "person-name",
    "near-unique-text": "near-unique-text",
    "coordinate": "coordinate",
    "birth-date": "birth-date",
}


def find_shapes(
    original: Column, column: Column, name: str, judged: Judgement | None
) -> list[Finding]:
    """Return what a column is as a whole.

    Parameters
    ----------
    original
        The column as it was read.
    column
        The column as it reads once its codes are declared.
    name
        Its name.
    judged
        What the one judgement of identifying columns says about it.
    """
    if not len(column) or not len(original.levels):
        return []
    found = _nearly_constant(original, name)
    if found and found[0].code == "constant":
        return found
    if judged is not None:
        return [*found, _identifying(original, name, judged)]
    return [*found, *_long_factor(original, column, name), *_rare_levels(column, name)]


def find_few_numbers(table: Table) -> list[Finding]:
    """Find the columns of few whole numbers without value labels, which may be codes of groups."""
    names = tuple(
        name
        for name in table
        if table[name].kind is Kind.INTEGER
        and len(table[name].levels) in FEW_NUMBERS
        and not table[name].value_labels
        and len(table[name]) >= LEAST_ROWS
    )
    if not names:
        return []
    most = FEW_NUMBERS[-1]
    message = f"at most {most} different whole numbers."
    return [Finding("few-numbers", names, message, Strength.POSSIBLE, table.n_rows, 1.0)]


def is_measured(column: Column) -> bool:
    """Whether the column holds numbers that are quantities rather than a few codes."""
    return column.kind in (Kind.NUMERIC, Kind.INTEGER) and len(column.levels) >= LONG_FACTOR


def _nearly_constant(column: Column, name: str) -> list[Finding]:
    n = len(column.levels)
    commonest = int(np.argmax(column.counts))
    rows = int(column.counts[commonest])
    share = rows / len(column)
    if n == 1 and not column.is_missing.any():
        message = f"every row has the value {shown_level(column, 0)}."
        return [Finding("constant", (name,), message, rows=rows, share=1.0)]
    if n == 1:
        held = plural(int(column.counts[0]), "row")
        message = f"{shown_level(column, 0)} in {held}; all other rows are missing."
        return [Finding("nearly-constant", (name,), message, rows=rows, share=share)]
    measured_zero = (
        is_measured(column) and commonest < n and plain(column, commonest) == 0
    )  # that is what "semi-continuous" says
    if share < NEARLY_ALL or measured_zero or len(column) < LEAST_ROWS:
        return []
    what = (
        shown_level(column, commonest)
        if commonest < n
        else f"missing ({column.missing[commonest - n]})"
    )
    message = f"{what} in {rows:,} of {len(column):,} rows ({percent(share)})."
    return [Finding("nearly-constant", (name,), message, rows=rows, share=share)]


def _identifying(column: Column, name: str, judged: Judgement) -> Finding:
    share = judged.rows / len(column)
    message = f"{judged.reason}."
    return Finding(
        FINDINGS[judged.code], (name,), message, Strength.LIKELY, judged.rows, share, {"drop": True}
    )


def find_private_numbers(table: Table, judged: Collection[str]) -> list[Finding]:
    """Find the numbers that many records have for themselves alone."""
    if table.n_rows < LEAST_ROWS:
        return []
    alone = {n: share_alone(table[n]) for n in table if n not in judged and quantities(table[n])}
    alone = {name: share for name, share in alone.items() if share >= ALONE}
    if not alone:
        return []
    order = sorted(alone, key=lambda name: -alone[name])
    which = listed([f"{name} {percent(alone[name])}" for name in order])
    message = f"share of the records with a value that no other record has: {which}."
    worst = alone[order[0]]
    rows = round(worst * table.n_rows)
    return [Finding("private-numbers", tuple(order), message, rows=rows, share=worst)]


def find_mostly_rare(
    table: Table, judged: Collection[str], units: NDArray[Any] | None = None
) -> list[Finding]:
    """Find the columns that are left out because few units have any of their levels.

    Parameters
    ----------
    table
        The table.
    judged
        Columns that are left out anyway.
    units
        The group of each row, where whole groups are synthesised.
    """
    if table.n_rows < LEAST_ROWS:
        return []
    found = []
    for name in (n for n in table if n not in judged and is_mostly_rare(table[n], units)):
        counts = table[name].counts[: len(table[name].levels)]
        rare = rare_levels(table[name], units)
        rows, n = int(counts[rare].sum()), int(rare.sum())
        message = f"{n:,} levels with fewer than {K} records each cover {rows:,} rows."
        share, drop = rows / table.n_rows, {"drop": True}
        found.append(Finding("mostly-rare", (name,), message, Strength.LIKELY, rows, share, drop))
    return found


def _long_factor(column: Column, interpreted: Column, name: str) -> list[Finding]:
    n = len(column.levels)
    factor = column.kind in (Kind.CATEGORY, Kind.TEXT) or (
        column.kind is Kind.ORDERED and column.levels.dtype == object
    )
    if not factor or n <= LONG_FACTOR or interpreted.kind.is_number:
        return []
    message = f"{n:,} levels."
    return [
        Finding(
            "long-factor", (name,), message, rows=len(column), share=1.0, suggestion={"late": True}
        )
    ]


def _rare_levels(column: Column, name: str) -> list[Finding]:
    if is_measured(column) or column.kind in (Kind.DATE, Kind.DATETIME, Kind.NUMERIC, Kind.TEXT):
        return []
    counts = column.counts[: len(column.levels)]
    limit = min(RARE_ROWS, RARE_SHARE * len(column))
    rare = np.flatnonzero((counts > 0) & (counts < limit))
    if not len(rare):
        return []
    order = rare[np.argsort(counts[rare], kind="stable")]
    rows = int(counts[rare].sum())
    which = listed([f"{shown_level(column, i)} ({counts[i]})" for i in order], 3)
    have = "level has" if len(rare) == 1 else "levels have"
    message = f"{len(rare):,} {have} fewer than {int(np.ceil(limit))} rows: {which}."
    pooled = has_open_vocabulary(column) and bool((counts[rare] < K).any())
    asked = {"pooled": True} if pooled else {}
    action = "" if pooled else "Merge them if records with these values could be recognised."
    share = rows / len(column)
    return [
        Finding("rare-levels", (name,), message, rows=rows, share=share, suggestion=asked,
                action=action)
    ]  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Numbers that stand out: outliers, piles at zero and at the end of the range, rounded answers.


# An outlier lies farther from the other values than these reach among themselves; half of that is
# enough in columns that are not skewed.
OUTLIER_GAP = 1.0
OUTLIER_GAP_SYMMETRIC = 0.5
# So many rows, or this share of them, may lie out there together.
OUTLIER_ROWS = 3
OUTLIER_SHARE = 0.001
OUTLIER_LEVELS = 10
# A pile at zero: share of the rows, and so many times commoner than the values next to it.
ZERO_SHARE = 0.05
ZERO_TIMES = 5
# A pile at the end of the range has at least these rows, and more than the next three values.
END_ROWS = 5
# Heaping: rows looked at, share of rows on the multiples beyond the expected one, times expected.
HEAP_ROWS = 100
HEAP_EXCESS = 0.10
HEAP_TIMES = 1.5
HEAP_MULTIPLES = 3
HEAP_NEARLY = 0.85
# Rows per multiple against rows per value: figures of mixed precision are no rounded answers.
HEAP_CROWDED = 1.25
HEAP_BASES = (
    5,
    6,
    10,
    12,
    50,
    100,
    500,
    1000,
    5000,
    10_000,
    50_000,
    100_000,
    1_000_000,
    10**7,
    10**8,
)
# A spike: share of rows, and times the median of the nearest values.
SPIKE_SHARE = 0.02
SPIKE_TIMES = 5
SPIKE_NEIGHBOURS = 10
# Values are on a decimal grid if this many decimals are enough.
MAX_DECIMALS = 6

Counts = NDArray[np.int64]


def find_spikes(column: Column, name: str) -> list[Finding]:
    """Return what stands out among the ordinary values of a numeric column."""
    if not column.kind.is_number or not len(column.levels):
        return []
    found = _outliers(column, name)
    if column.kind in (Kind.DATE, Kind.DATETIME) or len(column.levels) < LONG_FACTOR:
        return found
    zero = _pile_at_zero(column, name)
    heaps = _heaping(column, name)
    found += [*zero, *heaps]
    found += _pile_at_end(column, name)
    return found if heaps else [*found, *_single_spikes(column, name)]


def _counts(column: Column) -> Counts:
    return column.counts[: len(column.levels)]


def _outliers(column: Column, name: str) -> list[Finding]:
    numbers, counts = column.numbers, _counts(column)
    if len(numbers) < OUTLIER_LEVELS:
        return []
    found = []
    for low in (False, True):
        n = _outlying(-numbers[::-1], counts[::-1]) if low else _outlying(numbers, counts)
        if not n:
            continue
        where = slice(0, n) if low else slice(len(numbers) - n, None)
        near = shown_level(column, n if low else len(numbers) - n - 1)
        values = [shown_level(column, i) for i in range(len(numbers))[where]]
        rows = int(counts[where].sum())
        size = "smallest" if low else "largest"
        be = "is" if n == 1 else "are"
        message = (
            f"{listed(values)} ({plural(rows, 'row')}) {be} far from all other values; "
            f"the next {size} value is {near}."
        )
        found.append(
            Finding("outlier", (name,), message, Strength.LIKELY, rows, rows / len(column))
        )
    return found


def _outlying(numbers: NDArray[np.float64], counts: Counts) -> int:
    """Return how many of the largest levels lie far from all others."""
    rows = counts.sum()
    cumulative = np.cumsum(counts)
    q05, q50, q95 = (numbers[np.searchsorted(cumulative, q * rows)] for q in (0.05, 0.5, 0.95))
    symmetric = q50 > q05 and 0.5 <= (q95 - q50) / (q50 - q05) <= 2
    needed = OUTLIER_GAP_SYMMETRIC if symmetric else OUTLIER_GAP
    for n in range(1, OUTLIER_ROWS + 1):
        rest = numbers[: len(numbers) - n]
        beyond = counts[len(numbers) - n :].sum()
        if beyond > max(OUTLIER_ROWS, OUTLIER_SHARE * rows):
            return 0
        if numbers[len(rest)] - rest[-1] >= needed * (rest[-1] - rest[0]) > 0:
            return n
    return 0


def _pile_at_zero(column: Column, name: str) -> list[Finding]:
    numbers, counts = column.numbers, _counts(column)
    at = int(np.searchsorted(numbers, 0.0))
    if at == len(numbers) or numbers[at] != 0:
        return []
    share = counts[at] / len(column)
    beside = np.concatenate([counts[max(0, at - 5) : at], counts[at + 1 : at + 6]])
    if share < ZERO_SHARE or counts[at] < ZERO_TIMES * beside.max():
        return []
    message = (
        f"0 occurs in {counts[at]:,} rows ({percent(share)}), beside {len(numbers) - 1:,} other "
        "values."
    )
    return [Finding("semi-continuous", (name,), message, rows=int(counts[at]), share=float(share))]


def _pile_at_end(column: Column, name: str) -> list[Finding]:
    counts = _counts(column)
    rows, before = int(counts[-1]), int(counts[-4:-1].sum())
    if rows < END_ROWS or rows <= before:
        return []
    message = (
        f"the largest value, {shown_level(column, len(counts) - 1)}, occurs in "
        f"{plural(rows, 'row')}; the three values below it occur in {before}."
    )
    return [Finding("top-code", (name,), message, Strength.POSSIBLE, rows, rows / len(column))]


def decimals_of(numbers: NDArray[np.float64]) -> int | None:
    """Return how many decimals the numbers have, or None if they lie on no decimal grid."""
    look = numbers[:: max(1, len(numbers) // 5000)]
    largest = float(np.abs(look).max()) if len(look) else 0.0
    for decimals in range(MAX_DECIMALS + 1):
        scaled = look * 10.0**decimals
        if largest * 10.0**decimals > 1e15:
            return None
        if np.all(np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(1.0, np.abs(scaled))):
            return decimals
    return None


def _grid(column: Column) -> tuple[NDArray[np.int64], float] | None:
    """Return the levels in units of their last decimal, and that unit."""
    decimals = decimals_of(column.numbers)
    if decimals is None:
        return None
    return np.rint(column.numbers * 10.0**decimals).astype(np.int64), 10.0**-decimals


def _heaping(column: Column, name: str) -> list[Finding]:
    scaled, counts = _grid(column), _counts(column)
    if scaled is None:
        return []
    grid, unit = scaled
    step = int(np.gcd.reduce(grid))
    bases = [base for base in HEAP_BASES if step and base % step == 0 and base >= 5 * step]
    heaps = [heap for base in bases if (heap := _heap(grid, counts, base, step / base)) is not None]
    if not heaps:
        return []
    # The coarsest base that explains nearly as many rows as the best one.
    best = max(heap.excess for heap in heaps)
    heap = [heap for heap in heaps if heap.excess >= HEAP_NEARLY * best][-1]
    return [_heap_finding(column, name, grid, unit, heap)]


@dataclass(frozen=True, slots=True)
class _Heap:
    base: int
    share: float
    expected: float
    excess: float


def _heap(grid: NDArray[np.int64], counts: Counts, base: int, expected: float) -> _Heap | None:
    """Compare each multiple with the window around it; what lies below the first is left out."""
    inside = np.rint(grid / base) != 0
    rows = int(counts[inside].sum())
    on = (grid % base == 0) & inside
    if rows < max(HEAP_ROWS, counts.sum() // 20) or on.sum() < HEAP_MULTIPLES:
        return None
    held, most = int(counts[on].sum()), int(counts[on].max())
    # One spike is no heaping: without the commonest multiple the rest must still be heaped.
    without = (held - most) / max(rows - most, 1)
    share, beyond = held / rows, held - expected * rows
    heaped = min(share, without) >= HEAP_TIMES * expected and share - expected >= HEAP_EXCESS
    heaped &= share >= HEAP_CROWDED * on.sum() / inside.sum()
    # Five standard deviations of the number of rows on multiples without rounding.
    if not heaped or beyond < 5 * math.sqrt(rows * expected):
        return None
    return _Heap(base, share, expected, beyond)


def _heap_finding(
    column: Column, name: str, grid: NDArray[np.int64], unit: float, heap: _Heap
) -> Finding:
    counts = _counts(column)
    on = np.flatnonzero((grid % heap.base == 0) & (grid != 0))
    most = np.sort(on[np.argsort(-counts[on], kind="stable")][:8])
    spikes = ", ".join(f"{shown_level(column, i)} ({counts[i]:,})" for i in most)
    multiple = shown(float(f"{heap.base * unit:.6g}"))
    message = (
        f"{percent(heap.share)} of the rows have a multiple of {multiple}, "
        f"{percent(heap.expected)} expected without rounding; most frequent: {spikes}."
    )
    rows = int(counts[on].sum())
    return Finding(
        "heaping",
        (name,),
        message,
        Strength.LIKELY,
        rows,
        rows / len(column),
        {"multiple_of": float(multiple), "spikes": [plain(column, i) for i in most]},
    )


def _single_spikes(column: Column, name: str) -> list[Finding]:
    counts = _counts(column)
    rows = int(counts.sum())
    candidates = [
        i
        for i in np.flatnonzero(counts >= max(SPIKE_SHARE * rows, HEAP_ROWS // 5))
        if column.numbers[i] != 0 and counts[i] >= SPIKE_TIMES * _beside(counts, int(i))
    ]
    # The end of the range is looked at apart.
    candidates = [i for i in candidates if i < len(counts) - 1]
    if not candidates:
        return []
    order = sorted(candidates, key=lambda i: -counts[i])
    which = listed([f"{shown_level(column, i)} ({counts[i]:,} rows)" for i in order], 5)
    message = f"{which}; neighbouring values have at most a fifth as many rows."
    held = int(counts[candidates].sum())
    return [Finding("spike", (name,), message, Strength.LIKELY, held, held / len(column))]


def _beside(counts: Counts, i: int) -> float:
    half = SPIKE_NEIGHBOURS // 2
    window = np.concatenate([counts[max(0, i - half) : i], counts[i + 1 : i + 1 + half]])
    return max(float(np.median(window)), 1.0) if len(window) else math.inf
