"""Nothing confidential gets into the external version: what may is chosen by a list."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.sample import large, small

from caveat.attack.strong import BEFORE
from caveat.evidence import external, withheld
from caveat.notes import Note
from caveat.report import markdown, render


def marked(content):
    """Put a marker into every text and number of the evidence, wherever it may sit."""
    markers = []

    def mark(value, path):
        if isinstance(value, dict):
            return {key: mark(entry, (*path, key)) for key, entry in value.items()}
        if isinstance(value, list):
            return [mark(entry, (*path, "[]")) for entry in value]
        if isinstance(value, str) and not _public(path):
            markers.append(f"MARK{len(markers):04d}X")
            return markers[-1]
        return value

    return mark(content, ()), markers


def _public(path):
    """Whether a text may be taken over: it was written to be read, or comes from the library."""
    part, last = path[0], path[-1] if path[-1] != "[]" else path[-2]
    return (
        part in ("format", "software", "measures")
        or (part == "release" and last != "not_released")
        or last in ("measure", "attacker", "scenario", "family", "kind", "risk", "utility", "unit")
        or last in ("risk_unit", "utility_unit", "denominator", "prior", "method")
        or (part == "scenarios" and path[:3] == ("scenarios", "[]", "name"))
        or (part == "protection" and last == "name" and len(path) == 3)
        or (part == "map" and last == "setting")  # which has a flag of its own
    )


def test_no_text_but_the_listed_ones_gets_through():
    content, markers = marked(small())
    assert len(markers) > 60
    public = json.dumps(external(content))
    assert [m for m in markers if m in public] == []
    for text in (
        render(content, version="external", date="2026-01-01"),
        markdown(content, version="external", date="2026-01-01"),
    ):
        assert [m for m in markers if m in text] == []


def test_the_markers_are_in_the_internal_version():
    content, markers = marked(small())
    page = render(content, version="internal")
    assert sum(m in page for m in markers) > 40


@pytest.mark.parametrize("extra", ["hidden_field", "details_of_records"])
def test_a_field_that_is_new_stays_inside(extra):
    content = small()
    for place in (content, content["release"], content["utility"], content["software"]):
        place[extra] = "MARKER-NEW"
    for entry in (
        content["scenarios"][0],
        content["scenarios"][0]["circumstances"],
        content["scenarios"][0]["measurements"][0],
        content["utility"]["variables"][0],
        content["utility"]["measurements"][0],
        content["utility"]["models"][0],
        content["map"],
        content["map"]["points"][0],
        content["synthesis"],
        content["synthesis"]["columns"][0],
        content["protection"][0],
        content["release"]["files"][0],
    ):
        entry[extra] = "MARKER-NEW"
    content["synthesis"]["settings"][extra] = 123.0
    assert "MARKER-NEW" not in json.dumps(external(content))
    assert extra not in json.dumps(external(content))


def test_columns_that_are_not_released_are_not_named():
    content = small()
    content["release"]["columns"].remove("income")
    content["release"]["not_released"].append("income")
    public = external(content)
    text = json.dumps({k: v for k, v in public.items() if k != "measures"})
    assert "income" not in text
    assert "person" not in json.dumps(public["synthesis"])
    # Their measurements stay, without the name: a limit that is not met is not hidden.
    targets = [m["target"] for s in public["scenarios"] for m in s["measurements"]]
    assert None in targets
    assert len(targets) == sum(len(s["measurements"]) for s in content["scenarios"])


def test_formulas_and_settings_are_shown_only_if_made_of_public_words():
    content = small()
    model = content["utility"]["models"][0]
    other = copy.deepcopy(model) | {"formula": "income ~ C(marital, Treatment('MARKER'))"}
    number = copy.deepcopy(model) | {"formula": "income ~ I(age > 97531)"}
    counted = copy.deepcopy(model) | {"formula": "poisson: income ~ `age` * sex"}
    content["release"]["columns"] = ["sex", "age", "region", "marital", "income"]
    content["utility"]["models"] = [model, other, number, counted]
    content["map"]["points"][0]["setting"] = "minbucket 5, prune False, round numbers"
    content["map"]["points"][1] |= {"setting": "special MARKER"}
    del content["map"]["points"][1]["setting_is_public"]
    content["map"]["points"][2] |= {"setting": "guarded, guard strong", "line": 1}
    public = external(content)
    formulas = [m["formula"] for m in public["utility"]["models"]]
    assert formulas == [model["formula"], "model 1 (withheld)", "model 2 (withheld)",
                        "poisson: income ~ `age` * sex"]  # fmt: skip
    settings = [p["setting"] for p in public["map"]["points"]]
    assert settings[:3] == ["minbucket 5, prune False, round numbers", "setting 2 (withheld)",
                            "guarded, guard strong"]  # fmt: skip
    assert public["map"]["points"][2]["line"] == 1


def test_notes_are_shown_by_their_flag_and_labels_in_forms_that_are_known():
    content = small()
    m = content["scenarios"][0]["measurements"][1]
    drawn = "of {n:,} records drawn at random"
    known = [Note("random-sample", drawn, public=True, n=1234).to_dict(), BEFORE.to_dict()]
    # Neither a text that looks as a public one nor the code of one makes a note public.
    inside = [Note("rare", "the level MARKER is rare"), Note("random-sample", drawn, n=1)]
    m["notes"] = [known[0], *(note.to_dict() for note in inside), known[1]]
    m["label"], m["label_is_public"] = "4 columns", True
    content["scenarios"][0]["measurements"][0]["label"] = "MARKER columns"
    first, second = external(content)["scenarios"][0]["measurements"][:2]
    assert second["notes"] == known
    assert second["label"] == "4 columns"
    assert first["label"] == ""


def test_what_is_external_stays_as_it_is():
    public = external(large())
    assert external(public) == public


def test_numbers_are_rounded_but_a_broken_limit_stays_broken():
    content = small()
    m = content["scenarios"][0]["measurements"][1]
    m |= {"value": 5.0000123, "excess": 0.00000246}
    public = external(content)["scenarios"][0]["measurements"][1]
    assert public["value"] == 5.0
    assert public["excess"] == 0.00000246


@given(st.integers(0, 50))
def test_single_records_are_inside_only(n):
    content = small()
    content["records_at_risk"] = [
        {**content["records_at_risk"][0], "row": 7_310_000 + i} for i in range(n)
    ]
    assert "7310" not in json.dumps(external(content))


def test_rows_are_shown_in_the_internal_version_only():
    content = small()
    for i, record in enumerate(content["records_at_risk"]):
        record["row"] = 7_310_000 + i
    rows = [str(record["row"]) for record in content["records_at_risk"]]
    for write in (render, markdown):
        inside, outside = write(content), write(content, version="external")
        assert all(row in inside for row in rows)
        assert "Who is at risk" in inside
        assert "Who is at risk" not in outside
        assert "7310" not in outside


def test_a_number_that_rests_on_few_records_is_withheld() -> None:
    content = small()
    measurement = content["scenarios"][0]["measurements"][1]
    measurement |= {"n": 9, "value": 0.4321, "control": 0.1234}
    assert withheld(content) == ["a neighbour: DiSCO of marital"]
    assert withheld(content, fewest=9) == []
    published = external(content)
    found = published["scenarios"][0]["measurements"][1]
    for name in ("value", "interval", "baseline", "reference", "control", "excess", "n"):
        assert found[name] is None
    assert [note["code"] for note in found["notes"]] == ["below-threshold"]
    assert published["scenarios"][0]["measurements"][0]["value"] == 0.045
    assert external(published) == published
    assert withheld(published) == []
    for write in (render, markdown):
        page = write(content, version="external")
        assert "it rests on fewer than 10 records" in page
        assert "43.2" not in page
        assert "43.2" in write(content, version="internal")
    measurement["n"] = 10
    assert external(content)["scenarios"][0]["measurements"][1]["value"] == 0.4321
