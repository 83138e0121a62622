"""The report as one HTML page or as Markdown, from evidence alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from caveat.charts import CONFIG, on_page, scripts
from caveat.errors import CaveatError
from caveat.evidence import Decision, evidence_sha256, external
from caveat.report.account import done_section, is_withheld, promise_section
from caveat.report.analyst import analyst_section
from caveat.report.attacker import attacker_section, records_section
from caveat.report.blocks import Block, Figure, Grid, Heading, Items, Section
from caveat.report.board import board_section, map_section
from caveat.report.findings import findings, limits_section, standards_section, strongest
from caveat.report.wording import Evidence

__all__ = ["Version", "markdown", "page", "render", "specs_of"]

Version = Literal["internal", "external"]

NAMES_ROWS = (
    "It names rows of the original and shows its distributions. Keep it as you keep the data."
)
NO_VALUE = "It names no row and no value of the original."
MOST_AT_RISK = (
    "Of single records it says only how sure an attacker can become of the one most at risk."
)


def render(
    evidence: Evidence,
    *,
    version: Version = "internal",
    date: str | None = None,
    decision: Decision | None = None,
) -> str:
    """Return the report as one HTML page that needs nothing else, not even the network.

    Parameters
    ----------
    evidence
        What :func:`caveat.evidence.read` returns.
    version
        "internal" shows all the evidence, rows of single records too, and is as confidential as the
        data. "external" shows only what :func:`caveat.evidence.external` lets through.
    date
        The date to print; none is printed otherwise. The same evidence and date give the same
        bytes.
    decision
        What the board decided, see :func:`caveat.evidence.decision_beside`; without it there is a
        box to write into. A decision about other evidence is said to be one. The external version
        tells what was decided and when, not by whom.
    """
    content, sections = _sections(evidence, version, decision)
    return page(
        content["release"]["title"],
        sections,
        kind=f"Disclosure report · {version} version",
        notice=_notice(content, version),
        source="the evidence of this release",
        software=content["software"],
        version=version,
        date=date,
    )


def page(
    title: str,
    sections: Sequence[Section],
    *,
    kind: str,
    notice: str,
    source: str,
    software: Mapping[str, Any],
    version: Version = "internal",
    date: str | None = None,
) -> str:
    """Return sections as one HTML page that needs nothing else.

    Parameters
    ----------
    title, kind, notice
        What stands at its head: its name, what sort of page it is, and how it is to be kept.
    sections
        What it says.
    source
        What it was written from.
    software
        Versions; that of Caveat is printed.
    version
        "internal" pages are confidential and say so.
    date
        The date to print, if any.
    """
    figures = [b for section in sections for b in section.blocks if isinstance(b, Figure)]
    charts = {
        f"{figure.id}-{i}": on_page(chart)
        for figure in figures
        for i, (_, chart) in enumerate(figure.charts, start=1)
    }
    return (
        _environment(html=True)
        .get_template("report.html.j2")
        .render(
            title=title,
            kind=kind,
            notice=notice,
            source=source,
            software=software,
            sections=sections,
            version=version,
            date=date,
            headings=_headings(sections),
            marks=_marks(sections),
            charts=charts,
            config=CONFIG,
            style=Markup(_file("style.css")),
            script=Markup(_file("report.js")),
            bundle=Markup(scripts()) if charts else "",
        )
    )


def specs_of(blocks: Sequence[Block]) -> list[str]:
    """Return the charts of figures as JSON, each with the style that a report gives to all."""
    return [
        json.dumps({**on_page(chart), "config": CONFIG}, sort_keys=True)
        for block in blocks
        if isinstance(block, Figure)
        for _, chart in block.charts
    ]


def markdown(
    evidence: Evidence,
    *,
    version: Version = "internal",
    date: str | None = None,
    decision: Decision | None = None,
) -> str:
    """Return the report as Markdown: the same content in the same order, tables for charts.

    Parameters
    ----------
    evidence, version, date, decision
        As for :func:`render`.
    """
    content, sections = _sections(evidence, version, decision)
    tables = [b for s in sections for b in s.blocks if isinstance(b, Grid)]
    tabled = [replace(s, blocks=_without_charts(s.blocks, tables)) for s in sections]
    text = (
        _environment(html=False)
        .get_template("report.md.j2")
        .render(**_common(content, tabled, version, date), notice=_notice(content, version))
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _notice(content: Evidence, version: str) -> str:
    """Return what the report holds of single records."""
    if version == "internal":
        return NAMES_ROWS
    return NO_VALUE if strongest(content) is None else f"{NO_VALUE} {MOST_AT_RISK}"


def _sections(
    evidence: Evidence, version: str, decision: Decision | None
) -> tuple[Evidence, list[Section]]:
    if version not in ("internal", "external"):
        raise CaveatError(
            f"there is no version {version!r}",
            where="report",
            do="use internal or external",
            code="release.report.unknown",
        )
    outside = version == "external"
    content = external(dict(evidence)) if outside else evidence
    if outside and decision is not None:
        holds = decision.evidence_sha256 == evidence_sha256(dict(evidence))
        decision = decision if holds else None
    measured = not is_withheld(content)
    sections = [
        board_section(content, decision, outside),
        Section("short", "In short", [Items(findings(content), numbered=True)]),
        *([records_section(content)] if measured and not outside else []),
        *promise_section(content),
        *([attacker_section(content), analyst_section(content)] if measured else []),
        *map_section(content),
        done_section(content),
        limits_section(content, outside),
    ]
    marks = _marks(sections)
    called = {s.id: f"{marks[s.id]} {s.title}" for s in sections}
    return content, [*sections, standards_section(called, outside)]


def _without_charts(blocks: Any, tables: Sequence[Grid]) -> list[Block]:
    """Put the table of a figure in its place, unless the report has it anyway."""
    found: list[Block] = []
    for block in blocks:
        if not isinstance(block, Figure):
            found.append(block)
        elif block.table not in tables:
            found.append(block.table)
    return found


def _marks(sections: Sequence[Section]) -> dict[str, str]:
    """Return the numbers of sections, and the letters of annexes."""
    numbers, letters = iter(range(1, 100)), iter("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return {s.id: next(letters) if s.annex else str(next(numbers)) for s in sections}


def _common(
    content: Evidence, sections: list[Section], version: str, date: str | None
) -> dict[str, Any]:
    return {
        "release": content["release"],
        "software": content["software"],
        "sections": sections,
        "version": version,
        "date": date,
        "headings": _headings(sections),
        "marks": _marks(sections),
    }


def _headings(sections: Sequence[Section]) -> dict[str, list[Heading]]:
    return {s.id: [b for b in s.blocks if isinstance(b, Heading)] for s in sections}


@cache
def _environment(html: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("caveat.report"),
        autoescape=html,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters["md"] = _escaped
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "separators": (",", ":")}
    return environment


def _escaped(text: object) -> str:
    """Return text that Markdown, in a table too, prints as it is."""
    flat = " ".join(str(text).split())
    return re.sub(r"([\\`*_{}\[\]<>|#~$])", r"\\\1", flat)


def _file(name: str) -> str:
    return files("caveat.report").joinpath("templates", name).read_text("utf-8")
