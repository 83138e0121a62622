"""How a column enters the models: its grid, its coding, and how drawn numbers are smoothed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.table import Column
from caveat.table.identifying import K
from caveat.table.table import smallest_unsigned

__all__ = [
    "SCALES",
    "SMOOTHINGS",
    "Coding",
    "Grid",
    "Part",
    "assumed_grid",
    "bandwidth",
    "declared_bins",
    "declared_grid",
    "kernel",
    "spline",
    "spread_out",
]


SCALES = ("even", "geometric")
MOST_CELLS = 64
MOST_BINS = 10_000
MOST_POINTS = 10**9
EXACT = 2**53
"""Numbers of points stay below it, where floating point holds every whole number."""
WIDEST = 100.0
"""How much wider the last cell of a geometric scale is than the first."""

LOW_MEDIAN = 0.2
"""Where the median lies so far down in the range, cells are geometric unless declared."""

PERIODS = ((120, 20 * 365), (12, 2 * 365), (1, 0))
"""Months that ends of dates are rounded to, from so many days on that they span."""

YEARS, NANO_YEARS = (1, 10_000), (1678, 2262)
"""The first year of dates, and the one that they do not reach."""

MOST_DECIMALS = 12
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """The points that a number can be, and the cells they are grouped into.

    Parameters
    ----------
    low, high
        The smallest and the largest value.
    step
        The distance between two values.
    scale
        "even" for cells of equal width, "geometric" for cells that grow with the distance from the
        lowest value.
    special
        Values that are modelled apart: no points of the grid.
    declared
        Whether somebody declared it; else it was read off the data and is assumed to be public.
    heap
        Whether a special value was read off the data too.
    bins
        How many cells there are at most, or the values at which one begins; those at the ends of
        the range, or beyond them, cut nothing.

    Examples
    --------
    >>> grid = Grid(0, 1000, 1)
    >>> grid.n_cells, grid.cell_of(np.array([0.0, 15.0, 16.0, 1000.0, 2000.0])).tolist()
    (64, [0, 0, 1, 63, 63])
    >>> Grid(18, 25, 1).n_cells, Grid(18, 25, 1, bins=3).edges.tolist()
    (8, [18, 21, 23, 26])
    >>> Grid(0, 90, 1, bins=(0.0, 17.5, 65.0, 90.0)).edges.tolist()
    [0, 18, 65, 91]
    """

    low: float
    high: float
    step: float
    scale: str = "even"
    special: tuple[float, ...] = ()
    declared: bool = False
    heap: bool = False
    bins: int | tuple[float, ...] = MOST_CELLS

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        bins = self.bins if isinstance(self.bins, int) else list(self.bins)
        return {**asdict(self), "special": list(self.special), "bins": bins}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Grid:
        """Return the grid from a file, or raise ValueError if it is none."""
        given = [state["low"], state["high"], state["step"]]
        numbers = [*given, *state["special"]]
        if not all(type(v) in (int, float) and math.isfinite(v) for v in numbers):
            raise ValueError("no range")
        flags = state["declared"], state["heap"]
        if state["scale"] not in SCALES or not all(type(flag) is bool for flag in flags):
            raise ValueError("no scale")
        low, high, step = given
        if not _has_points(low, high, step):
            raise ValueError("no points")
        bins = state["bins"]
        bins = tuple(bins) if isinstance(bins, list) else bins
        if not _are_bins(bins):
            raise ValueError("no cells")
        return cls(low, high, step, state["scale"], tuple(state["special"]), *flags, bins)

    @property
    def words(self) -> str:
        """Range, step and cells."""
        cells = f"{self.scale} cells"
        if self.bins != MOST_CELLS:
            kind = self.scale if isinstance(self.bins, int) else "declared"
            cells = f"{self.n_cells} {kind} cells"
        return f"range {self.low:g} to {self.high:g} by {self.step:g}, {cells}"

    def __str__(self) -> str:
        return self.words + ("" if self.declared else ", assumed public")

    @cached_property
    def first(self) -> int:
        """Number of the lowest point: values are multiples of the step, give or take an offset."""
        return round(self.low / self.step)

    @cached_property
    def offset(self) -> float:
        """How far the points lie above multiples of the step; 0 but for odd ranges."""
        offset = self.low - self.first * self.step
        return 0.0 if abs(offset) < self.step * 1e-9 else offset

    @cached_property
    def n_points(self) -> int:
        """Number of points."""
        return math.floor((self.high - self.low) / self.step + 1e-6) + 1

    @property
    def decimals(self) -> int:
        """Decimal places of the points."""
        for places in range(MOST_DECIMALS):
            if all(math.isclose(round(v, places), v, abs_tol=self.step * 1e-6)
                   for v in (self.step, self.offset)):  # fmt: skip
                return places
        return MOST_DECIMALS

    @cached_property
    def edges(self) -> Ints:
        """Numbers of the first points of the cells, and of the first point beyond the last."""
        edges = self._cuts
        # A cell of nothing but special values has no point of its own: the next one takes it in.
        apart = np.searchsorted(self.special_points, edges)
        empty = np.flatnonzero(np.diff(edges) == np.diff(apart))
        while len(empty) and len(edges) > 2:
            edges = np.delete(edges, min(empty[0] + 1, len(edges) - 2))
            apart = np.searchsorted(self.special_points, edges)
            empty = np.flatnonzero(np.diff(edges) == np.diff(apart))
        return edges

    @property
    def _cuts(self) -> Ints:
        """The edges as they are asked for."""
        if isinstance(self.bins, tuple):
            inner = np.array([v for v in self.bins if self.low < v < self.high])
            cuts = np.ceil((inner - self.offset) / self.step - 1e-6).astype(np.int64)
            return np.unique(np.concatenate([[self.first], cuts, [self.first + self.n_points]]))
        n = min(self.n_points, self.bins)
        share = np.arange(n + 1) / n
        if self.scale == "geometric" and self.n_points > self.bins:
            share = np.expm1(share * math.log(WIDEST)) / (WIDEST - 1)
        return np.unique(self.first + np.rint(share * self.n_points).astype(np.int64))

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.edges) - 1

    def point_of(self, values: Floats) -> Ints:
        """Return the number of the point nearest to each value."""
        inside = np.clip(np.nan_to_num(values), self.low, self.high)  # before the division
        place = np.rint((inside - self.offset) / self.step)
        last = self.first + self.n_points - 1
        return np.clip(place, self.first, last).astype(np.int64)

    def cell_of(self, values: Floats) -> Ints:
        """Return the cell of each value; values beyond the range are in the cell at its end."""
        return np.searchsorted(self.edges, self.point_of(values), "right") - 1

    def values_of(self, points: Ints) -> Floats:
        """Return the value of each point."""
        return np.round(points * self.step + self.offset, self.decimals)

    def holds(self, values: Floats) -> NDArray[np.bool_]:
        """Return which values are points of the grid."""
        near = np.abs(self.values_of(self.point_of(values)) - values)
        return np.asarray(near <= self.step * 1e-6)

    @cached_property
    def ladder(self) -> Ints:
        """Steps of round numbers, each a multiple of the one before (1, 5, 10, 50, …)."""
        steps, largest = [1], int(np.diff(self.edges).max(initial=1))
        while steps[-1] <= largest and len(steps) < 40:
            steps.append(steps[-1] * (5 if len(steps) % 2 else 2))
        return np.array(steps, np.int64)

    def roundness_of(self, points: Ints) -> Ints:
        """Return how far up the ladder each point is a multiple."""
        degrees = np.zeros(len(points), np.int64)
        for step in self.ladder[1:].tolist():
            degrees += points % step == 0
        return degrees

    @cached_property
    def points_in(self) -> Ints:
        """Number of points of each cell (line) and roundness (column), special values apart."""
        below = -(-self.edges[:, None] // self.ladder)  # multiples below each edge
        multiples = np.diff(below, axis=0)
        exact = multiples - np.append(multiples[:, 1:], np.zeros((self.n_cells, 1), int), axis=1)
        apart = self.special_points
        np.subtract.at(exact, (self._cells_of_points(apart), self.roundness_of(apart)), 1)
        return np.asarray(exact)

    @cached_property
    def special_points(self) -> Ints:
        """The points that are special values."""
        values = np.array(self.special, np.float64)
        return np.unique(self.point_of(values[self.holds(values)]))

    def is_special(self, points: Ints) -> NDArray[np.bool_]:
        """Return which points are special values."""
        return np.isin(points, self.special_points)

    def _cells_of_points(self, points: Ints) -> Ints:
        return np.searchsorted(self.edges, points, "right") - 1


def _has_points(low: float, high: float, step: float) -> bool:
    """Whether a range has points, not too many, and each a number that is exact."""
    return step > 0 and high >= low and (
        (high - low) / step <= MOST_POINTS and max(abs(low), abs(high)) / step < EXACT
    )  # fmt: skip


def _are_bins(bins: Any) -> bool:
    """Whether something is a number of cells, or rising edges."""
    if isinstance(bins, tuple):
        finite = all(type(v) in (int, float) and math.isfinite(v) for v in bins)
        return finite and 2 <= len(bins) <= MOST_BINS and all(np.diff(bins) > 0)
    return type(bins) is int and 2 <= bins <= MOST_BINS


def declared_bins(given: Any, column: str) -> int | tuple[float, ...]:
    """Return the cells that a user declared, or say what is wrong with them."""
    bins = tuple(map(float, given)) if _are_numbers(given) else given
    if not _are_bins(bins):
        raise CaveatError(
            f"bins must be a whole number from 2 to {MOST_BINS:,}, or two or more edges that rise",
            where="synthesis",
            column=column,
            do="write bins = 16, or bins = [0, 18, 65, 120]",
            entry=(column, "bins"),
            code="synthesis.setting.range",
        )
    return bins


def _are_numbers(given: Any) -> bool:
    if not isinstance(given, list | tuple):
        return False
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in given)


def declared_grid(given: Sequence[Any], scale: str, special: Sequence[float], column: str) -> Grid:
    """Return the grid that a user declared, or say what is wrong with it."""
    given = given if isinstance(given, list | tuple) else ()
    numbers = [v for v in given if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) != 3 or len(given) != 3 or not all(math.isfinite(v) for v in numbers):
        raise CaveatError(
            "a range has three numbers",
            where="synthesis",
            column=column,
            do="write [lowest, highest, step]",
            code="synthesis.setting.type",
        )
    low, high, step = map(float, numbers)
    if high == low or not _has_points(low, high, step):
        raise CaveatError(
            "the range has no points, or too many",
            where="synthesis",
            column=column,
            do=f"give a highest value above the lowest, at most {MOST_POINTS:,} steps, and a step "
            "that is not too fine for numbers of this size",
            code="synthesis.setting.range",
        )
    return Grid(low, high, step, scale or "even", tuple(special), declared=True)


def assumed_grid(column: Column, ordinary: Floats, decimals: int, scale: str,
                 special: Sequence[float], exact: bool = False) -> Grid:  # fmt: skip
    """Return the grid of a number that nobody declared: read off the data, ends made round.

    An end that fewer than ``K`` records have lies at the next round number beyond them, in a unit
    of at least a tenth of the range, so that hardly any record moves it. Numbers that are nowhere
    negative stay so, shares end at 1, and with ``exact`` no end lies beyond what was needed.
    """
    counts = column.counts[: len(column.levels)][np.isin(column.numbers, ordinary)]
    low, high = float(ordinary[0]), float(ordinary[-1])
    # Far from zero, numbers that lie close together are more exact than any step can be.
    coarse = math.ceil(math.log10(max(-low, high, 1e-300) / EXACT * 2))
    finest = 10.0 ** max(-decimals, coarse)
    held = (exact or int(counts[0]) >= K, exact or int(counts[-1]) >= K)
    if column.levels.dtype.kind == "M":
        low, high = _round_dates(low, high, held, column.levels.dtype)
        step = max(_tick(ordinary, max(high - low, finest)), 10.0**coarse)
        points = math.floor((high - low) / step)  # the last second of a month is no full hour
        high = max(low + points * step, high if held[1] else float(ordinary[-1]))
    else:
        low, high = _round_numbers(low, high, held, finest)
        most = math.ceil(math.log10(max(high - low, finest) / MOST_POINTS))
        step = 10.0 ** max(-decimals, most, coarse)
    if not scale:
        middle = ordinary[np.searchsorted(np.cumsum(counts), counts.sum() / 2)]
        scale = "geometric" if (middle - low) / max(high - low, step) < LOW_MEDIAN else "even"
    return Grid(low, high, step, scale, tuple(special))


def _round_numbers(
    low: float, high: float, held: tuple[bool, bool], finest: float
) -> tuple[float, float]:
    """Return round ends of a range; those that few records have lie beyond them."""
    span = max(high - low, finest)
    unit = max(10.0 ** (math.floor(math.log10(span)) - 1), finest)
    beyond = max(_rounder(span / 10), finest)
    share = low >= 0 and high == 1
    if held[0]:
        start = math.floor(low / unit + 1e-9) * unit
    else:
        start = (math.ceil(low / beyond - 1e-9) - 1) * beyond
        start = max(start, 0.0) if low >= 0 else start
    if held[1] or share:
        end = math.ceil(high / unit - 1e-9) * unit
    else:
        end = (math.floor(high / beyond + 1e-9) + 1) * beyond
        end = min(end, 0.0) if high <= 0 else end
    return float(f"{start:.15g}"), float(f"{end:.15g}")


def _rounder(number: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, 50 … that is not smaller."""
    tens = 10.0 ** math.floor(math.log10(number))
    return next(m * tens for m in (1, 2, 5, 10) if m * tens >= number * (1 - 1e-9))


def _round_dates(
    low: float, high: float, held: tuple[bool, bool], dtype: np.dtype[Any]
) -> tuple[float, float]:
    """Return ends of dates at those of a month, a year or a decade; those that few have beyond."""
    first, last = np.array([low, high]).astype(np.int64).astype(dtype).astype("datetime64[s]")
    days = int((last - first) / np.timedelta64(1, "D"))
    months = next(n for n, least in PERIODS if days >= least)
    start, end = first.astype("datetime64[M]").astype(int), last.astype("datetime64[M]").astype(int)
    start, end = start // months * months, (end // months + 1) * months
    one = np.timedelta64(1, "D") if dtype == np.dtype("datetime64[D]") else np.timedelta64(1, "s")

    def moment(month: int) -> Any:
        return np.datetime64(int(month), "M").astype("datetime64[s]")

    if moment(start) == first:
        start -= months
    if moment(end) - one <= last:
        end += months
    years = NANO_YEARS if dtype == np.dtype("datetime64[ns]") else YEARS
    start, end = max(start, (years[0] - 1970) * 12), min(end, (years[1] - 1970) * 12)
    ends = (first if held[0] else moment(start)), (last if held[1] else moment(end) - one)
    found = np.array(ends, "datetime64[s]").astype(dtype).astype(np.int64)
    start_at, end_at = (low if held[0] else found[0]), (high if held[1] else found[1])
    return min(float(start_at), low), max(float(end_at), high)


def _tick(ordinary: Floats, span: float) -> float:
    """Return the largest round number of ticks that all dates are multiples of."""
    for step in (86_400e9, 3_600e9, 86_400e6, 3_600e6, 86_400e3, 3_600e3, 86_400.0, 3_600.0, 60.0):
        if step <= span and np.all(ordinary % step == 0):
            return step
    return max(1.0, 10.0 ** math.ceil(math.log10(max(span, 1.0) / MOST_POINTS)))


# -------------------------------------------------------------------------------------------------
# How a column enters the models: as itself, or as two variables, its kind of value and its
# number.
#
# A numeric column with ways to be missing or declared special values (-8, a spike at 0) is
# modelled in two steps, as synthpop does it: first which kind of value a row has (an ordinary
# number, or one of the others), then the number among the ordinary ones. As a predictor of later
# columns it enters as both; the number of a row that has none is set to zero there.


ORDINARY = 0  # the first kind of a two-step column


@dataclass(frozen=True)
class Part:
    """One variable of a model.

    Parameters
    ----------
    codes
        One code per row.
    n_levels
        Number of possible codes.
    ordered
        Whether the order of the codes has a meaning.
    numbers
        The number that each code stands for, for variables that are numbers.
    exact
        The number of each row, where it need not be one that a code stands for.
    grid
        What is public about the numbers, where a method needs it.
    """

    codes: NDArray[Any]
    n_levels: int
    ordered: bool
    numbers: NDArray[np.float64] | None = None
    exact: NDArray[np.float64] | None = None
    grid: Grid | None = None

    __repr__ = without_values

    @property
    def values(self) -> NDArray[np.float64]:
        """The number of each row, for variables that are numbers."""
        assert self.numbers is not None
        return self.numbers[self.codes] if self.exact is None else self.exact

    def take(self, rows: NDArray[Any] | slice) -> Part:
        """Return the variable for some rows."""
        exact = None if self.exact is None else self.exact[rows]
        return replace(self, codes=self.codes[rows], exact=exact)


@dataclass(frozen=True, eq=False)
class Coding:
    """The mapping between the codes of a column and the variables it is modelled as.

    Parameters
    ----------
    column
        A column that holds the dictionary; its cells do not matter.
    special
        Ordinary values that are modelled apart, as the missing ones are.
    grid
        What is public about the numbers, where a method needs it.
    """

    column: Column
    special: tuple[Any, ...] = ()
    grid: Grid | None = None

    __repr__ = without_values

    @classmethod
    def of(
        cls, column: Column, special: Sequence[Any], name: str, grid: Grid | None = None
    ) -> Coding:
        """Return the coding of a column, or say which special value it does not have."""
        levels = column.levels.tolist()
        if special and not column.kind.is_number:
            raise CaveatError(
                "special values are for numbers",
                column=name,
                do="leave them out",
                code="synthesis.column.type",
            )
        if any(value not in levels for value in special):
            raise CaveatError(
                "a declared special value does not occur",
                column=name,
                do="leave it out",
                code="data.value.unknown",
            )
        return cls(column, tuple(special), grid)

    @property
    def is_number(self) -> bool:
        """Whether the ordinary values are modelled as numbers."""
        return self.column.kind.is_number and len(self.column.levels) > 1

    @property
    def two_step(self) -> bool:
        """Whether kind and number are modelled apart."""
        return self.is_number and bool(self.column.missing or self.special)

    @cached_property
    def _special(self) -> NDArray[np.bool_]:
        """Which codes are not ordinary numbers."""
        flags = np.zeros(self.column.n_levels, dtype=bool)
        flags[: len(self.column.levels)] = np.isin(self.column.levels, list(self.special))
        flags[len(self.column.levels) :] = True
        return flags

    @cached_property
    def kind_of(self) -> NDArray[Any]:
        """Kind of each code: 0 for ordinary numbers, 1, 2, … for the others."""
        kinds = np.where(self._special, np.cumsum(self._special), ORDINARY)
        return kinds.astype(smallest_unsigned(self.n_kinds))

    @property
    def n_kinds(self) -> int:
        """Number of kinds."""
        return 1 + int(self._special.sum())

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The numbers the value variable can have, sorted; for two steps zero is among them."""
        ordinary = self.column.numbers[~self._special[: len(self.column.levels)]]
        return np.union1d(ordinary, [0.0]) if self.two_step else ordinary

    @cached_property
    def value_of(self) -> NDArray[Any]:
        """Code of the value variable for each code of the column; zero stands for no number."""
        values = np.zeros(self.column.n_levels)
        values[: len(self.column.levels)] = self.column.numbers
        values[self._special] = 0.0
        return np.searchsorted(self.numbers, values).astype(smallest_unsigned(len(self.numbers)))

    @property
    def special_numbers(self) -> NDArray[np.float64]:
        """The special values as numbers, in the order of their kinds."""
        return self.column.numbers[self._special[: len(self.column.levels)]]

    @cached_property
    def _code_of_value(self) -> NDArray[np.int64]:
        lookup = np.zeros(len(self.numbers), dtype=np.int64)
        ordinary = np.flatnonzero(~self._special)
        lookup[self.value_of[ordinary]] = ordinary
        return lookup

    def parts(self, codes: NDArray[Any]) -> list[Part]:
        """Return the variables of these cells: one, or number and kind."""
        if not self.is_number:
            # missing cells of an ordered factor are its last level, as in synthpop
            return [Part(codes, self.column.n_levels, self.column.kind.has_order)]
        if not self.two_step:
            return [Part(codes, len(self.numbers), True, self.numbers, grid=self.grid)]
        value = Part(self.value_of[codes], len(self.numbers), True, self.numbers, grid=self.grid)
        return [value, Part(self.kind_of[codes], self.n_kinds, False)]

    def parts_of_numbers(self, kinds: NDArray[Any], values: NDArray[np.float64]) -> list[Part]:
        """Return the variables of numbers that may be new: each takes the nearest one's place."""
        known = self.numbers
        right = np.clip(np.searchsorted(known, values), 1, len(known) - 1)
        nearest = right - (values - known[right - 1] < known[right] - values)
        if not self.two_step:
            return [Part(nearest, len(known), True, known, values, self.grid)]
        ordinary = kinds == ORDINARY
        nearest = np.where(ordinary, nearest, np.searchsorted(known, 0.0))
        exact = np.where(ordinary, values, 0.0)
        value = Part(nearest, len(known), True, known, exact, self.grid)
        return [value, Part(kinds, self.n_kinds, False)]

    def split(self, column: Column) -> tuple[NDArray[Any] | None, NDArray[np.float64]]:
        """Return kinds and numbers of any column of numbers, known to the dictionary or not."""
        column = column.declare_missing([m for m in self.column.missing if m.code is not None])
        numbers = np.append(column.numbers, np.zeros(len(column.missing)))[column.codes]
        if not self.two_step:
            return None, numbers
        ways = {m.key: j for j, m in enumerate(self.column.missing)}
        special = self.special_numbers
        kinds = np.full(column.n_levels, ORDINARY)
        apart = np.flatnonzero(np.isin(column.numbers, special))
        kinds[apart] = 1 + np.searchsorted(special, column.numbers[apart])
        for position, m in enumerate(column.missing):
            # a way to be missing that the model does not know has a kind of its own: impossible
            place = ways.get(m.key, len(self.column.missing))
            kinds[len(column.levels) + position] = 1 + len(special) + place
        return kinds[column.codes], numbers

    def join(self, kinds: NDArray[Any] | None, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the codes of the column from drawn kinds and the codes of drawn numbers."""
        if kinds is None:
            return np.asarray(values, dtype=np.int64)
        other = np.concatenate([[0], np.flatnonzero(self._special)])
        return np.asarray(np.where(kinds == ORDINARY, self._code_of_value[values], other[kinds]))


# -------------------------------------------------------------------------------------------------
# Smoothing of drawn numbers, so that the values of real people do not come out as they are.


Numbers = NDArray[np.float64]


def bandwidth(known: Numbers, weights: NDArray[Any], n: int) -> float:
    """Return Silverman's bandwidth, 0.9 min(s, IQR/1.34) n^(-1/5), of n weighted values.

    ``known`` are the distinct values, rising; s is their standard deviation. Of s and the
    interquartile range, one that is 0 is passed over; with both 0 the bandwidth is 0.

    Examples
    --------
    The quartiles of 0, 1, 2, 3, 4 are 1 and 3, so this is 0.9 · 2/1.34 · 5^(-1/5):

    >>> round(bandwidth(np.arange(5.0), np.ones(5), 5), 4)
    0.9736
    """
    mean = np.average(known, weights=weights)
    deviation = np.sqrt(np.average((known - mean) ** 2, weights=weights) * n / max(n - 1, 1))
    low, high = _quartiles(known, weights, n)
    spreads = [s for s in (deviation, (high - low) / 1.34) if s > 0]
    return float(0.9 * min(spreads, default=0.0) * n**-0.2)


def _quartiles(known: Numbers, weights: NDArray[Any], n: int) -> Numbers:
    """Return the two quartiles of n values, as R and numpy do: at a quarter of the n - 1 steps."""
    place = np.array([0.25, 0.75]) * (n - 1)
    # The k-th of the n values, from 0, is the first that k + 1 values do not exceed. The half
    # keeps rounded sums of shares on their side.
    upto = np.cumsum(weights) * (n / weights.sum())
    below, above = (
        known[np.searchsorted(upto, k + 0.5)] for k in (np.floor(place), np.ceil(place))
    )
    return np.asarray(below + (place % 1) * (above - below))


def spread_out(
    drawn: Numbers, width: Numbers | float, low: float, high: float, rng: np.random.Generator
) -> Numbers:
    """Add Gaussian noise of a given width; the result stays between two ends.

    It is reflected at the ends: clipping would pile values up on the two extreme records.
    """
    noisy = drawn + width * rng.standard_normal(len(drawn))
    inside = low + np.abs(noisy - low)
    return np.asarray(np.clip(high - np.abs(high - inside), low, high))


def kernel(
    drawn: Numbers, known: Numbers, counts: NDArray[Any], rng: np.random.Generator
) -> Numbers:
    """Add Gaussian noise with the bandwidth of all original values, within their range."""
    width = bandwidth(known, counts, int(counts.sum()))
    return spread_out(drawn, width, known[0], known[-1], rng)


def spline(
    drawn: Numbers, known: Numbers, counts: NDArray[Any], rng: np.random.Generator
) -> Numbers:
    """Move each value along a monotone curve through the observed quantiles.

    A value that covers the ranks from a to b gets a rank drawn between them, and becomes the value
    of the curve at that rank.
    """
    if len(known) < 2:
        return drawn
    upper = np.cumsum(counts) / counts.sum()
    lower = upper - counts / counts.sum()
    curve = scipy.interpolate.PchipInterpolator((lower + upper) / 2, known)
    place = np.clip(np.searchsorted(known, drawn), 0, len(known) - 1)
    rank = lower[place] + (upper - lower)[place] * rng.random(len(drawn))
    ends = ((lower + upper) / 2)[[0, -1]]
    return np.asarray(curve(np.clip(rank, *ends)))


SMOOTHINGS: dict[str, Callable[[Numbers, Numbers, NDArray[Any], np.random.Generator], Numbers]] = {
    "kernel": kernel,
    "spline": spline,
}
