"""What a notebook shows of attacks: numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack import Attributes, Membership, Posterior, PrivacyLoss
from caveat.attack.posterior import FACTOR, RISE, SURE, disclosed
from caveat.table import Table


def test_only_who_became_more_probable_is_disclosed():
    """The constants are stated on the page: 0.9, and a rise of 0.1 or twofold."""
    assert (SURE, RISE, FACTOR) == (0.9, 0.1, 2.0)
    before = np.array([0.885, 0.8, 0.999, 0.4, 0.81])
    after = np.array([0.905, 0.9, 1.0, 0.95, 0.90])
    assert disclosed(before, after).tolist() == [False, True, False, True, False]
    # Below 0.9 a rise to twice what it was counts too.
    assert disclosed(np.array([0.02, 0.03]), np.array([0.05, 0.05]), 0.05).tolist() == [True, False]


def test_the_numbers_of_attacks_by_hand():
    member = Membership(np.arange(4), np.array([np.log(9.001), 0.0, -np.log(3), np.inf]))
    rows = dict(member._summary().rows)
    assert rows["records whose membership she knows almost surely (≥ 90%)"] == 2
    assert rows["as a share of the records"] == 0.5
    assert rows["median probability"] == pytest.approx((0.9 + 0.5) / 2, abs=1e-4)
    assert repr(member) == "<Membership of 4 records: 2 known almost surely>"
    column = Table.from_frame({"x": ["a", "b", "b"]})["x"]
    half = np.full((3, 2), 0.5)
    likelihood = np.log([[0.95, 0.05], [0.5, 0.5], [0.9, 0.1]])
    values = Attributes(column, np.arange(3), half, likelihood)
    shown = {row[0]: row[1:] for row in values._summary().rows}
    assert shown["a probability of 90% or more"] == (0.0, pytest.approx(1 / 3))
    assert shown["of these, because of the release"] == (0.0, pytest.approx(1 / 3))
    assert shown["the only best guess is true"] == (0.0, pytest.approx(1 / 3))
    means = (0.5, pytest.approx((0.95 + 0.5 + 0.1) / 3))
    assert shown["mean probability of the true value"] == means
    assert values.to_frame("polars")["after"].to_list() == pytest.approx([0.95, 0.5, 0.1])
    table = Table.from_frame({"x": ["a", "b"]})
    one = Posterior(7, table, np.array([0.2, 0.8]), np.log([0.5, 0.5]), 0)
    assert one._summary().rows[2] == ("the truth is her guess number", 2, 2)
    loss = PrivacyLoss(np.array([4]), np.array([0.5]), np.array([[1.0, 3.0]]), np.array([2]))
    assert loss.to_frame("polars").row(0) == (4, 0.5, 3.0, 2)
