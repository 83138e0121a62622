"""The households: what binds their members together is true of every one of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from caveat.datasets import households
from caveat.datasets.tables import STANDS_FOR
from caveat.table import Kind


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return households().to_frame()


def test_members_share_what_belongs_to_the_household(people: pd.DataFrame) -> None:
    homes = people.groupby("household")
    shared = ["region", "tenure", "hhsize", "hhincome", "weight"]
    assert homes.ngroups == 1000
    assert (homes[shared].nunique(dropna=False) == 1).all().all()
    assert (homes.size() == homes["hhsize"].first()).all()


def test_household_income_is_the_sum_of_those_of_the_members(people: pd.DataFrame) -> None:
    known = people["income"].where(people["income"] != -8, 0)
    total = known.groupby(people["household"]).sum()
    assert (total == people.groupby("household")["hhincome"].first()).all()
    assert (people["hhincome"] > 0).mean() > 0.9


def test_every_household_has_an_adult_who_stands_first(people: pd.DataFrame) -> None:
    first = people.groupby("household").head(1)
    assert (first["role"] == "reference person").all()
    assert first["age"].min() >= 18
    assert (people["role"] == "reference person").sum() == 1000


def test_partners_mirror_each_other(people: pd.DataFrame) -> None:
    first = people[people["role"] == "reference person"].set_index("household")
    partner = people[people["role"] == "partner"].set_index("household")
    first = first.loc[partner.index]
    assert partner.index.is_unique
    assert (first["marital"] == partner["marital"]).all()
    assert set(partner["marital"]) == {"married", "cohabiting"}
    assert 0.95 < np.corrcoef(first["age"], partner["age"])[0, 1] < 0.98
    assert 0.01 < (first["sex"] == partner["sex"]).mean() < 0.06


def test_children_stand_from_the_eldest_on(people: pd.DataFrame) -> None:
    children = people[people["role"] == "child"]
    assert (children.groupby("household")["age"].diff().dropna() <= 0).all()
    head = people.groupby("household")["age"].first()
    assert (head.loc[children["household"]].to_numpy() - children["age"].to_numpy() >= 18).all()


def test_weights_stand_for_the_population(people: pd.DataFrame) -> None:
    first = people.groupby("household").first()
    mean = first.groupby("region")["weight"].mean()
    expected = pd.Series(STANDS_FOR)
    assert (mean / expected - 1).abs().max() < 0.03


def test_there_are_several_ways_to_be_missing() -> None:
    table = households()
    income = table["income"]
    assert [str(way) for way in income.missing] == ["-8 (not asked)"]
    assert income.is_missing.sum() == (table["age"].values < 16).sum()
    assert table["education"].kind is Kind.ORDERED
    assert table["education"].is_missing.sum() > income.is_missing.sum()
    assert 0 < table["tenure"].is_missing.mean() < 0.06


def test_the_same_arguments_give_the_same_households() -> None:
    assert households(50) == households(50)
    assert households(50) != households(50, seed=1)
