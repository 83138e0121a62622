"""Small tables with ties, constant columns, absent levels and every kind of response."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from tests.tree.slow_tree import SlowData

from caveat.tree import Control, Predictors


class Problem(NamedTuple):
    columns: list[np.ndarray]
    n_levels: list[int]
    ordered: list[bool]
    codes: np.ndarray
    n_response: int
    values: np.ndarray | None
    weights: np.ndarray | None
    control: Control

    @property
    def predictors(self) -> Predictors:
        return Predictors(self.columns, self.n_levels, self.ordered)

    @property
    def slow(self) -> SlowData:
        return SlowData(
            self.columns,
            self.ordered,
            self.codes,
            self.n_response,
            None if self.values is None else [Fraction(value) for value in self.values],
            [1] * len(self.codes) if self.weights is None else self.weights.astype(int).tolist(),
        )


def codes(n_rows: int, n_levels: int) -> st.SearchStrategy[np.ndarray]:
    numbers = st.lists(st.integers(0, n_levels - 1), min_size=n_rows, max_size=n_rows)
    return numbers.map(lambda found: np.array(found, np.uint8))


@st.composite
def problems(draw: st.DrawFn, most_rows: int = 40) -> Problem:
    n_rows = draw(st.integers(1, most_rows))
    ordered = draw(st.lists(st.booleans(), min_size=1, max_size=3))
    # Many levels and many classes are searched in other ways than few.
    few, some, many = st.integers(1, 6), st.integers(7, 12), st.integers(13, 40)
    n_levels = [draw(few | some | many if in_order else few) for in_order in ordered]
    columns = [draw(codes(n_rows, levels)) for levels in n_levels]
    n_response = draw(st.integers(1, 4) | st.integers(7, 18))
    values = None
    if draw(st.booleans()):
        whole = st.lists(st.integers(-8, 8), min_size=n_response, max_size=n_response)
        values = np.array(draw(whole), np.float64) / 4
    weights = None
    if draw(st.booleans()):
        small = st.lists(st.integers(1, 3), min_size=n_rows, max_size=n_rows)
        weights = np.array(draw(small), np.float64)
    control = Control(
        minbucket=draw(st.integers(1, 6)),
        minsplit=draw(st.none() | st.integers(1, 12)),
        # Numbers that no ratio of small sums equals: there rounding would decide.
        cp=draw(st.sampled_from([-1.0, 0.0, 1e-8, 0.013_7, 0.106_3])),
        max_depth=draw(st.sampled_from([0, 1, 2, 30])),
    )
    return Problem(
        columns, n_levels, ordered, draw(codes(n_rows, n_response)), n_response, values, weights,
        control,
    )  # fmt: skip
