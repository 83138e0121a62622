"""Who is at risk: rows of the original and their signs, never values. Internal only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from caveat.report.blocks import Cell, Field, Grid, Section, Text, cell
from caveat.report.numbers import PROBABILITIES, UNKNOWN, count, plain, probability
from caveat.report.reading import Evidence, and_list, listed
from caveat.report.wording import called, column_cell, people, phrase, upper

__all__ = ["records_section"]

# What a sign means for the people who bear it.
SIGNS = {
    "unique on the keys": "alone with their keys",
    "only donor of its value in a leaf": "alone in their leaf with their value",
    "far from all others": "far from all others",
}
Record = Mapping[str, Any]


def records_section(evidence: Evidence) -> Section:
    """Return the section on single records: groups of them, rows and signs, never values."""
    records = evidence["records_at_risk"]
    title = "Who is at risk"
    if not records:
        return Section("records", title, [Text("The evidence lists no single record.")])
    inputs = evidence["inputs"]
    file = and_list([data["name"] for data in inputs.get("tables") or [inputs["data"]]])
    rows = {(record.get("table"), record["row"]) for record in records}
    return Section(
        "records",
        title,
        [
            Text(
                f"{count(len(rows), 'record')} of {file} stand out most, by the signs that they "
                "have in common. No values are printed: look the rows up where the data are kept. "
                "The list is cut after 50 entries and is no complete list of people at risk."
            ),
            _groups(evidence, records),
            _records(evidence, records),
        ],
    )


def _groups(evidence: Evidence, records: Sequence[Record]) -> Grid:
    """Return who is alike: same attacker, measure, target and signs."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        key = (record["scenario"], record.get("table"), record["measure"], record["target"],
               _signs(record))  # fmt: skip
        found.setdefault(key, []).append(record)
    return Grid(
        "Who is at risk, by what they have in common",
        [
            Field("Who", wide=True),
            Field("What points at them", wide=True),
            Field("After the release", numeric=True),
            Field("Before", numeric=True),
        ],
        [_group(evidence, alike) for alike in found.values()],
    )


def _signs(record: Record) -> tuple[str, ...]:
    """Return the signs without how many columns they are about."""
    return tuple(re.sub(r",? in \d+ columns?$", "", sign) for sign in record["signs"])


def _group(evidence: Evidence, alike: Sequence[Record]) -> list[Cell]:
    first = alike[0]
    signs = and_list([SIGNS.get(sign, sign) for sign in _signs(first)]) or "without such a sign"
    table = first.get("table")
    unit = f"row of {table}" if table else evidence["release"]["unit"] or "record"
    who = f"1 {unit}" if len(alike) == 1 else f"{len(alike):,} {people(evidence, unit)}"
    m = {"measure": first["measure"], "target": first["target"], "per": unit}
    return [
        cell(f"{who} {signs}", -len(alike)),
        cell(
            upper(phrase(evidence, m, each=True)), None, f"{first['measure']}, {first['scenario']}"
        ),
        _span([record["value"] for record in alike])
        if first["measure"] in PROBABILITIES
        else cell("counted"),
        _span([record["prior"] for record in alike]),
    ]


def _span(values: Sequence[float | None]) -> Cell:
    known = [value for value in values if value is not None]
    if not known:
        return cell(UNKNOWN)
    low, high = probability(min(known)), probability(max(known))
    return cell(low if low == high else f"{low} to {high}", max(known))


def _records(evidence: Evidence, records: Sequence[Record]) -> Grid:
    """Return the table of single rows; what is the same for all goes into its caption."""
    columns = [
        Field("Row", numeric=True),
        Field("Table"),
        Field("Attacker"),
        Field("Target"),
        Field("Measure"),
        Field("After the release", numeric=True),
        Field("Before", numeric=True),
        Field("Factor", numeric=True),
        Field("Signs", wide=True),
    ]
    rows = [_record(evidence, record) for record in records]
    same = [i for i in range(1, 5) if len(rows) > 1 and len({row[i].text for row in rows}) == 1]
    if not any(record.get("table") for record in records) and 1 not in same:
        same.insert(0, 1)
    targets = {record["target"] for record in records}
    common = [
        f"{columns[i].title.lower()} "
        + (called(evidence, next(iter(targets))) if i == 3 else rows[0][i].text)
        for i in same
        if rows[0][i].text != "–"
    ]
    kept = [i for i in range(len(columns)) if i not in same]
    return Grid(
        f"The rows, counted from 1 without the header{': ' if common else ''}{', '.join(common)}",
        [columns[i] for i in kept],
        [[row[i] for i in kept] for row in rows],
        folded=True,
    )


def _record(evidence: Evidence, record: Record) -> list[Cell]:
    def chance(value: float | None) -> str:
        # The strong attacker's posterior, of all others the part of the measure that the record
        # carries: 1 if it counts.
        return UNKNOWN if value is None else probability(value)

    return [
        cell(record["row"], record["row"]),
        cell(record.get("table") or "–"),
        cell(record["scenario"]),
        column_cell(evidence, record["target"]),
        cell(record["measure"]),
        cell(chance(record["value"]), record["value"]),
        cell(chance(record["prior"]), record["prior"]),
        cell(
            "–" if record["gain"] is None else plain(record["gain"]) + "×",
            record["gain"],
        ),
        cell(listed(record["signs"])),
    ]
