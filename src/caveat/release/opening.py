"""The beginning of a release: look at files, write a specification; the first rows beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from caveat.attack.figures import Attacker
from caveat.documents import path_below
from caveat.errors import CaveatError
from caveat.evidence import FEWEST
from caveat.evidence.file import MANIFEST, place_in
from caveat.evidence.file import read as read_evidence
from caveat.findings import look
from caveat.findings.keys import Links, candidates, candidates_of_tables, find_links
from caveat.findings.profile import Profile
from caveat.spec.document import Document
from caveat.spec.starter import released, released_of_tables, starter, starter_of_tables
from caveat.stopping import Progress
from caveat.table import Table, write
from caveat.table.drafts import write_text
from caveat.table.files import read_into
from caveat.table.frames import tables_in
from caveat.table.source import name_of

EXAMPLES = ("survey",)
ROWS = 2_000
# Findings whose sentence names values that few records have, and where it begins to.
_SINGLE = {"outlier": "", "private-numbers": "", "heaping": ";", "rare-levels": ":", "top-code": ""}
# Findings whose sentence names levels: what is said instead where few records have one of them.
_OF_LEVELS = {
    "missing-code": "a value may be a code for missing",
    "spellings": "levels differ only in case or blanks",
}
_ELSEWHERE = "caveat look says which values."
# Limits that a page offers; a specification may have others.
_LIMITS: Mapping[Attacker | Literal["release"], tuple[str, ...]] = {
    "release": ("repU", "DiSCO"),
    "strong": ("membershipShare", "strongShare", "strongWorst"),
    "simulated": (),
    "ordinary": (),
}


def example(folder: Path, name: str) -> str:
    """Write an example table into a folder, and return the name of the file."""
    if name not in EXAMPLES:
        raise CaveatError(
            f"there is no example {name!r}",
            do=f"use {', '.join(EXAMPLES)}",
            code="data.example.unknown",
        )
    from caveat import datasets

    table: Table = getattr(datasets, name)(rows=ROWS)
    write(table, path_below(folder, f"{name}.csv"), force=True, confidential=True)
    return f"{name}.csv"


def opened(
    folder: Path, files: Sequence[str], tell: Progress, form: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Look at the files of a project, and write a starter specification unless there is one.

    Parameters
    ----------
    folder
        The project's folder; the specification is its ``release.toml``.
    files
        The files seen from there; those that the specification names if there is one.
    tell
        Hears how far it is.
    form
        Delimiter, decimal sign and encoding of text files, for a project without specification.
    """
    target, form = folder / "release.toml", form or {}
    tell("read", 0.1)
    seen: Mapping[str, str] = {}
    if target.exists():
        tables, links = tables_by_spec(target)
    else:
        tables, seen = _by_name(folder, files, form)
        links = find_links(tables) if len(tables) > 1 else None
    tell("look", 0.4)
    profiles = {name: look(table) for name, table in tables.items()}
    if not target.exists():
        tell("write", 0.9)
        if links is None:
            ((name, profile),) = profiles.items()
            text = starter(profile, seen[name], form)
        else:
            text = starter_of_tables(profiles, seen, links, form)
        write_text(target, text, confidential=True)
    return {**_told(profiles, tables, links), "limits": _limits()}


def _by_name(
    folder: Path, files: Sequence[str], form: Mapping[str, Any]
) -> tuple[dict[str, Table], dict[str, str]]:
    folder = folder.resolve()
    paths = [part for file in files for part in tables_in((folder / file).resolve())]
    named = {name_of(path): path for path in paths}
    if len(named) < len(paths):
        raise CaveatError(
            "two files are called the same", do="rename one of them", code="data.file.duplicate"
        )
    if not named:
        raise CaveatError("no file is named", do="choose one", code="app.file.absent")
    seen = {name: Path(os.path.relpath(path, folder)).as_posix() for name, path in named.items()}
    return {name: read_into(None, path, **form) for name, path in named.items()}, seen


def tables_by_spec(path: Path) -> tuple[dict[str, Table], Links | None]:
    """Return the tables that a specification names, and how they belong together."""
    from caveat.spec.data_entries import read_linked, read_tables
    from caveat.spec.spec import read_parts

    document = Document.read(path)
    data, schema, _ = read_parts(document)
    tables = read_tables(document)
    if tables:
        linked = read_linked(document, tables, {} if data is None else data.form)
        return dict(linked.tables), Links(
            {table.name: table.key for table in tables if table.key},
            {table.name: table.links for table in tables if table.links},
            {table.name: table.order for table in tables if table.order},
        )
    if data is None:
        document.fail(
            ("data",),
            "data: no file is named",
            'write path = "…" in [data]',
            code="spec.entry.absent",
        )
    with document.reading(data.path, ("data", "path")):
        form: dict[str, Any] = data.form
        return {name_of(data.path): read_into(None, data.path, schema=schema, **form)}, None


def _told(
    profiles: Mapping[str, Profile], tables: Mapping[str, Table], links: Links | None
) -> dict[str, Any]:
    """Return what was found in each table, in all of them, and what people often know."""
    if links is None:
        ((name, profile),) = profiles.items()
        known = candidates(profile, released(profile))
        return {"tables": {name: _told_of(profile, tables[name])}, "links": [], "known": known}
    drawn = released_of_tables(profiles, links)
    every = [
        column.name
        for name, profile in profiles.items()
        for column in profile.columns
        if column.name not in links.key_columns(name)
    ]
    told_of = {}
    for name, profile in profiles.items():
        keys = links.key_columns(name)
        told = _told_of(profile, tables[name])
        told["columns"] = [
            # As scenarios call it: a name that several tables have is that of one of them.
            {**c, "called": f"{name}.{c['name']}" if every.count(c["name"]) > 1 else c["name"]}
            for c in told["columns"]
            if c["name"] not in keys
        ]
        # Keys are made afresh: nothing has to be decided about them.
        told["findings"] = [
            {**f, "table": name} for f in told["findings"] if not keys & set(f["columns"][:1])
        ]
        told["keys"] = sorted(keys)
        told_of[name] = told
    known = candidates_of_tables(profiles, drawn)
    return {"tables": told_of, "links": links.sentences(), "known": known}


def _told_of(profile: Profile, table: Table) -> dict[str, Any]:
    columns = [
        {"name": c.name, "called": c.name, "kind": str(c.kind), "label": c.label,
         "distinct": c.distinct, "missing": c.n_missing / max(profile.rows, 1)}
        for c in profile.columns
    ]  # fmt: skip
    return {
        "rows": profile.rows,
        "columns": columns,
        "findings": [_quiet(f.to_dict(), table) for f in profile.findings],
        "keys": [],
    }


def _limits() -> dict[str, dict[str, str]]:
    """Return the measures that a page offers limits of, with what they say, by attacker."""
    from caveat.risk import MEASURES
    from caveat.spec.entries import measures_of

    return {
        attacker: {name: MEASURES[name].says for name in names if name in measures_of(attacker)}
        for attacker, names in _LIMITS.items()
    }


def _quiet(found: dict[str, Any], table: Table) -> dict[str, Any]:
    """Return a finding without a value that may be somebody's."""
    rows = f"{found['rows']:,} row{'' if found['rows'] == 1 else 's'}"
    if found["code"] in _OF_LEVELS:
        if _fewest(found, table) >= FEWEST:
            return found
        return {**found, "message": f"{_OF_LEVELS[found['code']]}, in {rows}; {_ELSEWHERE}"}
    if found["code"] not in _SINGLE:
        return found
    until = _SINGLE[found["code"]]
    says = found["message"].partition(until)[0] if until else rows
    return {**found, "message": f"{says}; {_ELSEWHERE}", "suggestion": {}}


def _fewest(found: Mapping[str, Any], table: Table) -> int:
    """Return how many rows have the rarest of the levels that a finding names."""
    column, asked = table[found["columns"][0]], found["suggestion"]
    recode = asked.get("recode", {})
    named = {*asked.get("missing", ()), *recode, *recode.values()}
    counts = zip(column.levels.tolist(), column.counts.tolist(), strict=False)  # empty cells last
    return min((n for level, n in counts if level in named or str(level) in named), default=0)


def held_against_data(path: Path) -> Mapping[str, Any]:
    """Hold a specification against its data, and return how each column would be made."""
    from caveat.release.run import seconds_of
    from caveat.spec.spec import ReleaseSpec
    from caveat.synthesis.plan import summary_of

    spec = ReleaseSpec.from_toml(path)
    steps = seconds_of(spec, None)
    plan: Any
    if spec.tables:
        from caveat.spec.against_data import check_tables

        plan = check_tables(spec, spec.read_linked()).plan
    else:
        plan = spec.check(spec.read_data())
    remarks = list(getattr(plan, "remarks", ()))
    told = summary_of(getattr(plan, "columns", {}), remarks)  # without ends that may be somebody's
    return {"plan": [list(row) for row in told.rows], "remarks": remarks, "steps": list(steps)}


# -------------------------------------------------------------------------------------------------
# The first rows of the original and of its release, side by side, for those who may see both.


PREVIEW_ROWS = 10


def preview(spec: Path, folder: Path, rows: int = PREVIEW_ROWS) -> list[dict[str, Any]]:
    """Return the first rows of every table on both sides, as text.

    The rows of the original are confidential: they are shown, and written nowhere.

    Parameters
    ----------
    spec
        The file of the specification.
    folder
        Where the release is.
    rows
        How many rows are shown of each.
    """
    if not (folder / MANIFEST).is_file():
        raise CaveatError(
            "there is no release yet", do="run it first", code="release.folder.absent"
        )
    released = read_evidence(place_in(folder, "evidence.json"))["release"]["files"]
    originals, _ = tables_by_spec(spec)
    shown = []
    for name, original in originals.items():
        files = [f for f in released if f["copy"] == 1 and f.get("table", name) == name]
        if not files:
            continue
        synthetic = read_into(None, place_in(folder, files[0]["name"]))
        names = [n for n in synthetic if n in original]
        shown.append(
            {
                "name": name,
                "columns": names,
                "original": _first(original.select(names), rows),
                "release": _first(synthetic.select(names), rows),
            }
        )
    return shown


def _first(table: Table, rows: int) -> list[list[str]]:
    """Return the first rows of a table as text; empty cells are empty."""
    columns = [table[name].take(slice(0, rows)).values.tolist() for name in table]
    return [
        ["" if v is None or v != v else str(v) for v in row] for row in zip(*columns, strict=True)
    ]
