"""The reviewer's page: evidence without data, two releases, and the decision."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.app.client import client, post
from tests.report.sample import SAMPLE, small

from caveat.evidence import read_decision, write
from caveat.release.folder import write_manifest
from caveat.release.review import releases_in
from caveat.table.identifying import Output

PLACE = "study/release"
MADE = {
    "decision": "release",
    "names": "A. Reviewer\r\nB. Reviewer\r\n",
    "date": "2026-11-17",
    "conditions": "on site only",
    "next_review": "2027-11-17",
}


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "work"
    (found / PLACE / "inside").mkdir(parents=True)
    shutil.copy(SAMPLE, found / PLACE / "inside/evidence.json")
    content = small()
    content["release"]["title"] = "Later <b>"
    content["scenarios"][0]["measurements"][0]["value"] = 0.0123
    (found / "later" / "inside").mkdir(parents=True)
    write(found / "later" / "inside/evidence.json", content)
    (tmp_path / "outside" / "inside").mkdir(parents=True)
    shutil.copy(SAMPLE, tmp_path / "outside" / "inside/evidence.json")
    return found


def shown(found, at=PLACE):
    return found.get("/review/release", params={"at": at})


def hidden(text):
    return dict(re.findall(r'type="hidden" name="(at|sha256|stands)" value="([^"]*)"', text))


def test_releases_are_found_where_evidence_is(folder):
    (folder / "link").symlink_to(folder.parent / "outside")
    (folder / ".hidden" / "inside").mkdir(parents=True)
    shutil.copy(SAMPLE, folder / ".hidden" / "inside/evidence.json")
    (folder / "linked" / "inside").mkdir(parents=True)
    (folder / "linked" / "inside/evidence.json").symlink_to(
        folder.parent / "outside" / "inside/evidence.json"
    )
    assert releases_in(folder) == {"later": folder / "later", PLACE: folder / PLACE}
    text = client(folder).get("/review").text
    assert "/review/release?at=study/release" in text
    assert "linked" not in text


def test_a_folder_that_is_evidence_itself_is_listed(folder):
    found = client(folder / "later")
    assert 'at=."' in found.get("/review").text
    assert shown(found, ".").status_code == 200


@pytest.mark.parametrize("at", ["", "..", "../outside", "study/../later", "/etc", "link", "x\0"])
def test_no_address_leaves_the_folder(folder, at):
    (folder / "link").symlink_to(folder.parent / "outside")
    found = client(folder)
    assert shown(found, at).status_code == 404
    asked = {"before": PLACE, "after": at}
    assert found.get("/review/changes", params=asked).status_code == 404
    assert post(found, "/review/decision", at=at, **MADE).status_code == 404
    assert not (folder.parent / "outside" / "inside/decision.json").exists()


def test_the_page_says_what_the_report_says(folder):
    from caveat.report.attacker import disagreements
    from caveat.report.board import headline
    from caveat.report.findings import findings

    text, content = shown(client(folder)).text, small()
    assert headline(content) in text
    assert "The limits that were set, and what was found" in text
    assert findings(content)[0][0] in text
    remarks = disagreements(content)
    assert len(remarks) > 0
    for remark in remarks:
        assert remark.title in text
    assert hashlib.sha256(SAMPLE.read_bytes()).hexdigest() in text
    assert "data-chart=" in text
    assert "/static/vega.js" in text


def test_the_page_shows_and_links_nothing_of_single_records(folder):
    content = small()
    rows = {str(one["row"]) for one in content["records_at_risk"] if "row" in one}
    assert rows
    text = shown(client(folder)).text
    assert "/record" not in text
    assert "/p/" not in text
    assert "records_at_risk" not in text
    assert not any(re.search(rf"\brow {row}\b", text) for row in rows)


def test_html_in_titles_is_text(folder):
    text = shown(client(folder), "later").text
    assert "Later <b>" not in text
    assert "Later &lt;b&gt;" in text


def test_evidence_that_is_none_is_a_mistake(folder):
    (folder / "later" / "inside/evidence.json").write_text("{}")
    answer = shown(client(folder), "later")
    assert answer.status_code == 400
    assert "no evidence of a release" in answer.text


def test_two_releases_stand_side_by_side(folder):
    asked = {"before": PLACE, "after": "later"}
    answer = client(folder).get("/review/changes", params=asked)
    assert answer.status_code == 200
    assert "Later &lt;b&gt;" in answer.text
    assert "In short" in answer.text
    assert "Risk" in answer.text
    assert str(folder) not in answer.text


def test_a_decision_is_written_with_the_hash_of_the_evidence(folder):
    found = client(folder)
    answer = post(found, "/review/decision", **hidden(shown(found).text), **MADE)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/review/release?at=study%2Frelease&said=decided"
    made = read_decision(folder / PLACE / "inside/decision.json")
    assert made.evidence_sha256 == hashlib.sha256(SAMPLE.read_bytes()).hexdigest()
    assert (made.decision, made.names, made.conditions) == (
        "release", ("A. Reviewer", "B. Reviewer"), ("on site only",),
    )  # fmt: skip
    assert (made.date, made.next_review) == ("2026-11-17", "2027-11-17")
    text = found.get(answer.headers["location"]).text
    assert "The decision is written down." in text
    assert "A. Reviewer; B. Reviewer" in text
    assert 'name="replace"' in text


def test_a_decision_is_replaced_only_after_saying_so(folder):
    found = client(folder)
    post(found, "/review/decision", **hidden(shown(found).text), **MADE)
    file = folder / PLACE / "inside/decision.json"
    before, fields = file.read_bytes(), hidden(shown(found).text)
    other = {**MADE, "decision": "refuse", "next_review": ""}
    answer = post(found, "/review/decision", **fields, **other)
    assert answer.status_code == 400
    assert "there is a decision already" in answer.text
    assert 'value="refuse" required checked' in answer.text
    assert file.read_bytes() == before
    assert post(found, "/review/decision", **fields, **other, replace="yes").status_code == 303
    assert json.loads(file.read_text())["decision"] == "refuse"
    assert json.loads(file.read_text())["next_review"] is None


def test_two_tabs_do_not_overwrite_each_other(folder):
    found = client(folder)
    fields = hidden(shown(found).text)  # both tabs have loaded the page before
    assert post(found, "/review/decision", **fields, **MADE).status_code == 303
    answer = post(found, "/review/decision", **fields, **MADE, replace="yes")
    assert answer.status_code == 400
    assert "somebody else has decided" in answer.text


def test_a_decision_is_made_on_the_evidence_that_was_shown(folder):
    found = client(folder)
    fields = hidden(shown(found).text)
    shutil.copy(folder / "later" / "inside/evidence.json", folder / PLACE / "inside/evidence.json")
    answer = post(found, "/review/decision", **fields, **MADE)
    assert answer.status_code == 400
    assert "the evidence has become another one" in answer.text
    assert not (folder / PLACE / "inside/decision.json").exists()


@pytest.mark.parametrize(
    "wrong", [{"names": " "}, {"date": "yesterday"}, {"decision": "maybe"}, {"next_review": "x"}]
)
def test_what_is_wrong_in_a_decision_is_said_and_the_rest_is_kept(folder, wrong):
    found = client(folder)
    answer = post(found, "/review/decision", **hidden(shown(found).text), **MADE | wrong)
    assert answer.status_code == 400
    assert f"{next(iter(wrong))} is not as it should be" in answer.text
    assert "on site only" in answer.text
    assert not (folder / PLACE / "inside/decision.json").exists()


def test_a_broken_decision_does_not_hide_the_evidence(folder):
    (folder / PLACE / "inside/decision.json").write_text("{")
    answer = shown(client(folder))
    assert answer.status_code == 200
    assert "decision.json" in answer.text
    assert 'name="replace"' in answer.text


def test_a_decision_is_printed_in_the_reports(folder):
    place = folder / PLACE
    (place / "inside/report.html").write_text("before")
    write_manifest(place, map(Output, ["inside/evidence.json", "inside/report.html"]))
    found = client(folder)
    told = hidden(shown(found).text)
    answer = post(found, "/review/decision", **told, **MADE)
    later = (place / "inside/decision.json").stat().st_mtime_ns + 10**9
    os.utime(place / "inside/decision.json", ns=(later, later))
    text = found.get(answer.headers["location"]).text
    assert 'hx-post="/review/reports"' in text  # by itself, after the decision
    assert 'hx-trigger="load"' in text
    assert 'hx-trigger="load"' not in shown(found).text  # and when asked, later
    assert post(found, "/review/reports", at="../outside").status_code == 404
    assert found.post("/review/reports", data={"at": PLACE}).status_code == 403
    assert (place / "inside/report.html").read_text() == "before"
    answer = post(found, "/review/reports", at=PLACE)
    assert (answer.status_code, answer.headers["location"]) == (
        303, "/review/release?at=study%2Frelease"
    )  # fmt: skip
    assert "B. Reviewer" in (place / "inside/report.html").read_text()
    os.utime(place / "inside/report.html", ns=(later + 1, later + 1))
    assert "if there are any, print it too" in shown(found).text


def test_of_two_who_decide_at_the_same_time_one_is_told(folder):
    found = client(folder)
    post(found, "/review/decision", **hidden(shown(found).text), **MADE)
    told = hidden(shown(found).text)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(
            lambda i: post(found, "/review/decision", **told, replace="yes",
                           **{**MADE, "names": f"{i}"}).status_code, range(8)))  # fmt: skip
    assert sorted(answers) == [303, *[400] * 7]


def test_without_a_decision_there_is_nothing_to_print(folder):
    assert post(client(folder), "/review/reports", at=PLACE).status_code == 303
