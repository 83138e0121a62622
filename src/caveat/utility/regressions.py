"""Regressions on both sides, and models learnt from the release and tried on the original."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.errors import CaveatError
from caveat.expressions import Formula
from caveat.notes import Z95
from caveat.registry import Late
from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.table import Column, Table
from caveat.table.linked import draw_groups
from caveat.utility.analyses import Fit, fit_all, overlap, read_model
from caveat.utility.correlations import strengths_of
from caveat.utility.pair import WeightedPair, Weights
from caveat.utility.stacked import Encoder, sample_of

RESPONSES = 5
MOST_TRIED = 3 * RESPONSES
PREDICTORS = 5
MOST_LEVELS = 10
AS_MANY = 1000
ROWS = 10_000
"""Rows of each table that these regressions are fitted to."""

# What goes together more than this says the same: a response and a predictor, two predictors.
SAME, NEARLY_SAME = 0.99, 0.9
# The rarer of two levels of a response has at least this share of the rows, and so many rows.
RARER_SHARE, RARER_ROWS = 0.05, 5
# Of the rows with a response so many also have all predictors.
COMPLETE = 0.5
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Agreement:
    """The coefficients of one regression on both sides; the intercept is not among them.

    Attributes
    ----------
    formula, family
        The model.
    terms
        The terms that the original has.
    ratios
        How near each coefficient comes to the original's: the smaller over the larger of the two,
        0 for opposite signs or none; not a number where the original's does not differ from 0.
    overlaps
        Overlap of the 95 % intervals of the same coefficients, at least 0.
    n_original, n_synthetic
        Rows used; 0 if the model cannot be fitted to the release.
    """

    formula: str
    family: str
    terms: tuple[str, ...]
    ratios: Floats
    overlaps: Floats
    n_original: int
    n_synthetic: int

    __repr__ = without_values

    def to_dict(self) -> dict[str, Any]:
        """Return what the evidence holds: no coefficient of the original."""
        return {
            "formula": self.formula,
            "family": self.family,
            "n_original": self.n_original,
            "n_synthetic": self.n_synthetic,
            "terms": int(np.isfinite(self.ratios).sum()),
            "coefficient_ratio": mean_of(self.ratios),
            "interval_overlap": mean_of(self.overlaps),
        }


def mean_of(values: Floats) -> float | None:
    """Return the mean of the values that are numbers; ``None`` if none is."""
    held = values[np.isfinite(values)]
    return float(held.mean()) if len(held) else None


def automatic_models(pair: WeightedPair) -> tuple[str, ...]:
    """Return the regressions that the rule chooses from the original.

    Examples
    --------
    >>> people = {"age": list(range(20, 60)), "pay": [3 * i + 17 * i % 40 for i in range(40)]}
    >>> automatic_models(WeightedPair.of(people, people))
    ('age ~ pay', 'pay ~ age')
    """
    return pair.once_of_original("automatic models", lambda: _choose(pair))


def _choose(pair: WeightedPair) -> tuple[str, ...]:
    found = strengths_of(pair)
    strength = found.strongest
    table = _prepared(pair).original.select(found.names)
    roles = [_roles(table[name]) for name in found.names]
    usable = np.array([is_predictor for _, is_predictor in roles], dtype=bool)
    scores = []
    for i, (as_response, _) in enumerate(roles):
        others = np.where(usable & (strength[i] <= SAME), strength[i], 0.0)
        if as_response and others.any():
            scores.append((-float((np.sort(others)[-PREDICTORS:] ** 2).sum()), i))
    models: list[str] = []
    for _, i in sorted(scores)[:MOST_TRIED]:
        candidates = [j for j in np.argsort(-strength[i], kind="stable").tolist()
                      if usable[j] and 0 < strength[i, j] <= SAME]  # fmt: skip
        chosen = _predictors(table, i, candidates, strength)
        family = "logistic: " if roles[i][0] == "logistic" else ""
        model = _formula(found.names[i], [found.names[j] for j in chosen])
        models += [f"{family}{model}"] if model and _is_telling(pair, family + model) else []
        if len(models) == RESPONSES:
            break
    return tuple(models)


def _is_telling(pair: WeightedPair, model: str) -> bool:
    """Whether a regression on the original has a coefficient that differs from 0.

    None has where the predictors fix the response, as an age fixes whether somebody is old.
    """
    with threadpool_limits(limits=1):
        try:
            _, fit = _fit_original(_prepared(pair), read_model(model))
        except CaveatError:
            return False
    terms = _slopes(fit)
    return bool((np.abs(fit.vector(terms)) > Z95 * _as_many(fit, terms)).any())


def _roles(column: Column) -> tuple[str, bool]:
    """Return the family of a column as a response, "" if it is none, and if it can explain."""
    held = column.counts[: len(column.levels)]
    held = held[held > 0]
    is_number = column.kind.is_number
    family = "linear" if is_number and len(held) > 2 else ""
    if len(held) == 2 and held.min() >= max(RARER_ROWS, RARER_SHARE * held.sum()):
        family = "logistic"
    return family, len(held) > 1 and (is_number or len(held) <= MOST_LEVELS)


def _predictors(table: Table, response: int, candidates: list[int], strength: Floats) -> list[int]:
    """Return the strongest predictors that differ from each other and leave enough rows."""
    names = table.names
    complete = ~table[names[response]].is_missing
    least = COMPLETE * complete.sum()
    chosen: list[int] = []
    for j in candidates:
        rows = complete & ~table[names[j]].is_missing
        if rows.sum() >= least and all(strength[j, k] <= NEARLY_SAME for k in chosen):
            chosen.append(j)
            complete = rows
        if len(chosen) == PREDICTORS:
            break
    return chosen


def _formula(response: str, predictors: list[str]) -> str:
    """Return a formula; "" if it has no predictor or a name cannot be written in one."""
    quoted = [f"`{name}`" for name in predictors]
    for left, right in ((response, predictors), (f"`{response}`", quoted)):
        text = f"{left} ~ {' + '.join(right)}"
        try:
            if predictors and Formula.parse(text).columns == (response, *predictors):
                return text
        except CaveatError:
            continue
    return ""


def agreement(pair: WeightedPair, model: str) -> Agreement:
    """Fit a regression to both tables and compare its coefficients.

    Tables of more than ``ROWS`` rows are sampled. The commonest level of a category is its
    reference. A coefficient that the release cannot estimate is 0 there.
    """

    def found() -> Agreement:
        with threadpool_limits(limits=1):  # small matrices: threads cost more than they bring
            return _agreement(pair, model)

    return pair.once(("agreement", model), found)


def _agreement(pair: WeightedPair, model: str) -> Agreement:
    rows, formula = _prepared(pair), read_model(model)
    theirs: Fit | None = None
    try:
        family, (ours, theirs), _ = fit_all(formula, [rows])
    except CaveatError:  # of the original it is an error, of the release a finding
        family, ours = _fit_original(rows, formula)
    terms = _slopes(ours)
    if not terms:
        raise CaveatError(
            "no term can be estimated", where=model, do="simplify it", code="measure.model.failed"
        )
    b, se = ours.vector(terms), _as_many(ours, terms)
    there = [theirs is not None and term in theirs.estimate for term in terms]
    other, other_se = np.zeros(len(terms)), np.full(len(terms), np.nan)
    if theirs is not None and any(there):
        held = [term for term, is_there in zip(terms, there, strict=True) if is_there]
        other[there], other_se[there] = theirs.vector(held), _as_many(theirs, held)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.maximum(np.fmin(other / b, b / other), 0.0)
        ends = b - Z95 * se, b + Z95 * se, other - Z95 * other_se, other + Z95 * other_se
        shared = np.nan_to_num(overlap(*ends, floor=True))
    differs = np.abs(b) > Z95 * se
    ratio = np.where(differs, np.where(other == 0, 0.0, ratio), np.nan)
    shared = np.where(differs, shared, np.nan)
    n = 0 if theirs is None else theirs.n
    return Agreement(formula.text, family, terms, ratio, shared, ours.n, n)


def _prepared(pair: WeightedPair) -> WeightedPair:
    """Return the rows that regressions are fitted to."""
    return pair.once("regression rows", lambda: _commonest_first(sample_of(pair, ROWS)))


def _fit_original(rows: WeightedPair, formula: Formula) -> tuple[str, Fit]:
    alone = WeightedPair(rows.original, rows.original, weights=rows.weights)
    family, fits, _ = fit_all(formula, [alone])
    return family, fits[0]


def _slopes(fit: Fit) -> tuple[str, ...]:
    """Return the terms without the intercepts."""
    return tuple(term for term in fit.estimate if not term.endswith("Intercept"))


def _as_many(fit: Fit, terms: list[str] | tuple[str, ...]) -> Floats:
    """Return standard errors as ``AS_MANY`` records give them; those of fewer as they are."""
    errors = np.sqrt(np.diag(fit.covariance(terms)))
    return np.asarray(errors * np.sqrt(max(1.0, fit.n / AS_MANY)))


def _commonest_first(pair: WeightedPair) -> WeightedPair:
    """Return the pair with the levels of categories in the order of how common they are."""
    ours, theirs = {}, {}
    for name in pair.names:
        column, other = pair.columns(name)
        if not column.kind.is_number:
            n = len(column.levels)
            order = np.argsort(-pair.weigh(column.codes, column.n_levels)[:n], kind="stable")
            place = np.arange(column.n_levels)
            place[order] = np.arange(n)
            column, other = (
                replace(c, codes=place[c.codes], levels=c.levels[order]) for c in (column, other)
            )
        ours[name], theirs[name] = column, other
    return WeightedPair(Table(ours), Table(theirs), weights=pair.weights)


# -------------------------------------------------------------------------------------------------
# Train on synthetic, test on real: what a model learnt from the release is worth.


_dummy = Late("sklearn.dummy")
_ensemble = Late("sklearn.ensemble")
_linear_model = Late("sklearn.linear_model")
_metrics = Late("sklearn.metrics")
_model_selection = Late("sklearn.model_selection")
_pipeline = Late("sklearn.pipeline")
_preprocessing = Late("sklearn.preprocessing")

Learner = Literal["boosting", "forest", "linear"]


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
