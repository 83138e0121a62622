"""The map as a tool, and the charts on pages."""

from __future__ import annotations

import html
import json
import re

import pytest
from tests.app.client import client, post
from tests.report.sample import small

from caveat.app import jobs
from caveat.app.pages import sha256
from caveat.evidence import write

SPEC = """\
[release]
title = "A survey"

[synthesis]
method = "cart"  # ours
minbucket = 20
"""
PAGE = "/p/study/map"
CHANGES = [
    [[["synthesis", "minbucket"], 5]],
    [[["synthesis", "minbucket"], 20]],
    [
        [["synthesis", "method"], "guarded"],
        [["synthesis", "minbucket"], None],
        [["protect", 0, "name"], "label"],
    ],
]


@pytest.fixture
def project(tmp_path):
    found = tmp_path / "study"
    (found / "release" / "inside").mkdir(parents=True)
    (found / "release.toml").write_text(SPEC)
    (found / "release" / "inside/release.toml").write_text(SPEC)
    (found / "release" / "manifest.json").write_text('{"files": []}')
    write(found / "release" / "inside/evidence.json", small())
    return found


@pytest.fixture
def asked(monkeypatch):
    """What the process aside was asked; it knows two of the settings."""
    heard = []

    async def answer(*told):
        heard.append(told)
        return CHANGES

    monkeypatch.setattr(jobs, "answer", answer)
    return heard


def choose(project, **fields):
    was = fields.pop("was", sha256((project / "release.toml").read_text()))
    return post(client(project.parent), f"{PAGE}/choose", was=was, **fields)


def test_the_scripts_come_from_this_machine_and_are_made_once(tmp_path):
    found = client(tmp_path)
    answer = found.get("/static/vega.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "window.vegaEmbed" in answer.text
    assert found.app.state.scripts == answer.text
    assert found.get("/static/vega.js").text == answer.text


def test_without_a_token_there_are_no_scripts_either(tmp_path):
    assert client(tmp_path, let_in=False).get("/static/vega.js").status_code == 403


def test_every_setting_is_a_point_and_a_link(project):
    text = client(project.parent).get(PAGE).text
    names = [point["setting"] for point in small()["map"]["points"]]
    assert re.findall(r'data-place="(.)"[^>]*>([^<]*)</a>', text) == list(
        zip("0123", names, strict=True)
    )
    assert text.count(">this release</span>") == 1
    spec = json.loads(html.unescape(re.search(r'data-chart="([^"]*)"', text)[1]))
    assert all(f'"setting": "{name}"' in json.dumps(spec) for name in names)
    assert "Two settings" not in text


def test_a_point_shows_its_numbers_and_a_second_one_is_compared(project):
    found = client(project.parent)
    one = found.get(PAGE, params={"one": "0"}).text
    assert "One setting" in one
    assert "<td>9.5 %</td>" in one.replace("\u00a0", " ")
    assert "one=0&amp;two=2" in one
    two = found.get(PAGE, params={"one": "0", "two": "2"}).text
    assert "Two settings compared" in two
    assert re.search(r"<td>9\.5\s%</td><td>5(\.0*)?\s%</td>", two)
    for wrong in ("<b>", "9", "-1", "٣", "0.5"):
        assert "One setting" not in found.get(PAGE, params={"one": wrong}).text
    assert "One setting" in found.get(PAGE, params={"one": "1", "two": "1"}).text


def test_a_setting_is_chosen_by_writing_its_entries(project, asked):
    assert choose(project, setting="0").headers["location"] == f"{PAGE}?said=saved"
    assert (project / "release.toml").read_text() == SPEC.replace("20", "5")
    assert asked == [("settings", str(project / "release" / "inside/release.toml"))]


def test_what_a_run_has_left_need_not_be_found_out_again(project, asked):
    left = {"made_from": sha256(SPEC), "tried": [[[["synthesis", "minbucket"], 7]]]}
    (project / ".caveat").mkdir()
    (project / ".caveat" / "run-result.json").write_text(
        json.dumps({"format": jobs.FORMAT, "left": left})
    )
    assert choose(project, setting="0").status_code == 303
    assert (project / "release.toml").read_text() == SPEC.replace("20", "7")
    assert asked == []
    (project / "release" / "inside/release.toml").write_text("# another run")
    assert choose(project, setting="0").status_code == 303
    assert (project / "release.toml").read_text() == SPEC.replace("20", "5")


def test_what_a_setting_has_no_use_for_goes(project, asked):
    choose(project, setting="2")
    text = SPEC.replace('"cart"', '"guarded"').replace("minbucket = 20\n", "")
    assert (project / "release.toml").read_text() == f'{text}\n[[protect]]\nname = "label"\n'


def test_a_setting_that_was_not_tried_cannot_be_chosen(project, asked):
    assert choose(project, setting="3").status_code == 404
    assert choose(project, guard="none").status_code == 404
    assert (project / "release.toml").read_text() == SPEC


def test_two_tabs_lose_nothing(project, asked):
    answer = choose(project, setting="0", was=sha256("before"))
    assert answer.status_code == 409
    assert (project / "release.toml").read_text() == SPEC


def test_the_dial_is_turned_without_a_map(project):
    (project / "release" / "manifest.json").unlink()
    text = client(project.parent).get(PAGE).text
    assert "no map yet" in text
    assert text.count("Turn it to") == 3
    assert choose(project, guard="strong").status_code == 303
    assert (
        'method = "guarded"  # ours\nminbucket = 20\nguard = "strong"\n'
        in (project / "release.toml").read_text()
    )
    assert client(project.parent).get(PAGE).text.count("Turn it to") == 2


def test_the_entries_of_a_setting_are_told_and_found_out_once(project, asked):
    found = client(project.parent)
    assert f'hx-get="{PAGE}/entries?setting=2"' in found.get(PAGE, params={"one": "2"}).text
    text = found.get(f"{PAGE}/entries", params={"setting": "2"}).text
    assert '<code>synthesis.method = "guarded"</code>' in text
    assert "<code>synthesis.minbucket</code> is not said" in text
    assert "protect.0.name" in text
    assert "minbucket = 5" in found.get(f"{PAGE}/entries", params={"setting": "0"}).text
    assert len(asked) == 1
    for wrong in ("3", "-1", "", "x"):
        assert found.get(f"{PAGE}/entries", params={"setting": wrong}).status_code == 404
