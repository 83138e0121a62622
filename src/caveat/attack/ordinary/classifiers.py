"""The attacker's classification problem (Hittmeir, Mayer and Ekelhart 2020).

A model learns the target from the keys in the release and names it for people whose keys are known.
The same models trained on the original are the upper reference; people who were not in the data
are the control.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.attack.entry import Attack, Finding, Option
from caveat.attack.ordinary.common import CONTROL, KEYS, SEED, TARGET, TARGET_TOLERANCE
from caveat.attack.ordinary.confusion import confusion, confusion_of_shares, macro_f1, matthews
from caveat.attack.ordinary.encoding import dense, prepare
from caveat.attack.ordinary.frnn import frnn
from caveat.attack.ordinary.prediction_measures import measures_of
from caveat.attack.ordinary.regressors import within_tolerance
from caveat.errors import CaveatError
from caveat.nearest import Floats
from caveat.notes import Note
from caveat.registry import Late
from caveat.risk.measurement import Measurement, rate, undefined
from caveat.table import Table

__all__ = ["ATTACK", "CLASSIFIERS", "Prediction", "Scores", "accuracies", "majority", "prediction"]

_ensemble = Late("sklearn.ensemble")
_linear_model = Late("sklearn.linear_model")
_bayes = Late("sklearn.naive_bayes")
_neighbors = Late("sklearn.neighbors")
_svm = Late("sklearn.svm")

Ints = NDArray[np.int64]
Figure = Literal["accuracy", "f1", "mcc"]

NAMES = {
    "NB": "naive Bayes: normal numbers, categories with one added to each count",
    "SVM": "support vector machine with a radial kernel, width 1/number of columns",
    "KNN": "five nearest neighbours",
    "RF": "random forest",
    "LR": "logistic regression",
    "FR-NN": "all records at the least Hamming distance (Algorithm 3.1)",
}
CLASSIFIERS = (*NAMES, "ENS")
"""The classifiers; ENS is the majority vote of the others."""


@dataclass(frozen=True)
class Scores:
    """Accuracies, 0 to 1, of one set of keys by the name of the classifier.

    Attributes
    ----------
    keys
        The keys.
    accuracy
        By classifier; in a tie of the ensemble the class named first counts, in the order of
        ``CLASSIFIERS``.
    zero_rule
        The accuracy of naming the commonest target of the training table for everybody.
    f1, mcc
        F1 macro and Matthews' correlation by classifier; empty where numbers are predicted.
    zero_f1
        F1 macro of the zero rule; its correlation is 0.
    """

    keys: tuple[str, ...]
    accuracy: Mapping[str, float]
    zero_rule: float
    f1: Mapping[str, float] = field(default_factory=dict)
    mcc: Mapping[str, float] = field(default_factory=dict)
    zero_f1: float = 0.0


@dataclass(frozen=True)
class Prediction:
    """What the models make of a release.

    Attributes
    ----------
    attack
        Trained on the release, asked about the people in the original: one entry per set of keys.
    reference
        Trained on the original itself and asked about the same people.
    control
        Trained on the release, asked about people who were not in the data.
    n, n_control
        Number of people asked about.
    """

    target: str
    attack: tuple[Scores, ...]
    reference: tuple[Scores, ...]
    control: tuple[Scores, ...] | None
    n: int
    n_control: int | None

    def summary(
        self, name: str, which: str = "attack", figure: Figure = "accuracy"
    ) -> tuple[float, float]:
        """Return mean and (population) standard deviation over the sets of keys."""
        values = [getattr(scores, figure)[name] for scores in getattr(self, which)]
        return float(np.mean(values)), float(np.std(values))

    @property
    def names(self) -> tuple[str, ...]:
        """The models that were used."""
        return tuple(self.attack[0].accuracy)

    def measurement(self, name: str = "ENS") -> Measurement:
        """Return the accuracy of one model, a mean over the sets of keys, as a measurement."""
        mean, sd = self.summary(name)
        control = None if self.control is None else self.summary(name, "control")[0]
        return rate(
            mean * self.n,
            self.n,
            baseline=float(np.mean([scores.zero_rule for scores in self.attack])),
            reference=self.summary(name, "reference")[0],
            control=control,
            control_n=self.n_control,
            details={"sets of keys": len(self.attack), "sd over sets of keys": sd},
        )

    def score(self, figure: Literal["f1", "mcc"], name: str = "ENS") -> Measurement:
        """Return F1 macro or Matthews' correlation of one model, a mean over the sets of keys."""
        if not getattr(self.attack[0], figure):
            numbers = Note("numbers", "it is for classes; the target is a number with a tolerance")
            return undefined(numbers, n=self.n)
        mean, sd = self.summary(name, figure=figure)
        by_rule = [scores.zero_f1 if figure == "f1" else 0.0 for scores in self.attack]
        control = None if self.control is None else self.summary(name, "control", figure)[0]
        return Measurement(
            mean,
            baseline=float(np.mean(by_rule)),
            reference=self.summary(name, "reference", figure)[0],
            control=control,
            control_n=self.n_control,
            n=self.n,
            details={"sets of keys": len(self.attack), "sd over sets of keys": sd},
        )


def prediction(
    original: Any,
    synthetic: Any,
    *,
    keys: Sequence[str],
    target: str,
    control: Any = None,
    size: int | None = None,
    tolerance: float | None = None,
    trees: int = 100,
    seed: int = 0,
) -> Prediction:
    """Train models on the release and ask them about the people in the original.

    Parameters
    ----------
    original, synthetic, control
        Frames or tables; the control are people who were not in the data.
    keys, target
        What the attacker knows, and what she wants to learn.
    size
        Use every combination of so many keys instead of all keys together.
    tolerance
        For a numeric target: regressions are trained, and a guess is right if it lies no farther
        from the truth than this. Without it every distinct value is a class.
    trees
        Trees of the forest.
    seed
        Root of the randomness of the forest and of votes.
    """
    _check_keys(keys, target, size)
    tables = prepare(original, synthetic, control, [*keys, target])
    subsets = [tuple(keys)] if size is None else list(combinations(keys, size))
    # One child per set of keys, the same for all three: only training and people differ.
    streams = np.random.SeedSequence(seed).spawn(len(subsets))
    ask: Callable[..., Scores] = accuracies
    if tolerance is not None:
        ask = _numeric(tables.original, target, tolerance)

    def run(train: Table, people: Table) -> tuple[Scores, ...]:
        return tuple(
            ask(train, people, subset, target, stream, trees)
            for subset, stream in zip(subsets, streams, strict=True)
        )

    return Prediction(
        target,
        run(tables.synthetic, tables.original),
        run(tables.original, tables.original),
        None if tables.control is None else run(tables.synthetic, tables.control),
        len(tables.original),
        None if tables.control is None else len(tables.control),
    )


def _check_keys(keys: Sequence[str], target: str, size: int | None) -> None:
    if not keys:
        raise CaveatError(
            "no key is named", do="say which columns an attacker may know", code="attack.key.absent"
        )
    if target in keys:
        raise CaveatError(
            "a key is also the target", column=target, do="drop one", code="attack.key.conflict"
        )
    if not 1 <= (size or 1) <= len(keys):
        raise CaveatError(
            f"there are no subsets of {size} among {len(keys)} keys", code="attack.setting.range"
        )


def accuracies(
    train: Table,
    people: Table,
    keys: Sequence[str],
    target: str,
    stream: np.random.SeedSequence,
    trees: int = 100,
) -> Scores:
    """Train every classifier on one table and ask it about the people of another.

    Both tables are on common levels. Models of scikit-learn have its default settings.
    """
    truth, learnt = people[target].codes, train[target].codes
    n_targets = train[target].n_levels
    forest_seed, vote_seed = stream.generate_state(2)
    shares = frnn(train, people, keys, target)
    named = {
        name: np.asarray(guess)
        for name, guess in _guesses(train, people, keys, learnt, trees, int(forest_seed)).items()
    }
    found = {name: confusion(truth, guess, n_targets) for name, guess in named.items()}
    found["FR-NN"] = confusion_of_shares(truth, shares)
    ordered = {name: float(np.mean(named[name] == truth)) for name in named}
    ordered["FR-NN"] = _shared(shares, truth)
    rng = np.random.default_rng(vote_seed)
    named["FR-NN"] = np.argmax(
        np.where(shares == shares.max(axis=1, keepdims=True), rng.random(shares.shape), -1.0),
        axis=1,
    )
    votes = majority([named[name] for name in NAMES], n_targets)
    ordered["ENS"] = float(np.mean(votes == truth))
    found["ENS"] = confusion(truth, votes, n_targets)
    counts = np.repeat(train[target].counts.astype(np.float64)[None], len(people), axis=0)
    return Scores(
        tuple(keys),
        {name: ordered[name] for name in CLASSIFIERS},
        _shared(counts, truth),
        {name: macro_f1(found[name]) for name in CLASSIFIERS},
        {name: matthews(found[name]) for name in CLASSIFIERS},
        macro_f1(confusion_of_shares(truth, counts)),
    )


def _guesses(
    train: Table, people: Table, keys: Sequence[str], learnt: Any, trees: int, seed: int
) -> dict[str, Ints]:
    """Return what the models of scikit-learn name."""
    if len(np.unique(learnt)) == 1:
        same = np.full(len(people), learnt[0])
        return {name: same for name in NAMES if name != "FR-NN"}
    x, z = dense(train, [train, people], keys)
    models = {
        "SVM": _svm.SVC(gamma=1 / x.shape[1]),
        "KNN": _neighbors.KNeighborsClassifier(),
        "RF": _ensemble.RandomForestClassifier(trees, random_state=seed % 2**32),
        "LR": _linear_model.LogisticRegression(max_iter=1000),
    }
    if len(train) < 5:
        models["KNN"] = _neighbors.KNeighborsClassifier(len(train))
    with threadpool_limits(1):
        found = {name: model.fit(x, learnt).predict(z) for name, model in models.items()}
    return {"NB": _naive_bayes(train, people, keys, learnt), **found}


def _naive_bayes(train: Table, people: Table, keys: Sequence[str], learnt: Any) -> Ints:
    """Name the class of the largest joint likelihood: normal numbers, counted categories."""
    numbers = [key for key in keys if train[key].kind.has_order and not train[key].missing]
    others = [key for key in keys if key not in numbers]
    classes, counts = np.unique(learnt, return_counts=True)
    score = np.log(counts / counts.sum())[None].repeat(len(people), axis=0)
    prior = score.copy()
    if numbers:
        x, z = dense(train, [train, people], numbers)
        score += _bayes.GaussianNB().fit(x, learnt).predict_joint_log_proba(z) - prior
    if others:
        levels = [train[key].n_levels for key in others]
        known, asked = (np.stack([t[key].codes for key in others], 1) for t in (train, people))
        model = _bayes.CategoricalNB(min_categories=levels).fit(known, learnt)
        score += model.predict_joint_log_proba(asked) - prior
    return np.asarray(classes[np.argmax(score, axis=1)])


def majority(guesses: Sequence[Ints], n_targets: int) -> Ints:
    """Return the class that most name; of several, the one that is named first.

    That is how the paper's figures come about: six voters are often three against three, and of
    the rules for a tie only this one gives its ensemble in all six tables.

    Examples
    --------
    >>> majority([np.array([1]), np.array([0]), np.array([0]), np.array([1])], 2).tolist()
    [1]
    """
    named = np.stack(guesses, axis=1)
    votes = np.stack([(named == target).sum(axis=1) for target in range(n_targets)], axis=1)
    support = np.take_along_axis(votes, named, axis=1)
    return np.take_along_axis(named, support.argmax(axis=1)[:, None], axis=1)[:, 0]


def _shared(weights: Floats, truth: Any) -> float:
    """Return the accuracy of the class of the largest weight, ties counted in parts."""
    best = weights == weights.max(axis=1, keepdims=True)
    return float(np.mean(best[np.arange(len(truth)), truth] / best.sum(axis=1)))


def _numeric(original: Table, target: str, tolerance: float) -> Callable[..., Scores]:
    """Return the same question for a number that may be missed by a tolerance."""
    if not original[target].kind.is_number:
        raise CaveatError(
            "a tolerance needs numbers",
            column=target,
            do="drop it",
            code="attack.tolerance.unsupported",
        )
    if tolerance < 0:
        raise CaveatError(
            "a tolerance is a number from 0 up", column=target, code="attack.tolerance.range"
        )

    def ask(
        train: Table, people: Table, keys: Sequence[str], target: str, stream: Any, trees: int
    ) -> Scores:
        found, zero_rule = within_tolerance(train, people, keys, target, stream, trees, tolerance)
        return Scores(tuple(keys), found, zero_rule)

    return ask


def _prediction(original: Any, synthetic: Any, **more: Any) -> Measurement:
    return prediction(original, synthetic, **more).measurement("ENS")


def _f1(original: Any, synthetic: Any, **more: Any) -> Measurement:
    return prediction(original, synthetic, **more).score("f1")


def _mcc(original: Any, synthetic: Any, **more: Any) -> Measurement:
    return prediction(original, synthetic, **more).score("mcc")


def _run(original: Any, synthetic: Any, *, subsets: int | None, **told: Any) -> list[Finding]:
    found = prediction(original, synthetic, size=subsets, **told)
    right = [Finding("prediction", name, found.measurement(name)) for name in found.names]
    f1 = [Finding("predictionF1", name, found.score("f1", name)) for name in found.names]
    mcc = [Finding("predictionMCC", name, found.score("mcc", name)) for name in found.names]
    return [*right, *f1, *mcc]


ATTACK = Attack(
    name="prediction",
    does="trains models on the release to name what she wants to know",
    run=_run,
    options=(
        KEYS,
        TARGET,
        TARGET_TOLERANCE,
        Option(
            "subsets", "whole", "Every combination of so many keys.", otherwise="all keys at once"
        ),
        CONTROL,
        SEED,
    ),
    measures=measures_of(_prediction, _f1, _mcc),
    example="--keys age,sex,region --target income --subsets 2 --control control.csv",
)
