"""Train on synthetic, test on real: what a model learnt from the release is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.errors import CaveatError
from caveat.registry import Late
from caveat.seeds import rng_of
from caveat.table import Table
from caveat.table.linked import draw_groups
from caveat.utility.features import Encoder
from caveat.utility.pair import WeightedPair
from caveat.utility.weighting import Weights

__all__ = ["Prediction", "train_on_synthetic"]

_dummy = Late("sklearn.dummy")
_ensemble = Late("sklearn.ensemble")
_linear_model = Late("sklearn.linear_model")
_metrics = Late("sklearn.metrics")
_model_selection = Late("sklearn.model_selection")
_pipeline = Late("sklearn.pipeline")
_preprocessing = Late("sklearn.preprocessing")

Learner = Literal["boosting", "forest", "linear"]
Floats = NDArray[np.float64]


FEWEST = 2  # records on which a prediction is tested: one alone has no R²


@dataclass(frozen=True)
class Prediction:
    """Scores on the same real records.

    Attributes
    ----------
    target
        The predicted column.
    score
        "R²" for numbers, "F1 (macro)" for categories.
    trained_on_synthetic, trained_on_original
        The score after training on either table.
    naive
        The score of always predicting the mean or the commonest category.
    n_test
        Number of test records.
    outside
        Whether the test records were outside of the data the release was made from. If not, the
        release may know them: a third of the original is set aside for the test.
    """

    target: str
    score: str
    trained_on_synthetic: float
    trained_on_original: float
    naive: float
    n_test: int
    outside: bool


def train_on_synthetic(
    pair: WeightedPair,
    target: str,
    *,
    learner: Learner = "boosting",
    seed: int = 0,
) -> Prediction:
    """Train the same model on both tables and test it on real records.

    Parameters
    ----------
    pair
        The two tables; with a control, the models are tested on it. Real records count by their
        survey weights, in the training and in the test.
    target
        The column to predict from all others. Rows that lack it are left out.
    learner
        "boosting", "forest" or "linear" (logistic for categories), from scikit-learn.
    seed
        Seed of the split and of the models.
    """
    pair.choose([target])
    outside = pair.control
    number = pair.original[target].kind.is_number
    others = [name for name in pair.names if name != target]
    if not others:
        raise _untrainable(
            "there is no other column to predict it from", target, code="data.column.too-few"
        )
    encoder = Encoder(pair, others, dense=learner == "linear")

    def data(table: Table, weights: Weights = None) -> tuple[Floats, Floats, Weights]:
        held, y = _response(table, target)
        return encoder.matrix(table)[held], y, None if weights is None else weights[held]

    x, y, w = data(pair.original, pair.weights)
    synthetic = data(pair.synthetic)
    if outside is None:
        train, test = _split(pair, _response(pair.original, target)[0], seed)
        xt, yt, wt = x[test], y[test], None if w is None else w[test]
        x, y, w = x[train], y[train], None if w is None else w[train]
    else:
        xt, yt, wt = data(outside, pair.control_weights)
    if min(len(y), len(synthetic[1])) == 0 or len(yt) < FEWEST:
        raise _untrainable(
            "too few records have it to train and test a prediction",
            target,
            code="data.record.too-few",
        )
    naive = (_dummy.DummyRegressor() if number else _dummy.DummyClassifier()).fit(x, y, w)
    with threadpool_limits(limits=1):
        guesses = [
            _fit(_model(learner, number, encoder.categorical, seed), *known).predict(xt)
            for known in (synthetic, (x, y, w))
        ]
    guesses.append(naive.predict(xt))
    theirs, ours, least = (_score(number, yt, guess, wt) for guess in guesses)
    figure = "R²" if number else "F1 (macro)"
    return Prediction(target, figure, theirs, ours, least, len(yt), outside is not None)


def _untrainable(why: str, target: str, code: str) -> CaveatError:
    return CaveatError(why, column=target, do="choose another target, or leave it out", code=code)


def _split(
    pair: WeightedPair, held: NDArray[np.bool_], seed: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Set a third aside, of groups if rows belong together: nobody is tested by her household."""
    n = int(held.sum())
    if n < 2:
        return np.arange(n), np.arange(0)
    if pair.groups is None or pair.groups.original.n_groups < 2:
        train, test = _model_selection.train_test_split(
            np.arange(n), test_size=1 / 3, random_state=seed
        )
        return train, test
    aside = draw_groups(pair.groups.original, pair.n_original // 3, rng_of(seed))[held]
    return np.flatnonzero(~aside), np.flatnonzero(aside)


def _fit(model: Any, x: Floats, y: Floats, weights: Weights) -> Any:
    if weights is None:
        return model.fit(x, y)
    if hasattr(model, "steps"):  # a pipeline passes weights to a step by its name
        return model.fit(x, y, **{f"{model.steps[-1][0]}__sample_weight": weights})
    return model.fit(x, y, sample_weight=weights)


def _score(number: bool, truth: Floats, guess: Floats, weights: Weights) -> float:
    if number:
        return float(_metrics.r2_score(truth, guess, sample_weight=weights))
    return float(
        _metrics.f1_score(truth, guess, average="macro", zero_division=0, sample_weight=weights)
    )


def _response(table: Table, target: str) -> tuple[NDArray[np.bool_], Floats]:
    """Return which rows have the target, and its values there."""
    column = table[target]
    held = ~column.is_missing
    codes = column.codes[held]
    return held, column.numbers[codes] if column.kind.is_number else codes.astype(np.float64)


def _model(learner: Learner, number: bool, categorical: NDArray[np.bool_], seed: int) -> Any:
    if learner == "boosting":
        kind = (
            _ensemble.HistGradientBoostingRegressor
            if number
            else _ensemble.HistGradientBoostingClassifier
        )
        return kind(categorical_features=categorical, max_iter=60, random_state=seed)
    if learner == "forest":
        kind = _ensemble.RandomForestRegressor if number else _ensemble.RandomForestClassifier
        return kind(n_estimators=100, min_samples_leaf=2, random_state=seed)
    if number:
        return _linear_model.LinearRegression()
    return _pipeline.make_pipeline(
        _preprocessing.StandardScaler(), _linear_model.LogisticRegression(max_iter=500)
    )
