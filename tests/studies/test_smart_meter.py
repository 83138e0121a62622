"""Aggregated load curves: cells, the complement of the printed counts, and insiders."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.protect.numbers import mdav
from caveat.studies import STUDIES, spectral
from caveat.studies.spectral import PRINTED, SIZES, STAND_INS, insider, sensitive_cells
from caveat.studies.study import Output


@pytest.fixture(scope="module")
def found():
    return spectral.run_smart_meter(Output(None))


def test_cells_are_48_times_the_groups() -> None:
    """All 24 printed numbers of cells, without any data."""
    for name, rows in PRINTED.items():
        for k, row in zip(SIZES, rows, strict=True):
            assert row[0] == 48 * (STAND_INS[name].houses // k)


def test_the_stand_ins_have_exactly_these_cells(found) -> None:
    cells = [number for number in found.numbers if number.what.endswith(": cells")]
    assert len(cells) == 24
    assert all(number.ours == number.printed for number in cells)


def test_the_printed_dominance_is_the_complement(found) -> None:
    """Of the printed table itself, and of the stand-in that is most like its data."""
    assert [row[1:] for row in found.grids[0].rows] == [
        ("2", "24", "24"),
        ("0", "3", "3"),
        ("14", "24", "24"),
    ]
    for number in found.numbers:
        if not number.what.startswith("cer-elec") or ": cells that" not in number.what:
            continue
        cells = next(
            n.printed for n in found.numbers if n.what == number.what.split(": ")[0] + ": cells"
        )
        assert abs(number.ours - number.printed) < 0.08 * cells, number.what


def test_the_true_risk_falls_with_the_size_of_groups(found) -> None:
    for grid in found.grids[1:4]:
        shares = [float(row[-2]) for row in grid.rows]  # one contributor dominates
        assert shares == sorted(shares, reverse=True), grid.title


def test_cells_by_hand() -> None:
    """7 of 10: one dominates; 5 + 4 of 10: two; 3 + 3 of 11: none; nothing: not sensitive."""
    readings = np.array([[7.0, 5.0, 3.0, 0.0], [2.0, 4.0, 3.0, 0.0], [1.0, 1.0, 5.0, 0.0]])
    readings[2, 2] = 3.0
    counts = sensitive_cells(readings, np.zeros(3, np.int64))
    # (2, .6): .9, .9 and 2/3; (1, .6): .7; the rest is less than .66 of the largest: 1 of 7, 1 of 5
    assert counts == (4, 1, 3, 1, 2)
    assert counts.as_printed == (4, 0, 2, 2)


def test_a_member_of_a_pair_knows_the_other_exactly() -> None:
    rng = np.random.default_rng(1)
    readings = rng.lognormal(size=(40, 48))
    group = mdav(readings, 2)
    result = insider(readings, group)
    assert np.bincount(group).tolist() == [2] * 20
    assert result.exact == 1.0
    # The mean of two is nearer to both than to most others.
    assert result.found > 0.8


def test_bounds_by_hand() -> None:
    """6, 3 and 1: the second largest bounds the largest by 10 - 3 = 7, a sixth too much."""
    result = insider(np.array([[6.0], [3.0], [1.0]]), np.zeros(3, np.int64))
    assert result.slack == pytest.approx(1 / 6)
    assert (result.found, result.exact) == (1.0, 0.0)


def test_insiders_find_their_group_mostly(found) -> None:
    by_name = {number.what: number for number in found.numbers}
    share = by_name["insiders who find their own group, mean over sizes and data"].ours
    assert share > 0.5
    assert by_name["readings of the other known exactly in groups of two"].ours == 1.0
    assert len(found.numbers) == 96 + 2
    assert STUDIES["smart-meter"].run is spectral.run_smart_meter
