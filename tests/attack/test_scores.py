"""Scores learnt from releases with and without a record."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from caveat.attack.scores import SCORES, STRUCTURE, Looks, log_odds


def looks(shift, n=200, seed=0):
    rng = np.random.default_rng(seed)
    return Looks(rng.normal(size=(n, 6)) + shift, rng.normal(size=(n, 10)))


def test_log_odds_are_those_of_a_logistic_regression_with_a_ridge():
    inside, outside = looks(0.4, 40, 1).features, looks(0.0, 300, 2).features
    both = np.concatenate([inside, outside])
    scaled = (both - both.mean(axis=0)) / both.std(axis=0)
    model = LogisticRegression(C=0.1, class_weight="balanced", tol=1e-10, max_iter=5000)
    model.fit(scaled, np.arange(len(both)) < len(inside))
    found = log_odds(inside, outside, 0.1)(both)
    assert found == pytest.approx(model.decision_function(scaled), abs=1e-5)


def test_nothing_to_learn_gives_nothing():
    same = looks(0.0)
    assert log_odds(same.features, same.features, 1.0)(same.features) == pytest.approx(0, abs=1e-9)


def test_lira_is_the_ratio_of_two_normal_densities():
    inside, outside, new = looks(1.0, seed=1), looks(0.0, seed=2), looks(0.5, seed=3)
    found = SCORES["LiRA"](inside, outside)(new)
    first, second = (
        norm.logpdf(new.density, side.density.mean(), side.density.std())
        for side in (inside, outside)
    )
    assert found == pytest.approx(first - second, abs=1e-6)


def test_rmia_counts_the_others_who_gained_less():
    inside, outside = looks(1.0, seed=1), looks(0.0, seed=2)
    score = SCORES["RMIA"](inside, outside)
    high, low = (Looks(np.full((1, 6), level), np.zeros((1, 10))) for level in (50.0, -50.0))
    assert (score(high)[0], score(low)[0]) == (1.0, 0.0)


def test_own_structure_is_the_ratio_as_it_stands():
    seen = looks(0.0, 3)._replace(ratio=np.array([0.5, -1.0, 2.0]))
    score = SCORES[STRUCTURE](seen, seen)
    assert score(seen).tolist() == [0.5, -1.0, 2.0]
    assert score(seen.take(slice(1, None))).tolist() == [-1.0, 2.0]


def test_domias_is_the_density():
    new = looks(0.0)
    assert np.array_equal(SCORES["DOMIAS"](new, new)(new), new.density)
