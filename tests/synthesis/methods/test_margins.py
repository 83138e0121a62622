"""Shares of cells as a model: numbers, parents in two steps, and what a file may hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from caveat.synthesis.coding import Grid, Part
from caveat.synthesis.methods import METHODS, Inputs, Settings, Target
from caveat.synthesis.methods.tables import Margins

RNG = np.random.default_rng
NONE = Inputs((), 0)


def rows(*parts: Part) -> Inputs:
    return Inputs(parts, len(parts[0].codes))


def test_a_number_is_drawn_evenly_in_its_cell_and_special_values_never():
    grid = Grid(0, 9, 1, special=(0.0, 3.0, 4.0), bins=2)  # cells 1 2 and 5 6 7 8 9
    model = Margins.of_shares(np.array([0.25, 0.75]), grid=grid)
    assert model.makes_numbers
    drawn = model.draw(Inputs((), 50_000), RNG(1))
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [1, 2, 5, 6, 7, 8, 9]
    p = np.array([0.125] * 2 + [0.15] * 5)
    assert np.abs(counts / 50_000 - p).max() < 5 * np.sqrt(0.15 / 50_000)
    wanted = np.array([*values, 0.0, 3.0, 4.0, 10.0, -1.0, 5.7, np.nan])
    found = np.exp(model.log_prob_of_numbers(Inputs((), len(wanted)), wanted))
    # a number between two points is taken for the nearest, as guarded trees do
    assert found == pytest.approx([*p, 0, 0, 0, 0, 0, 0.15, 0])


def test_decimals_and_offsets_are_those_of_the_grid():
    grid = Grid(0.05, 1.0, 0.05, bins=4)
    model = Margins.of_shares(np.array([1.0, 0, 0, 1.0]), grid=grid)
    drawn = np.unique(model.draw(Inputs((), 2000), RNG(0)))
    assert drawn.tolist() == [0.05, 0.1, 0.15, 0.2, 0.25, 0.8, 0.85, 0.9, 0.95, 1.0]
    assert np.exp(model.log_prob_of_numbers(Inputs((), 10), drawn)) == pytest.approx(0.1)


def test_parents_are_found_by_their_cell_whole_ones_first_then_those_in_two_steps():
    grid = Grid(0, 9, 1, bins=2)
    codes = np.array([0, 1, 0, 1])
    number = Part(np.array([0, 1, 1, 0]), 2, True, np.array([2.0, 7.0]), grid=grid)
    kind = Part(np.array([0, 0, 1, 2]), 3, False)
    joint = np.zeros((2, 4, 8))  # each cell of the parents has one value of its own
    joint[np.repeat([0, 1], 4), np.tile(range(4), 2), np.arange(8)] = 1
    model = Margins.of_shares(joint, split=1)
    inputs = rows(Part(codes, 2, False), number, kind)
    assert model.draw(inputs, RNG(0)).tolist() == [0, 5, 2, 7]
    model.check(inputs.take(slice(0, 0)), Target(np.zeros(0, np.uint8), 8))
    # numbers that no code stands for are in the cell of their value
    exact = replace(number, exact=np.array([9.0, 1.0, 1.0, 1.0]))
    inputs = rows(Part(codes, 2, False), exact, kind)
    assert model.draw(inputs, RNG(0)).tolist() == [1, 4, 2, 7]
    assert np.exp(model.log_prob(inputs, np.array([1, 4, 2, 0]))).tolist() == [1, 1, 1, 0]


def test_unseen_parents_have_the_shares_of_all_and_nothing_at_all_is_impossible():
    model = Margins.of_shares(np.array([[3, 1], [0, 0], [1, 3]]))
    assert model.shares.tolist() == [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]
    nothing = Margins.of_shares(np.zeros((2, 3)))
    inputs = rows(Part(np.array([0, 1]), 2, False))
    assert np.isneginf(nothing.log_prob(inputs, np.array([0, 2]))).all()


def test_a_zero_is_never_drawn_however_small_the_others_are():
    shares = np.zeros((1, 1000))
    shares[0, [3, 500, 998]] = 1e-300, 1e-300, 1.0
    model = Margins.of_shares(shares[0])

    class Last:
        def random(self, n: int) -> np.ndarray:
            return np.full(n, 1 - 2.0**-53)

    assert model.draw(Inputs((), 2), Last()).tolist() == [998, 998]  # type: ignore[arg-type]
    assert set(model.draw(Inputs((), 20_000), RNG(0)).tolist()) <= {3, 500, 998}


def test_it_is_not_fitted_alone():
    with pytest.raises(TypeError, match="use of_shares"):
        METHODS["margins"].fit(NONE, Target(np.array([0]), 1), Settings(), RNG(0))


def test_a_damaged_file_is_refused():
    grid = Grid(0, 9, 1, bins=2)
    target = Target(np.zeros(0, np.uint8), 4, np.arange(4.0), grid=grid)
    inputs = rows(Part(np.zeros(0, np.uint8), 3, False))
    good = Margins.of_shares(np.ones((3, 2)), grid=grid)
    good.check(inputs, target)
    again = Margins.from_state(good.state())
    again.check(inputs, target)
    wrong = [
        {"shares": np.ones((3, 2))},
        {"shares": np.full((3, 3), 1 / 3)},
        {"shares": np.array([[0.5, 0.5], [-1.0, 2.0], [0.5, 0.5]])},
        {"shares": np.array([[0.5, 0.5], [np.nan, 1.0], [0.5, 0.5]])},
        {"shares": np.array([[0.5, 0.5], [0.0, 0.0], [0.5, 0.5]])},
        {"shares": [[0.5, 0.5]]},
        {"parents": (4,)},
        {"parents": ()},
        {"split": 1},
        {"split": True},
        {"grid": None},
        {"grid": replace(grid, bins=5)},
    ]
    for change in wrong:
        with pytest.raises((ValueError, AttributeError)):
            replace(good, **change).check(inputs, target)
