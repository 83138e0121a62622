"""Workbooks: one sheet in, one or several out. Cells are values, never formulas."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from caveat.errors import CaveatError
from caveat.stopping import is_memory_short
from caveat.table._columnar import check_expansion
from caveat.table.code_files import plain_codes
from caveat.table.coding import EXACT_INTEGER, encode
from caveat.table.frames import refuse_bad_names
from caveat.table.source import load_extra, source_of
from caveat.table.table import Column, Kind, Missing, Table

__all__ = ["prepare_excel", "prepare_sheets", "read_excel", "sheets_of"]

SHEET = "data"  # what the sheet is called if nobody says
LONGEST, LONGEST_TEXT = 31, 32_767
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
CREATED = datetime(2000, 1, 1)  # the same table is the same bytes
HEADER_WITHIN = 50  # rows in which the header is looked for
FIRST_DAY = np.datetime64("1900-03-01")  # before it, Excel counts a day that never was
BLOCK, LONG_ROW = 1 << 20, 1 << 24  # bytes of a part that are looked through at a time
ROW_END, POSITION = b"row>", b' r="'
_POSITION = re.compile(rb' r="([A-Za-z]{1,7})([0-9]{1,10})"')
# Cells that a sheet has room for without harm, and how many there may be for one that is filled.
ROOM, SPARSE = 8_000_000, 20
ENCRYPTED = b"\xd0\xcf\x11\xe0"  # how .xls files and workbooks with a password begin


def read_excel(path: Path, suffix: str, columns: Sequence[str] | None) -> Table:
    """Read a sheet; see :func:`caveat.table.files.read`."""
    del suffix
    source = source_of(path)
    assert source is not None
    book = _open(Path(source.place))
    sheet = _chosen(book, source.part, source.with_part)
    names, start = _header(book, sheet)
    frame, words = _cells(book, sheet, start, len(names))
    kept = [
        i
        for i, name in enumerate(names)
        if name or i in words or frame[:, i].null_count() < frame.height
    ]
    for i in kept:
        if not names[i]:
            raise CaveatError(
                f"column {_letters(i)} has cells and no name",
                where=f"sheet {sheet}",
                do="name it in the first row that is filled, or clear it",
                code="data.name.absent",
            )
    named = {names[i]: i for i in kept}
    refuse_bad_names([names[i] for i in kept])
    wanted = list(named) if columns is None else list(columns)
    for name in wanted:
        if name not in named:
            raise CaveatError(
                f"there is no column {name!r}",
                do=f"choose among {', '.join(named)}",
                code="data.column.unknown",
            )
    encoded = {}
    for name in wanted:
        column = _encode(frame[:, named[name]], name)
        encoded[name] = _with_words(column, words.get(named[name], {}))
    return Table(encoded)


def sheets_of(path: Path) -> list[str]:
    """Return the names of the sheets of a workbook that are not empty."""
    return _filled(_open(path))


def _open(path: Path) -> Any:
    fastexcel = load_extra("fastexcel", "fastexcel", "excel", "a workbook")
    with path.open("rb") as file:
        if file.read(4) == ENCRYPTED:
            raise CaveatError(
                "the workbook has a password, or is an old .xls file",
                do="save it as .xlsx without a password",
                code="data.format.unsupported",
            )
    try:
        with zipfile.ZipFile(path) as packed:
            expanded = sum(entry.file_size for entry in packed.infolist())
            check_expansion(expanded, path.stat().st_size, path)
            for entry in packed.infolist():
                if entry.filename.endswith(".xml"):
                    _check_extent(packed, entry)
        return fastexcel.read_excel(path)
    except CaveatError:
        raise
    except BaseException as error:  # a parser that gives up raises no ordinary exception
        raise _damaged(error) from None


def _check_extent(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Refuse a sheet with a stray cell: the reader reserves room for all cells before it."""
    last_row = last_column = cells = 0
    for rows in _rows(packed, entry):
        for row in rows.split(ROW_END):
            # The cells of a row are in order: the last one says how far it reaches.
            found = _POSITION.match(row, max(0, row.rfind(POSITION)))
            if found:
                cells += row.count(POSITION) - 1
                last_row = max(last_row, int(found[2]))
                last_column = max(last_column, _place(found[1]))
    if last_row * last_column > max(ROOM, SPARSE * cells):
        raise CaveatError(
            f"the sheet reaches to cell {_letters(last_column - 1)}{last_row}, and has {cells:,} "
            "cells",
            where=entry.filename,
            do="delete the rows and columns beyond the table, and save it anew",
            code="data.sheet.too-large",
        )


def _rows(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """Give a part of a workbook in blocks of whole rows."""
    rest = b""
    with packed.open(entry) as part:
        while block := part.read(BLOCK):
            block = rest + block
            end = block.rfind(ROW_END) + 1 or (len(block) if len(block) > LONG_ROW else 0)
            rest = block[end:]
            yield block[:end]
    yield rest


def _place(letters: bytes) -> int:
    """Return the position of a column by its letters: 1 for A, 27 for AA."""
    place = 0
    for letter in letters.upper():
        place = 26 * place + letter - 64
    return place


def _damaged(error: BaseException) -> BaseException:
    """Return what to say of a workbook that cannot be parsed; an interruption stays one."""
    ours = not isinstance(error, Exception) and type(error).__name__ != "PanicException"
    if ours or is_memory_short(error):
        return error if ours else MemoryError()
    return CaveatError(
        "not a workbook (.xlsx), or a damaged one",
        do="save it anew in Excel",
        code="data.file.damaged",
    )


def _filled(book: Any) -> list[str]:
    names = list(book.sheet_names)
    if len(names) == 1:
        return names
    return [name for name in names if _load(book, name, n_rows=1, dtypes="string")[0].width]


def _chosen(book: Any, part: str, spelled: Callable[[str], str]) -> str:
    if part:
        if part not in book.sheet_names:
            do = f"choose among {', '.join(book.sheet_names)}"
            raise CaveatError(f"there is no sheet {part!r}", do=do, code="data.sheet.unknown")
        return part
    sheets = _filled(book)
    if len(sheets) > 1:
        raise CaveatError(
            f"the workbook has {len(sheets)} sheets: {', '.join(sheets)}",
            do=f"name one, as in {spelled(sheets[0])!r}",
            code="data.sheet.absent",
        )
    if not sheets:
        raise CaveatError(
            "every sheet is empty", do="check how it was made", code="data.sheet.empty"
        )
    return sheets[0]


def _load(book: Any, sheet: str, **how: Any) -> tuple[pl.DataFrame, Any]:
    try:
        loaded = book.load_sheet(sheet, header_row=None, **how)
        batch, errors = loaded.to_arrow_with_errors()
        frame = pl.from_arrow(batch)
    except CaveatError:
        raise
    except BaseException as error:
        raise _damaged(error) from None
    assert isinstance(frame, pl.DataFrame)
    return frame, errors


def _header(book: Any, sheet: str) -> tuple[list[str], int]:
    """Return the names in the first row that is filled, and how many rows are above the cells."""
    frame, _ = _load(book, sheet, skip_rows=0, n_rows=HEADER_WITHIN, dtypes="string")
    for row, cells in enumerate(frame.iter_rows()):
        if any(cell is not None and cell.strip() for cell in cells):
            # A name over two lines is one name.
            return [" ".join((cell or "").split()) for cell in cells], row + 1
    raise CaveatError(
        "the sheet is empty", where=f"sheet {sheet}", do="name another one", code="data.sheet.empty"
    )


def _cells(
    book: Any, sheet: str, start: int, width: int
) -> tuple[pl.DataFrame, dict[int, dict[int, str]]]:
    """Return the cells below the header, each column of one type, and words among numbers.

    Such a word is NA or n/a: the reader passes them over when it says what a column is. They are
    given by column and row.
    """
    try:
        frame, errors = _load(book, sheet, skip_rows=start, schema_sample_rows=None)
    except CaveatError:
        # No row below the header is no damage.
        frame, errors = _load(book, sheet, skip_rows=0, dtypes="string")
        if frame.height > start:
            raise
        return pl.DataFrame({str(i): pl.Series(dtype=pl.Null) for i in range(width)}), {}
    words = _words(book, sheet, start, errors.errors) if errors is not None else {}
    empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series().to_numpy().copy()
    empty[[row for found in words.values() for row in found]] = False
    filled = np.flatnonzero(~empty)
    last = int(filled[-1]) + 1 if len(filled) else 0
    if empty[:last].any():
        raise CaveatError(
            f"row {int(np.argmax(empty)) + start + 1:,} is empty",
            where=f"sheet {sheet}",
            do="remove it",
            code="data.row.empty",
        )
    return frame.head(last), words


def _words(book: Any, sheet: str, start: int, errors: Sequence[Any]) -> dict[int, dict[int, str]]:
    """Return the text in cells that do not fit their columns; refuse those that hold no text."""
    cells = [error.offset_position for error in errors]
    kinds = {column: "string" for _, column in cells}
    if not kinds:
        return {}
    texts, _ = _load(book, sheet, skip_rows=start, schema_sample_rows=None, dtypes=kinds)
    words: dict[int, dict[int, str]] = {}
    for row, column in cells:
        word = texts[row, column]
        if word is None:
            raise CaveatError(
                f"cell {_letters(column)}{row + start + 1} holds an error such as #DIV/0!",
                where=f"sheet {sheet}",
                do="mend the formula or clear the cell",
                code="data.formula.failed",
            )
        words.setdefault(column, {})[row] = word
    return words


def _with_words(column: Column, words: Mapping[int, str]) -> Column:
    """Return the column with words for missing, each a way of its own."""
    if not words:
        return column
    ways = {word: column.n_levels + i for i, word in enumerate(sorted(set(words.values())))}
    codes = column.codes.astype(np.int64)
    codes[list(words)] = [ways[word] for word in words.values()]
    missing = (*column.missing, *map(Missing, ways))
    return replace(column, codes=codes, missing=missing).compact()


def _letters(position: int) -> str:
    """Return how Excel calls a column."""
    name, rest = "", position + 1
    while rest:
        rest, letter = divmod(rest - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def _encode(series: pl.Series, name: str) -> Column:
    if series.null_count() == len(series):
        series = pl.Series([None] * len(series), dtype=pl.Null)
    elif isinstance(series.dtype, pl.Datetime):
        days = series.cast(pl.Date)
        series = (
            days if (days.cast(series.dtype) == series).all() else series.cast(pl.Datetime("us"))
        )
    return encode(series, name)


# -------------------------------------------------------------------------------------------------
# Writing


def prepare_excel(table: Table, suffix: str) -> Callable[[Path], None]:
    """Return a function that writes the table to a workbook with one sheet."""
    del suffix
    return prepare_sheets({SHEET: table})


def prepare_sheets(tables: Mapping[str, Table]) -> Callable[[Path], None]:
    """Return a function that writes tables to the sheets of a workbook, once all of it fits."""
    package = load_extra("xlsxwriter", "XlsxWriter", "excel", "a workbook")
    names: set[str] = set()
    for name, table in tables.items():
        odd = set("[]:*?/\\") & set(name) or name[:1] == "'" or name[-1:] == "'"
        if odd or not 0 < len(name) <= LONGEST or name.casefold() in names | {"history"}:
            raise CaveatError(
                f"no sheet can be called {name!r}",
                do=f"use another name, of up to {LONGEST} letters and without []:*?/\\",
                code="data.name.unsupported",
            )
        names.add(name.casefold())
        if table.n_rows >= MOST_ROWS or len(table.names) > MOST_COLUMNS:
            raise CaveatError(
                f"{table.n_rows:,} rows and {len(table.names):,} columns are more than a sheet has",
                do="write Parquet or CSV instead",
                code="data.table.too-large",
            )
        for column in table:
            _refuse(table[column], column)
    return partial(_write, package, dict(tables))


def _refuse(column: Column, name: str) -> None:
    """Refuse values that a cell cannot hold."""
    levels, what, code = column.compact().levels, "", ""
    if levels.dtype.kind == "O" and any(len(str(text)) > LONGEST_TEXT for text in levels):
        what, code = f"text of more than {LONGEST_TEXT:,} letters", "data.value.too-long"
    elif levels.dtype.kind in "iu" and (np.abs(levels.astype(float)) > EXACT_INTEGER).any():
        what, code = "whole numbers beyond 2^53", "data.value.too-large"
    elif levels.dtype.kind == "M" and len(levels) and levels.min() < FIRST_DAY:
        what, code = "dates before March 1900", "data.value.unsupported"
    if what:
        raise CaveatError(
            f"Excel cannot hold {what}",
            column=name,
            do="write Parquet or CSV instead",
            code=code,
        )


def _write(package: Any, tables: Mapping[str, Table], path: Path) -> None:
    # Nothing lies in a folder for temporary files, where a killed process would leave it.
    packed = BytesIO()
    book = package.Workbook(packed, {"in_memory": True, "default_date_format": "yyyy-mm-dd"})
    book.set_properties({"created": CREATED})
    bold = book.add_format({"bold": True})
    time = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
    for name, table in tables.items():
        sheet = book.add_worksheet(name)
        for across, column in enumerate(table):
            sheet.write_string(0, across, column, bold)
        cells = [_values(table[column]) for column in table]
        codes = [table[column].codes for column in table]
        for row in range(table.n_rows):
            for across, (values, code) in enumerate(zip(cells, codes, strict=True)):
                value = values[code[row]]
                if isinstance(value, str):
                    sheet.write_string(row + 1, across, value)
                elif isinstance(value, bool):
                    sheet.write_boolean(row + 1, across, value)
                elif isinstance(value, int | float):
                    sheet.write_number(row + 1, across, value)
                elif value is not None:
                    form = (
                        time if table.columns[table.names[across]].kind is Kind.DATETIME else None
                    )
                    sheet.write_datetime(row + 1, across, value, form)
        sheet.freeze_panes(1, 0)
    book.close()
    path.write_bytes(packed.getbuffer())


def _values(column: Column) -> list[Any]:
    """Return what is written for every code; None for an empty cell."""
    levels = column.levels
    if levels.dtype.kind == "M":
        unit = "D" if column.kind is Kind.DATE else "us"
        values: list[Any] = levels.astype(f"datetime64[{unit}]").tolist()
    else:
        values = levels.tolist()
    return [*values, *(None if code == "" else code for code in plain_codes(column))]
