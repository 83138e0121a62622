"""Weights of groups that meet what is known of the population."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.table import Table
from caveat.table.calibration import calibrated

SAMPLE = Table.from_frame(
    {
        "hh": [4, 4, 7, 9, 9],
        "sex": ["f", "m", "f", "m", "m"],
        "region": ["N", "N", "N", "S", "S"],
        "w": [5.0, 5, 5, 10, 10],
    }
)


def sums(table, name):
    weights, values = table["w"].cell_numbers, table[name].values
    return {v: round(float(weights[values == v].sum()), 6) for v in set(values)}


def test_margins_of_members_and_of_groups_are_met_together():
    persons = Table.from_frame({"sex": ["m", "f"], "count": [70, 50]})
    homes = Table.from_frame({"region": ["N", "S"], "groups": [50, 20]})
    found = calibrated(SAMPLE, "hh", "w", [persons, homes])
    # S: 20 homes with two men each, so 30 of 70 men and 50 women are in N: 30 couples, 20 women.
    assert found["w"].cell_numbers.round(6).tolist() == [30, 30, 20, 20, 20]
    assert sums(found, "sex") == {"f": 50, "m": 70}


def test_margins_that_hold_change_nothing():
    known = Table.from_frame({"region": ["N", "S"], "groups": [10, 10]})
    found = calibrated(SAMPLE, "hh", "w", [known])["w"].cell_numbers
    assert np.allclose(found, SAMPLE["w"].cell_numbers)


@pytest.mark.parametrize(
    ("margin", "says"),
    [
        ({"sex": ["f", "m"], "n": [1, 2]}, "synthesis.margin.malformed"),
        ({"sex": ["f"], "count": [9]}, "synthesis.cell.absent"),
        ({"sex": ["f", "f", "m"], "count": [1, 2, 3]}, "synthesis.cell.duplicate"),
        ({"gender": ["f", "m"], "count": [1, 2]}, "data.column.unknown"),
        ({"sex": ["f", "m", "x"], "count": [1, 2, 3]}, "synthesis.cell.empty"),
    ],
)
def test_bad_margins_are_one_sentence(margin, says):
    with refused(says):
        calibrated(SAMPLE, "hh", "w", [Table.from_frame(margin)])
