"""Linked outliers: the score, the example of the paper, and a stand-in with its control."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack.ordinary.outliers import outlier_links
from caveat.studies import STUDIES, outliers
from caveat.studies.outliers import (
    COMPLETE,
    EXAMPLE,
    KEYS,
    NUMBERS,
    TOLERANCE,
    credit_file,
    gauss_score,
    linked,
    n_outliers,
    utility,
)
from caveat.studies.study import Output
from caveat.table import Table, write


@pytest.fixture(scope="module")
def found():
    return outliers.run_outliers(Output(None), rows=4000)


@pytest.mark.parametrize(("offset", "scale"), [(5, 5), (1000, 1000)])
def test_a_score_of_one_half_is_a_box(offset: float, scale: float) -> None:
    assert gauss_score(-offset, offset, scale) == 1
    assert gauss_score(offset + scale, offset, scale) == 0.5
    assert gauss_score(offset + 1.001 * scale, offset, scale) < 0.5
    assert offset + scale in TOLERANCE.values()


def test_the_example_of_the_paper_is_a_link() -> None:
    """Table 5: equal ages, incomes 262 apart, the same home and purpose."""
    same = {"person_home_ownership": "MORTGAGE", "loan_intent": "PERSONAL"}
    other = {"person_age": 25, "person_income": 50_000, **same}
    crowd = [{**other, "person_income": 50_000 + i} for i in range(200)]
    original = {key: [row[key] for row in [{**EXAMPLE[0], **same}, *crowd]] for key in KEYS}
    release = {key: [row[key] for row in [{**EXAMPLE[1], **same}, *crowd]] for key in KEYS}
    measured = outlier_links(original, release, keys=KEYS, tolerance=TOLERANCE)
    assert measured.details["outliers"] == 1
    assert measured.details["linked pairs"] == 1
    assert measured.value == 1


def test_the_stand_in_has_as_many_outliers_as_the_file() -> None:
    """491 to 684 in samples of four fifths of the public file."""
    everyone = credit_file()
    assert (len(everyone), len(everyone.names)) == (COMPLETE, 12)
    size = int(0.8 * COMPLETE)
    assert size == 22_910
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(COMPLETE)[:size]
        assert 491 <= n_outliers(everyone.take(rows)) <= 684


def test_outliers_are_the_union_over_numbers() -> None:
    ages, incomes = [30] * 50 + [31] * 50, [100] * 50 + [101] * 50
    table = Table.from_frame({"person_age": [*ages, 99, 30], "person_income": [*incomes, 100, 900]})
    assert n_outliers(table) == 2
    assert n_outliers(table.take(np.arange(100)), table) == 0


def test_only_copies_exceed_the_control(found) -> None:
    rows = {row[0]: row for row in found.grids[0].rows}
    share, control = (float(rows["the original itself"][i]) for i in (4, 5))
    assert share > control + 10
    # About 100 outliers and 20 in the control: an error of ten per cent.
    share, control = (float(rows["other people"][i]) for i in (4, 5))
    assert abs(share - control) < 40
    pairs = [[int(row[i].replace(",", "")) for i in (2, 3)] for row in rows.values()]
    assert all(narrow < wide for wide, narrow in pairs)


def test_utility_of_a_copy_is_perfect_and_trees_stay_in_bounds(found) -> None:
    rows = {row[0]: row[6:] for row in found.grids[0].rows}
    assert rows["the original itself"] == ("1.000",) * 3
    assert rows["CART"][0] == "1.000"
    table = credit_file(500)
    assert utility(table, table) == (1, 1, 1)
    assert linked(table, table, table).one == linked(table, table, table).control


def test_numbers_are_quoted_where_they_cannot_be_had(found) -> None:
    by_name = {number.what: number for number in found.numbers}
    assert by_name["records"].printed == by_name["records"].ours == 22_910
    assert by_name["releases"].ours == 102
    assert by_name["outliers of the original"].printed == 617
    assert by_name["smaller score of the two numbers in the example"].ours == 1
    quoted = [number for number in found.numbers if number.ours is None]
    assert {4279, 490, 720, 840, 794, 1449, 1483, 114, 0.45} == {n.printed for n in quoted}
    assert all(number.why for number in quoted)
    assert "give --data FOLDER" in found.remarks[0]


def test_the_public_file_is_used_if_it_is_there(tmp_path) -> None:
    table = credit_file(600)
    frame = table.to_frame("pandas")
    frame.loc[:9, "loan_int_rate"] = None
    write(Table.from_frame(frame), tmp_path / "credit_risk_dataset.csv")
    result = outliers.run_outliers(Output(None), tmp_path)
    assert result.grids[0].title.startswith("Outliers of 472 records")
    assert "other people" not in [row[0] for row in result.grids[0].rows]
    assert "stand-in" not in " ".join(result.remarks)
    assert STUDIES["outliers"].run is outliers.run_outliers
    assert set(NUMBERS) < set(KEYS)
