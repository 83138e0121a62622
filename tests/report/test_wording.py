"""What columns and measures are called."""

from __future__ import annotations

from tests.report.page import Page
from tests.report.sample import small

import caveat.attack.ordinary  # noqa: F401 (registers its measures)
from caveat.report import markdown, render
from caveat.report.wording import (
    DOES_NOT,
    SAYS,
    called,
    column_cell,
    does_not,
    measure_name,
    people,
    phrase,
)
from caveat.risk import MEASURES as RISKS
from caveat.risk.measure import Property
from caveat.utility import MEASURES as UTILITIES


def labelled():
    content = small()
    content["release"]["labels"] = {"marital": "Marital status", "age": "age"}
    return content


def test_a_column_is_called_by_its_label_with_its_name_beside():
    content = labelled()
    assert called(content, "marital") == "Marital status (marital)"
    assert called(content, "age") == "age"
    assert called(content, "sex") == "sex"
    cell = column_cell(content, "marital", "persons")
    assert (cell.text, cell.small) == ("Marital status", "marital, persons")
    assert column_cell(content, None).text == "–"


def test_labels_are_everywhere():
    for text in (Page(render(labelled())).words, markdown(labelled())):
        assert "“Marital status” (marital)" in text  # measures
        assert "Marital status (marital)" in text  # sentences
    assert "| Marital status (marital) | category" in markdown(labelled())


def test_labels_stay_inside():
    assert "Marital status" not in render(labelled(), version="external")
    assert "Marital status" not in markdown(labelled(), version="external")


def test_measures_say_what_they_say():
    content = labelled()
    m = {"measure": "strongShare", "target": "marital"}
    assert phrase(content, m) == (
        "people whose “Marital status” (marital) the attacker knows almost surely"
    )
    assert phrase(content, {**m, "target": "sex", "per": "household"}) == (
        "households whose “sex” the attacker knows almost surely"
    )
    assert phrase(content, {**m, "target": None}) == (
        "people whose secret the attacker knows almost surely"
    )
    assert phrase(content, {"measure": "CI overlap", "model": "income ~ age"}) == (
        "how far confidence intervals overlap (1 is the same): income ~ age"
    )
    assert measure_name({"measure": "repU", "per": "household"}) == "repU per household"


def test_a_measure_without_words_of_its_own_is_called_as_its_entry_says():
    content = small()
    content["measures"]["GCAP"] = {"says": "mean CAP of the nearest"}
    m = {"measure": "GCAP", "target": "sex"}
    assert phrase(content, m) == "mean CAP of the nearest: “sex”"


def test_the_words_are_about_measures_that_there_are():
    assert set(SAYS) - {"posterior"} <= {*RISKS, *UTILITIES}


def test_people_are_counted_in_their_unit():
    content = small()
    assert people(content) == "people"
    assert people(content, "household") == "households"
    content["release"]["unit"] = ""
    assert people(content) == "records"
    content["release"] |= {"unit": "patient", "tables": []}
    assert people(content) == "rows"
    assert people(content, "row of visits") == "rows of visits"


def test_every_property_is_worded_as_something_that_is_not_done():
    assert set(DOES_NOT) == {str(p) for p in Property}
    assert does_not([]) == "–"
    assert does_not(list(DOES_NOT)) == "Does not: any of the five"
    assert does_not([p for p in DOES_NOT if p != "never reassures falsely"]) == (
        "Does not: any of the five but rule out false reassurance"
    )
