"""The report as one HTML page or as Markdown, from evidence alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from caveat.charts import CONFIG, on_page, scripts
from caveat.errors import CaveatError
from caveat.evidence import external
from caveat.report.account import done_section, limits_section
from caveat.report.analyst import analyst_section
from caveat.report.attacker import attacker_section
from caveat.report.blocks import Block, Figure, Heading, Items, Section
from caveat.report.findings import decision
from caveat.report.map import map_section
from caveat.report.promise import is_withheld, promise_section
from caveat.report.reading import Evidence
from caveat.report.records import records_section

__all__ = ["Version", "markdown", "page", "render"]

Version = Literal["internal", "external"]

NAMES_ROWS = (
    "It names rows of the original and shows its distributions. Keep it as you keep the data."
)
NO_VALUE = "It holds nothing about single records and no value of the original."


def render(evidence: Evidence, *, version: Version = "internal", date: str | None = None) -> str:
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
    """
    content, sections = _sections(evidence, version)
    internal = version == "internal"
    return page(
        content["release"]["title"],
        sections,
        kind=f"Disclosure report · {version} version",
        notice=NAMES_ROWS if internal else NO_VALUE,
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
            charts=charts,
            config=CONFIG,
            style=Markup(_file("style.css")),
            script=Markup(_file("report.js")),
            bundle=Markup(scripts()) if charts else "",
        )
    )


def markdown(evidence: Evidence, *, version: Version = "internal", date: str | None = None) -> str:
    """Return the report as Markdown: the same content in the same order, tables for charts.

    Parameters
    ----------
    evidence, version, date
        As for :func:`render`.
    """
    content, sections = _sections(evidence, version)
    tabled = [Section(s.id, s.title, _without_charts(s.blocks)) for s in sections]
    text = (
        _environment(html=False)
        .get_template("report.md.j2")
        .render(**_common(content, tabled, version, date))
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _sections(evidence: Evidence, version: str) -> tuple[Evidence, list[Section]]:
    if version not in ("internal", "external"):
        raise CaveatError(
            f"there is no version {version!r}", where="report", do="use internal or external"
        )
    content = external(dict(evidence)) if version == "external" else evidence
    sections = [
        Section("decision", "The decision in short", [Items(decision(content), numbered=True)]),
        *promise_section(content),
        *([] if is_withheld(content) else _measured(content, version)),
        done_section(content),
        limits_section(content, version == "external"),
    ]
    return content, sections


def _measured(content: Evidence, version: str) -> list[Section]:
    """Return what was measured; a promise does not cover it."""
    return [
        attacker_section(content),
        *([records_section(content)] if version == "internal" else []),
        analyst_section(content),
        map_section(content),
    ]


def _without_charts(blocks: Any) -> list[Block]:
    """Put the table of a figure in its place, unless it follows anyway."""
    found: list[Block] = []
    tables = {id(block) for block in blocks}
    for block in blocks:
        if not isinstance(block, Figure):
            found.append(block)
        elif id(block.table) not in tables:
            found.append(block.table)
    return found


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
