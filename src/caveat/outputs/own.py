"""Caveat's own outputs, held to the same rules: evidence and the reports made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from caveat.errors import CaveatError
from caveat.evidence import check, external, read, withheld
from caveat.evidence.manifest import EVIDENCE, MANIFEST, is_listed, listed, name_in, release_of
from caveat.outputs.finding import Finding
from caveat.outputs.statbarns import Rules, Verdict

__all__ = [
    "check_evidence",
    "evidence_findings",
    "few_behind",
    "held_inside",
    "part_of_run",
    "report_findings",
    "version_of",
]

PAGE = re.compile(r'<body class="(internal|external)">')
MARKDOWN = re.compile(r"^Disclosure report, (internal|external) version", re.MULTILINE)


def check_evidence(content: dict[str, Any], where: str) -> None:
    """Refuse what is neither evidence nor what may leave of it, which no schema describes."""
    if content.get("seed") is not None or content.get("inputs") is not None:
        check(content, where)
        return
    try:
        external(content)
    except (KeyError, TypeError, AttributeError):
        raise CaveatError(
            "this is no evidence of a release",
            where=where,
            do="give a file that a run has written",
            code="evidence.file.malformed",
        ) from None


def few_behind(content: dict[str, Any], threshold: int) -> list[str]:
    """Return which published numbers rest on too few records, by the place they stand at.

    Parameters
    ----------
    content
        Evidence, all of it or what may leave.
    threshold
        The fewest records behind a number.
    """
    found = withheld(content, threshold)
    for name in ("original_rows", "fitted_rows", "control_rows"):
        n = content["release"].get(name)
        if n is not None and 0 < n < threshold:
            found.append(f"release: {name.replace('_', ' ')}")
    return found


def evidence_findings(content: dict[str, Any], rules: Rules) -> Iterator[Finding]:
    """Hold evidence to the rules: all of it stays inside, what may leave is looked into."""
    if external(content) != content:
        yield Finding(
            "confidential",
            Verdict.REFUSE,
            "it is the evidence for the inside: it names records and describes the original",
            "publish what caveat report --external makes of it",
        )
    few = few_behind(content, rules.threshold)
    if few:
        yield Finding(
            "threshold",
            Verdict.REFUSE,
            f"numbers rest on fewer than {rules.threshold} records: {', '.join(few[:5])}"
            + (f" and {len(few) - 5:,} more" if len(few) > 5 else ""),
            "leave these measures out, or measure with more records",
        )


def version_of(text: str) -> str | None:
    """Return whether a text is an "internal" or "external" report of Caveat's; None if neither."""
    is_page = '<meta name="generator" content="Caveat ' in text
    found = (PAGE if is_page else MARKDOWN).search(text)
    return None if found is None else found[1]


def report_findings(path: Path, version: str, rules: Rules) -> Iterator[Finding]:
    """Say whether a report may leave: by the evidence beside it, if that is what it was made of."""
    if version == "internal":
        yield Finding(
            "confidential",
            Verdict.REFUSE,
            "it is the report for the inside",
            "write the other one with caveat report --external",
        )
        return
    evidence = release_of(path) / EVIDENCE
    if not _belongs(path, evidence):
        yield Finding(
            "evidence",
            Verdict.REVIEW,
            "the evidence that it was written from is not in its release",
            "check the report where caveat run has written it",
        )
        return
    yield from evidence_findings(external(read(evidence)), rules)


def _belongs(report: Path, evidence: Path) -> bool:
    """Whether a run has written both, by the checksums in its manifest."""
    entries = listed(release_of(report))
    return all(is_listed(file, entries) for file in (report, evidence))


def held_inside(path: Path) -> Finding | None:
    """Return that the manifest that lists a file keeps it inside."""
    release = release_of(path)
    entries = listed(release)
    if not is_listed(path, entries) or entries[name_in(release, path)].get("confidential") is False:
        return None
    return Finding(
        "confidential",
        Verdict.REFUSE,
        "the manifest of its folder keeps it inside",
        "publish what manifest.json does not call confidential; the reasons are there",
    )


def part_of_run(path: Path, *, is_table: bool) -> tuple[str, Finding] | None:
    """Return what a file of a run is that is neither evidence nor a report; None for others.

    Parameters
    ----------
    path
        The file.
    is_table
        Whether it can be read as a table.
    """
    release = release_of(path)
    entries = listed(release)
    if path.name == MANIFEST and entries:
        return "manifest", Finding(
            "confidential",
            Verdict.REVIEW,
            "it is the list of the files of a folder, those for the inside among them",
            "leave it inside; it says which files may leave",
        )
    if EVIDENCE not in entries or not is_listed(path, entries):
        return None
    held = held_inside(path)
    if held is not None:
        return "file of a run", held
    if not is_table:
        return None
    return "synthetic table", Finding(
        "synthetic",
        Verdict.REVIEW,
        "it is the synthetic table of a run: records, to which rules for outputs do not apply",
        "decide by inside/report.html, which says what the table discloses",
    )
