"""Delimited text out: every field comes back as it is, with no more quotation marks than needed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from caveat.table._scan import Look, look_of
from caveat.table._text import compression_of, parse_times
from caveat.table.column import Column, Kind
from caveat.table.table import Table

__all__ = ["write_text"]

STEP = 1 << 17
# Text that looks like one of these would come back as something else without quotation marks.
NOT_TEXT = (Look.INTEGER, Look.BIG_INTEGER, Look.DECIMAL, Look.NA_TOKEN, Look.INFINITE)


def write_text(blocks: Iterable[Table], path: Path, delimiter: str) -> None:
    """Write the blocks of a table as delimited text; the last extension may ask for compression."""
    compression = compression_of(path)
    with pa.output_stream(str(path), compression=compression) as stream:
        for number, table in enumerate(blocks):
            if number == 0:
                header = delimiter.join(_quoted_if_needed(name, delimiter) for name in table)
                stream.write(f"{header}\n".encode())
            _write_rows(table, stream, delimiter)


def _write_rows(table: Table, stream: Any, delimiter: str) -> None:
    fields = {name: _fields(table[name], delimiter) for name in table}
    for start in range(0, table.n_rows, STEP):
        rows = slice(start, start + STEP)
        frame = pl.DataFrame(
            [
                field.gather(table[name].codes[rows]).alias(str(i))
                for i, (name, field) in enumerate(fields.items())
            ]
        )
        frame.write_csv(stream, include_header=False, separator=delimiter, quote_style="never")


def _fields(column: Column, delimiter: str) -> pl.Series:
    """Return the text of every level and of every way to be missing."""
    levels = _level_texts(column, delimiter)
    text = column.levels.dtype == object
    for missing in column.missing:
        code = missing.code
        if code is None or code != code:
            levels.append("")
        elif code == "":
            levels.append('""')
        elif text:
            levels.append(_text(str(code), delimiter))
        else:
            levels.append(_quoted_if_needed(str(code), delimiter))
    return pl.Series(levels, dtype=pl.String)


def _level_texts(column: Column, delimiter: str) -> list[str]:
    style = column.storage.removeprefix("text:") if column.storage.startswith("text:") else ""
    kind = column.levels.dtype.kind
    if kind == "M":
        return _time_texts(column, style)
    if kind == "b":
        return [_truth(value, style) for value in column.levels.tolist()]
    if kind in "iu" and not style:
        return [str(value) for value in column.levels.tolist()]
    if kind in "iuf":
        return _number_texts(column.levels, style)
    return [_text(str(value), delimiter) for value in column.levels.tolist()]


def _truth(value: bool, style: str) -> str:
    word = str(value)
    return {"upper": word.upper(), "title": word}.get(style, word.lower())


def _number_texts(levels: Any, style: str) -> list[str]:
    values = levels.tolist()
    if style.startswith("decimals="):
        fixed = [f"{value:.{int(style[9:])}f}" for value in values]
        if [float(text) for text in fixed] == values:
            return fixed
    shortest = [repr(value) for value in values]
    if style != "point":
        # Sixteen digits without a point would look like an integer that is not exact as a float.
        shortest = [t.removesuffix(".0") if len(t) < 18 else t for t in shortest]
    return shortest


def _time_texts(column: Column, style: str) -> list[str]:
    series = pl.Series(column.levels)
    if column.kind is Kind.DATE:
        return series.cast(pl.Date).dt.to_string("%Y-%m-%d").to_list()
    if style:
        head, _, digits = style.partition(".")
        texts = series.dt.to_string(f"{head}%.9f" if digits else head)
        texts = texts.str.head(-9 + int(digits)) if digits and int(digits) < 9 else texts
        if parse_times(texts, style).cast(series.dtype).equals(series):
            return texts.to_list()
    return series.dt.to_string("%Y-%m-%dT%H:%M:%S%.f").to_list()


def _text(value: str, delimiter: str) -> str:
    if value == "" or look_of(value) in NOT_TEXT or value != value.strip():
        return _quoted(value)
    return _quoted_if_needed(value, delimiter)


def _quoted_if_needed(value: str, delimiter: str) -> str:
    special = (delimiter, '"', "\n", "\r")
    return _quoted(value) if any(char in value for char in special) else value


def _quoted(value: str) -> str:
    doubled = value.replace('"', '""')
    return f'"{doubled}"'
