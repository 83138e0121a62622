"""What is promised: what can be asked for, in words, and in files."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.refusals import refused

from caveat.synthesis.margins.promise import Promise, is_private, measure


def test_who_asks_for_a_guarantee():
    assert is_private({"epsilon": 1.0})
    assert is_private({"poisson": 0.5})
    assert is_private({"delta": 1e-9})  # to be told that epsilon is missing
    assert not is_private({"method": "margins", "clearing": {"threshold": 10}})


def test_what_is_asked_for_is_promised():
    assert Promise.of({"epsilon": 2, "delta": 1e-6}, {}) == Promise(2.0, 1e-6)
    assert Promise.of({"epsilon": 1.0}, {}).delta == 1e-9


@pytest.mark.parametrize(
    ("epsilon", "alpha", "delta"), [(3.0, 0.1, 0.2070), (2.0, 1.0, 0.0256), (1.0, 1.0, 0.1050)]
)
def test_the_delta_of_the_poisson_mechanism_follows(epsilon, alpha, delta):
    promise = Promise.of({"poisson": alpha, "epsilon": epsilon}, {})
    assert promise.delta == pytest.approx(delta, abs=5e-5)
    assert promise.alpha == alpha


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"epsilon": 0}, "synthesis.setting.range"),
        ({"epsilon": -1.0}, "synthesis.setting.range"),
        ({"epsilon": math.nan}, "synthesis.setting.range"),
        ({"epsilon": math.inf}, "synthesis.setting.range"),
        ({"epsilon": "1"}, "synthesis.setting.range"),
        ({"epsilon": True}, "synthesis.setting.range"),
        ({"epsilon": 1.0, "delta": 0}, "synthesis.setting.range"),
        ({"epsilon": 1.0, "delta": 1.0}, "synthesis.setting.range"),
        ({"delta": 1e-9}, "synthesis.setting.absent"),
        ({"poisson": 0}, "synthesis.setting.range"),
        ({"poisson": 1.0, "delta": 1e-9}, "synthesis.setting.conflict"),
    ],
)
def test_what_cannot_be_promised_is_one_sentence(options, says):
    with refused(says):
        Promise.of(options, {})


def test_in_words():
    promise = Promise.of({"epsilon": 1.0}, {})
    assert str(promise).startswith("guarantee: ε = 1, δ = 1e-09 (one record more or less); counts")
    assert not any("Poisson" in remark for remark in promise.remarks)
    assert any("single records of the declared domain" in remark for remark in promise.remarks)
    assert any("the end of the range" in remark for remark in promise.remarks)


def test_a_large_delta_is_said_with_both_numbers():
    *_, last = Promise.of({"poisson": 1.0, "epsilon": 2.0}, {}).remarks
    assert "large δ" in last
    assert "0.0527 (equation 9)" in last
    assert "δ is 0.0256 exactly" in last


def test_a_state_is_the_same_again():
    declared = {"a": {"levels": ["x", "y"]}}
    cells = {"a": np.array([0, 1, 1])}
    for options in ({"epsilon": 1.0, "delta": 1e-6}, {"poisson": 0.5}):
        promise = Promise.of(options, declared)
        assert Promise.from_state(promise.state()) == promise
    held = Promise(1.0, 1e-6, 0.0, declared, measure(cells, {"a": 3}, 1.0, 1e-6))
    again = Promise.from_state(held.state())
    assert again.measured is not None
    assert held.measured is not None
    assert np.array_equal(again.measured.tables["a",], held.measured.tables["a",])


def test_a_file_cannot_promise_more_than_its_noise():
    """The delta of the Poisson mechanism is computed, whatever the file says."""
    state = Promise.of({"poisson": 1.0, "epsilon": 2.0}, {}).state() | {"delta": 1e-12}
    assert Promise.from_state(state).delta == pytest.approx(0.0256, abs=5e-5)
    with refused("synthesis.setting.range", where="synthesis"):
        Promise.from_state(Promise(1.0, 1e-9).state() | {"epsilon": -1})


def test_a_representation_shows_no_value():
    assert "x" not in repr(Promise(1.0, 1e-9, 0.0, {"a": {"levels": ["x"]}})).replace("eps", "")
