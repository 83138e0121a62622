"""Regressions for classes, against closed forms and the equations they solve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.refusals import refused
from tests.synthesis.methods.cases import Case, inputs_for, target_for

from caveat.synthesis.coding import Part
from caveat.synthesis.methods import Fitted, Inputs, Settings, Target
from caveat.synthesis.methods.classes import RIDGE, Logistic, Multinomial, Ordinal

RNG = np.random.default_rng
PLAIN = Settings()


def table(counts: list[list[int]]) -> tuple[Inputs, Target]:
    """Return one record per cell of a table of predictor by class, weighted by the count."""
    cells = np.array(counts)
    x, y = (axis.ravel() for axis in np.indices(cells.shape))
    target = Target(y, cells.shape[1], weights=cells.ravel().astype(float))
    return Inputs((Part(x, len(cells), False),), len(x)), target


def records(inputs: Inputs, target: Target) -> tuple[Inputs, Target]:
    """Return each record as often as its weight says."""
    repeated = np.repeat(np.arange(inputs.n_rows), target.weights.astype(int))
    return inputs.take(repeated), replace(target, codes=target.codes[repeated], weights=None)


def shares_of(model: Fitted, inputs: Inputs, target: Target) -> np.ndarray:
    """Return the probability of every class, one line for each row."""
    codes = range(target.n_levels)
    logs = [model.log_prob(inputs, np.full(inputs.n_rows, code)) for code in codes]
    return np.exp(np.array(logs).T)


def larger(n_levels: int) -> tuple[Inputs, Target]:
    rng = RNG(3)
    inputs = inputs_for(500, rng)
    target = target_for(Case(n_levels), inputs, rng)
    return inputs, replace(target, weights=rng.uniform(0.5, 4, 500))


def test_logistic_has_the_log_odds_of_a_table():
    inputs, target = table([[40, 60], [70, 30]])
    model = Logistic.fit(inputs, target, PLAIN, RNG(0))
    # the first level is the reference: both have 100 records
    expected = [np.log(60 / 40), np.log(30 / 70) - np.log(60 / 40)]
    # the ridge moves a coefficient b by about b * 1e-6 * (1/40 + 1/60 + 1/70 + 1/30) * 200
    assert model.coefficients == pytest.approx(expected, abs=5e-5)


def test_logistic_solves_its_equations():
    inputs, target = larger(3)
    model = Logistic.fit(inputs, target, PLAIN, RNG(0))
    X = model.design.matrix(inputs)
    p = shares_of(model, inputs, target)[:, 1]
    weights = target.weights / target.weights.sum()
    ridge = RIDGE * np.append(0, model.coefficients[1:])
    assert X.T @ (weights * (target.codes - p)) == pytest.approx(ridge, abs=1e-10)


def test_logistic_refuses_three_classes():
    inputs, target = larger(4)
    with refused("synthesis.column.type"):
        Logistic.fit(inputs, target, PLAIN, RNG(0))


def test_proper_log_odds_have_the_variance_of_the_estimate():
    inputs, target = table([[400, 600], [700, 300]])
    rows, plain = records(inputs, target)
    n, rng = 2000, RNG(4)
    proper = Settings(proper=True)
    drawn = [Logistic.fit(rows, plain, proper, rng).coefficients[1] for _ in range(n)]
    variance = 1 / 400 + 1 / 600 + 1 / 700 + 1 / 300
    mean = np.log(300 / 700) - np.log(600 / 400)
    # four standard errors; the prior takes 0.16 / 112 = 0.1 % off the variance
    assert np.mean(drawn) == pytest.approx(mean, abs=4 * np.sqrt(variance / n))
    assert np.var(drawn) == pytest.approx(variance, rel=4 * np.sqrt(2 / n) + 0.002)


@pytest.mark.parametrize("method", [Logistic, Multinomial, Ordinal])
def test_separated_classes_stay_finite_and_certain(method):
    inputs, target = table([[90, 0], [0, 60], [30, 30]])
    model = method.fit(inputs, target, PLAIN, RNG(0))
    assert np.abs(model.coefficients).max() < 30
    p = shares_of(model, inputs, target)
    assert p[[0, 2, 4]] == pytest.approx(np.array([[1, 0], [0, 1], [0.5, 0.5]]), abs=1e-4)


def test_a_proper_fit_does_not_turn_a_certain_class_round():
    proper = Settings(proper=True)
    for counts in ([[90, 0], [0, 60], [30, 30]], [[90, 0], [0, 60]]):
        cells, target = table(counts)
        inputs, plain = records(cells, target)
        fits = [Logistic.fit(inputs, plain, proper, RNG(seed)) for seed in range(100)]
        p = np.mean([shares_of(model, cells, target) for model in fits], axis=0)
        # without a bound on what the data leave open this mean would be near one half
        assert p[0, 0] > 0.97
        assert p[2, 1] > 0.97


def test_multinomial_on_one_factor_has_the_shares_of_the_table():
    counts = [[10, 20, 70], [50, 30, 20], [5, 90, 5], [40, 40, 20]]
    inputs, target = table(counts)
    model = Multinomial.fit(inputs, target, PLAIN, RNG(0))
    expected = np.repeat(np.array(counts) / 100, 3, axis=0)
    # the ridge moves a log odds b by about b * 1e-6 / (share of the level * p (1 - p))
    assert shares_of(model, inputs, target) == pytest.approx(expected, abs=5e-5)


def test_multinomial_solves_its_equations():
    inputs, target = larger(6)
    model = Multinomial.fit(inputs, target, PLAIN, RNG(0))
    X = model.design.matrix(inputs)
    residuals = np.eye(6)[target.codes] - shares_of(model, inputs, target)
    weights = target.weights / target.weights.sum()
    coefficients = np.zeros((model.design.width, 6))
    coefficients[1:, model.classes] = model.coefficients[1:]
    score = X.T @ (weights[:, None] * residuals)
    assert score == pytest.approx(RIDGE * coefficients, abs=1e-9)


def test_with_two_classes_the_three_methods_agree():
    inputs, target = larger(3)
    p = [
        shares_of(method.fit(inputs, target, PLAIN, RNG(0)), inputs, target)
        for method in (Logistic, Ordinal, Multinomial)
    ]
    assert p[1] == pytest.approx(p[0], abs=1e-9)
    # the multinomial ridge is on two sets of coefficients, each half as large
    assert p[2] == pytest.approx(p[0], abs=1e-5)


def test_ordinal_cut_points_rise_and_lines_sum_to_one():
    inputs, target = larger(7)
    model = Ordinal.fit(inputs, target, PLAIN, RNG(0))
    assert (np.diff(model.cuts) > 0).all()
    p = shares_of(model, inputs, target)
    assert p.sum(axis=1) == pytest.approx(np.ones(500), abs=1e-13)
    assert (p[:, 6] == 0).all()


def test_ordinal_odds_are_proportional():
    inputs, target = larger(7)
    model = Ordinal.fit(inputs, target, PLAIN, RNG(0))
    below = np.cumsum(shares_of(model, inputs, target), axis=1)[:, :5]
    odds = np.log(below / (1 - below))
    eta = model.design.matrix(inputs) @ model.coefficients
    assert odds == pytest.approx(model.cuts - eta[:, None], abs=1e-9)


def test_ordinal_has_the_largest_penalised_likelihood():
    inputs, target = larger(7)
    model = Ordinal.fit(inputs, target, PLAIN, RNG(0))
    weights = target.weights / target.weights.sum()

    def value(cuts: np.ndarray, coefficients: np.ndarray) -> float:
        moved = replace(model, cuts=cuts, coefficients=coefficients)
        fit = weights @ moved.log_prob(inputs, target.codes)
        return fit - RIDGE / 2 * coefficients[1:] @ coefficients[1:]

    def slope(size: int, of: object) -> list[float]:
        units = np.eye(size) * 1e-5
        return [(of(unit) - of(-unit)) / 2e-5 for unit in units]

    by_cut = slope(len(model.cuts), lambda d: value(model.cuts + d, model.coefficients))
    by_coefficient = slope(model.design.width, lambda d: value(model.cuts, model.coefficients + d))
    assert by_cut == pytest.approx(np.zeros(len(by_cut)), abs=1e-8)
    assert by_coefficient[1:] == pytest.approx(np.zeros(len(by_coefficient) - 1), abs=1e-8)


@pytest.mark.parametrize("method", [Logistic, Multinomial, Ordinal])
def test_numbers_are_refused(method):
    inputs, target = larger(3)
    with refused("synthesis.column.type"):
        method.fit(inputs, replace(target, numbers=np.arange(3.0)), PLAIN, RNG(0))


@pytest.mark.parametrize("method", [Multinomial, Ordinal])
def test_too_many_classes_are_refused(method):
    n = 20_000
    with refused("synthesis.predictor.too-many"):
        method.fit(Inputs((), n), Target(np.arange(n), n), PLAIN, RNG(0))
