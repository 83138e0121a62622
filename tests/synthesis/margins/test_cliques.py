"""Margins beyond a tree: fitted where they agree, nearly where they do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.synthesis.margins.tables import count_tables, joint_shares

SIZES = {"a": 2, "b": 3, "c": 2}
CIRCLE = [("b", "a"), ("b", "c"), ("a", "c")]


def records(seed: int, n: int = 200) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, n)
    return {"a": a, "b": (a + rng.integers(0, 2, n)) % 3, "c": (a + (rng.random(n) < 0.3)) % 2}


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 99))
def test_margins_of_the_same_records_are_kept(seed):
    tables = count_tables(records(seed), SIZES, CIRCLE)
    joint = joint_shares(tables, SIZES, ["a", "b", "c"])["a", "b", "c"]
    for margin, axis in ((CIRCLE[0], 2), (CIRCLE[1], 0), (CIRCLE[2], 1)):
        expected = tables[margin] / 200
        found = joint.sum(axis=axis)
        assert found == pytest.approx(expected.T if margin == ("b", "a") else expected, abs=1e-6)


def test_the_order_of_the_columns_is_that_which_is_asked_for():
    tables = count_tables(records(1), SIZES, CIRCLE)
    one = joint_shares(tables, SIZES, ["a", "b", "c"])["a", "b", "c"]
    other = joint_shares(tables, SIZES, ["c", "a", "b"])["c", "a", "b"]
    assert other.transpose(1, 2, 0) == pytest.approx(one, abs=1e-9)


def test_a_clique_is_its_own_table():
    tables = count_tables(records(2), SIZES, [("c", "b", "a")])
    joint = joint_shares(tables, SIZES, ["a", "b", "c"])["a", "b", "c"]
    assert joint == pytest.approx(tables["c", "b", "a"].transpose(2, 1, 0) / 200, abs=1e-12)


def test_margins_that_were_rounded_apart_are_nearly_kept():
    tables = count_tables(records(3), SIZES, CIRCLE)
    rounded = {m: np.floor(t / 10 + 0.5) * 10 for m, t in tables.items()}
    joint = joint_shares(rounded, SIZES, ["a", "b", "c"])["a", "b", "c"]
    assert joint.sum() == pytest.approx(1)
    found = joint.sum(axis=1)
    assert found == pytest.approx(tables["a", "c"] / 200, abs=0.05)


def test_a_zero_of_one_margin_stays_one_and_what_no_record_can_be_is_refused():
    tables = {("a", "b"): np.array([[0, 5], [5, 5]]), ("b", "c"): np.array([[5, 5], [5, 5]]),
              ("a", "c"): np.array([[5, 5], [5, 5]])}  # fmt: skip
    sizes = dict.fromkeys("abc", 2)
    joint = joint_shares(tables, sizes, ["a", "b", "c"])["a", "b", "c"]
    assert (joint[0, 0] == 0).all()
    assert joint.sum() == pytest.approx(1)
    tables["a", "b"] = np.array([[0, 5], [0, 0]])
    tables["b", "c"] = np.array([[5, 5], [0, 0]])
    with refused("synthesis.margins.conflict", where="synthesis, margins"):
        joint_shares(tables, sizes, ["a", "b", "c"])


def test_where_a_margin_is_empty_nothing_is_drawn():
    tables = {m: np.ones((2, 2)) for m in (("a", "b"), ("b", "c"), ("a", "c"))}
    tables["a", "c"] = np.zeros((2, 2))
    joint = joint_shares(tables, dict.fromkeys("abc", 2), ["a", "b", "c"])["a", "b", "c"]
    assert not joint.any()
