"""What a review needs, from evidence alone."""

from __future__ import annotations

import os
import shutil

import pytest
from tests.refusals import refused
from tests.report.sample import SAMPLE, small

from caveat.errors import CaveatError
from caveat.evidence import Decision, read_decision, write
from caveat.evidence.file import EVIDENCE, is_listed
from caveat.release.folder import write_manifest
from caveat.release.review import decide, print_again, releases_in, review_of, side_by_side
from caveat.report.attacker import disagreements
from caveat.report.board import headline
from caveat.report.findings import findings
from caveat.table.identifying import Output

EXTERNAL = "public/report-external.html"


@pytest.fixture
def release(tmp_path):
    found = tmp_path / "study" / "release"
    (found / "inside").mkdir(parents=True)
    shutil.copy(SAMPLE, found / EVIDENCE)
    return found


def made(folder, **more):
    fields = {"decision": "release", "names": ["A"], "date": "2026-11-17", **more}
    return Decision(review_of(folder).sha256, **fields)


def test_releases_are_found_two_folders_deep(release, tmp_path):
    deep = release / "deep"
    (deep / "inside").mkdir(parents=True)
    shutil.copy(SAMPLE, deep / EVIDENCE)
    assert releases_in(tmp_path) == {"study/release": release}
    assert releases_in(release) == {".": release, "deep": deep}
    (tmp_path / "link").symlink_to(deep)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "inside").symlink_to(deep / "inside")
    assert list(releases_in(tmp_path)) == ["study/release"]


def test_a_review_says_what_the_report_says(release):
    content, found = small(), review_of(release)
    assert found.title == content["release"]["title"]
    assert found.blocks[0].text == headline(content)
    assert found.findings == findings(content)
    assert found.remarks == disagreements(content)
    assert (found.decision, found.stands, found.broken) == (None, "", "")


def test_two_releases_have_the_names_they_are_called_by(release, tmp_path):
    content = small()
    content["release"]["title"] = "Later"
    (tmp_path / "later" / "inside").mkdir(parents=True)
    write(tmp_path / "later" / EVIDENCE, content)
    page, (before, after) = side_by_side({"first": release, "second": tmp_path / "later"})
    assert page.title == f"{before.title} (first) and Later (second)"
    assert after.title == "Later"


def test_a_decision_is_replaced_only_on_purpose(release):
    decide(release, made(release))
    stands = review_of(release).stands
    other = made(release, decision="refuse")
    for how in ({}, {"replace_it": True}, {"stands": "0" * 64, "replace_it": True}):
        with refused("decision.file.changed"):
            decide(release, other, **how)
    with refused("decision.file.exists"):
        decide(release, other, stands=stands)
    assert read_decision(release / "inside/decision.json").decision == "release"
    decide(release, other, stands=stands, replace_it=True)
    assert review_of(release).decision == other


def test_a_decision_on_other_evidence_is_refused(release):
    decision = Decision("0" * 64, "release", ["A"], "2026-11-17")
    with refused("evidence.file.changed"):
        decide(release, decision)
    assert not (release / "inside/decision.json").exists()


def test_a_decision_that_cannot_be_read_is_told(release):
    (release / "inside/decision.json").write_text("{}")
    found = review_of(release)
    assert "format is missing" in found.broken
    assert found.stands


def printed(folder):
    """Leave the reports that a run would, and list them."""
    (folder / "public").mkdir()
    names = {"inside/report.html": True, "inside/report.md": True, EXTERNAL: False}
    for name in names:
        (folder / name).write_text("before")
    outputs = [Output(name, outside="" if held else "a test") for name, held in names.items()]
    write_manifest(folder, [Output(EVIDENCE), *outputs])


def test_a_decision_is_printed_in_the_reports_of_the_run(release):
    printed(release)
    (release / "inside/report.md").write_text("somebody has changed it")
    assert review_of(release).unprinted == []
    decide(release, made(release, names=["A. Reviewer"]))
    later = (release / "inside/decision.json").stat().st_mtime_ns + 10**9
    os.utime(release / "inside/decision.json", ns=(later, later))
    assert review_of(release).unprinted == ["inside/report.html", EXTERNAL]
    os.utime(release / "inside/decision.json", ns=(later - 2 * 10**9, later - 2 * 10**9))
    assert review_of(release).unprinted == []
    os.utime(release / "inside/decision.json", ns=(later, later))
    assert print_again(release) == ["inside/report.html", EXTERNAL]
    assert "A. Reviewer" in (release / "inside/report.html").read_text()
    assert "A. Reviewer" not in (release / EXTERNAL).read_text()
    assert (release / "inside/report.md").read_text() == "somebody has changed it"
    assert is_listed(release / "inside/report.html")
    assert not (release / "public/report-external.md").exists()


def test_evidence_alone_has_no_reports_to_print(release):
    decide(release, made(release))
    assert review_of(release).unprinted == []
    assert print_again(release) == []


@pytest.mark.parametrize("there", [True, False])
def test_nothing_is_written_to_where_a_link_leads(release, tmp_path, there):
    secret = tmp_path / "secret"
    if there:
        secret.write_text("mine")
    decision = made(release)
    (release / "inside/decision.json").symlink_to(secret)
    assert "symbolic link" in review_of(release).broken
    for stands in ("", "0" * 64):
        with pytest.raises(CaveatError):
            decide(release, decision, stands=stands, replace_it=True)
    assert secret.exists() == there
    assert not there or secret.read_text() == "mine"


def test_reports_and_manifest_that_are_links_are_not_written(release, tmp_path):
    secret = tmp_path / "secret"
    (release / "inside/report.html").write_text("x")
    write_manifest(release, [Output("inside/report.html")])
    secret.write_text("mine")
    decide(release, made(release))
    os.utime(release / "inside/report.html", (1, 1))
    shutil.copy(release / "inside/report.html", tmp_path / "other.html")
    (release / "inside/report.html").unlink()
    (release / "inside/report.html").symlink_to(tmp_path / "other.html")
    assert print_again(release) == []
    assert (tmp_path / "other.html").read_text() == "x"
    (release / "inside/evidence.json").rename(tmp_path / "evidence.json")
    (release / "inside/evidence.json").symlink_to(tmp_path / "evidence.json")
    with refused("release.file.refused"):
        review_of(release)
