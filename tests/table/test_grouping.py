"""Groups in one table: what is found, what is refused, and there and back."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.table import Table
from caveat.table.grouping import Groups, found_groups, join_groups, size_columns, split_groups

PEOPLE = Table.from_frame(
    {
        "hh": [3, 3, 1, 2, 2, 2],
        "region": ["N", "N", "S", "S", "S", "S"],
        "hsize": [2, 2, 1, 3, 3, 3],
        "age": [40, 3, 71, 30, 31, 1],
    }
)


def test_the_key_is_enough():
    groups = found_groups(PEOPLE, "hh")
    assert groups == Groups("hh", ("region", "hsize"))
    assert size_columns(PEOPLE, "hh", groups.constant) == ("hsize",)


def test_a_table_is_split_and_joined_again():
    both = split_groups(PEOPLE, found_groups(PEOPLE, "hh"))
    assert both.tables["groups"]["hh"].values.tolist() == [3, 1, 2]
    assert join_groups(both, PEOPLE.names) == PEOPLE


def test_members_stand_as_they_are_told():
    both = split_groups(PEOPLE, found_groups(PEOPLE, {"key": "hh", "order": "-age"}))
    rows, _ = both.arranged("members")
    assert both.tables["members"]["age"].values[rows].tolist() == [40, 3, 71, 31, 30, 1]
    assert join_groups(both, PEOPLE.names) == PEOPLE


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("nobody", "data.column.unknown"),
        ({"key": "hh", "constant": ["age"]}, "data.group.mismatch"),
        ({"constant": ["age"]}, "data.key.undeclared"),
        ({"key": "hh", "keys": "hh"}, "data.setting.unknown"),
        ({"key": "hh", "order": "-old"}, "data.column.unknown"),
    ],
)
def test_bad_groups_are_one_sentence(given, says):
    with refused(says):
        found_groups(PEOPLE, given)


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ([1, 1, None, 2], "data.key.absent"),
        ([1, 1, 1, 1], "data.group.too-few"),
        ([1, 2, 3, 4], "data.group.too-small"),
        (np.repeat([1, 2], [5_000, 1]), "data.group.too-large"),
    ],
)
def test_bad_keys_are_one_sentence(key, says):
    table = Table.from_frame({"hh": list(key), "x": [0] * len(key)})
    with refused(says):
        found_groups(table, "hh")
