"""Who is at risk: rows of the original and their signs, never values. Internal only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caveat.report.blocks import Cell, Field, Grid, Section, Text, cell
from caveat.report.numbers import UNKNOWN, count, plain, probability
from caveat.report.reading import Evidence, and_list, listed

__all__ = ["records_section"]


def records_section(evidence: Evidence) -> Section:
    """Return the section on single records: rows and signs, never values."""
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
                f"{count(len(rows), 'record')} of {file}, the worst first. Rows are counted from 1 "
                "without the header. No values are printed: look the records up where the data are "
                "kept. The list is cut after 50 entries and is no complete list of people at risk."
            ),
            _records(records),
        ],
    )


def _records(records: Sequence[Mapping[str, Any]]) -> Grid:
    """Return the table of records; what is the same for all goes into its caption."""
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
    rows = [_record(record) for record in records]
    same = [i for i in range(1, 5) if len(rows) > 1 and len({row[i].text for row in rows}) == 1]
    if not any(record.get("table") for record in records) and 1 not in same:
        same.insert(0, 1)
    common = [
        f"{columns[i].title.lower()} {rows[0][i].text}" for i in same if rows[0][i].text != "–"
    ]
    kept = [i for i in range(len(columns)) if i not in same]
    return Grid(
        f"Records at risk{': ' if common else ''}{', '.join(common)}",
        [columns[i] for i in kept],
        [[row[i] for i in kept] for row in rows],
    )


def _record(record: Mapping[str, Any]) -> list[Cell]:
    name = record["measure"]

    def chance(value: float | None) -> str:
        # The strong attacker's posterior, of all others the part of the measure that the record
        # carries: 1 if it counts.
        return UNKNOWN if value is None else probability(value)

    return [
        cell(record["row"], record["row"]),
        cell(record.get("table") or "–"),
        cell(record["scenario"]),
        cell(record["target"] or "–"),
        cell(name),
        cell(chance(record["value"]), record["value"]),
        cell(chance(record["prior"]), record["prior"]),
        cell(
            "–" if record["gain"] is None else plain(record["gain"]) + "×",
            record["gain"],
        ),
        cell(listed(record["signs"])),
    ]
