"""A release of guarded trees: what its evidence and its reports say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from caveat import Release, evidence
from caveat.report import markdown

SPEC = """\
[release]
access = "public"
seed = 1
[data]
path = "survey.csv"
[synthesis]
method = "guarded"
depth = 6
drop = ["person", "occupation", "bmi", "income", "friends"]
[synthesis.columns.age]
range = [0, 110, 1]
[synthesis.columns.marital]
guard = "strong"
[[scenario]]
name = "who knows all others"
attacker = "strong"
targets = ["marital"]
records = 50
[utility]
measures = ["total variation"]
[output]
reports = []
"""


@pytest.fixture(scope="module")
def content(tmp_path_factory, survey_file) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "survey.csv").write_bytes(survey_file.read_bytes())
    (folder / "release.toml").write_text(SPEC)
    outcome = Release.from_toml(folder / "release.toml").run(threads=1, date="2024-05-01")
    return dict(evidence.read(outcome.folder / "inside/evidence.json"))


def test_the_evidence_has_the_numbers_of_the_guard_and_what_is_assumed_public(content) -> None:
    synthesis = content["synthesis"]
    named = [text.split(":")[0] for text in synthesis["assumed_public"]]
    assert named == ["interviewed", "height", "weight"]
    assert synthesis["assumed_public"][0].startswith("interviewed: range 20")
    by_name = {column["name"]: column for column in synthesis["guard"]["columns"]}
    assert by_name["age"]["guard"] == "standard"
    # Of 400 rows: the dial times √(5000/400) = 3.54.
    assert by_name["marital"] == {
        "name": "marital", "guard": "strong", "temperature": 7.07, "smallest": 220,
        "backoff": 35.4, "floor": 10.6, "depth": 6,
    }  # fmt: skip


def test_the_worst_case_is_given_as_what_it_is(content) -> None:
    guard = content["synthesis"]["guard"]
    # depth x (2 x 2 / temperature + 1 / softness) for each tree, softness a tenth of smallest.
    strong, standard = 6 * (4 / 7.07 + 1 / 22), 6 * (4 / 2.47 + 1 / 12)
    assert guard["worst_case"] > 8 * standard + strong
    assert "far too large to mean anything" in guard["worst_case_says"]
    assert "not guaranteed" in guard["worst_case_says"]
    assert "differential" not in json.dumps(content["synthesis"])


def test_outsiders_are_told_which_ranges_are_assumed_but_not_the_ranges(content) -> None:
    public = evidence.external(content)
    assert public["synthesis"]["assumed_public"] == [
        f"{name}: its range is assumed to be public" for name in ("height", "interviewed", "weight")
    ]
    assert public["synthesis"]["settings"] == {"depth": 6}
    assert len(public["synthesis"]["guard"]["columns"]) == 9
    assert evidence.external(public) == public
    evidence.check(content)


def test_the_report_says_in_words_what_the_guard_does(content) -> None:
    text = markdown(content)
    first = text.split("## A.")[0]
    assert "**What the guard does**: The trees are guarded: their splits are drawn by" in first
    assert "every value is possible everywhere, and small groups borrow from larger ones" in first
    assert "even given the splits that were drawn" in first
    assert "(interviewed, height and weight)" in first
    assert "**Records examined**: all" in text
    assert "| marital | strong | 7.07 | 220 | 35.4 | 10.6 | 6 |" in text
    assert "is not the worst case over all data sets" in text
    assert 'method = "guarded"' not in first
    outside = markdown(content, version="external")
    assert "What the guard does" in outside
    assert "height: its range is assumed to be public" in outside


def test_where_plain_trees_show_people_the_report_names_the_guard(content) -> None:
    plain = json.loads(json.dumps(content))
    del plain["synthesis"]["guard"], plain["synthesis"]["assumed_public"]
    for column in plain["synthesis"]["columns"]:
        column["method"] = "cart"
    (scenario,) = plain["scenarios"]
    for m in scenario["measurements"]:
        if m["measure"] == "strongWorst":
            m["value"] = 100.0
    plain["release"]["private_numbers"] = [{"column": "height", "original": 0.3, "released": 0.2}]
    first = markdown(plain).split("## A.")[0]
    assert "What the guard does" not in first
    assert 'Rounding, smoothing or guarded trees (method = "guarded") would hide them' in first
    assert 'guarded ones (method = "guarded") are made to hide them from her' in first


def test_a_nearly_certain_attacker_calls_for_a_stronger_guard(content) -> None:
    changed = json.loads(json.dumps(content))
    for m in changed["scenarios"][0]["measurements"]:
        if m["measure"] == "strongWorst":
            m["value"] = 95.0
    assert 'guard = "strong" would hide more' in markdown(changed)
    for column in changed["synthesis"]["guard"]["columns"]:
        column["guard"] = "strong"
    assert 'guard = "strong" would hide more' not in markdown(changed)
