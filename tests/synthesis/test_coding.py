"""How columns become the variables of models."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.synthesis.coding import Coding
from caveat.table import Column, Kind, Missing, Table


def test_a_numeric_column_with_missing_codes_becomes_number_and_kind() -> None:
    # levels 0 5 9, an empty cell and -8; 0 is declared special
    column = Column(
        np.array([0, 1, 2, 3, 4]), np.array([0, 5, 9]), Kind.INTEGER, (Missing(), Missing(-8))
    )
    coding = Coding.of(column, [0], "x")
    value, kind = coding.parts(column.codes)
    assert coding.numbers.tolist() == [0.0, 5.0, 9.0]
    assert value.codes.tolist() == [0, 1, 2, 0, 0]
    assert kind.codes.tolist() == [1, 0, 0, 2, 3]
    assert (value.ordered, kind.ordered, kind.n_levels) == (True, False, 4)


def test_zero_joins_the_numbers_of_a_two_step_column_only() -> None:
    plain = Table.from_frame({"x": [3, 7]})["x"]
    assert Coding.of(plain, [], "x").numbers.tolist() == [3.0, 7.0]
    gaps = Table.from_frame({"x": [3, None, 7, -2]})["x"]
    assert Coding.of(gaps, [], "x").numbers.tolist() == [-2.0, 0.0, 3.0, 7.0]


def test_factors_keep_missing_as_a_level() -> None:
    column = Table.from_frame({"x": ["b", None, "a"]})["x"]
    (part,) = Coding.of(column, [], "x").parts(column.codes)
    assert (part.codes.tolist(), part.n_levels, part.ordered) == ([1, 2, 0], 3, False)


@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=2, max_size=20),
    st.sets(st.integers(-3, 3), max_size=2),
)
@settings(max_examples=200, deadline=None)
def test_join_undoes_parts(values: list[int | None], special: set[int]) -> None:
    column = Table.from_frame({"x": values})["x"]
    chosen = [v for v in special if v in column.levels.tolist()]
    if not column.kind.is_number:
        chosen = []
    coding = Coding.of(column, chosen, "x")
    parts = coding.parts(column.codes)
    if coding.two_step:
        joined = coding.join(parts[1].codes, parts[0].codes)
    else:
        joined = coding.join(None, parts[0].codes)
    assert joined.tolist() == column.codes.tolist()


def test_new_numbers_take_the_place_of_the_nearest_known_one() -> None:
    column = Table.from_frame({"x": [0.5, 10.5, 20.5]})["x"]
    coding = Coding.of(column, [], "x")
    (part,) = coding.parts_of_numbers(np.zeros(4, int), np.array([-5.0, 5.0, 16.0, 99.0]))
    assert part.codes.tolist() == [0, 0, 2, 2]


def test_special_values_must_be_numbers_that_occur() -> None:
    with refused("synthesis.column.type", column="x"):
        Coding.of(Table.from_frame({"x": ["a", "b"]})["x"], ["a"], "x")
    with refused("data.value.unknown", column="x"):
        Coding.of(Table.from_frame({"x": [1, 2]})["x"], [3], "x")
