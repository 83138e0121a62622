"""Guessed records beside the true ones, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.outputs.blocks import Guesses

# Five kinds; three guesses of eight records each.
GUESSES = Guesses(
    np.array([[5, 2, 1, 0, 0], [6, 1, 0, 1, 0], [4, 2, 1, 1, 0]]), np.array([5, 2, 0, 0, 1])
)


def test_measures_by_hand():
    assert GUESSES.frequency == pytest.approx([5, 5 / 3, 2 / 3, 2 / 3, 0])
    assert GUESSES.confidence == pytest.approx([1, 1, 2 / 3, 2 / 3, 0])
    assert GUESSES.agreement == pytest.approx((7 + 6 + 6) / 3 / 8)
    assert GUESSES.spurious == pytest.approx(2 / 3)
    assert GUESSES.missed == pytest.approx(1 / 3)
    expected = np.corrcoef([5, 5 / 3, 2 / 3, 2 / 3, 0], [5, 2, 0, 0, 1])[0, 1]
    assert GUESSES.correlation == pytest.approx(expected)
    assert [GUESSES.precision(k) for k in (1, 2, 3, 4, 5)] == pytest.approx(
        [1, 1, 2 / 3, 1 / 2, 3 / 5]
    )
    assert [GUESSES.precision(k, most=1) for k in (2, 5)] == pytest.approx([0, 1 / 5])
    assert [GUESSES.precision(k, most=2) for k in (2, 5)] == pytest.approx([1 / 2, 2 / 5])
    assert GUESSES.recall(2) == pytest.approx(2 / 3)
    assert GUESSES.recall(2, most=1) == 0
    assert GUESSES.rare(1) is None
    assert GUESSES.rare(2) == 0  # two kinds met twice, neither of them has two records
    assert GUESSES.rare(5) == 0
    with refused("outputs.setting.range", where="k"):
        GUESSES.precision(6)
    assert repr(GUESSES) == "<Guesses: blocks of 3 x 5, truth of 5>"


def test_ties_count_their_expected_share():
    tied = Guesses(np.array([[1, 1, 1, 1]]), np.array([1, 0, 2, 0]))
    assert [tied.precision(k) for k in (1, 2, 3, 4)] == [0.5, 0.5, 0.5, 0.5]
    assert tied.correlation is None
    assert tied.rare(1) == 1 / 4
