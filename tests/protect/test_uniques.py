"""Removal of replicated uniques."""

from __future__ import annotations

from tests.protect.tables import PEOPLE, RELEASE, values
from tests.refusals import refused

from caveat.protect import (
    remove_replicated_uniques,
)
from caveat.risk import audit


def test_replicated_uniques():
    # Release: f31 unique (also in the original), f52 unique (not there), m52 unique, twice there,
    # m31 unique in both.
    found = remove_replicated_uniques(PEOPLE, RELEASE, ["sex", "age"])
    assert values(found, "x") == [1, 2, 3, 4]
    assert found.step.counts == {"rows": 6, "removed": 2}
    assert audit(PEOPLE, found.table, keys=["sex", "age"], measures=["repU"])["repU"].value == 0
    found = remove_replicated_uniques(PEOPLE, RELEASE, ["sex", "age"], existing=True)
    assert values(found, "x") == [1, 2, 3]


def test_nothing_would_remain():
    with refused("protection.table.empty", where="keys x"):
        remove_replicated_uniques(RELEASE, RELEASE, ["x"])
