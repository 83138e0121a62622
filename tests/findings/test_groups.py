"""The proposal of a section about groups."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest

from caveat.datasets import households, patients
from caveat.findings import look
from caveat.findings.keys import find_groups
from caveat.spec.starter import starter
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
    assert "hhincome is the sum of income; role gives the role" in found.message


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


def panel(years: list[int], name: str = "year", people: int = 200) -> dict[str, Any]:
    """Return records of people who were asked in some of the years."""
    rng = np.random.default_rng(7)
    asked = [np.sort(rng.choice(years, rng.integers(1, 5), replace=False)) for _ in range(people)]
    person = np.repeat(np.arange(1, people + 1), [len(each) for each in asked])
    when = np.concatenate(asked)
    return {
        "person": person,
        name: when,
        "born": 30 + person % 17,
        "pay": rng.normal(9, 1, len(when)),
    }


@pytest.mark.parametrize(
    ("years", "name"), [([68, 69, 70, 73], "year"), ([2001, 2003, 2004, 2006], "asked")]
)
def test_a_panel_is_ordered_by_its_years(years: list[int], name: str) -> None:
    profile = look(panel(years, name))
    (found,) = profile.about("groups")
    assert found.suggestion["groups"] == {"key": "person", "constant": ["born"], "order": name}
    assert tomllib.loads(starter(profile))["groups"]["order"] == name


def test_the_people_of_a_panel_need_no_adult() -> None:
    data = panel([1990, 1991, 1995, 1997])
    data["age"] = data["year"] - 1975 + data["person"] % 40
    (found,) = find_groups(Table.from_frame(data), ["person"])
    assert found.suggestion["adult"] == ""


def test_a_year_that_a_person_has_twice_orders_nothing() -> None:
    data = panel([1, 2, 3, 4])
    data["year"][:] = 1 + np.arange(len(data["year"])) // 300
    (found,) = find_groups(Table.from_frame(data), ["person"])
    assert "order" not in found.suggestion["groups"]


def test_a_score_is_no_occasion() -> None:
    (found,) = find_groups(Table.from_frame(panel([1, 2, 3, 4], "score")), ["person"])
    assert "order" not in found.suggestion["groups"]


def test_clusters_of_a_sample_are_no_groups() -> None:
    cluster = np.repeat(np.arange(1, 201), 5)
    table = Table.from_frame({"psu": cluster, "region": cluster % 7})
    assert find_groups(table, ["psu"]) == []


def test_the_number_of_members_is_counted_and_not_looked_up() -> None:
    rng = np.random.default_rng(11)
    size = rng.integers(1, 6, 300)
    home = np.repeat(np.arange(1, 301), size)
    members = np.repeat(size, size)
    scale = members + 0.5 * (home % 3)
    profile = look(
        {"hh": home, "hhsize": members, "scale": scale, "pay": rng.integers(0, 99, len(home))}
    )
    (found,) = profile.about("groups")
    assert found.suggestion["size"] == ["hhsize"]
    about = {f.code for f in profile.findings if f.columns[:1] == ("hhsize",)}
    assert not about & {"determined-by", "few-numbers"}
