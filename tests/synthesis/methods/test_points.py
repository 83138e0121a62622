"""Points within cells: a distribution on the grid, drawn as it says, moved as records move."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.synthesis.test_grid import grids, points_of, slow
from tests.tree.guarded.slow import log_point

from caveat.synthesis.coding import Grid
from caveat.synthesis.methods.guarded import Points


@st.composite
def counted(draw: st.DrawFn) -> tuple[Grid, np.ndarray, np.ndarray]:
    """A grid, values on it with heaps, and their weights."""
    grid = draw(grids(most=400))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    points = points_of(grid)
    ordinary = points[~grid.is_special(points)]
    n = draw(st.integers(0, 60))
    chosen = rng.choice(ordinary, n)
    heap = rng.random(n) < 0.4
    chosen[heap] = ordinary[np.argmin(np.abs(ordinary - np.rint(ordinary.mean() / 10) * 10))]
    weights = np.ones(n) if draw(st.booleans()) else rng.choice([0.3, 1.0, 4.0], n)
    return grid, grid.values_of(chosen), weights


@settings(max_examples=50)
@given(counted())
def test_shares_are_those_of_the_formulas_and_sum_to_one_in_every_cell(problem):
    grid, values, weights = problem
    points = Points.of(grid, values, weights, 4.0)
    everything = grid.values_of(points_of(grid))
    logs = points.log_prob(everything)
    assert np.array_equal(np.isneginf(logs), grid.is_special(points_of(grid)))
    cells = grid.cell_of(everything)
    sums = np.bincount(cells, np.exp(logs))
    np.testing.assert_allclose(sums, 1.0, atol=1e-12)
    declared = slow(grid)
    held = list(zip(grid.point_of(values).tolist(), weights.tolist(), strict=True))
    for i in range(0, len(everything), max(1, len(everything) // 25)):
        if not np.isneginf(logs[i]):
            assert math.isclose(logs[i], log_point(declared, held, float(everything[i]), 4.0),
                                rel_tol=1e-9, abs_tol=1e-9)  # fmt: skip


@settings(max_examples=50)
@given(counted(), st.integers(0, 2**20))
def test_draws_are_ordinary_points_of_their_cells(problem, seed):
    grid, values, weights = problem
    points = Points.of(grid, values, weights, 4.0)
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, grid.n_cells, 500)
    drawn = points.draw(cells, rng)
    assert np.array_equal(grid.cell_of(drawn), cells)
    found = grid.point_of(drawn)
    assert np.array_equal(grid.values_of(found), drawn)
    assert not grid.is_special(found).any()
    assert np.isfinite(points.log_prob(drawn)).all()


def test_draws_come_as_often_as_their_probability_says():
    rng = np.random.default_rng(0)
    grid = Grid(0, 1200, 1, "geometric", (100.0, 1003.0))
    values = np.concatenate([rng.integers(0, 1200, 80), [1000] * 30, [1150, 1151]]).astype(float)
    kept = values[~np.isin(values, [100, 1003])]
    points = Points.of(grid, kept, np.ones(len(kept)), 4.0)
    last, n = grid.n_cells - 1, 20_000
    inside = np.arange(grid.edges[-2], grid.edges[-1])
    for cell in (int(grid.cell_of(np.array([1000.0]))[0]), last):
        inside = np.arange(grid.edges[cell], grid.edges[cell + 1])
        shares = np.exp(points.log_prob(grid.values_of(inside)))
        drawn = grid.point_of(points.draw(np.full(n, cell), rng))
        seen = np.bincount(drawn - inside[0], minlength=len(inside))
        used = n * shares >= 5
        expected = np.append(n * shares[used], n * shares[~used].sum())
        observed = np.append(seen[used], seen[~used].sum())
        keep = expected > 0
        value = ((observed - expected)[keep] ** 2 / expected[keep]).sum()
        assert value < chi2.isf(1e-6, keep.sum() - 1)


@settings(max_examples=60)
@given(counted(), st.integers(0, 2**20))
def test_a_record_that_goes_and_one_that_comes_are_counted_again(problem, seed):
    grid, values, weights = problem
    assume(len(values) > 0)
    rng = np.random.default_rng(seed)
    ordinary = points_of(grid)[~grid.is_special(points_of(grid))]
    released = grid.values_of(rng.choice(ordinary, 40))
    released[:10] = rng.choice(values, 10)
    points = Points.of(grid, values, weights, 4.0)
    base = points.log_prob(released).sum()
    gone = rng.integers(0, len(values), 12)
    come = grid.values_of(rng.choice(ordinary, 12))
    come[:3] = values[gone[:3]] + grid.step  # beside the one that goes
    come[3] = values[gone[3]]
    come = grid.values_of(grid.point_of(come))
    down = np.where(np.arange(12) == 5, 0.0, weights[gone])
    up = np.where(np.arange(12) == 6, 0.0, rng.choice([0.3, 1.0], 12))
    moved = np.tile(np.arange(12), 2), np.append(values[gone], come), np.append(-down, up)
    changes = points.changes(released, *moved, 12)
    for i in range(12):
        if grid.is_special(grid.point_of(come[i : i + 1]))[0]:
            continue
        left = np.delete(weights, gone[i]) if down[i] else weights
        kept = np.delete(values, gone[i]) if down[i] else values
        other = Points.of(grid, np.append(kept, come[i]), np.append(left, up[i]), 4.0)
        np.testing.assert_allclose(changes[i], other.log_prob(released).sum() - base, rtol=1e-9,
                                   atol=1e-9)  # fmt: skip
