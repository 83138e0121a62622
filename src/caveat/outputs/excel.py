"""Tables as a workbook: a sheet for each, and a legend."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from caveat.errors import CaveatError
from caveat.outputs.shown import Shown, legend
from caveat.table.source import load_extra

__all__ = ["check_excel", "sheet_names", "write_workbook"]

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
