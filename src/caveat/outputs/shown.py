"""Tables as they are shown: marks and a legend on a page, or sheets of a workbook."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.outputs.publication import Publication
from caveat.outputs.tables import Cells
from caveat.showing import without_values
from caveat.table.source import load_extra

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


# -------------------------------------------------------------------------------------------------
# Tables as a workbook: a sheet for each, and a legend.


LEGEND = "Legend"
LONGEST = 31  # letters of a sheet's name
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
CREATED = datetime(2000, 1, 1)  # the same tables are the same bytes
ABOVE = 2  # rows above the table: its title, and one that is empty


def check_excel() -> Any:
    """Return the package that writes workbooks; refuse if it is not there."""
    return load_extra("xlsxwriter", "XlsxWriter", "excel", "a workbook")


def write_workbook(path: Path, tables: Sequence[Shown]) -> None:
    """Write tables to a workbook: numbers as numbers, everything else as text, no formula.

    Parameters
    ----------
    path
        The file, which is written in place.
    tables
        The tables as they are shown.
    """
    package = check_excel()
    grids = [one.grid() for one in tables]
    for one, (head, lines) in zip(tables, grids, strict=True):
        if len(lines) + ABOVE >= MOST_ROWS or len(head) > MOST_COLUMNS:
            raise CaveatError(
                f"the table has {len(lines):,} rows and {len(head):,} columns, more than a sheet",
                where=f"table {one.name}",
                do="leave out --excel, or use fewer codes",
                code="outputs.table.too-large",
            )
    book = package.Workbook(path)
    book.set_properties({"created": CREATED})
    bold, number, mark = (
        book.add_format(given)
        for given in ({"bold": True}, {"num_format": "#,##0"}, {"align": "right"})
    )
    names = sheet_names([one.name for one in tables])
    _write_legend(book.add_worksheet(LEGEND), tables, names, bold)
    for one, name, (head, lines) in zip(tables, names, grids, strict=True):
        sheet = book.add_worksheet(name)
        sheet.write_string(0, 0, one.title, bold)
        for across, text in enumerate(head):
            sheet.write_string(ABOVE, across, text, bold)
        for down, (codes, values) in enumerate(lines, ABOVE + 1):
            for across, text in enumerate(codes):
                sheet.write_string(down, across, text, bold)
            for across, value in enumerate(values, len(codes)):
                if isinstance(value, str):
                    sheet.write_string(down, across, value, mark)
                else:  # as it is, unless it is whole
                    sheet.write_number(down, across, value, number if value % 1 == 0 else None)
        sheet.freeze_panes(ABOVE + 1, len(one.by) - 1)
    book.close()


def _write_legend(sheet: Any, tables: Sequence[Shown], names: Sequence[str], bold: Any) -> None:
    sheets = [(name, one.title) for one, name in zip(tables, names, strict=True)]
    lines = [*legend(tables), ("", ""), ("Sheet", "Table"), *sheets]
    sheet.set_column(0, 0, LONGEST)
    for row, (left, right) in enumerate(lines):
        form = bold if (left, right) == ("Sheet", "Table") else None
        sheet.write_string(row, 0, left, form)
        sheet.write_string(row, 1, right, form)


def sheet_names(names: Sequence[str]) -> list[str]:
    """Return names that sheets may have: short, without some letters, and no two the same.

    Examples
    --------
    >>> sheet_names(["Sex/age", "SEX?AGE", "Legend", "::"])
    ['Sex age', 'SEX AGE (2)', 'Legend (3)', 'Table 4']
    """
    used, out = {LEGEND.casefold(), "history"}, []
    for i, name in enumerate(names, 1):
        clean = re.sub(r"[\[\]:*?/\\\x00-\x1f]+", " ", name).strip(" '")[:LONGEST].strip(" '")
        clean = clean or f"Table {i}"
        while clean.casefold() in used:
            ending = f" ({i})"
            clean = clean.removesuffix(ending)[: LONGEST - len(ending)].strip() + ending
        used.add(clean.casefold())
        out.append(clean)
    return out
