"""Delimited text out: every field comes back as it is, with no more quotation marks than needed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table._local import LOCAL_DATES, NumberForm, number_form
from caveat.table._scan import Look, look_of
from caveat.table._text import compression_of, parse_times
from caveat.table.column import Column, Kind
from caveat.table.file_form import TextForm
from caveat.table.table import Table
from caveat.table.written import means_missing

__all__ = ["write_text"]

STEP = 1 << 17
# Text that looks like one of these would come back as something else without quotation marks.
NOT_TEXT = (Look.INTEGER, Look.BIG_INTEGER, Look.DECIMAL, Look.NA_TOKEN, Look.INFINITE)
# What a spreadsheet takes for the beginning of a formula, after OWASP's page on CSV injection; the
# signs of full width are the same to East Asian versions. Signed numbers are no formulas.
FORMULA_SIGNS = frozenset("=+-@\t\r\n＝＋－＠")
_SIGNED_NUMBER = re.compile(r"[+-]([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?")


def write_text(
    blocks: Iterable[Table], path: Path, form: TextForm, *, escape_formulas: bool = False
) -> Counter[str]:
    """Write the blocks of a table as delimited text; the last extension may ask for compression.

    Returned are the cells of each column that a spreadsheet would compute: its name and its texts.
    With ``escape_formulas`` they begin with an apostrophe, and there is none.
    """
    computed: Counter[str] = Counter()
    compression = compression_of(path)
    with pa.output_stream(str(path), compression=compression) as stream:
        for number, table in enumerate(blocks):
            if number == 0:
                computed.update(name for name in table if _is_formula(name))
                names = [_quoted_if_needed(name, form.delimiter) for name in table]
                if escape_formulas:
                    names = _escaped(names, np.array([name in computed for name in table]))
                stream.write(_encoded(f"{form.delimiter.join(names)}\n", form))
            computed += _write_rows(table, stream, form, escape_formulas)
    return Counter() if escape_formulas else computed


def _encoded(text: str, form: TextForm) -> bytes:
    try:
        return text.encode(form.encoding)
    except UnicodeEncodeError:
        raise CaveatError(
            f"the encoding {form.encoding} lacks a letter of the table",
            do="leave --as-read (as_read) out: UTF-8 has all letters",
            code="data.encoding.unsupported",
        ) from None


def _write_rows(table: Table, stream: Any, form: TextForm, escape: bool) -> Counter[str]:
    fields: dict[str, pl.Series] = {}
    computed: Counter[str] = Counter()
    for name in table:
        texts, formulas = _fields(table[name], name, form), _formulas(table[name])
        if formulas.any():
            computed[name] = int(formulas[table[name].codes].sum())
            texts = _escaped(texts, formulas) if escape else texts
        fields[name] = pl.Series(texts, dtype=pl.String)
    for start in range(0, table.n_rows, STEP):
        rows = slice(start, start + STEP)
        frame = pl.DataFrame(
            [
                field.gather(table[name].codes[rows]).alias(str(i))
                for i, (name, field) in enumerate(fields.items())
            ]
        )
        plain = form.encoding.lower().replace("_", "-") in ("utf-8", "utf8")
        target = stream if plain else BytesIO()
        frame.write_csv(target, include_header=False, separator=form.delimiter, quote_style="never")
        if not plain:
            stream.write(_encoded(target.getvalue().decode(), form))
    return computed


def _formulas(column: Column) -> NDArray[np.bool_]:
    """Return which levels and ways to be missing are text that a spreadsheet would compute."""
    text = column.levels.dtype == object
    levels = [_is_formula(str(x)) for x in column.levels.tolist()] if text else []
    start = len(column.levels)
    formulas = np.zeros(start + len(column.missing), dtype=bool)
    formulas[: len(levels)] = levels
    formulas[start:] = [isinstance(m.code, str) and _is_formula(m.code) for m in column.missing]
    return formulas


def _is_formula(text: str) -> bool:
    # A sign alone computes nothing.
    return text[:1] in FORMULA_SIGNS and len(text) > 1 and not _SIGNED_NUMBER.fullmatch(text)


def _escaped(fields: list[str], formulas: NDArray[np.bool_]) -> list[str]:
    """Put an apostrophe before these fields, within their quotation marks if they have any."""
    fields = list(fields)
    for i in np.flatnonzero(formulas).tolist():
        mark = '"' if fields[i].startswith('"') else ""
        fields[i] = f"{mark}'{fields[i].removeprefix(mark)}"
    return fields


def _fields(column: Column, name: str, form: TextForm) -> list[str]:
    """Return the text of every level and of every way to be missing."""
    delimiter = form.delimiter
    bare = form.as_read and _says_text(column, form)
    levels = _level_texts(column, name, form, bare)
    text = column.levels.dtype == object
    for missing in column.missing:
        code = missing.code
        if code is None or code != code:
            levels.append("")
        elif code == "":
            levels.append('""')
        elif text:
            levels.append(_text(str(code), form, bare))
        elif form.as_read and not isinstance(code, str) and column.levels.dtype.kind in "iuf":
            number_type = float if column.levels.dtype.kind == "f" else None
            levels += _numbers(column, np.array([code], number_type), form)
        else:
            number = str(code) if isinstance(code, str) else str(code).replace(".", form.decimal)
            levels.append(_quoted_if_needed(number, delimiter))
    return levels


def _says_text(column: Column, form: TextForm) -> bool:
    """Whether a text of the column shows that it is no column of numbers: none needs marks then."""
    if column.levels.dtype != object:
        return False
    codes = [m.code for m in column.missing if isinstance(m.code, str)]
    return any(
        text and not _looks_other(text, form) and not means_missing(text)
        for text in [*column.levels.tolist(), *codes]
    )


def _level_texts(column: Column, name: str, form: TextForm, bare: bool) -> list[str]:
    style = column.storage.removeprefix("text:") if column.storage.startswith("text:") else ""
    kind = column.levels.dtype.kind
    if kind == "M":
        local = form.dates.get(name, style if style in LOCAL_DATES else "")
        if form.as_read and local:
            return _local_times(column, local, form)
        return _time_texts(column, "" if style in LOCAL_DATES else style)
    if kind == "b":
        return [_truth(value, style) for value in column.levels.tolist()]
    if kind in "iuf":
        return _numbers(column, column.levels, form)
    alone = not _says_text(column, form)  # words for missing among numbers that are text
    return [
        _quoted(text) if alone and means_missing(text) else _text(text, form, bare)
        for text in map(str, column.levels.tolist())
    ]


def _numbers(column: Column, values: NDArray[Any], form: TextForm) -> list[str]:
    """Return numbers as those of the column are written."""
    style = column.storage.removeprefix("text:") if column.storage.startswith("text:") else ""
    style = style.partition(";")[0]
    whole = values.dtype.kind in "iu" and not style
    texts = list(map(str, values.tolist())) if whole else _number_texts(values, style)
    return _local_numbers(texts, number_form(column.storage), form)


def _local_numbers(texts: list[str], local: NumberForm | None, form: TextForm) -> list[str]:
    """Return numbers with the signs of the file, or with those that the column came with."""
    if form.as_read and local is not None:
        texts = [local.written(text) for text in texts]
    elif form.decimal != ".":
        texts = [text.replace(".", form.decimal) for text in texts]
    return [_quoted_if_needed(text, form.delimiter) for text in texts]


def _local_times(column: Column, style: str, form: TextForm) -> list[str]:
    """Return dates as they came, where that loses nothing."""
    series = pl.Series(column.levels)
    series = series.cast(pl.Date) if column.kind is Kind.DATE else series
    texts = series.dt.to_string(style)
    again = texts.str.to_datetime(style, strict=False) if column.kind is Kind.DATETIME else None
    if again is not None and not again.cast(series.dtype).equals(series):
        return _time_texts(column, "")
    return [_quoted_if_needed(text, form.delimiter) for text in texts]


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


def _text(value: str, form: TextForm, bare: bool = False) -> str:
    if value == "" or (not bare and _looks_other(value, form)) or value != value.strip():
        return _quoted(value)
    return _quoted_if_needed(value, form.delimiter)


def _looks_other(value: str, form: TextForm) -> bool:
    """Whether a text looks like a number or a word for missing."""
    looked = value if form.decimal == "." else value.replace(form.decimal, ".")
    return look_of(looked) in NOT_TEXT


def _quoted_if_needed(value: str, delimiter: str) -> str:
    special = (delimiter, '"', "\n", "\r")
    return _quoted(value) if any(char in value for char in special) else value


def _quoted(value: str) -> str:
    doubled = value.replace('"', '""')
    return f'"{doubled}"'
