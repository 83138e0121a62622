"""The register as linked tables: rules hold, priors are those that the paper prints."""

from __future__ import annotations

import pytest

from caveat.studies import register
from caveat.studies.study import Output


@pytest.fixture(scope="module")
def grids():
    return register.run(Output(None), rows=6_000).grids


def test_plain_trees_keep_all_six_rules(grids):
    assert [row[2] for row in grids[0].rows] == ["100.0"] * 6
    assert [row[1] for row in grids[0].rows] == ["100.0"] * 6


def test_priors_are_the_shares_of_the_stand_in(grids):
    # 1,500 receive benefits: binomial, four standard errors around the printed shares.
    for row, printed in zip(grids[0].rows, register.PRINTED["prior"], strict=True):
        share = printed / 100
        error = 400 * (share * (1 - share) / 1_500) ** 0.5
        assert abs(float(row[3]) - printed) < error + 0.2, row[0]


def test_most_codes_of_countries_come_back(grids):
    row = grids[1].rows[0]
    assert row[1] == "218"
    assert 190 <= int(row[2]) <= 218
