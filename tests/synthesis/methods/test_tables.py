"""Cross-tabulations: nested, saturated and fitted to margins."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.synthesis.coding import Part
from caveat.synthesis.methods import METHODS, Inputs, Settings, Target
from caveat.synthesis.methods import tables as ipf_module
from caveat.synthesis.methods.tables import Ipf, Nested, Saturated, fit_block

RNG = np.random.default_rng
SHAPE = (2, 3, 4)
NAMES = ["a", "b", "c"]


def block(seed: int, n: int = 300) -> list[np.ndarray]:
    """Return three dependent columns; one cell in three is empty."""
    rng = RNG(seed)
    p = rng.gamma(0.5, size=SHAPE) * (rng.random(SHAPE) > 0.3)
    cells = rng.choice(p.size, n, p=p.ravel() / p.sum())
    return list(np.unravel_index(cells, SHAPE))


def before(columns: list[np.ndarray], j: int) -> Inputs:
    parts = tuple(Part(columns[i], SHAPE[i], False) for i in range(j))
    return Inputs(parts, len(columns[0]))


def all_cells() -> list[np.ndarray]:
    return list(np.array(list(product(*map(range, SHAPE)))).T)


def joint_of(models: list) -> np.ndarray:
    """Return the probability of every cell of the block: the product of the conditionals."""
    cells = all_cells()
    logs = [models[j].log_prob(before(cells, j), cells[j]) for j in range(3)]
    with np.errstate(invalid="ignore"):
        total = np.sum(logs, axis=0)
    return np.exp(np.where(np.isneginf(logs).any(axis=0), -np.inf, total)).reshape(SHAPE)


def counts_of(columns: list[np.ndarray], weights: np.ndarray | None = None) -> np.ndarray:
    place = np.ravel_multi_index(columns, SHAPE)
    return np.bincount(place, weights, minlength=np.prod(SHAPE)).reshape(SHAPE)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), alpha=st.sampled_from([0.0, 0.5, 12.0, 300.0]))
def test_a_saturated_block_has_the_shares_of_the_cells_with_the_pseudo_count(seed, alpha):
    columns = block(seed)
    weights = RNG(seed).uniform(0.5, 3, len(columns[0]))
    chosen = Settings(pseudo_count=alpha)
    models = [
        Saturated.fit(
            before(columns, j), Target(columns[j], SHAPE[j], weights=weights), chosen, RNG(0)
        )
        for j in range(3)
    ]
    counts = counts_of(columns, weights)
    expected = (counts + alpha / counts.size) / (weights.sum() + alpha)
    assert joint_of(models) == pytest.approx(expected, abs=1e-14)


def test_a_never_seen_cell_has_equal_shares_with_a_pseudo_count_and_those_of_all_without():
    inputs = Inputs((Part(np.array([0, 0, 0, 1]), 3, False),), 4)
    target = Target(np.array([0, 0, 1, 1]), 2)
    unseen = Inputs((Part(np.array([2, 2]), 3, False),), 2)
    both = np.array([0, 1])
    for alpha, expected in ((0.0, [0.5, 0.5]), (6.0, [0.5, 0.5])):
        model = Saturated.fit(inputs, target, Settings(pseudo_count=alpha), RNG(0))
        assert np.exp(model.log_prob(unseen, both)) == pytest.approx(expected)
    seen = inputs.take(np.array([0, 0]))
    # six records over 3 * 2 cells, one each: (2 + 1) / (3 + 2) and (1 + 1) / (3 + 2)
    assert np.exp(model.log_prob(seen, both)) == pytest.approx([0.6, 0.4])


def test_numbers_that_were_not_seen_get_no_pseudo_count():
    target = Target(np.array([1, 2, 2]), 3, np.array([0.0, 5.0, 9.0]))
    model = Saturated.fit(Inputs((), 3), target, Settings(pseudo_count=2.0), RNG(0))
    p = np.exp(model.log_prob(Inputs((), 3), np.arange(3)))
    assert p == pytest.approx([0, 2 / 5, 3 / 5])


def test_a_block_beyond_64_bits_is_refused():
    wide = tuple(Part(np.zeros(2, np.int64), 2**16, False) for _ in range(4))
    with refused("synthesis.table.too-large"):
        Saturated.fit(Inputs(wide, 2), Target(np.array([0, 1]), 2), Settings(), RNG(0))


def test_nested_draws_within_the_group_and_from_all_for_a_new_group():
    inputs = Inputs((Part(np.array([0, 0, 0, 0, 1, 1]), 3, False),), 6)
    target = Target(np.array([0, 0, 0, 1, 2, 3]), 5, weights=np.array([1.0, 1, 1, 1, 3, 1]))
    model = Nested.fit(inputs, target, Settings(method="nested", within="g"), RNG(0))
    groups = Inputs((Part(np.repeat([0, 1, 2], 5), 3, False),), 15)
    p = np.exp(model.log_prob(groups, np.tile(np.arange(5), 3))).reshape(3, 5)
    expected = [[0.75, 0.25, 0, 0, 0], [0, 0, 0.75, 0.25, 0], [3 / 8, 1 / 8, 3 / 8, 1 / 8, 0]]
    assert p == pytest.approx(np.array(expected))


def test_nested_takes_a_hundred_thousand_levels():
    n = 200_000
    level = RNG(0).permutation(np.arange(n) % 100_000)
    group = level // 20
    inputs = Inputs((Part(group, 5000, False),), n)
    model = Nested.fit(inputs, Target(level, 100_000), Settings(), RNG(0))
    drawn = model.draw(inputs, RNG(1))
    assert np.array_equal(drawn // 20, group)
    assert np.exp(model.log_prob(inputs, level)) == pytest.approx(np.full(n, 1 / 20))
    assert sum(np.asarray(part).nbytes for part in model.state().values()) < 8 * 2**20


def fitted_joint(columns: list[np.ndarray], margins: list, weights=None) -> np.ndarray:
    cells, p = fit_block(columns, SHAPE, NAMES, margins, weights)
    models = [
        Ipf.of_cells(before(cells, j), Target(cells[j], SHAPE[j], weights=p)) for j in range(3)
    ]
    return joint_of(models)


@pytest.mark.parametrize("seed", range(5))
def test_margins_of_a_chain_give_the_closed_form(seed):
    columns = block(seed)
    weights = RNG(seed).uniform(0.5, 3, len(columns[0]))
    p = counts_of(columns, weights) / weights.sum()
    ab, bc, b = p.sum(2, keepdims=True), p.sum(0, keepdims=True), p.sum((0, 2), keepdims=True)
    expected = np.divide(ab * bc, b, out=np.zeros(SHAPE), where=b > 0)
    assert fitted_joint(columns, [["a", "b"], ["c", "b"]], weights) == pytest.approx(
        expected, abs=1e-10
    )


def test_single_margins_are_independent_and_the_whole_table_is_kept():
    columns = block(1)
    p = counts_of(columns) / 300
    alone = [p.sum(axes, keepdims=True) for axes in ((1, 2), (0, 2), (0, 1))]
    assert fitted_joint(columns, [["a"], ["b"], ["c"]]) == pytest.approx(
        alone[0] * alone[1] * alone[2], abs=1e-12
    )
    assert fitted_joint(columns, [NAMES, ["a"]]) == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_all_pairs_are_kept(seed):
    columns = block(seed)
    p = counts_of(columns) / 300
    joint = fitted_joint(columns, [["a", "b"], ["b", "c"], ["a", "c"]])
    for axis in range(3):
        assert joint.sum(axis) == pytest.approx(p.sum(axis), abs=1e-6)
    # no interaction of all three: with positive cells every log odds ratio of odds ratios is zero
    if (joint > 1e-9).all():
        logs = np.log(joint)
        assert np.diff(np.diff(np.diff(logs, axis=0), axis=1), axis=2) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("margins", "message"),
    [
        ([["a", "b"]], "synthesis.margins.absent"),
        ([["a", "b", "c", "d"]], "synthesis.margins.mismatch"),
    ],
)
def test_margins_must_cover_the_block(margins, message):
    with refused(message):
        fit_block(block(0), SHAPE, NAMES, margins)


def test_a_joint_table_beyond_the_limit_is_refused():
    zeros = [np.zeros(3, np.int64)] * 2
    with refused("synthesis.table.too-large"):
        fit_block(zeros, [5000, 5000], ["x", "y"], [["x"], ["y"]])


def test_a_fit_that_does_not_come_near_is_refused(monkeypatch):
    monkeypatch.setattr(ipf_module, "MOST_ROUNDS", 1)
    with refused("synthesis.margins.failed", where="synthesis, margins"):
        fit_block(block(2), SHAPE, NAMES, [["a", "b"], ["b", "c"], ["a", "c"]])


def test_a_column_of_a_block_is_not_fitted_alone():
    with pytest.raises(TypeError, match="fit_block"):
        METHODS["ipf"].fit(Inputs((), 2), Target(np.array([0, 1]), 2), Settings(), RNG(0))
