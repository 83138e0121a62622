"""The first page: headline, what comes first, limits, picture, and the box for the decision."""

from __future__ import annotations

import pytest
from tests.report.page import Page
from tests.report.sample import large, small

from caveat.evidence import Decision, evidence_sha256
from caveat.report import markdown, render
from caveat.report.board import board_section, limits_of
from caveat.report.verdict import headline
from caveat.report.wording import NBSP


def first(content, decision=None, version="internal"):
    text = markdown(content, version=version, decision=decision)
    return text.split("## 2.")[0].replace(NBSP, " ").replace("\\", "")


def without_limits(content, keep=lambda m: False):
    for part in (*content["scenarios"], content["utility"]):
        for m in part["measurements"]:
            if not keep(m):
                m["limit"] = m["excess"] = None
    return content


def test_the_headline_says_what_the_evidence_says():
    # Of the sample: strongShare and DiSCO are above their limits, repU and S_pMSE two-way are not.
    assert headline(small()) == "2 of 4 limits are not met: as specified, not ready for release."
    assert headline(without_limits(small())).startswith("No limit was set:")
    one = without_limits(small(), lambda m: m["measure"] == "DiSCO")
    assert (
        headline(one) == "The limit that was set is not met: as specified, not ready for release."
    )
    met = without_limits(small(), lambda m: m["measure"] in ("repU", "S_pMSE two-way"))
    assert headline(met) == "All 2 limits are met; the decision is the board's."


def test_what_could_not_be_measured_is_not_met():
    content = small()
    for m in content["scenarios"][0]["measurements"] + content["utility"]["measurements"]:
        if m["measure"] in ("repU", "S_pMSE two-way"):
            m |= {"value": None, "excess": None}
    assert headline(content) == (
        "2 of 4 limits are not met and 2 could not be measured: as specified, not ready for "
        "release."
    )
    kept = without_limits(content, lambda m: m["measure"] in ("repU", "S_pMSE two-way"))
    assert headline(kept) == (
        "2 of 2 limits could not be measured: as specified, not ready for release."
    )
    kept = without_limits(content, lambda m: m["measure"] == "repU")
    assert headline(kept) == (
        "The limit that was set could not be measured: as specified, not ready for release."
    )


def test_what_rests_on_few_records_is_not_told_outside():
    content = without_limits(small(), lambda m: m["measure"] in ("repU", "S_pMSE two-way"))
    next(m for m in content["scenarios"][0]["measurements"] if m["measure"] == "repU")["n"] = 9
    assert headline(content) == "All 2 limits are met; the decision is the board's."
    outside = first(content, version="external")
    assert "**1 of 2 limits are met (1 not shown: too few records); the decision" in outside
    assert "| Not shown | – | – | – | at most 10.0 % |" in outside


def test_a_limit_is_one_line_whatever_it_is_about():
    """Eight targets are held to one limit on DiSCO: the worst of them is shown."""
    limits = {limit.worst["measure"]: limit for limit in limits_of(large())}
    assert limits["DiSCO"].results == 8
    assert limits["DiSCO"].state == "met"
    assert limits["DiSCO"].worst["value"] == pytest.approx(0.039)
    content = large()
    broken = next(m for m in content["scenarios"][0]["measurements"] if m["measure"] == "DiSCO")
    broken |= {"value": 0.1, "excess": 1.0}
    limits = {limit.worst["measure"]: limit for limit in limits_of(content)}
    assert limits["DiSCO"].state == "not met"
    assert limits["DiSCO"].worst["value"] == 0.1
    broken |= {"value": None, "excess": None}
    limits = {limit.worst["measure"]: limit for limit in limits_of(content)}
    assert limits["DiSCO"].state == "not measured"


def test_limits_are_words_first_and_what_is_not_met_comes_first():
    rows = [line for line in first(small()).splitlines() if line.startswith("| ")]
    assert rows[0].startswith("| What is limited | Met? | Found | Baseline | Control | Limit")
    assert rows[2] == (
        "| People whose keys show one “marital” only, and it is theirs [1] (DiSCO, the worst of 2 "
        "results; “a neighbour”) | Not met | 7.2 % ([6.1, 8.6]) | 1.5 % | 6.5 % | at most 5.0 % | "
    )
    assert [row.split(" | ")[1] for row in rows[2:6]] == [
        "Not met", "Not met", "Met", "Met",
    ]  # fmt: skip


def test_the_limits_say_what_the_attackers_know():
    text = first(small())
    assert "[1] What she knows of a person (the keys): sex, age and region." in text
    assert "[2] She knows how the release was made, and everybody else's record in full." in text


def test_what_is_copied_comes_first():
    content = small()
    assert "**Copied or not protected**: No column. Of the released columns all are" in first(
        content
    )
    content["synthesis"]["columns"][0]["method"] = "copy"
    name = content["synthesis"]["columns"][0]["name"]
    text = first(content)
    assert f"**Copied columns**: {name}: copied from the original and not protected at all." in text
    assert text.index("Copied columns") < text.index("The limits that were set")
    content["synthesis"] = None
    assert "Not known: the tables were made elsewhere." in first(content)


def test_what_follows_from_other_columns_is_no_copy():
    content = small()
    drawn = [c for c in content["synthesis"]["columns"] if c["method"] != "drop"]
    drawn[-1]["method"] = "derived"
    name = drawn[-1]["name"]
    assert f"4 of 5 are drawn from models ({name}: computed from other columns)." in first(content)


def test_what_is_looked_up_in_the_original_is_said_to_be():
    content = small()
    drawn = [c for c in content["synthesis"]["columns"] if c["method"] != "drop"]
    drawn[-1] |= {"method": "lookup", "predictors": ["age"]}
    name = drawn[-1]["name"]
    for version in ("internal", "external"):
        text = first(content, version=version)
        assert (
            f"**Looked up in the original**: {name}: each value as in the original for its age. "
            "Which values go together is shown as it is, not protected."
        ) in text
        drawn_from = f"4 of 5 are drawn from models ({name}: looked up)."
        assert f"No column is copied. Of the released columns {drawn_from}" in text
        assert "public list" not in text


def test_undeclared_ranges_are_named_on_page_one():
    content = small()
    content["synthesis"]["assumed_public"] = [
        "income: range 0 to 990000 by 10, linear cells",
        "income: 0 is modelled apart",
        "a weight of 4 counts as one record",
    ]
    says = (
        "**Undeclared ranges**: 1 column (income). The ends were read off the data, rounded "
        "outwards, and are taken as public. See “Assumed public”"
    )
    text = first(content)
    assert says in text
    assert "990000" not in text
    assert "**Copied or not protected**: No column is copied." in text
    content["synthesis"]["guard"] = {
        "columns": [], "worst_case": None, "worst_case_says": "nothing",
    }  # fmt: skip
    assert says in first(content, version="external")


def test_of_a_number_certainty_is_about_the_exact_value():
    content = small()
    for scenario in content["scenarios"]:
        for m in scenario["measurements"]:
            if m["target"] == "marital":
                m["target"] = "income"
    text = markdown(content).replace(NBSP, " ")
    assert "People whose exact “income” the attacker knows almost surely" in text
    assert "gives probability 0.999 to the exact “income” of the person most at risk" in text


def test_the_picture_is_the_map_or_what_the_attacker_learns():
    content = small()
    assert 'id="chart-map-1"' in render(content)
    assert "chart-certainty" not in render(content)
    # In Markdown the table is in the annex, once.
    assert markdown(content).count("**Settings tried**") == 1
    assert "Settings tried" not in first(content)
    content["map"] = None
    page = render(content)
    assert 'id="chart-certainty-1"' in page
    words = Page(page).words.replace(NBSP, " ")
    assert "0.125 → 0.999" in page.replace(NBSP, " ") or "0.125" in words
    text = first(content)
    assert (
        "| How sure the attacker is of the “marital” of the one most at risk (strongWorst) | "
        in (text)
    )
    content["scenarios"] = []
    assert "chart-certainty" not in render(content)


SHA = evidence_sha256(small())
MADE = Decision(SHA, "release", ["A. Chair", "B. Member"], "2026-11-17", ["for students only"])


def test_without_a_decision_there_are_lines_to_write_on():
    text = first(small())
    assert "- **Decision**: ☐ Release · ☐ Change, and put before the board again · ☐ Refuse" in text
    assert "- **Names**: ……" in text
    assert f"Evidence file: SHA-256 {SHA}" in text
    assert render(small()).count('class="write"') == 5


def test_a_decision_fills_the_box():
    text = first(small(), MADE)
    assert "☒ Release · ☐ Change" in text
    assert "- **Names**: A. Chair; B. Member" in text
    assert "- **Date**: 2026-11-17" in text
    assert "- **Conditions**: for students only" in text
    assert "- **Next review**: none" in text
    page = render(small(), decision=MADE)
    assert 'class="write"' not in page
    assert "<li>A. Chair</li>" in page


def test_a_decision_about_other_evidence_is_said_to_be_one():
    content = small()
    content["release"]["title"] = "Another release"
    text = first(content, MADE)
    assert (
        f"made on another evidence file than this one (SHA-256 {SHA[:12]}…): “release”, "
        "2026-11-17, A. Chair and B. Member." in text
    )
    assert "☐ Release" in text
    assert "- **Date**: ……" in text


def test_outsiders_are_told_what_was_decided_and_not_by_whom():
    text = first(small(), MADE, "external")
    assert "- **Decision**: Release" in text
    assert "Chair" not in text
    assert "students only" not in text
    assert "SHA-256" not in text
    assert "The decision of the board" not in first(small(), version="external")
    content = small()
    content["release"]["title"] = "Another release"
    assert "The decision of the board" not in first(content, MADE, "external")


def test_the_page_is_the_first_section():
    section = board_section(small(), None, external=False)
    assert [block.kind for block in section.blocks] == ["headline", "table", "figure", "box"]
    assert not section.annex
