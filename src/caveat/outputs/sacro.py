"""The verdicts in the form that SACRO-Viewer opens: a folder with results.json and checksums.

The form is that of ACRO 1.0; nothing of ACRO is needed to write it. The folder holds the outputs
themselves and is for those who check them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from caveat.errors import CaveatError
from caveat.outputs.finding import Checked, Finding
from caveat.outputs.statbarns import Verdict

__all__ = ["RESULTS", "STATUS", "check_names", "results", "schema", "write_results"]

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
