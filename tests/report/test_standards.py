"""Where standards ask for what the report has."""

from __future__ import annotations

from tests.report.sample import small

from caveat.report import markdown
from caveat.report.findings import ISO, standards_section

HEADINGS = {
    "6.2": "Threat modelling",
    "7.2": "Data features",
    "7.3": "Attack modelling",
    "7.3.2": "Maximum or average risk",
    "7.3.4": "Data privacy models",
    "8.2.2": "Quantifying identifiability",
    "8.2.3": "Adversarial testing",
    "8.3.3": "Transforming the data",
    "8.3.4": "Re-evaluation",
    "9.2": "Before data are made available",
}
"""From the published table of contents of ISO/IEC 27559:2022."""


def test_the_headings_are_those_of_the_standard():
    assert {number: heading for _, _, number, heading in ISO} == HEADINGS


def test_only_parts_that_there_are_are_mapped():
    section = standards_section({"decision": "1 The decision"}, external=False)
    table = section.blocks[1]
    assert [[c.text for c in row] for row in table.rows] == [
        ["1 The decision", "limits and the board's decision", "9.2",
         "Before data are made available"],
    ]  # fmt: skip
    assert section.annex


def test_it_is_the_last_annex():
    text = markdown(small())
    last = text.split("\n## ")[-1]
    assert last.startswith("F. Where standards ask for it")
    assert "| A What the attacker can do | attacks on the release, with controls | 8.2.3 | " in last
    assert "SATRE 3.3.09" in last
    assert "Here it is evidence.json and release.toml." in last
    outside = markdown(small(), version="external").split("\n## ")[-1]
    assert "evidence.json, kept inside" in outside
    assert "Who is at risk" not in outside
