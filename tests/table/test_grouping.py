"""Groups in one table: what is found, what is refused, and there and back."""

from __future__ import annotations

import re

import numpy as np
import pytest

from caveat.errors import CaveatError
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
        ("nobody", "there is no column 'nobody'"),
        ({"key": "hh", "constant": ["age"]}, "it is not constant in 2 of 3 groups"),
        ({"constant": ["age"]}, "the key is not named"),
        ({"key": "hh", "keys": "hh"}, "'keys' is no setting of groups"),
        ({"key": "hh", "order": "-old"}, "there is no column 'old'"),
    ],
)
def test_bad_groups_are_one_sentence(given, says):
    with pytest.raises(CaveatError, match=re.escape(says)):
        found_groups(PEOPLE, given)


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ([1, 1, None, 2], "1 rows belong to no group"),
        ([1, 1, 1, 1], "all rows belong to one group"),
        ([1, 2, 3, 4], "every group has one member"),
        (np.repeat([1, 2], [5_000, 1]), "a group has 5,000 members, more than 1,000"),
    ],
)
def test_bad_keys_are_one_sentence(key, says):
    table = Table.from_frame({"hh": list(key), "x": [0] * len(key)})
    with pytest.raises(CaveatError, match=says):
        found_groups(table, "hh")
