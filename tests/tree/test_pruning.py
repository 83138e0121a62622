"""What the complexity parameter cuts back: by hand, and against the slow tree where it shows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.tree.slow_tree import SlowData, SlowNode, grow_slowly

from caveat.tree import Control, Predictors, Tree, grow
from caveat.tree._leaves import decide


def noisy(kind: str, seed: int) -> tuple[list[np.ndarray], np.ndarray, int, list[int] | None]:
    """Columns, response, levels and values: 300 rows, three predictors that act together."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 8, 300).astype(np.uint8) for _ in range(3)]
    levels = {"two classes": 2, "three classes": 3, "numbers": 4}[kind]
    signal = columns[0] + columns[1] * columns[2] // 3 + rng.integers(0, 6, 300)
    values = [0, 1, 4, 9] if kind == "numbers" else None
    return columns, (signal // 2 % levels).astype(np.uint8), levels, values


def by_average(node: SlowNode, price: float) -> int:
    """Leaves left if a subtree falls when it removes at most the price for each split in it."""

    def visit(here: SlowNode) -> tuple[Fraction, int]:
        if not here.children:
            return here.risk, 0
        parts = [visit(child) for child in here.children]
        risk = sum((part[0] for part in parts), Fraction(0))
        splits = 1 + sum(part[1] for part in parts)
        kept = float(here.risk - risk) > price * splits
        return (risk, splits) if kept else (here.risk, 0)

    return visit(node)[1] + 1


@pytest.mark.parametrize(
    ("kind", "seed", "cp", "if_averaged", "leaves"),
    [
        ("two classes", 0, 0.011, 13, 9),
        ("two classes", 5, 0.0073, 16, 12),
        ("two classes", 8, 0.0051, 22, 16),
        ("three classes", 1, 0.011, 17, 14),
        ("three classes", 2, 0.0151, 10, 5),
        ("numbers", 8, 0.011, 11, 1),
    ],
)
def test_a_child_that_falls_first_does_not_carry_its_ancestors(
    kind: str, seed: int, cp: float, if_averaged: int, leaves: int
) -> None:
    """Averaging over whole subtrees would keep more: the rule of rpart shows in these tables."""
    columns, codes, n_levels, values = noisy(kind, seed)
    data = SlowData(
        columns, [True] * 3, codes, n_levels,
        None if values is None else [Fraction(value) for value in values], [1] * 300,
    )  # fmt: skip
    everyone = tuple(range(300))
    full = grow_slowly(data, everyone, Control(cp=-1.0))
    assert by_average(full, cp * float(full.risk)) == if_averaged
    slow = grow_slowly(data, everyone, Control(cp=cp))
    tree = grow_noisy(kind, seed, cp)
    assert tree.n_leaves == leaves
    ours = {frozenset(tree.donors(leaf).tolist()) for leaf in range(leaves)}
    assert ours == {frozenset(node.rows) for node in slow.walk() if not node.children}


def grow_noisy(kind: str, seed: int, cp: float) -> Tree:
    columns, codes, n_levels, values = noisy(kind, seed)
    numbers = None if values is None else np.array(values, float)
    predictors = Predictors(columns, [8] * 3, [True] * 3)
    return grow(predictors, codes, n_levels, values=numbers, control=Control(cp=cp))


def test_a_larger_cp_never_gives_a_larger_tree() -> None:
    for kind in ("two classes", "three classes", "numbers"):
        leaves = [grow_noisy(kind, 3, cp).n_leaves for cp in np.linspace(0, 0.1, 41)]
        assert leaves == sorted(leaves, reverse=True)
        assert leaves[0] > 20


@pytest.mark.parametrize(
    ("own", "first", "second", "expected"),
    [
        (4.0, (3.0, 2), (0.0, 0), (4.0, 1)),  # 4 alone is more than 7 / 3: the child falls first
        (1.0, (3.0, 2), (0.0, 0), (4.0, 3)),  # 4 / 3 is more than 1: it counts
        (1.0, (8.0, 2), (4.0, 2), (9.0, 3)),  # 9 / 3 = 3 with the first, whose child has 2 only
        (1.0, (4.0, 2), (8.0, 2), (9.0, 3)),  # in whatever order
        (0.0, (8.0, 2), (6.0, 2), (14.0, 5)),  # both
        (2.0, (4.0, 2), (0.0, 0), (6.0, 3)),  # equal: it counts, and weighs on those above
        (0.0, (0.0, 0), (0.0, 0), (0.0, 0)),  # nothing removed
    ],
)
def test_complexity_by_hand(
    own: float, first: tuple[float, int], second: tuple[float, int], expected: tuple[float, int]
) -> None:
    assert decide.py_func(own, *first, *second, 0.5, -1.0, np.inf)[:2] == expected
    each = expected[0] / max(expected[1], 1)
    assert decide.py_func(own, *first, *second, each, -1.0, np.inf)[:2] == (0.0, 0)


def test_price_by_hand() -> None:
    """Errors of the root: 15 of 35. The only split leaves 5 + 5, so it removes 5 of 15."""
    x = np.repeat(np.array([0, 1], np.uint8), [20, 15])
    y = np.repeat(np.array([0, 1, 0, 1], np.uint8), [15, 5, 5, 10])
    predictors = Predictors([x], [2], [True])
    assert grow(predictors, y, 2, control=Control(cp=0.33)).n_leaves == 2
    assert grow(predictors, y, 2, control=Control(cp=0.34)).n_leaves == 1
