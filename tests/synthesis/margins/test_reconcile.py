"""Tables that disagree become shares that agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from caveat.synthesis.margins.tables import (
    nearest_shares,
    nearest_table,
    reconcile,
    rescale,
    total_of,
)

SIZES = {"a": 2, "b": 3, "c": 2}


def exact_tables(rng: np.random.Generator) -> dict[tuple[str, ...], np.ndarray]:
    joint = rng.integers(0, 20, (2, 3, 2)) + 1
    return {("a", "b"): joint.sum(axis=2), ("b", "c"): joint.sum(axis=0)}


def test_tables_that_agree_stay_as_they_are():
    tables = exact_tables(np.random.default_rng(1))
    total, shares = tables["a", "b"].sum(), reconcile(tables, SIZES)
    for names, counts in tables.items():
        assert shares[names] == pytest.approx(counts / total, abs=1e-12)


@given(st.integers(0, 10_000))
def test_whatever_the_noise_shares_agree(seed):
    rng = np.random.default_rng(seed)
    tables = {n: t + rng.normal(0, 15, t.shape) for n, t in exact_tables(rng).items()}
    tables["a",] = rng.normal(20, 15, 2)
    shares = reconcile(tables, SIZES)
    for names, share in shares.items():
        assert share.min() >= 0
        assert share.sum() == pytest.approx(1, abs=1e-8)
        for axis, name in enumerate(names):
            others = tuple(k for k in range(len(names)) if k != axis)
            assert share.sum(axis=others) == pytest.approx(shares[name,], abs=1e-8)


def test_surer_tables_weigh_more_by_hand():
    # Own table: variance 1 a cell. The pair's sum over two cells has variance 2 x 2 = 4.
    tables = {("a",): np.array([10.0, 10.0]), ("a", "b"): np.array([[10.0, 5.0], [2.0, 3.0]])}
    noise = {("a",): 1.0, ("a", "b"): 2.0}
    shares = reconcile(tables, {"a": 2, "b": 2}, noise)
    # totals 20 with variance 2, 20 with variance 8; first cell 0.8 x 10 + 0.2 x 15 = 11 of 20.
    assert total_of(tables, noise) == 20
    assert shares["a",] == pytest.approx([11 / 20, 9 / 20])


def test_nothing_left_gives_equal_shares():
    shares = reconcile({("a", "b"): np.full((2, 4), -4.0)}, {"a": 2, "b": 4})
    assert shares["a",].tolist() == [0.5, 0.5]
    assert shares["a", "b"] == pytest.approx(np.full((2, 4), 1 / 8))


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6))
def test_nearest_shares_are_nearer_than_any_others(values):
    given_ones = np.array(values)
    best = nearest_shares(given_ones)
    assert best.sum() == pytest.approx(1)
    others = np.random.default_rng(0).dirichlet(np.ones(len(values)), 200)
    distances = ((others - given_ones) ** 2).sum(axis=1)
    assert ((best - given_ones) ** 2).sum() <= distances.min() + 1e-9


def test_nearest_table_is_the_least_squares_solution():
    rng = np.random.default_rng(3)
    table = rng.normal(1 / 12, 0.2, (3, 4))
    lines, columns = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4))
    ours = nearest_table(table, lines, columns)
    sums = [{"type": "eq", "fun": lambda x, k=k: x.reshape(3, 4).sum(1)[k] - lines[k]}
            for k in range(3)]  # fmt: skip
    sums += [{"type": "eq", "fun": lambda x, k=k: x.reshape(3, 4).sum(0)[k] - columns[k]}
             for k in range(3)]  # fmt: skip
    found = minimize(
        lambda x: ((x - table.ravel()) ** 2).sum(), np.outer(lines, columns).ravel(),
        bounds=[(0, None)] * 12, constraints=sums, options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert ours == pytest.approx(found.x.reshape(3, 4), abs=1e-5)


TREE = [("a", "b"), ("b", "c"), ("d", "b")]
LARGER = {"a": 2, "b": 3, "c": 4, "d": 2}


@given(st.integers(0, 999))
def test_rescaled_shares_agree_and_keep_what_is_empty(seed):
    rng = np.random.default_rng(seed)
    tables = {m: rng.integers(0, 4, [LARGER[n] for n in m]) for m in TREE}
    for counts in tables.values():
        counts[0, 0] = 3  # somebody is in every table
    found = rescale(tables)
    b = found["a", "b"].sum(axis=0)
    assert found["b", "c"].sum(axis=1) == pytest.approx(b, abs=1e-9)
    assert found["d", "b"].sum(axis=0) == pytest.approx(b, abs=1e-9)
    for margin in TREE:
        assert found[margin].sum() == pytest.approx(1)
    # A level without a record in any table is never drawn.
    gone = tables["b", "c"].sum(axis=0) == 0
    assert np.all(found["b", "c"][:, gone] == 0)


def test_tables_that_agree_are_not_rescaled():
    joint = np.random.default_rng(1).integers(1, 9, (2, 3, 2))
    tables = {("a", "b"): joint.sum(axis=2), ("b", "c"): joint.sum(axis=0)}
    found = rescale(tables)
    for margin, counts in tables.items():
        assert found[margin] == pytest.approx(counts / counts.sum(), abs=1e-12)
