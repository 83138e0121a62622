"""A release whose predictors were chosen: the strong attacker runs, evidence and report say how."""

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
method = "METHOD"
predictors = 2
drop = ["person", "occupation", "bmi", "income", "friends"]
[synthesis.columns.age]
predictors = ["sex"]
[[scenario]]
name = "who knows all others"
attacker = "strong"
targets = ["marital"]
records = 20
[utility]
measures = ["total variation"]
[output]
reports = []
"""


@pytest.fixture(scope="module", params=["guarded", "cart"])
def content(request, tmp_path_factory, survey_file) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "survey.csv").write_bytes(survey_file.read_bytes())
    (folder / "release.toml").write_text(SPEC.replace("METHOD", request.param))
    outcome = Release.from_toml(folder / "release.toml").run(threads=1, date="2024-05-01")
    return dict(evidence.read(outcome.folder / "inside/evidence.json"))


def test_the_evidence_says_how_many_and_how(content) -> None:
    synthesis = content["synthesis"]
    choice = synthesis["choice"]
    chosen = {c["name"]: c["predictors"] for c in synthesis["columns"]}
    assert chosen["age"] == ["sex"]
    others = [n for n, names in chosen.items() if n != "age" and len(names) == 2]
    assert choice["most"] == 2
    # The third column visited has two before it and no choice.
    assert choice["columns"] in (len(others), len(others) - 1)
    guarded = synthesis["settings"]["method"] == "guarded"
    assert choice["temperature"] == (20 if guarded else None)
    assert ("they are drawn" in choice["says"]) == guarded
    assert ("takes them again in every world" in choice["says"]) != guarded


def test_it_is_no_secret_and_the_reports_say_it(content) -> None:
    public = evidence.external(content)
    assert evidence.external(public) == public
    assert public["synthesis"]["choice"] == content["synthesis"]["choice"]
    for shown in (markdown(content), markdown(content, version="external")):
        assert f"{content['synthesis']['choice']['says']}." in " ".join(shown.split())


def test_the_strong_attacker_has_numbers(content) -> None:
    assert '"status": "failed"' not in json.dumps(content["scenarios"])
    assert content["scenarios"]
