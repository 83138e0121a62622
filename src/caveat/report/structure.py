"""How rows belong together, for the section on analysts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from caveat.report.blocks import Block, Cell, Field, Grid, Heading, Text, cell
from caveat.report.numbers import percent
from caveat.report.reading import Evidence
from caveat.report.wording import column_cell

__all__ = ["structure_blocks"]


def structure_blocks(
    evidence: Evidence, structure: Mapping[str, Any] | None, place: int = 0
) -> Iterator[Block]:
    """Return what is known of the groups, if there are any; of several tables at each place."""
    if structure is None:
        return
    table = structure.get("table")
    more = f": {table}" if table else ""
    yield Heading(f"Rows that belong together{more}", f"structure{f'-{place}' if place else ''}")
    ours, theirs = f"{structure['original']:,.0f}", f"{structure['synthetic']:,}"
    text = f"By {structure['key']} there are {ours} groups in the original and {theirs} in the "
    text += "release; its keys are fresh ones."
    if table:
        text += f" Members are rows of {table}; groups without any are counted too."
    if structure["size_column"] is not None:
        size = structure["size_column"]
        text += f" {size['name']} is the number of members in {percent(size['right'])} of the rows."
    yield Text(text)
    yield Grid(
        "Groups by their number of members",
        [Field("Members"), Field("Original", numeric=True), Field("Synthetic", numeric=True)],
        [
            [
                cell(_members(s["members"], structure["largest"])),
                *map(_share, (s["original"], s["synthetic"])),
            ]
            for s in structure["sizes"]
        ],
    )
    if structure["one_value"]:
        yield Grid(
            "Groups in which a column has one value, as in every group of the original",
            [Field("Column"), Field("Synthetic groups", numeric=True)],
            [
                [column_cell(evidence, c["name"]), _share(c["share"])]
                for c in structure["one_value"]
            ],
        )
    yield from _columns(evidence, structure)


def _columns(evidence: Evidence, structure: Mapping[str, Any]) -> Iterator[Block]:
    """Return a row for each column that varies within groups."""
    within = {c["name"]: c for c in structure["within"]}
    distance = {c["name"]: c["distance"] for c in structure["compositions"]}
    names = list(dict.fromkeys([*within, *distance]))
    if not names:
        return
    yield Grid(
        "Members of a group: how they go together (1: alike; 0: as strangers), and how many groups "
        "would have to change which classes their members have",
        [
            Field("Column"),
            Field("Together, original", numeric=True),
            Field("Together, synthetic", numeric=True),
            Field("Compositions apart", numeric=True),
        ],
        [
            [
                column_cell(evidence, name),
                *(_figure(within.get(name, {}).get(side)) for side in ("original", "synthetic")),
                _share(distance.get(name)),
            ]
            for name in names
        ],
    )


def _members(members: int, largest: int) -> str:
    return f"{members} or more" if members >= largest else str(members)


def _share(value: float | None) -> Cell:
    return cell("–" if value is None else percent(value), value)


def _figure(value: float | None) -> Cell:
    return cell("–" if value is None else f"{value:.3f}", value)
