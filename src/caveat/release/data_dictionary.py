"""What recipients need to read a release: its columns, their levels and what was done to them.

Everything is read off the released tables: a level that is not released is not named, and nothing
of the original is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from caveat.errors import CaveatError
from caveat.release.material import Material, TablesMaterial
from caveat.table import Column, Kind, Missing, Table, write
from caveat.table.code_files import fits
from caveat.table.drafts import write_text
from caveat.table.source import has_labels, is_text
from caveat.table.table import concat

__all__ = [
    "FORMATS",
    "Released",
    "Variable",
    "described",
    "described_columns",
    "described_tables_of",
    "protections_of",
    "write_dictionaries",
    "write_dictionary",
]

FORMATS = (".csv", ".html", ".xml")
DDI = "ddi:codebook:2_5"
LISTED = (Kind.CATEGORY, Kind.ORDERED, Kind.BOOLEAN)
DONE = {
    "derived": "computed from other columns",
    "lookup": "looked up by other columns",
    "copy": "copied from the original records",
    "key": "fresh numbers",
    "replaced": "replaced by invented values",
    "public": "kept as it is: a public list of codes",
    "": "synthesised",
}
# What no XML document may hold.
_CONTROL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Variable:
    """A released column.

    Parameters
    ----------
    table
        The table, "" if there is one only.
    name, label, kind
        Of the column.
    done
        What was done to it.
    levels
        The levels that were released with their labels; none of numbers, dates and text.
    missing
        The codes for missing cells that were released, with their labels.
    low, high
        The smallest and the largest number or date that was released.
    """

    table: str
    name: str
    label: str
    kind: str
    done: str
    levels: tuple[tuple[str, str], ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    low: str = ""
    high: str = ""


class Released:
    """What occurs in a copy that is written block by block: every level once, and none else.

    Parameters
    ----------
    target
        The file: most formats have no room for words among numbers, where the cell is empty then.
    in_parts
        Whether it is a folder of parts.
    """

    def __init__(self, target: Path, *, in_parts: bool = False) -> None:
        self._seen: dict[str, Column] = {}
        self._holds_words = not in_parts and (is_text(target) or has_labels(target))

    def add(self, block: Table) -> None:
        """Add what occurs in a block."""
        for name in block:
            column = _once(block[name])
            if name in self._seen:
                both = [Table({name: one}) for one in (self._seen[name], column)]
                column = _once(concat(both)[name])
            self._seen[name] = column

    @property
    def columns(self) -> dict[str, Column]:
        """The columns, without any level that does not occur."""
        found = {name: column.compact() for name, column in self._seen.items()}
        if self._holds_words:
            return found
        return {name: _without_words(column) for name, column in found.items()}


def _once(column: Column) -> Column:
    """Return a column in which every level that occurs stands once; the order of all is kept."""
    return column.with_codes(np.flatnonzero(column.counts > 0))


def _without_words(column: Column) -> Column:
    """Return levels that stand once each, where codes of another type are empty cells."""
    held = (m if fits(m.code, column.levels.dtype) else Missing() for m in column.missing)
    missing = tuple({m.key: m for m in held}.values())
    return replace(column, codes=np.arange(len(column.levels) + len(missing)), missing=missing)


def described(
    releases: Sequence[Table | Mapping[str, Column]],
    done: Mapping[str, str],
    protected: Mapping[str, Sequence[str]] | None = None,
    table: str = "",
) -> list[Variable]:
    """Return what is known about the columns of a release.

    Parameters
    ----------
    releases
        The synthetic tables, all copies of one, or the columns of each.
    done
        For columns what was done to them, a key of ``DONE``; synthesised if it is not said.
    protected
        For columns the protections they went through; "" for those that all went through.
    table
        What the table is called, where there are several.
    """
    after = protected or {}
    found = []
    for name in releases[0]:
        columns = [release[name].compact() for release in releases]
        said = DONE.get(done.get(name, ""), DONE[""])
        steps = [*after.get(name, ()), *after.get("", ())]
        said += f", then protected ({', '.join(dict.fromkeys(steps))})" if steps else ""
        found.append(_variable(columns, name, said, table))
    return found


def described_columns(material: Material) -> list[Variable]:
    """Return what is known about the columns of the release of one table."""
    plan = None if material.model is None else material.model.plan.columns
    done = {name: entry.settings.method for name, entry in (plan or {}).items()}
    done |= {material.key: "key"} if material.key else {}
    if material.model is not None:
        done |= dict.fromkeys(material.model.replaced.columns, "replaced")
    steps = [(step.name, step.parameters) for copy in material.copies for step in copy.steps]
    releases = material.complete
    return described(releases, done, protections_of(steps, releases[0].names))


def described_tables_of(material: TablesMaterial) -> list[Variable]:
    """Return what is known about the columns of the release of several tables."""
    original, plan = material.original, material.model.plan.columns
    found = []
    for name in original.tables:
        done = {column: entry.settings.method for column, entry in plan.items()}
        done |= {link.column: "key" for link in original.links if link.child == name}
        done |= {original.keys[name]: "key"} if name in original.keys else {}
        replaced = material.model.replaced.get(name)
        done |= dict.fromkeys(() if replaced is None else replaced.columns, "replaced")
        releases = [one.tables[name] for one in material.complete]
        if name in original.lookups:
            done = dict.fromkeys(releases[0].names, "public")
        found += described(releases, done, table=name)
    return found


def _variable(columns: Sequence[Column], name: str, done: str, table: str) -> Variable:
    first = columns[0]
    labels = {_shown(value): label for value, label in first.value_labels.items()}
    levels: dict[str, str] = {}
    missing: dict[str, str] = {}
    for column in columns:
        if column.kind in LISTED:
            levels |= {_shown(v): labels.get(_shown(v), "") for v in column.levels}
        missing |= {_code(m.code): m.label for m in column.missing}
    low = high = ""
    filled = [column.levels for column in columns if len(column.levels)]
    if first.kind.is_number and filled:
        low = _shown(min(part.min() for part in filled))
        high = _shown(max(part.max() for part in filled))
    return Variable(
        table,
        name,
        first.label,
        str(first.kind),
        done,
        tuple(levels.items()),
        tuple(missing.items()),
        low,
        high,
    )


def _shown(value: Any) -> str:
    plain = value.item() if isinstance(value, np.generic) and value.dtype.kind != "M" else value
    if isinstance(plain, float) and plain.is_integer():
        plain = int(plain)
    return str(plain)


def _code(code: Any) -> str:
    return "(empty)" if code is None or code != code or code == "" else _shown(code)


def write_dictionary(
    variables: Sequence[Variable],
    path: Path,
    *,
    title: str,
    files: Mapping[str, Sequence[str]] | None = None,
    force: bool = False,
    confidential: bool = False,
) -> None:
    """Write a data dictionary; the extension decides the format.

    Parameters
    ----------
    variables
        The columns.
    path
        The target: .csv, .html, or .xml for DDI-Codebook 2.5.
    title
        What the release is called.
    files
        The files of each table.
    force
        Whether a file that exists may be replaced.
    confidential
        Whether it is for this user alone: it lists levels that were released.
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        rows = Table.from_frame(_rows(variables))
        write(rows, path, force=force, confidential=confidential, escape_formulas=True)
    elif suffix == ".html":
        write_text(path, _html(variables, title), confidential=confidential, force=force)
    elif suffix == ".xml":
        text = _ddi(variables, title, files or {})
        write_text(path, text, confidential=confidential, force=force)
    else:
        raise CaveatError(
            "a data dictionary has another extension",
            where=str(path),
            do=f"use {', '.join(FORMATS)}",
            code="release.format.unknown",
        )


def write_dictionaries(
    variables: Sequence[Variable], folder: Path, title: str, files: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Write a data dictionary in every format into a release; return the names of the files.

    The files are listed as in the evidence: each with its name, and its table if there are several.
    """
    by_table: dict[str, list[str]] = {}
    for file in files:
        by_table.setdefault(file.get("table", ""), []).append(file["name"])
    names = [f"dictionary{suffix}" for suffix in FORMATS]
    for name in names:
        write_dictionary(variables, folder / name, title=title, files=by_table)
    return names


def protections_of(
    steps: Sequence[tuple[str, Mapping[str, Any]]], names: Sequence[str]
) -> dict[str, list[str]]:
    """Return the protections of each column by what they were told; "" for what all went through.

    Examples
    --------
    >>> steps = [("pram", {"columns": ["sex"]}), ("uniques", {"share": 0.1})]
    >>> protections_of(steps, ["sex", "age"])
    {'sex': ['pram'], '': ['uniques']}
    """
    found: dict[str, list[str]] = {}
    for step, told in steps:
        given = [one for value in told.values() for one in _listed(value)]
        columns = [name for name in names if name in given]
        for name in columns or [""]:
            found.setdefault(name, []).append(step)
    return found


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | Mapping) else [value]


def _rows(variables: Sequence[Variable]) -> dict[str, list[str | None]]:
    """Return a row for each column, and below it one for each of its levels and codes."""
    names = ("table", "column", "label", "kind", "done", "lowest", "highest", "value", "missing",
             "value_label")  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for v in variables:
        rows.append((v.table, v.name, v.label, v.kind, v.done, v.low, v.high, "", "", ""))
        for values, flag in ((v.levels, "no"), (v.missing, "yes")):
            rows += [
                (v.table, v.name, "", "", "", "", "", value, flag, label) for value, label in values
            ]
    columns = zip(names, zip(*rows, strict=True), strict=True)
    several = any(v.table for v in variables)
    return {n: [c or None for c in cells] for n, cells in columns if several or n != "table"}


def _html(variables: Sequence[Variable], title: str) -> str:
    several = any(v.table for v in variables)
    head = [*(["Table"] if several else []), "Column", "Label", "Kind", "Values", "Missing", "Done"]
    lines = []
    for v in variables:
        levels = [f"{value} = {label}" if label else value for value, label in v.levels]
        range_ = f"{v.low} … {v.high}" if v.low else ""
        codes = [f"{code} = {label}" if label else code for code, label in v.missing]
        values = "<br>".join(map(escape, levels)) or escape(range_)
        cells = [*([escape(v.table)] if several else []), f"<code>{escape(v.name)}</code>"]
        cells += [escape(v.label), escape(v.kind), values, "<br>".join(map(escape, codes))]
        lines.append("".join(f"<td>{cell}</td>" for cell in [*cells, escape(v.done)]))
    named = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}: data dictionary</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem;
  padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ border-bottom: 1px solid #ccc; padding: .3rem .6rem; text-align: left }}
td {{ vertical-align: top }}
div {{ overflow-x: auto }}
</style></head><body>
<h1>{escape(title)}: data dictionary</h1>
<p>The columns of the synthetic data. Values and codes are those that occur in them.</p>
<div><table><thead><tr>{named}</tr></thead><tbody>
{body}
</tbody></table></div></body></html>
"""


def _ddi(variables: Sequence[Variable], title: str, files: Mapping[str, Sequence[str]]) -> str:
    """Return the columns as DDI-Codebook 2.5."""
    root = ET.Element("codeBook", {"xmlns": DDI, "version": "2.5"})
    for part in ("docDscr", "stdyDscr"):
        statement = _below(_below(_below(root, part), "citation"), "titlStmt")
        _below(statement, "titl", f"{title}: data dictionary" if part == "docDscr" else title)
    tables = list(dict.fromkeys(v.table for v in variables))
    for number, table in enumerate(tables, 1):
        described_file = _below(_below(root, "fileDscr", ID=f"F{number}"), "fileTxt")
        _below(described_file, "fileName", ", ".join(files.get(table, ())) or table or title)
    data = _below(root, "dataDscr")
    for number, v in enumerate(variables, 1):
        continuous = "contin" if v.kind in ("numeric", "date", "datetime") else "discrete"
        of = f"F{tables.index(v.table) + 1}"
        var = _below(data, "var", ID=f"V{number}", name=v.name, files=of, intrvl=continuous)
        if v.label:
            _below(var, "labl", v.label)
        if v.low:
            ET.SubElement(_below(var, "valrng"), "range", {"min": v.low, "max": v.high})
        for values, flag in ((v.levels, "N"), (v.missing, "Y")):
            for value, label in values:
                category = _below(var, "catgry", missing=flag)
                _below(category, "catValu", value)
                if label:
                    _below(category, "labl", label)
        number_like = v.kind in ("numeric", "integer")
        ET.SubElement(var, "varFormat", {"type": "numeric" if number_like else "character"})
        _below(var, "notes", v.done)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _below(parent: ET.Element, tag: str, text: str = "", **attributes: str) -> ET.Element:
    clean = {key: _CONTROL.sub("", value) for key, value in attributes.items()}
    made = ET.SubElement(parent, tag, clean)
    made.text = _CONTROL.sub("", text) or None
    return made
