"""Tables as they are shown: what is hidden has a mark, and the mark has a legend."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.outputs.publication import Publication
from caveat.outputs.tables import Cells

__all__ = [
    "HIDDEN",
    "NO_CELL",
    "STATUS",
    "Shown",
    "free_name",
    "legend",
    "page",
    "reasons",
    "shown_tables",
]

HIDDEN, NO_CELL, STATUS = "×", "–", "status"
STYLE = (
    "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}"
    "td,th{border:1px solid #bbb;padding:.2em .6em;text-align:right}th{text-align:left}"
)


@dataclass(frozen=True, eq=False)
class Shown:
    """One table: its columns, the codes of its cells, and their values (None where hidden).

    What the values are, "count" or "total", is the name of their column in a file.
    """

    name: str
    by: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    values: tuple[Any, ...]
    rounded: bool = False
    measure: str = "count"

    __repr__ = without_values

    @property
    def title(self) -> str:
        """What stands above it."""
        return f"{self.name}, by {', '.join(self.by)}"

    def grid(self) -> tuple[list[str], list[tuple[tuple[str, ...], list[Any]]]]:
        """Return its head, and its lines with the codes of the last column across.

        What is hidden, or not there, is a mark.
        """
        across = list(dict.fromkeys(code[-1] for code in self.codes))
        by_row: dict[tuple[str, ...], dict[str, Any]] = {}
        for code, value in zip(self.codes, self.values, strict=True):
            by_row.setdefault(code[:-1], {})[code[-1]] = HIDDEN if value is None else value
        lines = [
            (codes, [found.get(code, NO_CELL) for code in across])
            for codes, found in by_row.items()
        ]
        return [*self.by[:-1], *across], lines

    def columns(self) -> dict[str, list[Any]]:
        """Return it as columns: the codes, the value, and whether it is hidden."""
        out: dict[str, list[Any]] = {
            name: [code[i] for code in self.codes] for i, name in enumerate(self.by)
        }
        out[free_name(self.measure, self.by)] = list(self.values)
        status = ["hidden" if value is None else "shown" for value in self.values]
        out[free_name(STATUS, self.by)] = status
        return out


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name of a column beside those of a table.

    Examples
    --------
    >>> free_name("count", ["sex"]), free_name("count", ["cell count", "count"])
    ('count', 'cell cell count')
    """
    while name in taken:
        name = f"cell {name}"
    return name


def shown_tables(
    cells: Cells,
    values: NDArray[Any],
    hidden: NDArray[np.bool_] | None,
    *,
    rounded: bool = False,
    measure: str = "count",
) -> list[Shown]:
    """Return each table with the values that may be seen."""
    out = []
    names = list(cells.hierarchies)
    for layout, members in zip(cells.layouts, cells.members, strict=True):
        at = [names.index(name) for name in layout.by]
        trees = [cells.hierarchies[name] for name in layout.by]
        keys = cells.keys[members][:, at]
        order = np.lexsort(keys.T[::-1])
        codes = tuple(
            tuple(tree.codes[node] for tree, node in zip(trees, key, strict=True))
            for key in keys[order].tolist()
        )
        seen = tuple(
            None if hidden is not None and hidden[cell] else values[cell].item()
            for cell in members[order]
        )
        out.append(Shown(layout.name, layout.by, codes, seen, rounded, measure))
    return out


def reasons(done: Publication) -> dict[str, list[Any]]:
    """Return for every hidden cell of every new table why it is hidden; confidential.

    What the rules hide and an earlier publication has told is there as well.
    """
    known = {one.cell: one for one in done.intervals}
    narrow = {one.cell for one in done.narrow}
    rows = []
    tables = zip(done.cells.layouts, done.cells.members, strict=True)
    for position, (layout, members) in enumerate(tables):
        is_old = position in done.settled.tables
        hidden = done.done.hidden[members]
        listed = np.isin(members, done.settled.told) if is_old else hidden
        for cell in members[listed].tolist():
            why = done.done.why.get(cell)
            near = known.get(cell)
            protects = why.column if why is not None else -1
            rows.append({
                "CONFIDENTIAL": "confidential",
                "table": layout.name,
                "cell": done.cells.words(cell),
                "value": float(done.values[cell]),
                "hidden": "no, published earlier" if is_old
                else "primary" if why is None else "secondary",
                "why": str(done.reasons[cell]) if why is None else why.rule.words,
                "protects": done.cells.words(protects)
                if 0 <= protects < done.cells.n_cells
                else "",
                "low": None if near is None else near.low,
                "high": None if near is None or np.isinf(near.high) else near.high,
                "too close": "yes" if cell in narrow else "",
            })  # fmt: skip
    names = ("CONFIDENTIAL", "table", "cell", "value", "hidden", "why", "protects", "low", "high",
             "too close")  # fmt: skip
    return {name: [row[name] for row in rows] for name in names}


def page(tables: list[Shown]) -> str:
    """Return one HTML page with all tables and a legend."""
    parts = ["<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Tables</title>"]
    parts.append(f"<style>{STYLE}</style></head><body>")
    parts += [_html(one) for one in tables]
    marks = "; ".join(f"{mark} {means}".strip() for mark, means in legend(tables))
    parts.append(f"<p>{marks}.</p>")
    return "".join(parts) + "</body></html>\n"


def legend(tables: Sequence[Shown]) -> list[tuple[str, str]]:
    """Return the marks in tables with what they mean."""
    if tables and tables[0].rounded:
        return [("", "All numbers are rounded or perturbed to protect those who are counted")]
    return [(HIDDEN, "hidden, to protect those who contribute"), (NO_CELL, "no such cell")]


def _html(one: Shown) -> str:
    """Return a table as HTML."""
    head, lines = one.grid()
    rows = ["".join(f"<th>{escape(text)}</th>" for text in head)]
    for codes, values in lines:
        cells = (value if isinstance(value, str) else f"{value:,}" for value in values)
        rows.append(
            "".join(f"<th>{escape(code)}</th>" for code in codes)
            + "".join(f"<td>{cell}</td>" for cell in cells)
        )
    inside = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<h2>{escape(one.title)}</h2><table>{inside}</table>"
