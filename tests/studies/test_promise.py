"""The promise beside the loss."""

from __future__ import annotations

import json
import re

import numpy as np

from caveat.attack.membership import MembershipTest
from caveat.datasets import survey
from caveat.studies import STUDIES
from caveat.studies.promise import (
    PROMISE_SURVEY,
    Loss,
    _grid_promise,
    _together,
    declared_as_in,
    losses,
    picture,
)
from caveat.table import Table


def test_nobody_can_prove_more_than_is_claimed():
    """Measured at ε = 1 and 10: largest log ratio 0.5 and 3, proven 0 and 1."""
    names = ["sex", "age", "education"]
    original = survey(rows=300).select(names)
    declared = {name: PROMISE_SURVEY[name] for name in names}
    small, large = losses(original, declared, (1.0, 10.0), releases=2, records=2, simulations=25)
    for found in (small, large):
        assert len(found.largest) == 2
        assert found.proven <= found.epsilon
        assert 0 < max(found.largest) < 2 * found.epsilon  # δ is one in 10⁹
    assert np.mean(large.largest) > np.mean(small.largest)


def test_records_take_turns():
    tests = [MembershipTest(i, np.array([i, i + 10.0]), np.array([-i, -i - 10.0])) for i in (1, 2)]
    both = _together(tests)
    assert both.inside.tolist() == [1, 2, 11, 12]
    assert both.outside.tolist() == [-1, -2, -11, -12]


def test_a_declaration_as_in_a_public_file_by_hand():
    ages = [*range(20, 60), 3, -8]
    table = Table.from_frame(
        {
            "sex": ["f", "m"] * 21,
            "age": ages,
            "rooms": [1, 2, None] * 13 + [3] * 3,
            "gain": [0.0] * 21 + [float(i) for i in range(1, 22)],
        }
    )
    found = declared_as_in(table)
    assert found["sex"] == {"levels": ["f", "m"], "missing": []}
    assert found["rooms"] == {"levels": [1, 2, 3], "missing": [""]}
    assert found["age"] == {"range": [3, 59, 1], "scale": "even", "bins": 16, "missing": [-8]}
    assert found["gain"]["special"] == [0.0]


def test_the_table_and_the_picture():
    found = [Loss(1.0, (0.4, 0.6), 0.0), Loss(3.0, (1.0, 1.0), 0.5)]
    grid = _grid_promise("survey", found)
    assert grid.rows == (("1", "0.500", "0.600", "0.000"), ("3", "1.000", "1.000", "0.500"))
    text = json.dumps(picture({"survey": found}).to_dict())
    drawn = [float(value) for value in re.findall(r'"loss": ([0-9.]+)', text)]
    assert drawn[:6] == [1.0, 0.5, 0.01, 3.0, 1.0, 0.5]


def test_the_study_is_listed():
    assert STUDIES["promise"].says.startswith("the promise beside the loss")
