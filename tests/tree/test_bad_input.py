"""Mistakes raise ValueError with the name of the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from caveat.tree import Control, Predictors, grow, grow_forest

COLUMN = np.array([0, 1, 1, 0, 2] * 4, np.uint8)
RESPONSE = np.array([0, 1] * 10, np.uint8)
PREDICTORS = Predictors([COLUMN], [3], [True])


@pytest.mark.parametrize(
    ("columns", "n_levels", "ordered", "name"),
    [
        ([COLUMN, COLUMN[:3]], [3, 3], [True, True], r"columns\[1\]"),
        ([COLUMN], [3, 3], [True], "n_levels"),
        ([COLUMN], [2], [True], r"columns\[0\]"),
        ([COLUMN], [0], [True], "n_levels"),
        ([COLUMN.astype(np.int64) - 1], [3], [True], "negative"),
        ([COLUMN.astype(float)], [3], [True], r"columns\[0\]"),
        ([COLUMN], [70_000], [False], "nominal"),
    ],
)
def test_bad_predictors(columns: Any, n_levels: Any, ordered: Any, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Predictors(columns, n_levels, ordered)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"response_codes": RESPONSE[:5]}, "response_codes"),
        ({"response_codes": RESPONSE + 1}, "response_codes"),
        ({"response_codes": RESPONSE.astype(int) - 1}, "response_codes"),
        ({"response_codes": RESPONSE.astype(np.int8) - np.int8(1)}, "response_codes"),
        ({"response_codes": RESPONSE.astype(np.uint64) + 2**32}, "response_codes"),
        ({"response_codes": RESPONSE.astype(float)}, "response_codes"),
        ({"n_levels": 0}, "n_levels"),
        ({"n_levels": 70_000}, "n_levels"),
        ({"values": np.array([0.0, np.nan])}, "values"),
        ({"values": np.array([0.0, 1.0, 2.0])}, "values"),
        ({"weights": np.ones(3)}, "weights"),
        ({"weights": np.zeros(20)}, "weights"),
        ({"weights": np.full(20, np.nan)}, "weights"),
        ({"rows": np.array([20])}, "rows"),
        ({"rows": np.array([-1])}, "rows"),
        ({"rows": np.array([], int)}, "rows"),
        ({"rows": np.array([0.5])}, "rows"),
    ],
)
def test_bad_response(change: dict[str, Any], name: str) -> None:
    arguments: dict[str, Any] = {"response_codes": RESPONSE, "n_levels": 2, **change}
    with pytest.raises(ValueError, match=name):
        grow(PREDICTORS, **arguments)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"minbucket": 0}, "minbucket"),
        ({"minsplit": 0}, "minsplit"),
        ({"cp": float("inf")}, "cp"),
        ({"cp": float("nan")}, "cp"),
        ({"max_depth": -1}, "max_depth"),
    ],
)
def test_bad_control(change: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Control(**change)


def test_bad_use_of_a_tree() -> None:
    tree = grow(PREDICTORS, RESPONSE, 2)
    with pytest.raises(ValueError, match="predictors"):
        tree.apply(Predictors([COLUMN], [4], [True]))
    with pytest.raises(ValueError, match="predictors"):
        tree.apply(Predictors([COLUMN], [3], [False]))
    with pytest.raises(ValueError, match="uniforms"):
        tree.draw(PREDICTORS, np.ones(20))
    with pytest.raises(ValueError, match="uniforms"):
        tree.draw(PREDICTORS, np.zeros(3))
    with pytest.raises(ValueError, match="codes"):
        tree.log_prob(PREDICTORS, RESPONSE + 1)
    with pytest.raises(ValueError, match="threads"):
        tree.apply(PREDICTORS, threads=0)
    with pytest.raises(ValueError, match="leaf"):
        tree.donors(99)


def test_bad_selection() -> None:
    with pytest.raises(ValueError, match="indices"):
        PREDICTORS.select([1])
    with pytest.raises(ValueError, match="step"):
        PREDICTORS.rows(slice(0, 10, 2))


@pytest.mark.parametrize(
    ("change", "name"), [({"n_trees": 0}, "n_trees"), ({"n_candidates": 2}, "n_candidates")]
)
def test_bad_forest(change: dict[str, Any], name: str) -> None:
    arguments: dict[str, Any] = {"n_trees": 2, "seed": np.random.SeedSequence(1), **change}
    with pytest.raises(ValueError, match=name):
        grow_forest(PREDICTORS, RESPONSE, 2, **arguments)


def test_a_table_too_large_for_its_classes() -> None:
    column = np.zeros(20, np.uint16)
    wide = Predictors([column], [60_000], [False])
    with pytest.raises(ValueError, match="predictors"):
        grow(wide, np.zeros(20, np.uint16), 60_000)


def test_no_predictors_gives_one_leaf() -> None:
    empty = Predictors([COLUMN], [3], [True]).select([])
    assert grow(empty, RESPONSE, 2).n_leaves == 1


def test_one_row() -> None:
    one = Predictors([COLUMN[:1]], [3], [True])
    tree = grow(one, RESPONSE[:1], 2, control=Control(minbucket=1, cp=0.0))
    assert tree.n_leaves == 1
    assert tree.draw(one, np.array([0.5])).tolist() == [0]
