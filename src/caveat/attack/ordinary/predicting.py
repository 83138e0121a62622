"""The attack by prediction: classifiers and regressors learnt from the release, how they guess."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.attack.figures import Attack, Finding, Option
from caveat.attack.ordinary.common import (
    CONTROL,
    KEYS,
    SEED,
    TARGET,
    TARGET_TOLERANCE,
    attack_measure,
    dense,
    prepare,
)
from caveat.errors import CaveatError
from caveat.nearest import Floats, nearest_pools
from caveat.notes import Note
from caveat.registry import Late
from caveat.risk.measure import Measurement, rate, undefined
from caveat.table import Column, Table
from caveat.table.cells import cross, key_cells


def confusion(truth: NDArray[Any], named: NDArray[Any], n_classes: int) -> Floats:
    """Return how many people of each class (row) were said to be of each class (column).

    Examples
    --------
    >>> confusion(np.array([0, 1, 1]), np.array([0, 0, 1]), 2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    cells = truth.astype(np.int64) * n_classes + named
    counts = np.bincount(cells, minlength=n_classes**2).astype(np.float64)
    return counts.reshape(n_classes, n_classes)


def confusion_of_shares(truth: NDArray[Any], weights: Floats) -> Floats:
    """Return the same where of several classes of the largest weight each is named in part."""
    best = weights == weights.max(axis=1, keepdims=True)
    parts = best / best.sum(axis=1, keepdims=True)
    found = np.zeros((weights.shape[1], weights.shape[1]))
    np.add.at(found, truth, parts)
    return found


def macro_f1(found: Floats) -> float:
    """Return the mean over classes of F1 = 2 TP / (2 TP + FP + FN).

    The classes are those that somebody has or is said to have. One class named for everybody, that
    a share p has, gives p / (1 + p) with two classes: 0.5 is no half of anything.

    Examples
    --------
    >>> macro_f1(np.array([[3.0, 0.0], [1.0, 0.0]]))
    0.42857142857142855
    """
    both = found.sum(axis=0) + found.sum(axis=1)
    there = both > 0
    return float(np.mean(2 * np.diag(found)[there] / both[there]))


def matthews(found: Floats) -> float:
    """Return Matthews' correlation coefficient: 0 if truth and guess are independent.

    With two classes (TP TN − FP FN) / √((TP + FP)(TP + FN)(TN + FP)(TN + FN)); with more, the
    correlation of Gorodkin (2004). 0 where all have, or are said to have, the same class.

    Examples
    --------
    >>> matthews(np.array([[3.0, 0.0], [1.0, 0.0]])), matthews(np.eye(3))
    (0.0, 1.0)
    """
    total, have, said = found.sum(), found.sum(axis=1), found.sum(axis=0)
    spread = (total**2 - have @ have) * (total**2 - said @ said)
    return float((np.trace(found) * total - have @ said) / np.sqrt(spread)) if spread > 0 else 0.0


# -------------------------------------------------------------------------------------------------
# What the attack by prediction measures: accuracy, F1 macro and Matthews' correlation.


Function = Callable[..., Measurement]

TRAINS = (
    "trains naive Bayes, SVM, nearest neighbours, forest, logistic regression and FR-NN on the "
    "release, and knows the keys of people in the original"
)
SLOKOM = "Slokom, Agrawal, Krol, de Wolf (2024), Relational Or Single, Table 5"


def measures_of(prediction: Function, f1: Function, mcc: Function) -> tuple[Any, ...]:
    """Return the entries of the three, by what computes them."""
    return (
        attack_measure(
            "keys",
            "target",
            name="prediction",
            function=prediction,
            says="people whose target a vote of six models trained on the release names rightly",
            attacker=TRAINS,
            formula="100/n · #(majority vote = t_j), in a tie the one named first; mean over keys",
            source="Hittmeir, Mayer, Ekelhart (2020), section 4, Tables 6 to 11",
            blind_spot="An average over all records: the few for whom the release is decisive "
            "vanish in it. High accuracy may be true of the population: compare with the control.",
            blind="an average; may be true of the population: see the control",
            baseline="the commonest target of the release, named for everybody",
        ),
        attack_measure(
            "keys",
            "target",
            name="predictionF1",
            function=f1,
            says="F1 macro of the same vote: every value of the target counts as much, 0 to 1",
            attacker=TRAINS,
            formula="mean over values t of 2 TP_t / (2 TP_t + FP_t + FN_t), of values that occur",
            source=SLOKOM,
            blind_spot="Near ½ for an attacker who learnt nothing about a rare value: with two "
            "values the commonest, named for all, gives p / (1 + p). A low value may mean that the "
            "release lost how keys and target go together: that is a defect, not privacy.",
            blind="½ may be nothing learnt; low may be lost utility",
            baseline="the commonest target of the release, named for everybody",
            unit="score",
        ),
        attack_measure(
            "keys",
            "target",
            name="predictionMCC",
            function=mcc,
            says="Matthews' correlation of the same vote with the truth, −1 to 1",
            attacker=TRAINS,
            formula="(c n − Σ_t p_t q_t) / √((n² − Σ p_t²)(n² − Σ q_t²)), c right of n people, p_t "
            "have and q_t are said to have t; with two values (TP TN − FP FN) / √((TP + FP)"
            "(TP + FN)(TN + FP)(TN + FN))",
            source=f"{SLOKOM}; Gorodkin (2004) for more than two values",
            blind_spot="An average over all records, as prediction. A low value may mean that the "
            "release lost how keys and target go together: that is a defect, not privacy.",
            blind="an average; low may be lost utility",
            baseline="0: one value named for everybody",
            unit="score",
        ),
    )


# -------------------------------------------------------------------------------------------------
# The fixed-radius nearest-neighbour classifier of Hittmeir, Mayer and Ekelhart, Algorithm 3.1.
#
# The radius grows from 0 until a synthetic record is found; all records at that Hamming distance
# vote. Its accuracy, with the vote of a tie shared, is the measure R_GCAP.


def frnn(train: Table, query: Table, keys: Sequence[str], target: str) -> Floats:
    """Return for each query the distribution of the target among the nearest training records.

    Parameters
    ----------
    train, query
        Tables on common levels.
    keys
        Columns that are compared.
    target
        Column that is predicted.

    Returns
    -------
    One row per query, one column per code of the target; rows sum to 1.

    Examples
    --------
    >>> release = Table.from_frame({"sex": ["f", "f", "m"], "job": ["a", "b", "b"]})
    >>> frnn(release, release, ["sex"], "job").tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]]
    """
    levels = [train[key].n_levels for key in keys]
    sides = [[table[key].codes for key in keys] for table in (query, train)]
    (asked, known), n_cells = key_cells(sides, levels)
    n_targets = train[target].n_levels
    # Every cell that is asked about meets every target once, so that the pools of the nearest
    # records are tabulated for all targets.
    cells = np.unique(asked)
    joint = cross(
        np.repeat(cells, n_targets),
        np.tile(np.arange(n_targets), len(cells)),
        known,
        train[target].codes,
        n_cells,
        n_targets,
    )
    codes = [np.zeros(n_cells, np.int64) for _ in keys]
    for out, mine, theirs in zip(codes, *sides, strict=True):
        out[asked], out[known] = mine, theirs
    share, _, _ = nearest_pools(joint, codes, levels)
    rows = joint.find(np.repeat(asked, n_targets), np.tile(np.arange(n_targets), len(asked)))
    return share[rows].reshape(len(asked), n_targets)


# -------------------------------------------------------------------------------------------------
# The attacker's prediction of a number: right if it is near enough.


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


# -------------------------------------------------------------------------------------------------
# The attacker's classification problem (Hittmeir, Mayer and Ekelhart 2020).
#
# A model learns the target from the keys in the release and names it for people whose keys are
# known. The same models trained on the original are the upper reference; people who were not in
# the data are the control.

_bayes = Late("sklearn.naive_bayes")

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
