"""A row per group: by hand, and with the same columns in all tables."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.table import Table
from caveat.table.grouping import group_tables, joined_tables
from caveat.table.linked import Members

PEOPLE = Table.from_frame(
    {
        "home": ["b", "a", "b", "c", "b"],
        "region": list("SNSNS"),
        "sex": list("fmfmm"),
        "age": [40, 35, 12, 70, 41],
    }
)


def group_table(table: Table, *how: object) -> Table:
    (found,) = group_tables([table], *how)  # type: ignore[arg-type]
    return found


def test_a_row_per_group_by_hand() -> None:
    found = group_table(PEOPLE, "home").to_frame("dict")
    assert list(found)[:4] == ["region", "number of members", "number of sex f", "number of sex m"]
    assert found["region"].tolist() == ["N", "S", "N"]
    assert found["number of members"].tolist() == [1, 3, 1]
    assert found["number of sex f"].tolist() == [0, 2, 0]
    # Quartiles of 12, 35, 40, 41, 70 are 35, 40, 41.
    assert found["number of age [12,35)"].tolist() == [0, 1, 0]
    assert found["number of age [41,70]"].tolist() == [0, 1, 1]


def test_every_member_is_counted_once_and_rows_and_keys_do_not_matter() -> None:
    found = group_table(PEOPLE, "home").to_frame("dict")
    ages = [cells for name, cells in found.items() if name.startswith("number of age")]
    assert np.sum(ages, axis=0).tolist() == [1, 3, 1]
    other = PEOPLE.take([4, 3, 2, 1, 0])
    assert group_table(other, "home") == group_table(PEOPLE, "home")
    renamed = PEOPLE.with_columns({"home": Table.from_frame({"k": [5, 4, 5, 6, 5]})["k"]})
    assert group_table(renamed, "home") == group_table(PEOPLE, "home")


def test_tables_have_the_bands_and_columns_of_the_first() -> None:
    release = Table.from_frame(
        {"home": [1, 1, 2], "region": ["S", "N", "N"], "sex": ["f", "f", "x"], "age": [90, 1, 40]}
    )
    ours, theirs = group_tables([PEOPLE, release], "home")
    assert ours.names == theirs.names
    found = theirs.to_frame("dict")
    # The two of group 1 differ in a constant column: of equally frequent values the first.
    assert found["region"].tolist() == ["N", "N"]
    assert found["number of sex f"].tolist() == [2, 0]
    assert found["number of age [41,70]"].tolist() == [1, 0]  # the last band is open


def test_what_is_counted_can_be_chosen() -> None:
    found = group_table(PEOPLE, "home", ["region"], ["sex"])
    assert found.names == ("region", "number of members", "number of sex f", "number of sex m")
    with refused("data.setting.conflict", column="region"):
        group_table(PEOPLE, "home", ["region"], ["region"])


def test_joined_by_hand() -> None:
    members = Members(np.array([1, 0, 1, 2, 1]), 3)
    found = joined_tables([PEOPLE.drop(["home"])], [members], ["region"])[0].to_frame("dict")
    assert found["number of members"].tolist() == [1, 3, 1]
    assert found["mean of age"].tolist() == [35, 31, 70]
    assert found["least age"].tolist() == [35, 12, 70]
    assert found["largest age"].tolist() == [35, 41, 70]
    assert found["share of the commonest sex"].tolist() == pytest.approx([1, 1 / 3, 1])
