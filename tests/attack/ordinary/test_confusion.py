"""F1 macro and Matthews' correlation, by hand and against scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef

from caveat.attack.ordinary import prediction
from caveat.attack.ordinary.predicting import (
    confusion,
    confusion_of_shares,
    macro_f1,
    matthews,
)


def test_by_hand():
    """TP 6, FN 2, FP 1, TN 3: F1 of the classes 12/15 and 6/9; MCC (18 − 2)/√(7·8·4·5)."""
    found = np.array([[3.0, 1.0], [2.0, 6.0]])
    assert macro_f1(found) == pytest.approx((12 / 15 + 6 / 9) / 2)
    assert matthews(found) == pytest.approx((6 * 3 - 1 * 2) / math.sqrt(7 * 8 * 4 * 5))


def test_one_class_for_everybody_is_what_the_paper_prints_as_random():
    """Slokom and others (2024), Table 5: F1 .4901 and MCC 0, that is p/(1 + p) with p = .9612."""
    people = 10_000
    ones = 9_612
    found = np.array([[0.0, people - ones], [0.0, ones]])
    assert macro_f1(found) == pytest.approx(0.9612 / 1.9612)
    assert round(macro_f1(found), 4) == 0.4901
    assert matthews(found) == 0


def test_more_than_two_classes_are_those_of_scikit_learn():
    rng = np.random.default_rng(3)
    truth, named = rng.integers(0, 4, 200), rng.integers(1, 5, 200)
    found = confusion(truth, named, 6)  # class 5 is nobody's
    assert macro_f1(found) == pytest.approx(f1_score(truth, named, average="macro"))
    assert matthews(found) == pytest.approx(matthews_corrcoef(truth, named))


def test_equal_shares_are_named_in_parts():
    """The first person: two classes equally likely; the second: one."""
    found = confusion_of_shares(np.array([0, 1]), np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0]]))
    assert found.tolist() == [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]


def test_prediction_has_them_beside_the_zero_rule(original, control, fresh):
    keys = ["age", "debt", "height", "sex", "town"]
    copy = prediction(original, original, keys=keys, target="ill", control=control, trees=20)
    for figure in ("f1", "mcc"):
        assert copy.score(figure, "FR-NN").value == pytest.approx(1)
        assert copy.score(figure).value == copy.score(figure).reference
    share = float((original["ill"] == "no").mean())
    assert copy.score("f1").baseline == pytest.approx(max(share, 1 - share) / (1 + share))
    assert copy.score("mcc").baseline == 0
    number = prediction(original, fresh, keys=["age"], target="debt", tolerance=5.0, trees=5)
    assert number.score("mcc").value is None
    assert "for classes" in number.score("mcc").notes[0]
