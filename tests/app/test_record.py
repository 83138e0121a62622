"""One record, behind a plain warning."""

from __future__ import annotations

import pytest
from tests.app.client import client, post
from tests.report.test_explain import content

from caveat.app import jobs
from caveat.errors import CaveatError

PAGE = "/p/study/record"
CONTENT = content()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "release.toml").write_text("")
    return tmp_path


@pytest.fixture
def asked(monkeypatch):
    """What the process aside was asked; it answers with an example."""
    heard = []

    async def answer(*told, limit):
        heard.append((*told, limit))
        return CONTENT

    monkeypatch.setattr(jobs, "answer", answer)
    return heard


def test_the_warning_comes_first(folder, asked):
    text = client(folder).get(PAGE).text
    assert "This page is about a single person." in text
    assert text.index("single person") < text.index('name="row"')
    assert asked == []


def test_a_row_is_explained_in_this_page_and_nowhere_else(folder, asked):
    found = client(folder)
    answer = post(found, PAGE, row="17", allowed="yes")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert f"row {CONTENT['row']:,}" in answer.text
    assert "What would change it" in answer.text
    assert asked == [("explain", str(folder / "study" / "release.toml"), "17", "no", 600.0)]
    assert [path.name for path in (folder / "study").rglob("*")] == ["release.toml"]
    assert "What would change it" not in found.get(PAGE).text


def test_values_are_shown_only_if_they_are_asked_for(folder, asked):
    post(client(folder), PAGE, row="1,234", allowed="yes", values="yes")
    assert asked[0][2:4] == ("1,234", "yes")


def test_nobody_is_asked_without_a_yes(folder, asked):
    answer = post(client(folder), PAGE, row="17")
    assert 'class="mistakes"' in answer.text
    assert asked == []


def test_mistakes_are_said_on_the_page(folder, monkeypatch):
    async def answer(*told, limit):
        del told, limit
        raise CaveatError("there is no row 900", where="record", code="test.thing.failed")

    monkeypatch.setattr(jobs, "answer", answer)
    text = post(client(folder), PAGE, row="900", allowed="yes").text
    assert "record: there is no row 900" in text
    assert 'value="900"' in text


def test_no_page_of_a_form_from_elsewhere(folder, asked):
    answer = client(folder).post(PAGE, data={"row": "17", "allowed": "yes"})
    assert answer.status_code == 403
    assert client(folder).get("/p/nothing/record").status_code == 404
    assert asked == []


def test_rows_are_shown_to_who_may_see_them_and_written_nowhere(folder, monkeypatch):
    heard = []

    async def answer(*told, **more):
        heard.append(told)
        return [{"name": "study", "columns": ["age"], "original": [["<b>47"]], "release": [["31"]]}]

    monkeypatch.setattr(jobs, "answer", answer)
    found = client(folder)
    page = "/p/study/preview"
    assert "only and written nowhere" in found.get(page).text
    assert "47" not in post(found, page).text  # nobody has said that they may see it
    assert heard == []
    text = post(found, page, allowed="yes").text
    assert "&lt;b&gt;47" in text
    assert text.index("Original: confidential") < text.index("47") < text.index("31")
    assert heard == [("preview", str(folder / "study" / "release.toml"))]
    assert [path.name for path in (folder / "study").rglob("*")] == ["release.toml"]
