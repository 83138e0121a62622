"""Outliers, piles and rounded answers."""

from __future__ import annotations

import numpy as np

from caveat.findings import look

RNG = np.random.default_rng(21)
N = 4000


def found(values, code):
    return look({"x": np.asarray(values)}).about(code)


def test_an_impossible_value_is_an_outlier():
    values = RNG.normal(26, 4, N)
    assert found(values, "outlier") == ()
    values[17] = 450
    (finding,) = found(values, "outlier")
    assert finding.rows == 1
    assert finding.message.startswith("450 (1 row) is far from all other values")


def test_an_outlier_below():
    values = RNG.normal(170, 9, N).round()
    values[3] = 1
    (finding,) = found(values, "outlier")
    assert "the next smallest value is" in finding.message


def test_a_skewed_tail_is_no_outlier():
    # The largest of N lognormal values with sigma 0.5 is far below twice the second largest.
    assert found(np.exp(RNG.normal(7, 0.5, N)), "outlier") == ()


def test_pile_at_zero():
    values = np.where(RNG.random(N) < 0.6, 0, RNG.lognormal(7, 1, N).round(2))
    (finding,) = found(values, "semi-continuous")
    assert finding.rows == int((values == 0).sum())
    assert found(RNG.poisson(1.0, N) * 1.0, "semi-continuous") == ()


def test_pile_at_the_end():
    ages = np.minimum(RNG.integers(18, 101, N), 90)
    (finding,) = found(ages, "top-code")
    assert finding.rows == int((ages == 90).sum())
    assert found(RNG.integers(18, 91, N), "top-code") == ()


def test_rounded_answers():
    exact = RNG.normal(75, 12, N).round()
    rounded = np.where(RNG.random(N) < 0.4, 5 * np.round(exact / 5), exact)
    assert found(exact, "heaping") == ()
    (finding,) = found(rounded, "heaping")
    assert finding.suggestion["multiple_of"] == 5
    assert finding.rows == int((rounded % 5 == 0).sum())


def test_the_coarsest_base_that_explains_the_heaps_is_named():
    income = RNG.lognormal(7.3, 0.5, N).round()
    income = np.where(RNG.random(N) < 0.7, 100 * np.round(income / 100), income)
    assert found(income, "heaping")[0].suggestion["multiple_of"] == 100


def test_figures_of_mixed_precision_are_not_heaped():
    figures = np.where(
        RNG.random(N) < 0.5, RNG.uniform(0, 1e6, N).round(2), RNG.uniform(0, 1e6, N).round()
    )
    assert found(figures, "heaping") == ()


def test_one_spike_is_not_heaping():
    hours = np.where(RNG.random(N) < 0.3, 37, RNG.integers(10, 60, N))
    assert found(hours, "heaping") == ()
    (finding,) = found(hours, "spike")
    assert finding.rows == int((hours == 37).sum())
