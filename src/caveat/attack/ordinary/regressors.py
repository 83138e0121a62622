"""The attacker's prediction of a number: right if it is near enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from caveat.attack.ordinary.encoding import dense
from caveat.errors import CaveatError
from caveat.nearest import Floats
from caveat.registry import Late
from caveat.table import Column, Table

__all__ = ["REGRESSORS", "best_constant", "within_tolerance"]

_ensemble = Late("sklearn.ensemble")
_linear_model = Late("sklearn.linear_model")
_neighbors = Late("sklearn.neighbors")
_svm = Late("sklearn.svm")

REGRESSORS = ("SVM", "KNN", "RF", "LR", "ENS")
"""The models; ENS is the median of the others. Naive Bayes and FR-NN are for classes only."""


def within_tolerance(
    train: Table,
    people: Table,
    keys: Sequence[str],
    target: str,
    stream: np.random.SeedSequence,
    trees: int,
    tolerance: float,
) -> tuple[dict[str, float], float]:
    """Return the share of people whose number each model meets, and that of the best constant.

    Training records whose target is missing are left out; a missing number of a person is never
    met.
    """
    there = np.flatnonzero(~train[target].is_missing)
    if not len(there):
        raise CaveatError(
            "the target is missing everywhere", column=target, code="attack.target.empty"
        )
    train = train.take(there)
    y, truth = _values(train[target]), _values(people[target])
    centre, spread = float(y.mean()), float(y.std()) or 1.0
    x, z = dense(train, [train, people], keys)
    models = {
        "SVM": _svm.SVR(gamma=1 / x.shape[1]),
        "KNN": _neighbors.KNeighborsRegressor(min(5, len(train))),
        "RF": _ensemble.RandomForestRegressor(
            trees, random_state=int(stream.generate_state(1)[0]), max_features=1 / 3
        ),
        "LR": _linear_model.LinearRegression(),
    }
    with threadpool_limits(1):
        named = {
            name: centre + spread * model.fit(x, (y - centre) / spread).predict(z)
            for name, model in models.items()
        }
    named["ENS"] = np.median(list(named.values()), axis=0)
    found = {name: _share(named[name], truth, tolerance) for name in REGRESSORS}
    constant = np.full(len(truth), best_constant(y, tolerance))
    return found, _share(constant, truth, tolerance)


def best_constant(values: Floats, tolerance: float) -> float:
    """Return the number that meets the most of the values within the tolerance.

    Examples
    --------
    >>> best_constant(np.array([-9.0, -8.0, -7.5, 4.0]), 1.0)
    -8.25
    """
    ordered = np.sort(values)
    ends = np.searchsorted(ordered, ordered + 2 * tolerance, side="right")
    start = int(np.argmax(ends - np.arange(len(ordered))))
    return float((ordered[start] + ordered[ends[start] - 1]) / 2)


def _values(column: Column) -> Floats:
    return np.append(column.numbers, np.full(len(column.missing), np.nan))[column.codes]


def _share(guess: Floats, truth: Floats, tolerance: float) -> float:
    # One part in a billion for the rounding of sums: a tie at the edge counts as met.
    return float(np.mean(np.abs(guess - truth) <= tolerance * (1 + 1e-9)))
