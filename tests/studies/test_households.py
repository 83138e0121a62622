"""A population from samples of households: what is drawn, counted and printed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.studies import relational
from caveat.studies.study import Output
from caveat.table import Table

PEOPLE = Table.from_frame(
    {
        "hid": [1, 1, 2, 3, 3, 4],
        "region": ["N", "N", "N", "S", "S", "S"],
        "age": [40, 38, 9, 70, 20, 33],
        "gender": ["female", "male", "male", "male", "male", "female"],
        "citizenship": ["AT", "AT", "Other", "AT", "AT", "AT"],
    }
)


def test_what_is_counted_in_a_population():
    found = relational.figures(PEOPLE, PEOPLE["region"])
    assert (found.households, found.children_only, found.mixed) == (4, 1, 1)
    # region by age (under 18, 35, 50, 65, older) by sex (women, men)
    assert found.cells.reshape(2, 5, 2)[0].tolist() == [[0, 1], [0, 0], [1, 1], [0, 0], [0, 0]]


def test_errors_are_those_of_the_paper():
    truth = relational.Figures(100, 0, 50, np.array([10.0, 0.0, 40.0]))
    made = relational.Figures(99, 3, 51, np.array([11.0, 5.0, 38.0]))
    assert made.errors(truth) == pytest.approx((-1.0, 3, 2.0, 7.5))


@pytest.mark.parametrize("design", relational.DESIGNS)
def test_weights_of_a_design_stand_for_all_households(design, monkeypatch):
    monkeypatch.setattr(relational, "SIZE", 2)
    sample = relational.draw_sample(PEOPLE, design, np.random.default_rng(0))
    first = np.unique(sample["hid"].codes, return_index=True)[1]
    assert sample["weight"].cell_numbers[first].sum() == 4
    assert len(first) == 2


def test_what_is_known_of_the_population():
    homes, persons = relational.known(PEOPLE)
    assert homes == {"region": ["N", "S"], "groups": [2, 2]}
    assert sum(persons["count"]) == 6
    assert persons["region"] == ["N", "N", "N", "S", "S"]


def test_the_study_needs_its_data(tmp_path):
    with refused("study.file.absent"):
        relational.run_households(Output(None), tmp_path)
