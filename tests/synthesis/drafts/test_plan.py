"""Published numbers are held against each other before any work is done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.synthesis.drafts import (
    Category,
    Correlations,
    Derived,
    DraftPlan,
    Model,
    Numeric,
    PublishedTable,
)

A, B = Category(("x", "y"), (0.5, 0.5)), Category(())
XYZ = {name: Numeric(0, 1) for name in "xyz"}


def table(*counts: float, by: str = "ab") -> PublishedTable:
    cells = [("x", "p"), ("x", "q"), ("y", "p"), ("y", "q")]
    return PublishedTable(tuple(by), dict(zip(cells, counts, strict=True)))


def related(matrix: Any, names: str = "xyz", **more: Any) -> Correlations:
    return Correlations(tuple(names), np.array(matrix, float), **more)


def test_levels_and_rows_may_come_from_a_table() -> None:
    plan = DraftPlan({"a": A, "b": B}, (table(10, 20, 30, 0.0),))
    assert plan.n_rows == 60
    assert plan.columns["b"] == Category(("p", "q"))
    assert [margin.by for margin in plan.margins] == [("a", "b"), ("a",)]


BAD = [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]


@pytest.mark.parametrize(
    ("given", "entry", "says"),
    [
        ({"columns": {}}, (), "no columns"),
        ({"columns": {"a": A}}, (), "how many rows"),
        ({"columns": {"a": A}, "rows": 1}, ("rows",), "2 to 200,000"),
        ({"columns": {"a": A, "b": B}, "rows": 9}, ("columns", "b"), "nothing is known about 'b'"),
        ({"columns": {"a": A}, "tables": (table(1, 1, 1, 1),)}, ("table", 0, "by"), "column 'b'"),
        ({"columns": {"a": A, "b": XYZ["x"]}, "tables": (table(1, 1, 1, 1),)}, ("table", 0, "by"),
         "'b' is a column of numbers"),
        ({"columns": {"a": A, "b": B}, "tables": (table(1, 1, 1, -1),)}, ("table", 0, "cells"),
         "from 0 up"),
        ({"columns": {"a": A, "b": B}, "tables": (table(9, 9, 9, 9), table(9, 9, 9, 10))},
         ("table", 1, "cells"), "sums to 37 and the one before to 36"),
        ({"columns": {"a": A, "b": B}, "tables": (table(0.2, 0.2, 0.2, 0.2),)},
         ("table", 0, "cells"), "sum to 0.8, not to 1"),
        ({"columns": {"a": Category(("x",), (1,)), "b": B}, "tables": (table(1, 1, 1, 1),)},
         ("table", 0, "cells"), "a has no level 'y'"),
        ({"columns": XYZ, "correlations": (related([[1, 1.2], [1.2, 1]], "xy"),)},
         ("correlation", 0, "matrix"), "not between -1 and 1"),
        ({"columns": XYZ, "correlations": (related([[1, 0.2], [0.3, 1]], "xy"),)},
         ("correlation", 0, "matrix"), "x with y is 0.2 and 0.3"),
        ({"columns": XYZ, "correlations": (related([[1, 0.2], [0.2, 0.9]], "xy"),)},
         ("correlation", 0, "matrix"), "with itself"),
        ({"columns": XYZ, "correlations": (related([[1, 0.2]], "xy"),)},
         ("correlation", 0, "matrix"), "not 2 by 2"),
        ({"columns": XYZ, "correlations": (related([[1, 0.2], [0.2, 1]], "xw"),)},
         ("correlation", 0, "columns"), "no column 'w'"),
        ({"columns": {**XYZ, "g": Category(("a", "b", "c"), (0.2, 0.2, 0.6))},
          "correlations": (related([[1, 0.2], [0.2, 1]], "xg"),)},
         ("correlation", 0, "columns"), "'g' is a category without an order"),
        ({"columns": XYZ, "correlations": (related([[1, 0.2], [0.2, 1]], "xy"),
                                           related([[1, 0.5], [0.5, 1]], "xy"))},
         ("correlation", 1, "matrix"), "two correlations"),
        ({"columns": XYZ, "correlations": (related(BAD),)}, ("correlation", 0, "matrix"),
         "feasible ones, which are x: 1.0000; y: 0.5000, 1.0000; z: -0.5000, 0.5000, 1.0000"),
        ({"columns": {**XYZ, "t": Derived(Expression("x + w"))}}, ("columns", "t", "formula"),
         "no column 'w'"),
        ({"columns": {"x": Derived(Expression("t")), "t": Derived(Expression("x"))}},
         ("columns", "x", "formula"), "'x' is computed from itself"),
        ({"columns": {**XYZ, "t": Derived(Expression("x + y + 2"), mean=5)}},
         ("columns", "t", "mean"), "2 is feasible"),
        ({"columns": {"a": A, "t": Derived(Expression("a + 1"))}}, ("columns", "t", "formula"),
         "'a' is a category"),
        ({"columns": XYZ, "models": (Model("x ~ w", {}),)}, ("model", 0, "formula"), "'w'"),
    ],
)  # fmt: skip
def test_numbers_that_contradict_each_other(
    given: dict[str, Any], entry: tuple[str | int, ...], says: str
) -> None:
    rows = {} if "how many" in says else {"rows": 100}
    with pytest.raises(CaveatError) as raised:
        DraftPlan(**{**rows, **given})
    assert says in str(raised.value)
    assert raised.value.entry == entry


def test_rounding_is_repaired_without_a_word_and_more_on_request() -> None:
    a, b = 0.71, 0.71  # by hand: r >= 2·0.71² − 1 = 0.0082, published as 0.00
    rounded = [[1, a, 0.0], [a, 1, b], [0.0, b, 1]]
    names, matrix, weights = DraftPlan(XYZ, (), (related(rounded),), rows=9).correlation
    assert names == ("x", "y", "z")
    assert weights.sum() == 6
    assert np.linalg.eigvalsh(matrix)[0] > -1e-9
    assert np.abs(matrix - rounded).max() < 0.006
    found = DraftPlan(XYZ, (), (related(BAD, repair=True),), rows=9).correlation[1]
    assert found[0, 1] == pytest.approx(0.5, abs=1e-4)


def test_pairs_that_nobody_published_are_free() -> None:
    two = (related([[1, 0.9], [0.9, 1]], "xy"), related([[1, 0.9], [0.9, 1]], "yz", weight=2.0))
    _, matrix, weights = DraftPlan(XYZ, (), two, rows=9).correlation
    assert weights[0].tolist() == [0, 1, 0]
    assert weights[1].tolist() == [1, 0, 2]
    assert matrix[0, 2] > 0.6


@pytest.mark.parametrize("weight", [-1.0, 0.0, float("nan"), float("inf")])
def test_a_weight_is_above_zero(weight: float) -> None:
    for made in (
        lambda: Numeric(0, 1, weight=weight),
        lambda: Category(("a", "b"), (0.5, 0.5), weight),
        lambda: Derived(Expression("x"), weight=weight),
        lambda: PublishedTable(("a",), {("x",): 1}, weight),
        lambda: related([[1, 0], [0, 1]], "xy", weight=weight),
        lambda: Model("x ~ y", {"y": 1}, weight=weight),
    ):
        with refused("draft.entry.range", entry=("weight",)) as raised:
            made()
        assert raised.value.entry == ("weight",)
