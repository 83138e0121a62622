"""Normal regression, on numbers and on ranks, against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from tests.refusals import refused

from caveat.synthesis.coding import Part
from caveat.synthesis.methods import Inputs, Settings, Target
from caveat.synthesis.methods.normal import Normal, Normrank, _scores, log_normal_between

RNG = np.random.default_rng


def regression(n: int = 300) -> tuple[Inputs, Target, np.ndarray]:
    """Return inputs, a target with weights, and the design matrix in plain coordinates."""
    rng = RNG(11)
    x = Part(rng.integers(0, 20, n), 20, True, np.linspace(-3, 50, 20))
    g = Part(rng.integers(0, 3, n), 3, False)
    numbers = np.arange(-40, 120) / 2
    y = 20 + 0.5 * x.numbers[x.codes] + 3 * (g.codes == 1) + rng.normal(0, 4, n)
    codes = np.abs(numbers - y[:, None]).argmin(axis=1)
    weights = rng.uniform(1, 20, n)
    target = Target(codes, len(numbers), numbers, True, weights=weights, decimals=1)
    X = np.column_stack([np.ones(n), x.numbers[x.codes], g.codes == 1, g.codes == 2]).astype(float)
    return Inputs((x, g), n), target, X


def weighted_fit(target: Target, X: np.ndarray) -> tuple[np.ndarray, float]:
    """Return fitted means and deviation by numpy's least squares on rows times root weight."""
    root = np.sqrt(target.weights)
    y = target.numbers[target.codes]
    beta = np.linalg.lstsq(root[:, None] * X, root * y, rcond=None)[0]
    return X @ beta, np.sqrt(target.weights @ (y - X @ beta) ** 2 / target.weights.sum())


def test_normal_is_weighted_least_squares_with_the_weighted_variance():
    inputs, target, X = regression()
    model = Normal.fit(inputs, target, Settings(), RNG(0))
    means, deviation = weighted_fit(target, X)
    assert model.linear(inputs)[:, 0] == pytest.approx(means, abs=1e-9)
    assert model.deviation == pytest.approx(deviation, abs=1e-10)


def test_normal_gives_the_probability_of_the_rounded_number():
    inputs, target, X = regression()
    model = Normal.fit(inputs, target, Settings(), RNG(0))
    means, s = weighted_fit(target, X)
    y = target.numbers[target.codes]
    expected = norm.cdf((y + 0.05 - means) / s) - norm.cdf((y - 0.05 - means) / s)
    assert np.exp(model.log_prob(inputs, target.codes)) == pytest.approx(expected, rel=1e-8)


def test_the_scale_of_the_weights_does_not_matter():
    inputs, target, _ = regression()
    many = replace(target, weights=target.weights * 1000)
    for settings in (Settings(), Settings(proper=True)):
        one, other = (Normal.fit(inputs, t, settings, RNG(5)) for t in (target, many))
        assert one.coefficients == pytest.approx(other.coefficients, rel=1e-9)


def test_a_predictor_given_twice_changes_nothing():
    inputs, target, X = regression()
    twice = Inputs((*inputs.parts, *inputs.parts), inputs.n_rows)
    model = Normal.fit(twice, target, Settings(), RNG(0))
    means, deviation = weighted_fit(target, X)
    assert model.linear(twice)[:, 0] == pytest.approx(means, abs=1e-8)
    assert model.deviation == pytest.approx(deviation)


def test_proper_coefficients_have_the_covariance_of_the_estimate():
    inputs, target, X = regression()
    means, deviation = weighted_fit(target, X)
    scaled = target.weights * len(X) / target.weights.sum()
    x = X[3]
    variance = deviation**2 * x @ np.linalg.inv(X.T @ (scaled[:, None] * X)) @ x
    row, rng, n = inputs.take(np.array([3])), RNG(8), 2000
    proper = Settings(proper=True)
    drawn = [Normal.fit(inputs, target, proper, rng).linear(row)[0, 0] for _ in range(n)]
    # four standard errors of a mean and of a variance of normal draws
    assert np.mean(drawn) == pytest.approx(means[3], abs=4 * np.sqrt(variance / n))
    assert np.var(drawn) == pytest.approx(variance, rel=4 * np.sqrt(2 / n))


def test_numbers_without_a_unit_have_no_probability():
    inputs, target, _ = regression()
    model = Normal.fit(inputs, replace(target, decimals=15), Settings(), RNG(0))
    assert model.log_prob(inputs, target.codes) is None
    nanoseconds = replace(target, numbers=target.numbers * 1e6 + 1.7e18, decimals=0)
    model = Normal.fit(inputs, nanoseconds, Settings(), RNG(0))
    assert model.log_prob(inputs, target.codes) is None


def test_tails_keep_their_digits():
    assert log_normal_between(np.array([-1.0]), np.array([2.0])) == pytest.approx(
        np.log(norm.cdf(2) - norm.cdf(-1))
    )
    # 1 - Phi(z) is about phi(z)/z (1 - 1/z^2 + 3/z^4)
    z = 40.0
    tail = norm.logpdf(z) - np.log(z) + np.log1p(-1 / z**2 + 3 / z**4)
    for low, high in ((z, 50.0), (-50.0, -z), (z, np.inf), (-np.inf, -z)):
        assert log_normal_between(np.array([low]), np.array([high])) == pytest.approx(
            tail, rel=1e-9
        )
    assert log_normal_between(np.array([-np.inf]), np.array([np.inf])) == 0


def test_scores_have_mean_zero_and_their_variances_add_up_to_one():
    shares = np.array([0.7, 0.05, 0.05, 0.15, 0.05])
    cuts = norm.ppf(np.cumsum(shares)[:-1])
    scores, within = _scores(cuts, shares)
    assert shares @ scores == pytest.approx(0, abs=1e-15)
    assert shares @ (scores**2 + within) == pytest.approx(1)
    # the mean of a normal variable below its 70 % quantile
    assert scores[0] == pytest.approx(-norm.pdf(norm.ppf(0.7)) / 0.7)


def test_normrank_is_a_regression_of_the_scores():
    inputs, target, X = regression()
    model = Normrank.fit(inputs, target, Settings(), RNG(0))
    counts = np.bincount(target.codes, target.weights, minlength=target.n_levels)
    values = np.flatnonzero(counts)
    shares = counts[values] / counts.sum()
    scores, within = _scores(norm.ppf(np.cumsum(shares)[:-1]), shares)
    cell = np.searchsorted(values, target.codes)
    root = np.sqrt(target.weights)
    beta = np.linalg.lstsq(root[:, None] * X, root * scores[cell], rcond=None)[0]
    rest = (scores[cell] - X @ beta) ** 2 + within[cell]
    assert model.linear(inputs)[:, 0] == pytest.approx(X @ beta, abs=1e-8)
    assert model.deviation == pytest.approx(np.sqrt(np.average(rest, weights=target.weights)))


def test_normrank_keeps_a_lumpy_distribution_whatever_the_shape():
    inputs, target, _ = regression()
    lumpy = replace(target, codes=np.where(target.codes < 100, 0, target.codes), weights=None)
    model = Normrank.fit(inputs, lumpy, Settings(), RNG(0))
    p = np.zeros(target.n_levels)
    for code in range(target.n_levels):
        p[code] = np.exp(model.log_prob(inputs, np.full(inputs.n_rows, code))).mean()
    shares = np.bincount(lumpy.codes, minlength=target.n_levels) / inputs.n_rows
    assert p.sum() == pytest.approx(1)
    # linear regression of normal scores is not the true model, so the marginal is near, not equal
    assert p[0] == pytest.approx(shares[0], abs=0.02)
    assert (p[shares == 0] == 0).all()


@pytest.mark.parametrize("method", [Normal, Normrank])
def test_classes_are_refused(method):
    inputs, target, _ = regression(20)
    with refused("synthesis.column.type"):
        method.fit(inputs, replace(target, numbers=None), Settings(), RNG(0))


def test_infinite_numbers_are_refused():
    inputs, target, _ = regression(20)
    numbers = np.where(np.arange(target.n_levels) == target.codes[0], np.inf, target.numbers)
    with refused("data.value.infinite"):
        Normal.fit(inputs, replace(target, numbers=numbers), Settings(), RNG(0))
