"""Output checking: what an output is held to, the verdict, and the form SACRO-Viewer opens."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from caveat.documents import parse
from caveat.errors import CaveatError
from caveat.evidence import check, external, withheld
from caveat.evidence import read as read_evidence
from caveat.evidence.file import EVIDENCE, MANIFEST, is_listed, listed, name_in, release_of
from caveat.outputs.cell_numbers import without_notes, written_decimal
from caveat.outputs.differencing import Counts, band_findings, differencing_findings
from caveat.outputs.output_table import (
    OF_MODELS,
    Described,
    OutputTable,
    Regression,
    is_regression,
    regression_findings,
)
from caveat.outputs.statbarns import STATBARNS, Checked, Finding, Rules, Verdict
from caveat.outputs.table_rules import (
    is_survival,
    survival_barns,
    survival_findings,
    table_findings,
)
from caveat.table import Table, read
from caveat.table.identifying import CODES, judge_labels
from caveat.table.source import is_text, readable

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
    yield from evidence_findings(external(read_evidence(evidence)), rules)


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


# -------------------------------------------------------------------------------------------------
# Output checking: what an output is, which rules it is held to, and the verdict.


MODELS = STATBARNS["correlation coefficients and models"]


def check_files(
    paths: Sequence[str | Path],
    rules: Rules | None = None,
    *,
    described: Mapping[str, Described] | None = None,
    earlier: Sequence[Counts] = (),
) -> list[Checked]:
    """Check outputs by the rules of their statbarns, and against each other.

    Parameters
    ----------
    paths
        Tables in any format that is read, regression results as JSON or CSV, ``evidence.json`` and
        reports, or folders of them; of any other file it is said that a person has to look at it.
    rules
        The rules; the defaults of :data:`caveat.outputs.statbarns.RULES` without them.
    described
        What is known about single files, by their names.
    earlier
        Tables of the same data that were published before.
    """
    rules = rules or Rules()
    known = described or {}
    found = [_with_manifest(path, rules, known.get(path.name)) for path in files_in(paths)]
    others: list[Counts] = list(earlier)
    out = []
    for one in found:
        more: tuple[Finding, ...] = ()
        if one.counts is not None:
            more = tuple(differencing_findings(one.counts, others, rules))
            others.append(one.counts)
        out.append(replace(one, findings=one.findings + more))
    return out


def files_in(paths: Sequence[str | Path]) -> list[Path]:
    """Return files as they are, and for each folder all files in it and below, by their names.

    The manifest of a folder is no output, but says what the others are.
    """
    out: list[Path] = []
    for path in map(Path, paths):
        if not path.is_dir():
            out.append(path)
            continue
        inside = sorted(
            file for file in path.rglob("*") if file.is_file() and file.name != MANIFEST
        )
        if not inside:
            raise CaveatError(
                "there is no file in the folder",
                where=str(path),
                do="check the name",
                code="outputs.folder.empty",
            )
        out += inside
    return out


def check_table(
    data: Any,
    rules: Rules | None = None,
    *,
    name: str = "table",
    described: Described | None = None,
) -> Checked:
    """Check a table that is published: a frame, or a :class:`caveat.Table`.

    Parameters
    ----------
    data
        The table: columns that say which cell a row is, a column ``count``, others with statistics.
    rules
        The rules.
    name
        What it is called.
    described
        What its columns are, where their names do not say it.

    Examples
    --------
    >>> import pandas as pd
    >>> told = pd.DataFrame({"sex": ["f", "m"], "count": [120, 4]})
    >>> found = check_table(told)
    >>> found.verdict.value, found.findings[0].reason
    ('refuse', 'row 2: fewer than 10 persons')
    """
    table = data if isinstance(data, Table) else Table.from_frame(data)
    return _of_table(name, table, rules or Rules(), described)


def check_model(result: Any, rules: Rules | None = None, *, name: str = "model") -> Checked:
    """Check a fitted model of statsmodels, or a :class:`~caveat.outputs.output_table.Regression`.

    Parameters
    ----------
    result
        What ``fit`` returned.
    rules
        The rules.
    name
        What it is called.
    """
    if not isinstance(result, Regression):
        result = Regression.from_statsmodels(result)
    findings = tuple(regression_findings(result, rules or Rules()))
    return Checked(name, "regression", (MODELS.name,), findings)


def _with_manifest(path: Path, rules: Rules, described: Described | None) -> Checked:
    """Check a file; one that a manifest keeps inside is refused, whatever it holds."""
    done = _check(path, rules, described)
    held = held_inside(path)
    if held is None or done.verdict is Verdict.REFUSE:
        return done
    return replace(done, findings=(*done.findings, held))


def _check(path: Path, rules: Rules, described: Described | None) -> Checked:
    name, ending = path.name, "".join(path.suffixes[-2:]).lower()
    if not path.is_file():
        raise CaveatError(
            "there is no such file",
            where=str(path),
            do="check the name",
            code="outputs.file.absent",
        )
    if path.stat().st_size == 0:
        raise CaveatError(
            "the file is empty",
            where=str(path),
            do="check how it was made",
            code="outputs.file.empty",
        )
    if "confidential" in name.lower():
        refused = _custom(name, "it is called confidential")
        reason = Finding("name", Verdict.REFUSE, "it is called confidential", "keep it inside")
        return replace(refused, findings=(reason,))
    is_table = ending.endswith(readable())
    try:
        if path.suffix.lower() == ".json" and path.name != MANIFEST:
            return _of_document(path, rules)
        if path.suffix.lower() in (".html", ".md"):
            return _of_page(path, rules)
        if (ours := part_of_run(path, is_table=is_table)) is not None:
            return Checked(name, ours[0], (), (ours[1],))
        if path.name == MANIFEST:
            return _of_document(path, rules)
        if is_table:
            checksum = sha256(path.read_bytes()).hexdigest()
            table, decimal = _read(path, described)
            done = _of_table(name, table, rules, described, checksum, decimal)
            if decimal is None and is_text(path) and _by_semicolons(path, table):
                return _either_sign(path, table, done, rules, described)
            return done
    except CaveatError as error:
        if error.where and str(path) in error.where:
            raise
        where = f"{path}, {error.where}" if error.where else str(path)
        raise error.replaced(where=where) from None
    return _custom(name, "its form is not known, and nothing about it was checked")


def _read(path: Path, described: Described | None) -> tuple[Table, str | None]:
    """Read a table; one whose text shows decimal commas again, by them."""
    decimal = None if described is None else described.decimal
    table = read(path, decimal=decimal or ".")
    if decimal is None and is_text(path) and written_decimal(table) == ",":
        decimal = ","  # 1.500 was 1.5, and is fifteen hundred
        table = read(path, decimal=decimal)
    return table, decimal


def _by_semicolons(path: Path, table: Table) -> bool:
    """Whether fields stand between semicolons, as where the comma is the decimal sign."""
    with path.open("rb") as file:
        header = file.readline()
    inside = b"".join(header.split(b'"')[::2])
    return len(table.names) > 1 and inside.count(b";") == len(table.names) - 1


def _either_sign(
    path: Path, points: Table, by_points: Checked, rules: Rules, described: Described | None
) -> Checked:
    """Read a file with semicolons by decimal commas, and see what points would have told."""
    commas = read(path, decimal=",")
    if commas == points or written_decimal(commas) == ".":
        return by_points
    done = _of_table(
        path.name, commas, rules, described, sha256(path.read_bytes()).hexdigest(), ","
    )
    if by_points.verdict.severity <= done.verdict.severity:
        return done
    reason = "numbers were read with a decimal comma; with a point they are not safe: "
    doubt = Finding(
        "unknown", Verdict.REVIEW, reason + by_points.findings[0].reason,
        'say decimal = "," or decimal = "." in [[output]] of the rules',
    )  # fmt: skip
    return replace(done, findings=(*done.findings, doubt))


def _custom(name: str, reason: str) -> Checked:
    remedy = "have a person look at it, or hand in the table that it was made of"
    return Checked(name, "custom", (), (Finding("unknown", Verdict.REVIEW, reason, remedy),))


def _of_document(path: Path, rules: Rules) -> Checked:
    try:
        content = parse(path.read_bytes())
    except ValueError:
        raise CaveatError(
            "this is no JSON file", do="check how it was made", code="outputs.file.malformed"
        ) from None
    if not isinstance(content, dict):
        return _custom(path.name, "its form is not known, and nothing about it was checked")
    if "scenarios" in content and "format" in content:
        check_evidence(content, str(path))
        barns = ("frequencies",)
        return Checked(path.name, "evidence", barns, tuple(evidence_findings(content, rules)))
    if "coefficients" in content:
        done = check_model(Regression.from_document(content), rules, name=path.name)
        inside = {key for row in content["coefficients"] for key in row}
        more = [key for key in (*content, *sorted(inside)) if key.lower() not in OF_MODELS]
        return replace(done, name=path.name, findings=(*done.findings, *_beside(more)))
    return _custom(path.name, "its form is not known, and nothing about it was checked")


def _beside(names: Sequence[str]) -> Iterator[Finding]:
    """Say that something stands beside a model that is none of it."""
    if names:
        yield Finding(
            "unknown", Verdict.REVIEW, f"what {' and '.join(names[:3])} holds is not known",
            "leave it out of the file, or hand it in as a table of its own",
        )  # fmt: skip


def _of_page(path: Path, rules: Rules) -> Checked:
    version = version_of(path.read_text("utf-8", errors="replace"))
    if version is None:
        return _custom(path.name, "it is text, which no rule can check")
    findings = tuple(report_findings(path, version, rules))
    return Checked(path.name, "report", ("frequencies",), findings)


def _identifying(table: Table) -> Iterator[Finding]:
    """Refuse labels whose form leads to single people: no rule on counts hides them."""
    labels = {
        name: column.compact().levels.tolist()
        for name, column in table.columns.items()
        if column.levels.dtype == object
    }
    for name, texts in (*labels.items(), ("the header", table.names)):
        judged = judge_labels(map(str, texts))
        if judged is not None:
            yield Finding(
                "identifying", Verdict.REFUSE,
                f"labels of {name} look like {CODES[judged.code]}: {judged.reason}",
                "leave the column out, or group its values",
            )  # fmt: skip


def _of_table(
    name: str,
    table: Table,
    rules: Rules,
    described: Described | None,
    checksum: str = "",
    decimal: str | None = None,
) -> Checked:
    if described is None and is_regression(table):
        done = check_model(Regression.from_table(table), rules, name=name)
        more = [n for n in table.names if n.lower() not in OF_MODELS]
        return replace(done, columns=table.names, findings=(*done.findings, *_beside(more)))
    if described is None and is_survival(table):
        findings = tuple(survival_findings(table, rules))
        return Checked(name, "survival table", survival_barns(table), findings, table.names)
    told = described or Described()
    table, notes = without_notes(table, rules.totals)
    named = [*_identifying(table)]
    output = OutputTable.of(table, replace(told, decimal=told.decimal or decimal), rules.totals)
    if output is None:
        reason = "no column is a statistic that is known, and nothing about it was checked"
        custom = _custom(name, reason)
        return replace(custom, columns=table.names, findings=(*named, *custom.findings))
    barns = {one.barn.name: None for one in output.statistics.values()}
    if output.counts is not None:
        barns = {"frequencies": None} | barns
    found = [*named, *notes, *table_findings(output, rules)]
    if output.largest:
        found.append(
            Finding("largest", Verdict.REVIEW, "largest contributions are single persons' values",
                    "remove these columns before the table leaves: they are for this check alone")
        )  # fmt: skip
    counts = Counts.of(name, output, rules, checksum)
    if counts is not None:
        found += band_findings(counts, rules)
    return Checked(name, "table", tuple(barns), tuple(found), table.names, counts)


# -------------------------------------------------------------------------------------------------
# The verdicts in the form that SACRO-Viewer opens: a folder with results.json and checksums.
#
# The form is that of ACRO 1.0; nothing of ACRO is needed to write it. The folder holds the
# outputs themselves and is for those who check them.


RESULTS = "results.json"
VERSION = "1.0.2"
"""The version of ACRO whose form this is: the viewer refuses those before its own."""

STATUS: Mapping[Verdict, str] = {
    Verdict.SAFE: "pass",
    Verdict.REVIEW: "review",
    Verdict.REFUSE: "fail",
}
TYPES = {"table": "table", "survival table": "table", "regression": "regression"}
CELLS = ("negative", "missing", "threshold", "p-ratio", "nk-rule")
"""What ACRO marks in tables; cells of other rules are counted under their own names."""

RESERVED = (RESULTS, "outputs.json", "config.json", "manifest.json", "checksums")


@cache
def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of the file."""
    text = files("caveat.outputs").joinpath("results.schema.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def check_names(paths: Sequence[Path]) -> None:
    """Refuse outputs that could not lie in one folder under their own names."""
    seen: set[str] = set()
    for path in paths:
        name = path.name.lower()
        if name in RESERVED:
            raise CaveatError(
                "the folder of results has a file of this name itself",
                where=str(path),
                do="rename the output",
                code="outputs.name.conflict",
            )
        if name in seen:
            raise CaveatError(
                "two outputs have the same name",
                where=str(path),
                do="rename one of them",
                code="outputs.name.duplicate",
            )
        seen.add(name)


def results(checked: Sequence[Checked], now: datetime) -> dict[str, Any]:
    """Return the content of results.json.

    Parameters
    ----------
    checked
        The outputs with what was found.
    now
        The time of the check.
    """
    return {
        "version": VERSION,
        "results": {
            f"output_{i}": _record(f"output_{i}", one, now) for i, one in enumerate(checked)
        },
    }


def _record(uid: str, one: Checked, now: datetime) -> dict[str, Any]:
    # The viewer shows comments as HTML, and they may name categories of the data.
    said = [escape(f"{found.reason}; {found.remedy}", quote=False) for found in one.findings]
    return {
        "uid": uid,
        "status": STATUS[one.verdict],
        "type": TYPES.get(one.form, "custom"),
        "properties": {"method": one.form, "statbarns": list(one.barns)},
        "files": [{"name": one.name, "sdc": _sdc(one)}],
        "outcome": _outcome(one),
        "command": f"caveat check {one.name}",
        "summary": _summary(one),
        "timestamp": now.isoformat(),
        "comments": said,
        "exception": "",
        "fair": {},
    }


def _summary(one: Checked) -> str:
    counts: dict[str, int] = {}
    for finding in one.findings:
        counts[finding.rule] = counts.get(finding.rule, 0) + max(len(finding.cells), 1)
    shown = "; ".join(f"{rule}: {n}" for rule, n in counts.items())
    return f"{STATUS[one.verdict]}; {shown}" if shown else STATUS[one.verdict]


def _sdc(one: Checked) -> dict[str, Any]:
    """Return the counts and the places of marked cells.

    Rows count from 0 after the header, columns from 0 after the first, which is an index in ACRO.
    """
    cells: dict[str, list[list[int]]] = {rule: [] for rule in CELLS}
    for finding in one.findings:
        found = cells.setdefault(finding.rule, [])
        found += [[row, one.columns.index(column) - 1] for row, column in finding.cells]
    numbers = {rule: len(found) for rule, found in cells.items()}
    return {"summary": {"suppressed": False, **numbers}, "cells": cells}


def _outcome(one: Checked) -> dict[str, dict[str, str]]:
    """Return what ACRO prints over a table: for each column and row what is wrong with it."""
    out: dict[str, dict[str, str]] = {}
    for finding in one.findings:
        for row, column in finding.cells:
            rows = out.setdefault(column, {})
            rows[str(row)] = f"{rows.get(str(row), '')}{_short(finding)}; "
    return out


def _short(finding: Finding) -> str:
    return f"{finding.rule} ({finding.verdict})"


def write_results(
    folder: Path, paths: Sequence[Path], checked: Sequence[Checked], now: datetime
) -> list[str]:
    """Write results.json, the outputs and the folder of checksums into an empty folder.

    Parameters
    ----------
    folder
        Where everything goes.
    paths
        The files that were checked.
    checked
        What was found about each.
    now
        The time of the check.

    Returns
    -------
    list of str
        The names of what was written.
    """
    check_names(paths)
    for path in paths:
        shutil.copyfile(path, folder / path.name)
    text = json.dumps(results(checked, now), indent=4, ensure_ascii=False, allow_nan=False)
    (folder / RESULTS).write_text(text + "\n", encoding="utf-8", newline="\n")
    (folder / "checksums").mkdir()
    written = [RESULTS, *(path.name for path in paths)]
    sums = []
    for name in written:
        checksum = sha256((folder / name).read_bytes()).hexdigest()
        sums.append(f"checksums/{name}.txt")
        (folder / sums[-1]).write_text(checksum, encoding="utf-8")
    return [*written, *sums]
