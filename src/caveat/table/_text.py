"""Delimited text in and out: CSV and TSV, plain or compressed, typed by the whole file."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.table._columnar import unpack
from caveat.table._scan import (
    AS_TEXT,
    Fault,
    Look,
    Parsing,
    Scan,
    declared,
    distinct,
    encoding_in,
    look_of,
    may_group,
    note_on_encoding,
    notes_on,
    notes_on_names,
    quotes_speak_in,
    scan,
    shape_of,
)
from caveat.table.coding import encode, usable_numbers
from caveat.table.files import Schema, TextForm
from caveat.table.frames import refuse_bad_names
from caveat.table.table import NA_TOKENS, Column, Kind, Missing, Table
from caveat.table.written import (
    LOCAL_DATES,
    NumberForm,
    has_decimal_comma,
    may_have_decimal_comma,
    means_missing,
    number_form,
    read_local,
    read_thousands,
)

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 1 << 16


def compression_of(path: Path) -> str | None:
    """Return the name of the compression that the extension stands for."""
    return {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())


def read_text(
    path: Path,
    *,
    schema: Schema,
    delimiter: str | None,
    decimal: str,
    encoding: str | None,
    columns: Sequence[str] | None,
    keep: Callable[[str, Column], Column],
    together: int | None,
) -> Table:
    """Read a delimited text file; see :func:`caveat.table.files.read`.

    So many columns are parsed together (all of them for None), encoded and handed to ``keep``.
    """
    data, notes = _bytes_of(path, encoding)
    if delimiter is None:
        delimiter = _sniff(data, decimal)
    names, start, renamed = _header(data, delimiter, path)
    cells = np.frombuffer(data, np.uint8)
    found = scan(cells, start, len(names), delimiter, decimal)
    _refuse_fault(found, len(names), delimiter, path)
    wanted = _wanted(names, columns, path)
    chosen, quotes_speak = set(wanted), quotes_speak_in(found)
    shapes = {n: shape_of(found, i, data, quotes_speak) for i, n in enumerate(names)}
    plans = {n: declared(shapes[n], schema.columns.get(n), n, path) for n in names if n in chosen}
    several = partial(
        _columns, path, data, start, names, delimiter, decimal, found, schema, together
    )
    doubtful = {} if decimal == "," else _doubtful(plans, names, found, schema)
    encoded: dict[str, Column] = {}
    undecided: dict[str, Column] = {}
    comma = False
    for name, column in several({n: plan for n, plan in plans.items() if n not in doubtful}):
        comma = comma or has_decimal_comma(column)
        if decimal != "," and plans[name].local and may_have_decimal_comma(column):
            undecided[name] = column
        else:
            encoded[name] = keep(name, column)
    if (doubtful or undecided) and not comma:  # columns that nobody asked for say it as well
        others = {n: declared(shape, schema.columns.get(n), n, path)
                  for n, shape in shapes.items() if n not in chosen and shape.local}  # fmt: skip
        text = {name: plan for name, plan in others.items() if plan.local}
        comma = any(has_decimal_comma(column) for _, column in several(text))
    if comma and _has_decimal_point(shapes, names, found):
        comma = False  # the file says both: nothing is proven
    for name, column in undecided.items():
        entry = schema.columns.get(name)
        said = entry.kind if entry else None
        column = read_local(column, ",", said, "" if plans[name].said_text else "\t")
        encoded[name] = keep(name, column if comma else undecided[name])
    for name, plan in doubtful.items():
        grouped = read_thousands(next(several({name: AS_TEXT}))[1]) if comma else None
        column = next(several({name: plan}))[1] if grouped is None else grouped
        encoded[name] = keep(name, column)
    table = Table(encoded).select(wanted)
    return replace(table, notes=(*notes, *renamed, *notes_on(table)))


def _has_decimal_point(plans: Mapping[str, Parsing], names: list[str], found: Scan) -> bool:
    """Return whether a column has points that can only be decimal ones."""
    return any(
        plan.kind is Kind.NUMERIC and not may_group(found, names.index(name))
        for name, plan in plans.items()
    )


def _doubtful(
    plans: Mapping[str, Parsing], names: list[str], found: Scan, schema: Schema
) -> dict[str, Parsing]:
    """Return the columns whose points may stand between thousands, as in 47.955."""
    said = {name for name, entry in schema.columns.items() if entry.kind is Kind.NUMERIC}
    return {
        name: plan
        for name, plan in plans.items()
        if plan.kind is Kind.NUMERIC and name not in said and may_group(found, names.index(name))
    }


# -------------------------------------------------------------------------------------------------
# Bytes and header


def _bytes_of(path: Path, encoding: str | None) -> tuple[bytes, tuple[Note, ...]]:
    """Return the file as UTF-8 without a byte order mark, and how its encoding was found."""
    compression = compression_of(path)
    # The whole file is held: a mapped one that shrinks while it is read would end the process.
    data = unpack(path, compression) if compression else path.read_bytes()
    notes: tuple[Note, ...] = ()
    if encoding is None:
        encoding = encoding_in(data)
        notes = () if encoding == "utf-8" else (note_on_encoding(encoding),)
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig"):
        data = _recode(data, encoding, path)
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data:
        raise CaveatError(
            "the file is empty", where=str(path), do="check how it was made", code="data.file.empty"
        )
    return data if b"\n" in data else data.replace(b"\r", b"\n"), notes


def _recode(data: bytes, encoding: str, path: Path) -> bytes:
    try:
        return data.decode(encoding).encode()
    except UnicodeError as error:
        offset = getattr(error, "start", 0)
        raise CaveatError(
            f"byte {offset:,} is not valid {encoding}",
            where=str(path),
            do="name its encoding",
            code="data.encoding.mismatch",
        ) from None
    except (LookupError, ValueError):  # a name with a NUL is the latter
        raise CaveatError(
            f"there is no encoding {encoding!r}",
            do="use one such as utf-8, cp1252 or latin-1",
            code="data.encoding.unknown",
        ) from None


def _header(data: bytes, delimiter: str, path: Path) -> tuple[list[str], int, tuple[Note, ...]]:
    """Return the names of the columns, the position after their line, and what was renamed."""
    fields, end, fault = _record(data, 0, delimiter.encode())
    _check_text(data[:end], path)
    if fault:
        raise _fault(fault, f"{path}, line 1")
    names = [field.decode() for field in fields]
    given, names = names, distinct(names)
    refuse_bad_names(names)
    return names, end, notes_on_names(given, names)


def _record(data: bytes, start: int, delimiter: bytes) -> tuple[list[bytes], int, Fault]:
    """Return the fields of the record at a position, where the next one starts, and its fault.

    Records are split as the scan splits them: a quotation mark opens only at the start of a field.
    """
    end = data.find(b"\n", start)
    line = data[start:] if end < 0 else data[start:end]
    if b'"' not in line:
        return line.removesuffix(b"\r").split(delimiter), start + len(line) + 1, Fault.NONE
    quoted = re.compile(rb'"([^"]*(?:""[^"]*)*)"')
    rest = re.compile(rb"[^\n%s]*" % re.escape(delimiter))
    fields, fault, position = [], Fault.NONE, start
    while True:
        found, tail = quoted.match(data, position), rest.match(data, position)
        if found:
            tail = rest.match(data, found.end())
            fields.append(found[1].replace(b'""', b'"'))
        elif data[position : position + 1] == b'"':
            return fields, len(data), Fault.UNCLOSED
        assert tail is not None  # it matches nothing as well
        position = tail.end()
        ends = data[position : position + 1] != delimiter
        text = tail[0].removesuffix(b"\r") if ends or found else tail[0]
        if not found:
            fields.append(text)
        elif text:
            fault = Fault.AFTER_QUOTE
        position += 1
        if ends:
            return fields, position, fault


def _check_text(head: bytes, path: Path) -> None:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error.start, 1) from None
    if b"\0" in head:
        raise CaveatError(
            "this is not a text file in UTF-8",
            where=str(path),
            do="name its encoding or format",
            code="data.encoding.mismatch",
        )


def _not_utf8(path: Path, offset: int, line: int) -> CaveatError:
    return CaveatError(
        f"byte {offset:,} (line {line:,}) is not valid UTF-8",
        where=str(path),
        do="name its encoding, such as cp1252, cp1250 or latin-1: --encoding (caveat look), or "
        'encoding = "cp1252" in [data]',
        code="data.encoding.mismatch",
    )


def form_in(path: Path, decimal: str, encoding: str | None) -> tuple[str, str]:
    """Return the delimiter and the encoding of a file."""
    data, notes = _bytes_of(path, encoding)
    found = encoding or (str(notes[0].parameters["encoding"]) if notes else "utf-8")
    return _sniff(data, decimal), found


def _sniff(data: bytes, decimal: str) -> str:
    """Return the delimiter that splits most first lines into as many fields as the header."""
    sample = data[:SAMPLE]
    if len(data) > SAMPLE:
        sample = sample[: sample.rfind(b"\n") + 1]
    best, delimiter = (0.0, 0), ","
    for candidate in DELIMITERS:
        if candidate == decimal:
            continue
        sizes = list(_sizes(sample, candidate.encode())) or [0]
        alike = sum(size == sizes[0] for size in sizes) / len(sizes)
        score = (alike if sizes[0] > 1 else 0.0, sizes[0])
        if score > best and sizes[0] > 1:
            best, delimiter = score, candidate
    return delimiter


def _sizes(sample: bytes, delimiter: bytes) -> Iterator[int]:
    """Give the number of fields of every record that is not empty."""
    position = 0
    while position < len(sample):
        fields, position, _ = _record(sample, position, delimiter)
        if fields != [b""]:
            yield len(fields)


def _wanted(names: list[str], columns: Sequence[str] | None, path: Path) -> list[str]:
    if columns is None:
        return names
    known = set(names)
    for name in columns:
        if name not in known:
            raise CaveatError(
                f"there is no column {name!r}",
                where=str(path),
                do=f"choose among {', '.join(names)}",
                code="data.column.unknown",
            )
    return list(columns)


def _refuse_fault(found: Scan, n_columns: int, delimiter: str, path: Path) -> None:
    where = f"{path}, line {found.line:,}"
    shown = {"\t": "tab"}.get(delimiter, delimiter)
    if found.fault is Fault.RAGGED:
        fields = "1 field" if found.n_fields == 1 else f"{found.n_fields:,} fields"
        raise CaveatError(
            f"the line has {fields}, the header {n_columns:,}",
            where=where,
            do=f"mend the line, or name the delimiter if it is not {shown!r}",
            code="data.row.mismatch",
        )
    if found.fault:
        raise _fault(found.fault, where)


def _fault(fault: Fault, where: str) -> CaveatError:
    what, do, code = {
        Fault.BLANK: ("the line is empty", "remove it", "data.row.empty"),
        Fault.UNCLOSED: (
            "a quotation mark is opened here and never closed",
            "close it",
            "data.row.malformed",
        ),
        Fault.AFTER_QUOTE: (
            "text follows a closing quotation mark",
            "double quotation marks that belong to the text",
            "data.row.malformed",
        ),
    }[fault]
    return CaveatError(what, where=where, do=do, code=code)


# -------------------------------------------------------------------------------------------------
# Cells


def _columns(
    path: Path,
    data: bytes,
    start: int,
    names: list[str],
    delimiter: str,
    decimal: str,
    found: Scan,
    schema: Schema,
    together: int | None,
    plans: Mapping[str, Parsing],
) -> Iterator[tuple[str, Column]]:
    """Give the columns, of which so many are parsed together."""
    step = together or max(len(plans), 1)
    for first in range(0, len(plans), step):
        some = dict(list(plans.items())[first : first + step])
        series = _parse(path, data, start, names, some, delimiter, decimal, found)
        for name, plan in some.items():
            column = _encode_column(series.pop(name), plan, name, decimal)
            if plan.local:
                entry = schema.columns.get(name)
                separator = delimiter if not plan.said_text or delimiter in ",." else ""
                said = entry.kind if entry else None
                column = read_local(column, decimal, said, separator, said_text=plan.said_text)
            yield name, column


def _parse(
    path: Path,
    data: bytes,
    start: int,
    names: list[str],
    plans: Mapping[str, Parsing],
    delimiter: str,
    decimal: str,
    found: Scan,
) -> dict[str, pl.Series]:
    if not found.n_rows:
        return {name: pl.Series(dtype=plan.dtype) for name, plan in plans.items()}
    dtypes = [plans[name].dtype if name in plans else pl.String for name in names]
    try:
        frame = pl.read_csv(
            data,
            separator=delimiter,
            decimal_comma=decimal == ",",
            # The names are ours already: what stands in the header cannot confuse the parser.
            has_header=False,
            skip_lines=data.count(b"\n", 0, start),
            schema={str(i): dtype for i, dtype in enumerate(dtypes)},
            columns=[i for i, name in enumerate(names) if name in plans],
            glob=False,
        )
    except pl.exceptions.PolarsError:
        raise _unparsed(path, data, found) from None
    if frame.height < found.n_rows:  # a stray quotation mark has swallowed a line
        raise _unparsed(path, data, found)
    return {name: frame.to_series(i).head(found.n_rows) for i, name in enumerate(plans)}


def _unparsed(path: Path, data: bytes, found: Scan) -> CaveatError:
    """Say why the parser gave up, without the text that it stumbled over."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return _not_utf8(path, error.start, data.count(b"\n", 0, error.start) + 1)
    if found.stray:
        return CaveatError(
            "a quotation mark stands inside a field that is not quoted",
            where=f"{path}, line {found.stray:,}",
            do="quote the field and double the mark",
            code="data.row.malformed",
        )
    return CaveatError(
        "the file cannot be parsed",
        where=str(path),
        do="check how it was made",
        code="data.file.malformed",
    )


def _encode_column(series: pl.Series, plan: Parsing, name: str, decimal: str) -> Column:
    if series.dtype == pl.String:
        if plan.kind is not Kind.CATEGORY or plan.empty_is_missing:
            empty = series == ""
            series = series.set(empty.fill_null(False), None) if empty.any() else series
        if plan.kind in (Kind.INTEGER, Kind.NUMERIC):
            return replace(_numbers(series, plan, name, decimal), storage=plan.storage)
        if plan.kind is Kind.BOOLEAN:
            series = series.str.to_lowercase() == "true"
        elif plan.kind is Kind.DATE:
            series = series.str.to_date("%Y-%m-%d")
        elif plan.kind is Kind.DATETIME:
            series = parse_times(series, plan.storage.removeprefix("text:"))
        elif series.null_count() == len(series):
            series = pl.Series([None] * len(series), dtype=pl.Null)
    return replace(encode(series, name), storage=plan.storage)


def parse_times(series: pl.Series, form: str) -> pl.Series:
    """Parse datetimes; the form ends in the number of decimals of the seconds, if they have any."""
    head, _, digits = form.partition(".")
    unit: Literal["us", "ns"] = "ns" if digits and int(digits) > 6 else "us"
    return series.str.to_datetime(f"{head}%.f" if digits else head, time_unit=unit)


def _numbers(series: pl.Series, plan: Parsing, name: str, decimal: str) -> Column:
    """Encode numbers that stand beside tokens such as NA or between blanks."""
    text = series.str.strip_chars(" \t")
    tokens = text.is_in(NA_TOKENS).fill_null(False)
    plain = text.set(tokens, None)
    if decimal == ",":
        plain = plain.str.replace(",", ".", literal=True)
    dtype = pl.Int64 if plan.kind is Kind.INTEGER else pl.Float64
    numbers = plain.cast(dtype)
    numbers = usable_numbers(numbers, name) if dtype == pl.Float64 else numbers
    column = encode(numbers, name)
    if not tokens.any():
        return column
    n, codes = len(column.levels), column.codes.astype(np.int64)
    words = text.filter(tokens).unique().sort().to_list()
    empty = (Missing(),) if numbers.null_count() > tokens.sum() else ()
    for i, word in enumerate(words):
        codes[(text == word).fill_null(False).to_numpy()] = n + len(empty) + i
    missing = (*empty, *(Missing(word) for word in words))
    return Column(codes, column.levels, column.kind, missing)


# -------------------------------------------------------------------------------------------------
# Delimited text out: every field comes back as it is, with no more quotation marks than needed.


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
            levels += _numbers_text_write(column, np.array([code], number_type), form)
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
        return _numbers_text_write(column, column.levels, form)
    alone = not _says_text(column, form)  # words for missing among numbers that are text
    return [
        _quoted(text) if alone and means_missing(text) else _text(text, form, bare)
        for text in map(str, column.levels.tolist())
    ]


def _numbers_text_write(column: Column, values: NDArray[Any], form: TextForm) -> list[str]:
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
