"""Detection: how well boosted trees tell synthetic from original rows they were not trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.registry import Late
from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.table.linked import Members
from caveat.utility.features import Encoder
from caveat.utility.pair import WeightedPair
from caveat.utility.stacked import stacked_weights

__all__ = ["Detection", "detection", "detector"]

_ensemble = Late("sklearn.ensemble")
_metrics = Late("sklearn.metrics")
_model_selection = Late("sklearn.model_selection")


@dataclass(frozen=True, eq=False)
class Detection:
    """Out-of-fold scores of boosted trees.

    Attributes
    ----------
    scores
        The probability to be synthetic, from a model that did not see the row; synthetic rows
        first.
    is_synthetic
        Which rows are synthetic.
    aucs
        Area under the ROC curve in each fold.
    """

    scores: NDArray[np.float64]
    is_synthetic: NDArray[np.bool_]
    aucs: NDArray[np.float64]

    __repr__ = without_values

    @property
    def auc(self) -> float:
        """Mean over the folds: ½ if nothing can be told apart, 1 if everything."""
        return float(self.aucs.mean())

    @property
    def leaks(self) -> bool:
        """Whether the mean lies more than three standard errors below ½.

        Rows that stand in both tables make a model guess wrong on purpose: it has seen the twin of
        a test row under the other label. A value below ½ is a hint of copies, not of quality.
        """
        n = int(self.is_synthetic.sum())
        m = len(self.is_synthetic) - n
        return bool(self.auc < 0.5 - 3 * np.sqrt((n + m + 1) / (12 * n * m)))


def detection(pair: WeightedPair, *, folds: int = 3, seed: int = 0) -> Detection:
    """Train boosted trees on shuffled folds of both tables.

    Parameters
    ----------
    pair
        The two tables.
    folds
        Number of folds.
    seed
        Seed of the folds.
    """
    is_synthetic = np.arange(pair.n_synthetic + pair.n_original)
    return detector(pair, folds=folds, seed=seed)(is_synthetic < pair.n_synthetic)


def detector(
    pair: WeightedPair,
    names: Sequence[str] | None = None,
    *,
    folds: int = 3,
    seed: int = 0,
) -> Callable[[NDArray[np.bool_]], Detection]:
    """Prepare what does not depend on which rows are called synthetic."""
    encoder = Encoder(pair, pair.choose(names), dense=False)
    x = np.concatenate([encoder.matrix(t) for t in (pair.synthetic, pair.original)])
    weights = stacked_weights(pair)

    def detect(response: NDArray[np.bool_]) -> Detection:
        scores, aucs = np.empty(len(x)), []
        for train, test in _folds(pair, response, folds, seed):
            model = _ensemble.HistGradientBoostingClassifier(
                categorical_features=encoder.categorical, max_iter=60, random_state=seed
            )
            # Threads that wait for a busy core burn many times the time that they save.
            with threadpool_limits(limits=1):
                model.fit(x[train], response[train], None if weights is None else weights[train])
                scores[test] = model.predict_proba(x[test])[:, 1]
            weight = None if weights is None else weights[test]
            aucs.append(_metrics.roc_auc_score(response[test], scores[test], sample_weight=weight))
        return Detection(scores, response, np.array(aucs))

    return detect


def _folds(
    pair: WeightedPair, response: NDArray[np.bool_], folds: int, seed: int
) -> Iterable[tuple[NDArray[Any], NDArray[Any]]]:
    """Return rows to train on and to test on; rows that belong together are on one side."""
    if pair.groups is None:
        shuffled = _model_selection.StratifiedKFold(folds, shuffle=True, random_state=seed)
        return list(shuffled.split(np.empty(len(response)), response))
    rng = rng_of(seed)

    def fold_of(members: Members) -> NDArray[np.int64]:
        filled, place = np.unique(members.group, return_inverse=True)
        return np.asarray((rng.permutation(len(filled)) % folds)[place])

    fold = np.concatenate([fold_of(pair.groups.synthetic), fold_of(pair.groups.original)])
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(folds)]
