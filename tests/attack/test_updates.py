"""Updated trees equal trees grown from scratch, bit for bit, and so do the attacks on them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.attack import membership
from caveat.attack.adjacent import with_each_value, without_each
from caveat.attack.updates import can_update
from caveat.attack.worlds import Worlds, in_threads, plan_of
from caveat.datasets import survey
from caveat.synthesis import Synthesizer
from caveat.table import Table
from caveat.tree import Control, Predictors, adjacent, grow
from caveat.tree.adjacent import Changes, Training, adjacent_likelihoods, whole_logarithms


def from_scratch(columns, kinds, response, n_levels, values, control, release, released, logs):
    """Grow the tree, let the release fall, and add whole logarithms of the leaf counts."""
    tree = grow(Predictors(columns, *kinds), response, n_levels, values=values, control=control)
    total = impossible = 0
    for leaf, code in zip(tree.apply(Predictors(release, *kinds)), released, strict=True):
        part = slice(tree.leaf_offsets[leaf], tree.leaf_offsets[leaf + 1])
        counts = dict(zip(tree.leaf_codes[part].tolist(), tree.leaf_weights[part], strict=True))
        count = int(counts.get(int(code), 0))
        total += int(logs[count]) - int(logs[int(tree.leaf_weights[part].sum())])
        impossible += count == 0
    return total, impossible


@st.composite
def problems(draw):
    """A small table with ties, tiny leaves, nominal predictors, and rules of all kinds."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(2, 140))
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 6, 14, 24]), min_size=1, max_size=4))
    ordered = [bool(rng.integers(2)) for _ in sizes]
    columns = [rng.integers(0, k, n).astype(np.uint16) for k in sizes]
    kind = draw(st.sampled_from(["numbers", "grid", "two classes", "classes"]))
    n_levels = 2 if kind == "two classes" else draw(st.integers(3, 9))
    signal = columns[0] / sizes[0] + rng.random(n) * draw(st.sampled_from([0.05, 0.5, 2.0]))
    response = np.minimum(signal / (signal.max() + 1e-9) * n_levels, n_levels - 1)
    values = None
    if kind == "numbers":
        values = np.sort(rng.normal(size=n_levels))
    elif kind == "grid":
        values = np.arange(n_levels) * 1.0
    control = Control(
        minbucket=draw(st.sampled_from([1, 2, 5])),
        cp=draw(st.sampled_from([1e-8, 0.0, 0.01, 0.05, -1.0])),
        max_depth=draw(st.sampled_from([1, 3, 30])),
    )
    m = draw(st.integers(1, 60))
    release = [rng.integers(0, k, m).astype(np.uint16) for k in sizes]
    released = rng.integers(0, n_levels, m).astype(np.uint16)
    changes = []
    for _ in range(12):
        row = int(rng.integers(n))
        codes = [int(column[row]) for column in columns]
        place, answer = int(rng.integers(len(sizes))), int(response[row])
        if rng.random() < 0.5:
            codes[place] = int(rng.integers(sizes[place]))
        else:
            answer = int(rng.integers(n_levels))
        changes.append(
            [(row, None), (row, (codes, answer)), (None, (codes, answer))][int(rng.integers(3))]
        )
    return (
        columns, (sizes, ordered), response.astype(np.uint16), n_levels, values, control, release,
        released, changes,
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(problem=problems(), small=st.sampled_from([0, 8, 64]))
def test_updated_trees_equal_trees_grown_from_scratch(problem, small):
    compare_with_scratch(problem, small)


@pytest.mark.parametrize(("n_levels", "values", "seed", "cp"), [
    (2, None, 0, 0.011), (2, None, 8, 0.005), (3, None, 2, 0.015), (4, [0, 1, 4, 9], 8, 0.011),
])  # fmt: skip
def test_updates_where_a_child_falls_before_its_parent(n_levels, values, seed, cp):
    """Tables and complexities at which pruning by plain averages would keep other trees."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 8, 300).astype(np.uint16) for _ in range(3)]
    signal = columns[0] + columns[1] * columns[2] // 3 + rng.integers(0, 6, 300)
    response = (signal // 2 % n_levels).astype(np.uint16)
    released = response[::3]
    changes = [(row, None) for row in range(0, 300, 7)]
    changes += [(row, ([1, 7, row % 8], row % n_levels)) for row in range(0, 300, 11)]
    compare_with_scratch(
        (
            columns, ([8] * 3, [True, False, True]), response, n_levels,
            None if values is None else np.array(values, float), Control(cp=cp),
            [column[::3] for column in columns], released, changes,
        ),
        64,
    )  # fmt: skip


@pytest.mark.parametrize(("n_levels", "values"), [(2, None), (3, None), (4, [0, 1, 4, 9])])
@pytest.mark.parametrize("minbucket", [1, 5, 40])
def test_updates_of_trees_that_are_not_pruned(n_levels, values, minbucket):
    """Below a complexity of 0 nothing falls, whatever the risk of the changed root."""
    rng = np.random.default_rng(minbucket)
    columns = [rng.integers(0, 8, 400).astype(np.uint16) for _ in range(3)]
    # one class has the majority nearly everywhere: most splits remove no misclassified record
    response = np.where(rng.random(400) < 0.6 + columns[0] / 40, 0, rng.integers(0, n_levels, 400))
    changes = [(row, None) for row in range(0, 400, 7)]
    changes += [(row, ([1, 7, row % 8], row % n_levels)) for row in range(0, 400, 11)]
    changes += [(None, ([row % 8, 3, 2], row % n_levels)) for row in range(0, 400, 29)]
    problem = (
        columns, ([8] * 3, [True, False, True]), response.astype(np.uint16), n_levels,
        None if values is None else np.array(values, float), Control(minbucket, cp=-1.0),
        [column[::3] for column in columns], response[::3].astype(np.uint16), changes,
    )  # fmt: skip
    compare_with_scratch(problem, 64)


@pytest.mark.parametrize("small", [0, 64])
def test_a_pure_node_stays_whole_where_nothing_is_pruned(small):
    """All of one class: rounding must not find a split that no pruning would take away."""
    groups = np.repeat([0, 1], [100, 40]).astype(np.uint16)
    other = np.arange(140, dtype=np.uint16) % 14
    response = np.where(groups == 0, 2, np.arange(140) % 3).astype(np.uint16)
    # the released rows of group 0 have a class that it has not
    release = [np.zeros(14, np.uint16), np.arange(14, dtype=np.uint16)]
    changes = [(row, None) for row in range(0, 140, 9)]
    changes += [(row, ([0, row % 14], row % 3)) for row in range(0, 140, 9)]
    problem = (
        [groups, other], ([2, 14], [True, True]), response, 3, None, Control(1, cp=-1.0), release,
        np.arange(14, dtype=np.uint16) % 3, changes,
    )  # fmt: skip
    compare_with_scratch(problem, small)


def test_nothing_is_grown_again_for_pruning_where_nothing_is_pruned(monkeypatch):
    table = messy(400, 3)
    model = Synthesizer(seed=1, method="cart", prune=False).fit(table)
    worlds = Worlds(table, model.plan, model.tables())
    asked = []
    whole = adjacent.Walk._prune
    monkeypatch.setattr(
        adjacent.Walk, "_prune",
        lambda walk, base, alpha: (asked.append((alpha, walk.alpha)), whole(walk, base, alpha))[1],
    )  # fmt: skip
    without_each(worlds, np.arange(400))
    assert asked
    assert all(alpha == own for alpha, own in asked)


def compare_with_scratch(problem, small):
    columns, kinds, response, n_levels, values, control, release, released, wanted = problem
    n = len(response)
    wanted = [(gone, come) for gone, come in wanted if n > 1 or come is not None]
    logs, _ = whole_logarithms(n, len(released))
    come = [come for _, come in wanted if come is not None]
    number = iter(range(len(come)))
    changes = Changes(
        np.array([-1 if gone is None else gone for gone, _ in wanted], np.int64),
        np.array([-1 if added is None else next(number) for _, added in wanted], np.int64),
        np.array([codes for codes, _ in come], np.uint16).reshape(len(come), len(columns)).T.copy(),
        np.array([answer for _, answer in come], np.int64),
    )
    training = Training(
        Predictors(columns, *kinds), response, n_levels, values, np.arange(n), control
    )
    usual, adjacent.SMALL = adjacent.SMALL, small
    try:
        found = adjacent_likelihoods(training, Predictors(release, *kinds), released, changes, logs)
    finally:
        adjacent.SMALL = usual
    rest = (n_levels, values, control, release, released, logs)
    assert (found.base, found.base_impossible) == from_scratch(columns, kinds, response, *rest)
    for i, (gone, added) in enumerate(wanted):
        keep = np.arange(n) != (-1 if gone is None else gone)
        world = [column[keep] for column in columns]
        answers = response[keep]
        if added is not None:
            world = [
                np.append(c, x).astype(np.uint16) for c, x in zip(world, added[0], strict=True)
            ]
            answers = np.append(answers, added[1]).astype(np.uint16)
        expected = from_scratch(world, kinds, answers, *rest)
        assert (found.changed[i], found.impossible[i]) == expected


def messy(n: int, seed: int) -> Table:
    """Numbers with missing cells and a special value, categories, repeated and rare records."""
    table = survey(rows=n, seed=seed)
    return table.select(["sex", "age", "income", "education", "friends", "marital"])


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    options=st.sampled_from(
        [{}, {"minbucket": 2}, {"cp": 0.02}, {"prune": False},
         {"prune": False, "minbucket": 1}, {"order": ["income", "marital"]},
         {"columns": {"age": {"method": "sample"}}},
         {"derived": {"marital": {"lookup": "education"}}},
         {"derived": {"income": {"lookup": ["sex", "age"]}}}]
    ),
)  # fmt: skip
def test_attacks_equal_refits(seed, options):
    table = messy(70, seed)
    model = Synthesizer(seed=seed, **{"method": "cart", **options}).fit(table)
    worlds = Worlds(model.plan.pooled(table), model.plan, model.tables(copies=2))
    assert can_update(worlds)
    records = np.arange(0, 70, 9)
    base, logs = without_each(worlds, records)
    base_again, again = without_each(worlds, records, refit=True)
    assert base == pytest.approx(base_again, abs=1e-7)
    assert np.array_equal(np.isinf(logs), np.isinf(again))
    finite = np.isfinite(logs)
    assert logs[finite] == pytest.approx(again[finite], abs=1e-7)
    for target in ("sex", "income", "marital"):
        some = records[:2]
        updated = with_each_value(worlds, target, some)
        refitted = with_each_value(worlds, target, some, refit=True)
        assert np.array_equal(np.isinf(updated), np.isinf(refitted))
        assert updated[np.isfinite(updated)] == pytest.approx(
            refitted[np.isfinite(refitted)], abs=1e-7
        )


def test_special_values_are_drawn_in_two_steps_too():
    table = messy(250, 11)
    options = {"method": "cart", "special": {"friends": [0]}}
    worlds = Worlds(
        table, plan_of(options, table), Synthesizer(seed=1, **options).fit(table).tables()
    )
    updated = with_each_value(worlds, "friends", np.array([3, 70]))
    refitted = with_each_value(worlds, "friends", np.array([3, 70]), refit=True)
    assert np.array_equal(np.isinf(updated), np.isinf(refitted))
    assert updated[np.isfinite(updated)] == pytest.approx(refitted[np.isfinite(refitted)], abs=1e-7)


def test_what_takes_longest_is_begun_first(monkeypatch):
    table = messy(90, 5)
    model = Synthesizer(seed=1, method="cart").fit(table)
    handed = []

    def watched(work, items, threads, done=None):
        handed.extend((len(item[2].gone), len(item[1].predictors)) for item in items)
        return in_threads(work, items, threads, done)

    monkeypatch.setattr("caveat.attack.updates.in_threads", watched)
    worlds = Worlds(model.plan.pooled(table), model.plan, model.tables())
    without_each(worlds, np.arange(90), threads=2)
    assert len(handed) >= len(table.names)
    assert handed[0][1] == max(predictors for _, predictors in handed) > 0
    assert handed[-1][1] == 0


def test_threads_and_chunks_do_not_change_a_bit(monkeypatch):
    table = messy(150, 5)
    release = Synthesizer(seed=1, method="cart").fit(table).tables()
    worlds = Worlds(table, plan_of(None, table), release)
    one = with_each_value(worlds, "education", np.arange(150), threads=1)
    monkeypatch.setattr("caveat.attack.updates.CHUNK", 100)
    two = with_each_value(worlds, "education", np.arange(150), threads=3)
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    "options",
    [{"strata": "sex"}, {"weights": "age"}, {"rules": ["if age < 40 then marital = 'single'"]}],
)
def test_plans_that_cannot_be_updated_are_refitted(options):
    table = messy(60, 2)
    with pytest.warns() if "rules" in options else _nothing():
        model = Synthesizer(seed=1, **{"method": "cart", **options}).fit(table)
    worlds = Worlds(table, model.plan, model.tables())
    assert not can_update(worlds)
    result = membership(table, model.tables()[0], generator=model.plan, records=[0, 1])
    assert not np.isnan(result.log_ratio).any()


def _nothing():
    import contextlib

    return contextlib.nullcontext()
