"""Cells and points of a number follow from its range alone."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.refusals import refused
from tests.tree.guarded.slow import Declared, roundness

from caveat.errors import CaveatError, CaveatWarning
from caveat.synthesis import Synthesizer, make_plan
from caveat.synthesis.coding import MOST_CELLS, SCALES, Grid, declared_bins, declared_grid
from caveat.table import Table


@st.composite
def grids(draw: st.DrawFn, most: int = 900) -> Grid:
    """Ranges with few and many points, of whole and decimal steps, with special values."""
    step = draw(st.sampled_from([1.0, 5.0, 0.1, 0.25, 0.01, 1000.0, 86_400e9]))
    first, n = draw(st.integers(-300, 300)), draw(st.integers(2, most))
    inside = st.integers(first, first + n - 2)  # the highest value at least is an ordinary one
    points = draw(st.lists(inside | st.integers(-900, 2000), max_size=6, unique=True))
    if draw(st.booleans()):  # one that leaves cells without any point
        start = draw(inside)
        points += range(start, min(start + draw(st.integers(1, 40)), first + n - 1))
    special = tuple(sorted({round(p * step, 2) for p in points} - {(first + n - 1) * step}))
    low, high = (round(p * step, 2) for p in (first, first + n - 1))
    return Grid(low, high, step, draw(st.sampled_from(SCALES)), special)


def points_of(grid: Grid) -> np.ndarray:
    return np.arange(grid.first, grid.first + grid.n_points)


def slow(grid: Grid) -> Declared:
    geometric = grid.scale == "geometric"
    return Declared((), True, True, True, grid.low, grid.high, grid.step, geometric, grid.special)


@given(grids())
def test_cells_cover_the_range_and_each_point_is_in_one(grid):
    edges = grid.edges
    assert (edges[0], edges[-1]) == (grid.first, grid.first + grid.n_points)
    assert np.all(np.diff(edges) > 0)
    assert grid.n_cells == len(edges) - 1 <= min(grid.n_points, MOST_CELLS)
    points = points_of(grid)
    values = grid.values_of(points)
    assert np.array_equal(grid.point_of(values), points)
    cells = grid.cell_of(values)
    assert np.all(np.diff(cells) >= 0)
    assert np.array_equal(np.unique(cells), np.arange(grid.n_cells))
    expected = [i for i, cell in enumerate(slow(grid).cells) for _ in cell]
    assert cells.tolist() == expected
    ends = grid.cell_of(np.array([grid.low - 10 * grid.step, grid.high + 1e9 * grid.step]))
    assert ends.tolist() == [0, grid.n_cells - 1]


@given(grids())
def test_points_of_cells_and_roundness_are_all_points_but_the_special_ones(grid):
    points = points_of(grid)
    apart = slow(grid).apart
    assert set(points[grid.is_special(points)].tolist()) == apart
    ordinary = points[~grid.is_special(points)]
    assert grid.points_in.sum() == len(ordinary) == grid.n_points - len(apart)
    expected = np.zeros_like(grid.points_in)
    top = len(grid.ladder) - 1
    for point, cell in zip(ordinary, grid.cell_of(grid.values_of(ordinary)), strict=True):
        expected[cell, min(roundness(int(point)), top)] += 1
    assert np.array_equal(grid.points_in, expected)
    # Beyond the top of the ladder a cell has one point at most, so that nothing is lost there.
    assert grid.ladder[top] > np.diff(grid.edges).max()
    assert np.all(grid.points_in.sum(axis=1) > 0)


@given(grids())
def test_a_grid_goes_through_a_file(grid):
    assert Grid.from_state(grid.state()) == grid


def test_even_cells_are_even_and_geometric_ones_grow():
    even, growing = (np.diff(Grid(0, 63_999, 1, scale).edges) for scale in SCALES)
    assert set(even.tolist()) == {1000}
    assert np.all(np.diff(growing) >= 0)
    # from edge to edge cells grow by 100^(1/64), so the last is 100^(63/64) times the first
    assert growing[-1] / growing[0] == pytest.approx(100 ** (63 / 64), rel=0.02)


@pytest.mark.parametrize("given", [[1, 9, 2], [18, 98, 5], [0.05, 1.05, 0.1]])
def test_a_range_begins_with_its_lowest_value(given):
    grid = declared_grid(given, "", (), "x")
    low, high, step = given
    values = grid.values_of(points_of(grid))
    assert values == pytest.approx(np.arange(low, high + step / 2, step))


@pytest.mark.parametrize(
    "given", [[1, 9], [1, 9, 0], [1, 9, -1], [9, 1, 1], [0, 1e12, 1], [0, np.inf, 1],
              [0, True, 1], ["a", 1, 1], [1e20, 1e20 + 1e6, 1], [-1e75, 1e75, 1]],
)  # fmt: skip
def test_what_is_no_range_is_refused(given):
    with pytest.raises(CaveatError):
        declared_grid(given, "", (), "x")


def test_a_column_of_nothing_but_special_values():
    table = Table.from_frame({"x": [0.0, 30.0] * 10, "y": ["a", "b"] * 10})
    options = {"method": "guarded", "columns": {"x": {"method": "guarded", "special": [0.0, 30.0]}}}
    try:
        plan = make_plan(table, options)
    except CaveatError:
        return
    assert plan.columns["x"].grid is None


def release_of(values, **column):
    frame = pd.DataFrame({"x": values})
    single = {"x": {"method": "guarded", **column}}
    model = Synthesizer(seed=1, method="guarded", columns=single).fit(frame)
    return model, model.sample(rows=3000)


FAR = {
    "neighbours": np.array([1e70, np.nextafter(1e70, 0), np.nextafter(1e70, np.inf)]),
    "nanoseconds": np.array(["2020-01-01T10:00:00.000000001", "2020-01-01T10:00"], "M8[ns]"),
    "both ends": np.array([-1e75, 1e75, 0.5]),
    "one far": np.array([1e75, 31.5, 42.0]),
    "whole": np.array([-(2**63), 2**63 - 1, 7]),
    "unsigned": np.array([2**64 - 1, 2**63, 7], np.uint64),
    "close to zero": np.array([1e-75, -1e-75, 0.0]),
}


@pytest.mark.parametrize("values", FAR.values(), ids=FAR)
def test_numbers_far_from_zero_have_a_step_that_is_exact(values):
    """Points whose numbers do not fit into 64 bits once ended in a traceback."""
    frame = pd.DataFrame({"x": np.tile(values, 30)})
    for method in ("guarded", "margins"):
        model = Synthesizer(seed=1, method=method).fit(frame)
        grid = model.plan.columns["x"].grid
        assert Grid.from_state(grid.state()) == grid
        numbers = model.tables()[0]["x"].numbers
        assert np.all((numbers >= grid.low) & (numbers <= grid.high))


@pytest.mark.parametrize("method", ["cart", "guarded"])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_number_that_spss_stores_for_missing_is_missing(method, sign):
    """It ended plain trees in a division by zero, guarded ones in an overflow."""
    values = np.tile([1.5, 2.5, sign * sys.float_info.max], 30)
    with pytest.warns(CaveatWarning, match="SPSS"):
        drawn = Synthesizer(seed=1, method=method).fit(pd.DataFrame({"x": values})).sample()["x"]
    assert drawn.isna().any()
    assert drawn.dropna().between(1, 3).all()


def test_decimals_whole_numbers_and_dates_are_kept():
    rng = np.random.default_rng(0)
    _, drawn = release_of(np.round(rng.gamma(2, 20, 200), 1))
    assert drawn["x"].dtype == float
    assert np.all(drawn["x"] == np.round(drawn["x"], 1))
    assert len(drawn["x"].unique()) > 150
    _, drawn = release_of(rng.integers(0, 500, 200))
    assert drawn["x"].dtype == np.int64
    days = pd.to_datetime("2020-02-01") + pd.to_timedelta(rng.integers(0, 400, 200), "D")
    _, drawn = release_of(days)
    assert drawn["x"].dtype == days.dtype
    assert np.all(drawn["x"] == drawn["x"].dt.normalize())
    first = days.min().normalize().replace(day=1)
    last = days.max() + pd.offsets.MonthEnd(0)
    assert drawn["x"].between(first, last).all()


def test_a_step_finer_than_the_data_is_taken_at_its_word():
    """What is released has the probability that it was drawn with."""
    values = np.round(np.random.default_rng(0).random(200) * 3, 1)
    model, drawn = release_of(values, range=[0, 3, 0.01])
    grid = np.round(np.arange(301) * 0.01, 2)
    shares = np.exp(model.log_prob(pd.DataFrame({"x": grid})).columns["x"])
    assert shares.sum() == pytest.approx(1.0)
    on_tenths = np.isclose(grid * 10, np.rint(grid * 10))
    expected = shares[on_tenths].sum()
    seen = np.isclose(drawn["x"] * 10, np.rint(drawn["x"] * 10)).mean()
    assert seen == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 3000))


def test_cells_are_as_many_as_asked_for_or_begin_at_edges():
    assert Grid(0, 99, 1, bins=4).edges.tolist() == [0, 25, 50, 75, 100]
    assert Grid(0, 99, 1, "geometric", bins=3).edges.tolist() == [0, 4, 21, 100]
    assert Grid(0, 5, 1, bins=16).n_cells == 6
    edged = Grid(0, 99, 1, bins=(-5.0, 0.0, 17.5, 65.0, 99.0, 120.0))
    assert edged.edges.tolist() == [0, 18, 65, 100]
    assert edged.words == "range 0 to 99 by 1, 3 declared cells"
    assert Grid(0, 99, 1, bins=4).words == "range 0 to 99 by 1, 4 even cells"
    halves = Grid(0.5, 9.5, 0.5, bins=(0.0, 2.0, 3.25))
    assert halves.cell_of(np.array([0.5, 1.5, 2.0, 3.0, 3.5, 9.5])).tolist() == [0, 0, 1, 1, 2, 2]
    # a cell of nothing but special values is taken in by its neighbour
    assert Grid(0, 9, 1, special=(0.0,), bins=(0.0, 1.0, 5.0)).edges.tolist() == [0, 5, 10]


@pytest.mark.parametrize("bins", [1, 0, -3, 2.5, True, "16", [], [5.0], [1.0, 1.0], [2, "b"], None])
def test_what_are_no_bins_is_refused(bins):
    with refused("synthesis.setting.range", column="age", where="synthesis"):
        declared_bins(bins, "age")
    with pytest.raises((ValueError, TypeError)):
        Grid.from_state({**Grid(0, 9, 1).state(), "bins": bins})


def test_ends_of_moments_are_points_of_the_grid():
    hours = pd.Series(pd.Timestamp("2021-01-09 05:00") + pd.to_timedelta(np.arange(40) * 7, "h"))
    plan = make_plan(Table.from_frame(pd.DataFrame({"x": hours})), {"judged": {}})
    grid = plan.columns["x"].grid
    assert ((grid.high - grid.low) / grid.step).is_integer()
    unit = hours.dt.unit
    low, high = (pd.Timestamp(np.datetime64(int(end), unit)) for end in (grid.low, grid.high))
    assert (low, high) == (pd.Timestamp("2021-01-01"), pd.Timestamp("2021-01-31 23:00"))
