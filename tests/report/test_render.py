"""The page and its Markdown: structure, order, escaping, size, missing parts."""

from __future__ import annotations

import copy
import json
import re
from html import unescape
from itertools import pairwise

import pytest
from tests.refusals import refused
from tests.report.page import Page
from tests.report.sample import large, small

from caveat.evidence import check
from caveat.notes import Note
from caveat.report import markdown, render
from caveat.report.board import board_section
from caveat.report.render import specs_of
from caveat.report.wording import NBSP

DATE = "2026-11-16"
SECTIONS = [
    "The decision",
    "In short",
    "Who is at risk",
    "What the attacker can do",
    "What analysts can do",
    "Risk and utility of other settings",
    "What was done and how to repeat it",
    "Limits of this evidence",
    "Where standards ask for it",
]


@pytest.fixture(scope="module")
def html():
    return {v: render(large(), version=v, date=DATE) for v in ("internal", "external")}


def charts_of(text):
    found = re.search(r'<script type="application/json" id="charts">(.*?)</script>', text)
    return json.loads(found.group(1)) if found else {}


def test_the_samples_are_evidence():
    for content in (small(), large(), large(200), large(1)):
        check(content)


@pytest.mark.parametrize("version", ["internal", "external"])
def test_the_order_of_the_sections(html, version):
    expected = list(SECTIONS)
    if version == "external":
        expected = ["What the evidence says", *SECTIONS[1:2], *SECTIONS[3:]]
    found = [h.replace("Annex: ", "") for tag, h in Page(html[version]).headings if tag == "h2"]
    assert [" ".join(h.split()[1:]) for h in found] == expected
    marks = "123ABCDEF" if version == "internal" else "12ABCDEF"
    assert "".join(h.split()[0] for h in found) == marks
    text = markdown(large(), version=version)
    assert re.findall(r"^## (\w)\. (.*)$", text, re.M) == list(zip(marks, expected, strict=True))


@pytest.mark.parametrize("version", ["internal", "external"])
def test_the_page_has_landmarks_and_an_outline(html, version):
    page = Page(html[version])
    assert page.open == []
    for tag in ("h1", "main", "header", "footer", "nav", "title"):
        assert len(page.all(tag)) == 1, tag
    assert page.all("html")[0]["lang"] == "en"
    levels = [int(tag[1]) for tag, _ in page.headings]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert len(page.ids) == len(set(page.ids))
    links = [a["href"][1:] for a in page.all("a")]
    assert links[0] == "main"
    assert set(links) <= set(page.ids)
    sections = [a["id"] for a in page.all("section")]
    assert set(sections) <= set(links)


@pytest.mark.parametrize("version", ["internal", "external"])
def test_tables_and_charts_say_what_they_are(html, version):
    page = Page(html[version])
    assert all(th.get("scope") in ("col", "row") for th in page.all("th"))
    assert all(th["aria-sort"] == "none" for th in page.all("th") if th["scope"] == "col")
    assert len(page.all("caption")) == len(page.all("table"))
    drawn = [d for d in page.all("div") if d.get("class") == "chart"]
    assert drawn
    assert all(d["role"] == "img" and d["aria-label"] for d in drawn)
    assert [d["id"] for d in drawn] == sorted(
        charts_of(html[version]), key=[d["id"] for d in drawn].index
    )


@pytest.mark.parametrize("version", ["internal", "external"])
def test_the_page_needs_nothing_from_outside(html, version):
    page = Page(html[version])
    assert not page.all("link")
    assert not page.all("img")
    assert all("src" not in script for script in page.all("script"))
    assert all(a["href"].startswith("#") for a in page.all("a"))
    # One bundle for all charts, and nothing that looks like a second one.
    assert html[version].count("window.vegaEmbed") == 1
    assert len(html[version].encode()) < 2_000_000


def test_two_hundred_columns_stay_small():
    text = render(large(200))
    assert len(text.encode()) < 5_000_000
    panels = [name for name in charts_of(text) if name.startswith("chart-distributions")]
    assert len(panels) == 36
    words = Page(text).words
    assert "the 36 of 200 variables that fare worst" in words
    assert "the 36 variables that fare worst" in words


def test_the_same_evidence_and_date_give_the_same_bytes():
    assert render(small(), date=DATE) == render(copy.deepcopy(small()), date=DATE)
    assert markdown(small(), date=DATE) == markdown(copy.deepcopy(small()), date=DATE)
    assert DATE in render(small(), date=DATE)
    assert DATE not in render(small())


def test_titles_and_names_are_escaped():
    content = json.loads(
        json.dumps(small()).replace('"income"', '"<img src=x onerror=alert(1)>|`*"')
    )
    content["release"]["title"] = "</title><script>alert('title')</script> & a | b"
    content["scenarios"][0]["name"] = "</script><b>bold</b>"
    text = render(content)
    page = Page(text)
    assert not page.all("img")
    assert not page.all("b")
    assert len(page.all("script")) == 4
    assert "</title><script>alert('title')</script> & a | b" in page.words
    assert "<img src=x onerror=alert(1)>|`*" in page.words
    md = markdown(content)
    assert "<img" not in md.replace("\\<img", "")
    assert md.startswith("# \\</title\\>\\<script\\>alert('title')\\</script\\> & a \\| b\n")
    rows = [line for line in md.splitlines() if line.startswith("|")]
    tables = "\n".join(rows)
    assert "onerror=alert(1)\\>\\|\\`\\*" in tables


def test_markdown_tables_are_whole():
    for content in (small(), large(), large(1)):
        lines = markdown(content).splitlines()
        for i, line in enumerate(lines):
            if re.fullmatch(r"\|( -{3}:? \|)+", line):
                width = len(re.findall(r"(?<!\\)\|", line))
                assert len(re.findall(r"(?<!\\)\|", lines[i - 1])) == width
                k = i + 1
                while k < len(lines) and lines[k].startswith("|"):
                    assert len(re.findall(r"(?<!\\)\|", lines[k])) == width
                    k += 1
                assert k > i + 1


def test_every_number_of_the_page_is_in_the_markdown():
    content = small()
    found = re.findall(r'data-sort="[^"]+">([^<]+)<', render(content))
    cells = {unescape(cell).replace(NBSP, " ") for cell in found}
    text = markdown(content).replace("\\", "")
    assert len(cells) > 60
    assert [cell for cell in cells if f"| {cell}" not in text] == []


def test_the_strong_attacker_comes_first():
    headings = [h for tag, h in Page(render(small())).headings if tag == "h3"]
    assert headings[:4] == [
        "The decision of the board",
        "The strong attacker: who knows everything else",
        "An ordinary attacker: ordinary means",
        "An attacker with the table only: a neighbour",
    ]


def test_every_measure_has_its_blind_spot():
    content = small()
    words = Page(render(content)).words
    used = {m["measure"] for s in content["scenarios"] for m in s["measurements"]}
    used |= {m["measure"] for m in content["utility"]["measurements"]}
    shared = content["measures"]["strongShare"]["blind_spot"]
    for name in used:
        text = content["measures"][name]["blind_spot"]
        if text.startswith(f"{shared} "):
            text = f"As strongShare. {text.removeprefix(shared).strip()}"
        assert " ".join(text.split()) in words


def test_undefined_values_are_listed_with_their_reason():
    words = Page(render(small())).words
    assert "1 value without a number." in words
    assert "there is no exact posterior after remove_replicated_uniques" in words


def test_the_seed_and_the_hashes_are_internal():
    content = small()
    assert content["seed"] in render(content)
    outside = render(content, version="external")
    assert content["seed"] not in outside
    assert content["inputs"]["data"]["sha256"] not in outside
    assert content["inputs"]["spec"]["sha256"] not in outside
    assert content["release"]["files"][0]["sha256"] in outside


def test_a_map_of_two_methods_says_what_its_lines_and_signs_are():
    content = small()
    for i, point in enumerate(content["map"]["points"]):
        point |= {"method": "guarded" if i > 1 else "cart", "line": i // 2}
    check(content)
    page = render(content)
    assert "lines join the settings of one method, in the order of its dial" in page
    assert "guarded trees</li>" in page
    assert "black edge: this release</li>" in page
    assert "a line joins the settings that are not beaten" in render(small())


def no_map(content):
    content["map"] = None


def empty_map(content):
    content["map"]["points"] = []


def undefined_map(content):
    for point in content["map"]["points"]:
        point |= {"risk_mean": None, "risk_worst": None, "utility_mean": None}


def no_models(content):
    content["utility"]["models"] = []


def no_utility(content):
    content["utility"] = {key: [] for key in content["utility"]}


def no_scenarios(content):
    content["scenarios"] = []
    content["records_at_risk"] = []


def nothing_measured(content):
    for scenario in content["scenarios"]:
        scenario["measurements"] = []


def all_undefined(content):
    nothing = {"value": None, "excess": None, "notes": [Note("x", "no reason at all").to_dict()]}
    for scenario in content["scenarios"]:
        for m in scenario["measurements"]:
            m |= nothing | dict.fromkeys(("interval", "baseline", "control", "reference"))
    for m in content["utility"]["measurements"]:
        m |= nothing | dict.fromkeys(("resample", "second_copy", "control"))
    for entry in content["utility"]["variables"] + content["utility"]["pairs"]:
        entry["S_pMSE"] = None
    for model in content["utility"]["models"]:
        model |= {"mean_overlap": None, "lack_of_fit": None}


def made_elsewhere(content):
    content["synthesis"] = None
    content["release"] |= {"synthesised_by": "elsewhere", "fitted_rows": None, "files": []}


def no_words(content):
    content["release"] |= {"unit": "", "purpose": "", "recipients": "", "access": "", "rows": []}


def flat_coefficients(content):
    for model in content["utility"]["models"]:
        for term in model["coefficients"]:
            term |= {"original_low": term["original"], "original_high": term["original"]}


@pytest.mark.parametrize("version", ["internal", "external"])
@pytest.mark.parametrize(
    "change",
    [no_map, empty_map, undefined_map, no_models, no_utility, no_scenarios, nothing_measured,
     all_undefined, made_elsewhere, no_words, flat_coefficients],
)  # fmt: skip
def test_parts_may_be_missing(change, version):
    content = small()
    change(content)
    check(content)
    page = Page(render(content, version=version, date=DATE))
    assert page.open == []
    assert "None" not in re.sub(r"None (was|of|counts)\b", "", page.words)
    assert "nan" not in page.words.split()
    assert "## 1. " in markdown(content, version=version)


def test_one_column_and_a_long_title():
    content = large(1)
    content["release"]["title"] = "A very long title " * 30
    page = Page(render(content))
    assert page.open == []
    assert "1 column" in page.words


def test_outside_it_is_said_what_the_report_holds_of_single_records():
    content, names_none = small(), "It names no row and no value of the original."
    for text in (render(content, version="external"), markdown(content, version="external")):
        assert f"{names_none} Of single records it says only how sure an attacker can" in text
        assert "nothing about single records" not in text
    content["scenarios"] = [s for s in content["scenarios"] if s["attacker"] != "strong"]
    text = markdown(content, version="external")
    assert names_none in text
    assert "Of single records it says" not in text


def test_another_version_is_refused():
    with refused("release.report.unknown", where="report"):
        render(small(), version="public")


@pytest.mark.parametrize("version", ["internal", "external"])
def test_a_number_says_its_unit(version):
    """Numbers per household and per row of one measure stand beside each other."""
    content = small()
    scenario = next(s for s in content["scenarios"] if s["attacker"] == "release")
    first = next(m for m in scenario["measurements"] if m["measure"] == "repU")
    scenario["measurements"].append({**first, "value": 0.75, "interval": None, "per": "household"})
    assert "one household: all its rows" not in markdown(content, version=version)
    scenario["unit"] = "household"
    check(content)
    text = markdown(content, version=version)
    assert "one household: all its rows leave or change together" in text
    rows = [line for line in text.splitlines() if line.startswith("| repU")]
    assert any(line.startswith("| repU per household") for line in rows)
    assert any(not line.startswith("| repU per") for line in rows)


def test_charts_stand_on_other_pages_with_the_style_of_a_report() -> None:
    section = board_section(small(), None, external=False)
    (text,) = specs_of(section.blocks)
    spec = json.loads(text)
    assert spec["width"] == "container"
    assert spec["config"]["axis"]["grid"] is False
    assert "url" not in text
