"""Spectral anonymisation: distances and copies beside another implementation, and the limits."""

from __future__ import annotations

import math

import pytest

from caveat.studies import STUDIES, spectral
from caveat.studies.spectral import REFERENCE, WAYS, expected_matches, limits, linkage
from caveat.studies.study import Output

SETS = 100


@pytest.mark.parametrize(("p", "n"), [key for key in REFERENCE if key[1] < 400])
def test_distances_are_those_of_another_implementation(p: int, n: int) -> None:
    for way, reference in zip(WAYS, REFERENCE[p, n], strict=True):
        found = linkage(n, p, way, SETS)
        # theirs: 400 data sets, three digits; ours: as many as SETS
        error = found.error * math.sqrt(1 + SETS / 400) + 0.0005 * (10 if p == 6 else 1)
        assert abs(found.distance - reference) < 4 * error, way
        expected = expected_matches(n, p, way)
        spread = math.sqrt(expected * 1.0 / (n * SETS))
        assert abs(found.matches - expected) <= 4 * spread + 3 / (n * SETS), way


def test_the_three_numbers_of_a_hundred_records() -> None:
    assert REFERENCE[2, 100] == (0.229, 0.193, 0.264)
    distances = [linkage(100, 2, way, SETS).distance for way in WAYS]
    assert distances[1] < distances[0] < distances[2]  # signs copy most, turns nobody


def test_copies_to_expect() -> None:
    assert [expected_matches(25, p, "J") for p in (2, 3, 6)] == [0.25, 0.125, 0.015625]
    assert expected_matches(25, 3, "P") == pytest.approx(0.0016)
    assert expected_matches(100, 2, "P") == pytest.approx(0.01)
    assert expected_matches(100, 2, "O") == 0


@pytest.mark.parametrize(("way", "factor"), [(None, 1), ("P", 1), ("J", 2), ("O", 2)])
def test_the_theorems_hold_for_normal_data(way, factor: int) -> None:
    found = limits("normal, variances p … 1", way, n=1500, sets=500)
    bound = 4 * math.sqrt(2 / 500 / 3)  # three columns or pairs of them, 500 data sets
    assert found.mean / factor == pytest.approx(1, abs=bound)
    assert found.variance == pytest.approx(1, abs=bound + 0.03)  # and a limit for ever more rows
    assert found.cross / (1 if way is None else 2) == pytest.approx(1, abs=bound + 0.05)
    assert found.off_mean < 0.25


def test_equal_variances_break_them() -> None:
    found = limits("normal, variances 1", "J", n=400, sets=400)
    assert found.off_covariance > 0.25
    assert found.mean == pytest.approx(2, abs=0.35)


def test_the_study_lists_its_numbers() -> None:
    found = spectral.run_spectral(Output(None), sets=12, many=60)
    by_name = {number.what: number for number in found.numbers}
    assert len(found.numbers) == 12 + 27
    assert by_name["P: efficiency of the mean, per cent"].ours == pytest.approx(100)
    assert by_name["O: matches, p = 2"].ours == 0
    assert by_name["J: share of matches, p = 6"].ours == pytest.approx(2**-6, abs=0.008)
    assert by_name["O: seconds for 1,000 records, p = 6"].ours < 2.44
    assert by_name["J: mean distance to the nearest record, p = 2, n = 100"].printed == 0.193
    assert [len(grid.rows) for grid in found.grids] == [12, 9, 9, 16]
    assert STUDIES["spectral"].run is spectral.run_spectral
