"""The transcription of the paper's tables, held against itself where it prints a number twice."""

from __future__ import annotations

import pytest

from caveat.attack.ordinary.predicting import CLASSIFIERS
from caveat.studies.attribute_baseline import ACCURACY, CAP, CASES, UNMATCHED

ROWS = ["Original", "DS 0", "DS 0.1", "DV", "SP"]


@pytest.mark.parametrize("table", [1, 2, 3, 4])
def test_gcap_is_the_column_of_fr_nn(table):
    """ "The accuracy scores of the latter coincide with the GCAP disclosure risk measure"."""
    column = CLASSIFIERS.index("FR-NN")
    for row in ROWS:
        assert CAP[table][row][2] == ACCURACY[table + 5][row][column]


def test_every_table_has_every_row():
    assert all(list(rows) == ROWS for rows in (*CAP.values(), *ACCURACY.values()))
    assert all(len(cells) == 3 for rows in CAP.values() for cells in rows.values())
    assert all(len(cells) == 7 for rows in ACCURACY.values() for cells in rows.values())
    assert list(UNMATCHED) == ROWS[1:]


def test_nobody_without_a_match_is_right():
    """0CAP counts those whom ICAP leaves out as wrong: 0CAP < ICAP wherever there are any."""
    for rows in CAP.values():
        for name in ROWS[1:]:
            assert rows[name][0][0] < rows[name][1][0]


def test_cases_have_these_rows():
    for case in CASES:
        assert case.original == ACCURACY[case.table]["Original"]
        assert case.synthpop == ACCURACY[case.table]["SP"]
    assert tuple(case.unmatched for case in CASES[:4]) == UNMATCHED["SP"]
