"""Linkability: two parties with parts of a record."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from tests.refusals import refused

from caveat.attack.ordinary import (
    linkability,
)
from caveat.attack.ordinary.three_risks import chance_of_link


@pytest.mark.parametrize(("n", "k"), [(4, 2), (7, 3), (5, 1), (3, 2)])
def test_chance_of_a_link_by_counting(n, k):
    sets = list(itertools.combinations(range(n), k))
    meet = [bool(set(a) & set(b)) for a in sets for b in sets]
    assert chance_of_link(n, k) == pytest.approx(np.mean(meet))


def test_equal_columns_make_no_link():
    """Everybody alike: the two lots are apart, so links are as rare as by chance (4 sd)."""
    frame = pl.DataFrame({"a": ["x"] * 400, "b": ["y"] * 400})
    found = linkability(frame, frame, first=["a"], second=["b"], neighbours=10)
    chance = chance_of_link(400, 10)
    assert found.baseline == pytest.approx(chance)
    assert abs(found.value - chance) < 4 * np.sqrt(chance * (1 - chance) / 400)


def test_more_neighbours_than_records():
    table = pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    with refused("attack.setting.range", where="neighbours"):
        linkability(table, table, first=["a"], second=["b"], neighbours=4)
