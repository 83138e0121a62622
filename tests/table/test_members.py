"""Who belongs together, and whole groups that are drawn."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.table import Table
from caveat.table.linked import (
    Link,
    Linked,
    Members,
    children_of,
    draw_groups,
    members_of,
    shared_columns,
    varies,
    without_keys,
)


def test_keys_of_any_kind_name_groups() -> None:
    for keys in ([3, 1, 3], ["x", "a", "x"], [2.5, 1.5, 2.5]):
        found = members_of(Table.from_frame({"home": keys}), "home")
        assert found.group.tolist() == [1, 0, 1]
        assert found.sizes.tolist() == [1, 2]


def test_levels_that_no_row_has_are_no_groups() -> None:
    table = Table.from_frame({"home": [1, 2, 3]}).take([0, 2])
    assert members_of(table, "home").n_groups == 2


def test_parents_stand_in_the_order_of_their_rows() -> None:
    patients = Table.from_frame({"id": ["c", "a", "b"], "age": [1, 2, 3]})
    visits = Table.from_frame({"of": ["a", "c", "a"], "cost": [1, 2, 3]})
    link = Link("visits", "of", "patients")
    linked = Linked({"patients": patients, "visits": visits}, {"patients": "id"}, (link,))
    found = children_of(linked, "visits")
    assert found.group.tolist() == [1, 0, 1]
    assert found.parents is not None
    assert found.parents.names == ("age",)
    assert without_keys(linked, "visits").names == ("cost",)
    with refused("data.link.absent", where="table patients"):
        children_of(linked, "patients")


def test_columns_with_one_value_in_every_group() -> None:
    table = Table.from_frame({"a": [1, 1, 2, 2], "b": [1, 1, 1, 2], "c": [None, None, 5, 5]})
    members = Members(np.array([0, 0, 1, 1]), 2)
    assert shared_columns(table, members) == ("a", "c")
    assert shared_columns(table, members, but=["c"]) == ("a",)
    assert shared_columns(table, Members(np.arange(4), 4)) == ()
    assert varies(table["b"].codes, Members(np.array([0, 0, 2, 2]), 3)).tolist() == [0, 0, 1]


def test_some_rows_keep_their_groups() -> None:
    members = Members(np.array([0, 1, 1, 2]), 3)
    assert members.of_rows(np.array([0, 3])).group.tolist() == [0, 1]
    whose = Members(np.array([0, 1]), 3, Table.from_frame({"sex": list("fmf")}))
    assert whose.of_rows(np.array([1])).n_groups == 3
    assert members.means(np.array([1.0, 2.0, 4.0, 5.0])).tolist() == [1, 3, 5]


@given(
    groups=st.lists(st.integers(0, 8), min_size=2, max_size=60),
    rows=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_no_group_is_on_both_sides(groups: list[int], rows: int, seed: int) -> None:
    members = members_of(Table.from_frame({"home": groups}), "home")
    if members.n_groups < 2:
        return
    drawn = draw_groups(members, rows, np.random.default_rng(seed))
    home = np.array(groups)
    assert not set(home[drawn]) & set(home[~drawn])
    assert 0 < drawn.sum() < len(home)
    if members.sizes.min() <= rows:
        assert drawn.sum() <= rows


def test_a_large_group_does_not_take_the_place_of_all_others() -> None:
    members = Members(np.array([0] * 5000 + list(range(1, 1001))), 1001)
    for seed in range(5):
        drawn = draw_groups(members, 300, np.random.default_rng(seed))
        assert drawn.sum() == 300
        assert not drawn[0]


def test_one_group_only_cannot_be_split() -> None:
    with refused("data.group.too-few"):
        draw_groups(Members(np.zeros(5, int), 1), 2, np.random.default_rng(0))
