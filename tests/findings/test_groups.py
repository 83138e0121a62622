"""The proposal of a section about groups."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.datasets import households, patients
from caveat.findings import look
from caveat.findings.groups import find_groups
from caveat.table import Table


def test_the_section_of_the_households() -> None:
    (found,) = look(households()).about("groups")
    assert found.columns == ("household",)
    assert found.suggestion == {
        "groups": {
            "key": "household",
            "constant": ["region", "tenure", "hhsize", "hhincome", "weight"],
            "role": "role",
        },
        "size": ["hhsize"],
        "sums": {"hhincome": "income"},
        "adult": "age",
    }
    assert "hhincome is the sum of income; role says who is who" in found.message


def test_a_sum_is_found_also_where_a_code_stands_for_missing() -> None:
    frame = households().to_frame()  # -8 is a number there
    (found,) = look(frame).about("groups")
    assert found.suggestion["sums"] == {"hhincome": "income"}
    assert "hhincome is the sum of income" in found.message


def test_visits_stand_in_the_order_of_their_dates() -> None:
    (found,) = find_groups(patients()["visits"], ["patient"])
    assert found.suggestion["groups"] == {"key": "patient", "constant": [], "order": "date"}
    assert found.suggestion["adult"] == ""


def test_scattered_members_stand_in_the_order_of_their_ages() -> None:
    table = households()
    rows = np.random.default_rng(1).permutation(table.n_rows)
    (found,) = find_groups(table.take(rows), ["household"])
    assert found.suggestion["groups"]["order"] == "-age"


def test_of_two_keys_the_one_whose_groups_share_more() -> None:
    homes = np.repeat(np.arange(100), 3)
    table = Table.from_frame(
        {"firm": np.tile(np.arange(60), 5), "hh": homes, "region": homes % 7, "age": 40 + homes % 9}
    )
    (found,) = find_groups(table, ["firm", "hh"])
    assert found.columns == ("hh",)


@pytest.mark.parametrize(
    "key",
    [
        [None, *np.repeat(np.arange(100), 2)[1:].tolist()],  # somebody belongs to no group
        [*range(180), *range(20)],  # too few groups of several
    ],
)
def test_what_is_no_key_is_not_proposed(key: list[int | None]) -> None:
    assert find_groups(Table.from_frame({"hh": key, "x": [1, 2] * 100}), ["hh"]) == []


def test_adults_are_no_rule_where_everybody_is_one_or_many_groups_have_none() -> None:
    homes = np.repeat(np.arange(100), 2)
    for ages in (np.tile([40, 30], 100), np.where(homes % 5 == 0, 9, 40)):
        (found,) = find_groups(Table.from_frame({"hh": homes, "age": ages}), ["hh"])
        assert found.suggestion["adult"] == ""


def test_fractions_and_dates_are_no_keys() -> None:
    homes = np.repeat(np.arange(100), 3)
    for levels in (homes + 0.25, homes * 2.0**52, homes.astype("M8[D]")):
        table = Table.from_frame({"hh": levels, "region": homes % 7})
        assert find_groups(table, ["hh"]) == []
    table = Table.from_frame({"hh": homes * 1.0, "region": homes % 7})
    assert [found.columns for found in find_groups(table, ["hh"])] == [("hh",)]
