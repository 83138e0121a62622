"""SPSS, Stata and SAS files in, SPSS and Stata out, with labels and user-defined missing values."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyreadstat
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.stopping import is_memory_short
from caveat.table._columnar import check_expansion
from caveat.table.coding import EXACT_INTEGER, LAST_YEAR, encode, outside_calendar
from caveat.table.frames import refuse_bad_names
from caveat.table.table import Column, Kind, Missing, Table
from caveat.table.written import means_missing

# Where each program's calendar starts, its unit of dates and its unit of datetimes per second.
EPOCHS = {
    "spss": (np.datetime64("1582-10-14", "D"), 86400, 1),
    "stata": (np.datetime64("1960-01-01", "D"), 1, 1000),
    "sas": (np.datetime64("1960-01-01", "D"), 1, 1),
}
DATES = {
    "spss": r"([AEJS]?DATE|MOYR|QYR|WKYR)\d*",
    "stata": r"%-?(td|d).*",
    "sas": r"(DATE|DDMMYY|MMDDYY|YYMMDD|JULIAN|E8601DA|B8601DA|IS8601DA|MONYY)[BCDNPS]?[\d.]*",
}
DATETIMES = {
    "spss": r"(DATETIME|YMDHMS)[\d.]*",
    "stata": r"%-?t[cC].*",
    "sas": r"(DATETIME|E8601DT|B8601DT|IS8601DT)[\d.]*",
}


def program_of(suffix: str) -> str:
    """Return whose format an extension stands for."""
    return {".sav": "spss", ".zsav": "spss", ".dta": "stata"}.get(suffix, "sas")


def kind_of_format(form: str | None, program: str) -> Kind | None:
    """Return whether a display format makes a number a date or a datetime."""
    # Stata distinguishes %tc from %tC, the others do not mind the case.
    form = form or ""
    form = form if program == "stata" else form.upper()
    if re.fullmatch(DATETIMES[program], form):
        return Kind.DATETIME
    return Kind.DATE if re.fullmatch(DATES[program], form) else None


def read_labelled(path: Path, suffix: str, columns: Sequence[str] | None) -> Table:
    """Read an SPSS, Stata or SAS file; see :func:`caveat.table.files.read`."""
    size = path.stat().st_size
    meta = _parsed(path, suffix, metadataonly=True, output_format="dict")[1]  # pandas loads slowly
    refuse_bad_names(meta.column_names)
    wanted = list(meta.column_names if columns is None else columns)
    known = set(meta.column_names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise CaveatError(
            f"there is no column {unknown[0]!r}",
            do=f"choose among {', '.join(meta.column_names)}",
            code="data.column.unknown",
        )
    check_expansion((meta.number_rows or 0) * (len(meta.column_names) + 8), size, path)
    # As arrays, whole numbers with special missing values come back with 0 for plain missing
    # (pyreadstat 1.3.7); SPSS has no whole numbers, so that the smaller arrays are safe there.
    form = "pandas" if suffix in (".sav", ".zsav") else "dict"
    cells, meta = _parsed(
        path, suffix, usecols=wanted, disable_datetime_conversion=True, output_format=form
    )
    encoded = {}
    for name in wanted:
        encoded[name] = _encode(cells[name], name, meta, program_of(suffix))
        del cells[name]
    return Table(encoded)


def read_value_labels(
    path: Path, suffix: str
) -> Iterator[tuple[str, dict[str, str], dict[str, str]]]:
    """Read only the header of a file: per column its labelled values and its missing codes.

    Values and codes are text, each with its label. A column has no values where its labels name
    single points of a scale or a calendar, and not all that it can be.
    """
    meta = _parsed(path, suffix, metadataonly=True, output_format="dict")[1]
    refuse_bad_names(meta.column_names)
    for name in meta.column_names:
        labels = dict(meta.variable_value_labels.get(name, {}))
        ranges = meta.missing_ranges.get(name, [])
        if (meta.readstat_variable_types.get(name) or "").startswith("string"):
            codes = sorted({str(e["lo"] if isinstance(e, dict) else e) for e in ranges})
            missing = {code: labels.pop(code, "") for code in codes}
        else:
            bounds = [(entry["lo"], entry["hi"]) for entry in ranges]
            inside = _codes_within(bounds, np.zeros(0), labels)
            tags = sorted(key for key in labels if isinstance(key, str))
            missing = {str(_whole(code)): labels.pop(code, "") for code in inside}
            missing |= {f".{tag}": labels.pop(tag) for tag in tags}
        values = {str(_whole(value)): label for value, label in labels.items()}
        form = meta.original_variable_types.get(name) or ""
        on_a_scale = meta.variable_measure.get(name) == "scale" or len(values) < 2
        broken = any(isinstance(_whole(value), float) for value in labels)
        if on_a_scale or broken or kind_of_format(form, program_of(suffix)) is not None:
            values = {}
        yield name, values, missing


def _parsed(path: Path, suffix: str, **options: Any) -> tuple[Any, Any]:
    """Return the cells, and what a file says about its columns."""
    reader: Any = {
        ".dta": pyreadstat.read_dta,
        ".sas7bdat": pyreadstat.read_sas7bdat,
        ".xpt": pyreadstat.read_xport,
    }.get(suffix, pyreadstat.read_sav)
    if suffix != ".xpt":
        options["user_missing"] = True
    try:
        cells, meta = reader(str(path), **options)
    except Exception as error:
        if is_memory_short(error):
            raise MemoryError from None
        raise CaveatError(
            f"not a file of the format {suffix[1:]}, or a damaged one",
            do="check how it was made",
            code="data.file.damaged",
        ) from None
    return cells, meta


def _encode(cells: Any, name: str, meta: Any, program: str) -> Column:
    labels = dict(meta.variable_value_labels.get(name, {}))
    ranges = meta.missing_ranges.get(name, [])
    form = meta.original_variable_types.get(name) or ""
    if (meta.readstat_variable_types.get(name) or "").startswith("string"):
        # These programs know no difference between an empty cell and an empty text.
        texts = [cell if isinstance(cell, str) and cell else None for cell in cells]
        column = _text(pl.Series(texts, dtype=pl.String), name, labels, ranges)
    else:
        numbers, tags = _numbers_and_tags(cells)
        kind = kind_of_format(form, program)
        column = _numbers(numbers, tags, name, labels, ranges, kind, program)
        measure = meta.variable_measure.get(name) if program == "spss" else None
        if column.kind in (Kind.INTEGER, Kind.NUMERIC):
            # What SPSS calls nominal names groups; what has a label throughout does too.
            if measure == "ordinal":
                column = replace(column, kind=Kind.ORDERED)
            elif measure == "nominal" or _all_labelled(column):
                column = replace(column, kind=Kind.CATEGORY)
    label = meta.column_names_to_labels.get(name) or ""
    told = _measure(meta, name, column) if program == "spss" else ""
    return replace(column, label=label, storage=f"{program}:{form}{told}")


def measure_of(column: Column) -> str:
    """Return the measurement level of a kind, as SPSS calls it."""
    if column.kind is Kind.ORDERED:
        return "ordinal"
    return "scale" if column.kind.is_number else "nominal"


def _measure(meta: Any, name: str, column: Column) -> str:
    """Return the measurement level behind the format, where the kind does not say it."""
    told = meta.variable_measure.get(name)
    known = told in ("nominal", "ordinal", "scale") and told != measure_of(column)
    return f"|{told}" if known else ""


def _all_labelled(column: Column) -> bool:
    return len(column.levels) > 0 and set(column.levels.tolist()) <= set(column.value_labels)


def _text(series: pl.Series, name: str, labels: dict[Any, str], ranges: Sequence[Any]) -> Column:
    codes = {str(entry["lo"] if isinstance(entry, dict) else entry) for entry in ranges}
    declared = [Missing(code, labels.pop(code, "")) for code in sorted(codes)]
    return replace(encode(series, name).declare_missing(declared), value_labels=labels)


def _numbers(
    numbers: NDArray[np.float64],
    tags: NDArray[np.str_],
    name: str,
    labels: dict[Any, str],
    ranges: Sequence[Any],
    kind: Kind | None,
    program: str,
) -> Column:
    bounds = [(entry["lo"], entry["hi"]) for entry in ranges]
    missing_codes = _codes_within(bounds, numbers, labels)
    labelled_tags = {key for key in labels if isinstance(key, str)}
    ways: list[tuple[Missing, NDArray[np.bool_]]] = []
    empty = np.isnan(numbers) & (tags == "")
    if empty.any():
        ways.append((Missing(), empty))
    ways += [(Missing(_whole(c), labels.pop(c, "")), numbers == c) for c in missing_codes]
    letters = sorted({*np.unique(tags).tolist(), *labelled_tags} - {""})
    ways += [(Missing(f".{tag}", labels.pop(tag, "")), tags == tag) for tag in letters]
    ordinary = ~np.isnan(numbers)
    for _, cells in ways:
        ordinary &= ~cells
    column = encode(_series(numbers, ordinary, kind, program, name), name)
    codes = column.codes.astype(np.int64)
    for way, (_, cells) in enumerate(ways):
        codes[cells] = len(column.levels) + way
    numbered = {_whole(value): label for value, label in labels.items()}
    missing = tuple(way for way, _ in ways)
    return Column(codes, column.levels, column.kind, missing, value_labels=numbered)


def _numbers_and_tags(cells: Any) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return the numbers, and the letters of Stata's and SAS's special missing values."""
    if not isinstance(cells, list) and cells.dtype != object:
        return np.asarray(cells).astype(np.float64), np.full(len(cells), "", "<U1")
    tags = [cell[:1] if isinstance(cell, str) else "" for cell in cells]
    numbers = [np.nan if cell is None or isinstance(cell, str) else float(cell) for cell in cells]
    return np.array(numbers, np.float64), np.array(tags, "<U1")


def _codes_within(
    bounds: Sequence[tuple[float, float]], numbers: NDArray[np.float64], labels: Mapping[Any, str]
) -> list[float]:
    """Return the missing codes: single values, and of a range those that occur or have a label."""
    single = {float(low) for low, high in bounds if low == high}
    known = {float(v) for v in labels if not isinstance(v, str)} | set(
        np.unique(numbers[~np.isnan(numbers)]).tolist() if bounds else []
    )
    inside = {v for v in known if any(low <= v <= high for low, high in bounds)}
    return sorted(single | inside)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _series(
    numbers: NDArray[np.float64],
    ordinary: NDArray[np.bool_],
    kind: Kind | None,
    program: str,
    name: str,
) -> pl.Series:
    if kind is None:
        return pl.Series(np.where(ordinary, numbers, np.nan)).fill_nan(None)
    unit = 86400 // EPOCHS[program][1] if kind is Kind.DATE else 1 / EPOCHS[program][2]
    # Thrice the calendar's length: more than any epoch is off, and far from what 64 bits hold.
    absurd = ordinary & (np.abs(numbers) > 3 * LAST_YEAR * 366 * 86400 / unit)
    if absurd.any():
        raise outside_calendar(name, absurd)
    times = np.full(len(numbers), "NaT", "datetime64[us]")
    times[ordinary] = as_times(numbers[ordinary], kind, program)
    days = times.astype("datetime64[D]")
    if kind is Kind.DATE and (days.astype(times.dtype)[ordinary] == times[ordinary]).all():
        return pl.Series(days)
    return pl.Series(times)


def as_times(numbers: NDArray[np.float64], kind: Kind, program: str) -> NDArray[np.datetime64]:
    """Return a program's numbers for dates or datetimes as moments."""
    start, per_day, per_second = EPOCHS[program]
    seconds = numbers * (86400 / per_day) if kind is Kind.DATE else numbers / per_second
    # Floating-point seconds since 1582 carry milliseconds exactly, but not microseconds.
    milliseconds = np.rint(seconds * 1000)
    exact = milliseconds / 1000 == seconds
    micros = np.where(exact, milliseconds * 1000, np.rint(seconds * 1e6))
    return np.asarray(start.astype("datetime64[us]") + micros.astype("timedelta64[us]"))


# -------------------------------------------------------------------------------------------------
# SPSS and Stata files out; what a format cannot hold is refused before anything is written.


TITLES = {"spss": "SPSS", "stata": "Stata"}
# Sizes in bytes: names, text, labels of variables, labels of values.
LIMITS = {"spss": (64, 32767, 256, 120), "stata": (32, 2044, 320, 32000)}
LARGEST = {"spss": 1.7e308, "stata": 8.9e307}
# Stata's long integers end here; what follows are its missing values.
STATA_LONG = 2147483620
SPSS_WORDS = frozenset(
    ["ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"]
)
STATA_WORDS = frozenset(
    ["_all", "_b", "byte", "_coef", "_cons", "double", "float", "if", "in", "int", "long", "_n",
     "_N", "_pi", "_pred", "_rc", "_skip", "strL", "using", "with"]
)  # fmt: skip


@dataclass
class _Variable:
    """A column in the terms of the program that will read it."""

    cells: pl.Series
    label: str
    value_labels: dict[Any, str] = field(default_factory=dict)
    missing: list[Any] = field(default_factory=list)
    form: str = ""


def prepare_labelled(table: Table, suffix: str) -> Callable[[Path], None]:
    """Return a function that writes the table, once it is certain that the format can hold it."""
    program = program_of(suffix)
    _refuse_names(table.names, program)
    variables = {name: _variable(table[name], name, program) for name in table}
    frame = pl.DataFrame([v.cells.alias(name) for name, v in variables.items()])
    labels = {name: v.label for name, v in variables.items() if v.label}
    value_labels = {name: v.value_labels for name, v in variables.items() if v.value_labels}
    missing = {name: v.missing for name, v in variables.items() if v.missing}
    common: dict[str, Any] = {
        "column_labels": labels,
        "variable_value_labels": value_labels,
        "variable_format": {name: v.form for name, v in variables.items() if v.form},
    }

    def save(path: Path) -> None:
        try:
            if program == "stata":
                pyreadstat.write_dta(frame, path, missing_user_values=missing, **common)
                _forget_time(path, rb"<timestamp>\x11(.{17})</timestamp>", b"01 Jan 2000 00:00")
                _check_end(path)
                return
            measures = {name: _measure_labelled_write(table[name]) for name in variables}
            pyreadstat.write_sav(
                frame,
                path,
                compress=suffix == ".zsav",
                row_compress=suffix != ".zsav",
                missing_ranges=missing,
                variable_measure=measures,
                **common,
            )
            _forget_time(path, rb"(?s)^\$FL[23].{88}(.{17})", b"01 Jan 0000:00:00")
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
            if "Unable to write" in str(error):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
            raise CaveatError(
                f"{TITLES[program]} cannot hold this table",
                do="write Parquet or CSV instead",
                code="data.table.unsupported",
            ) from None

    return save


def _forget_time(path: Path, pattern: bytes, instead: bytes) -> None:
    """Overwrite the time of writing in a header: the same table gives the same bytes."""
    with path.open("rb+") as file:
        found = re.search(pattern, file.read(400))
        if found is not None:
            file.seek(found.start(1))
            file.write(instead)


def _check_end(path: Path) -> None:
    """Refuse a file that the disk had no room for: in its header the writer does not notice."""
    end = b"</stata_dta>"
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(end)))
        if file.read() != end:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _refuse(program: str, name: str, what: str, do: str, code: str) -> CaveatError:
    return CaveatError(f"{TITLES[program]} cannot hold {what}", column=name, do=do, code=code)


def _refuse_names(names: Sequence[str], program: str) -> None:
    pattern = r"[^\W\d][\w.@#$]*(?<!\.)" if program == "spss" else r"[^\W\d]\w*"
    reserved = SPSS_WORDS if program == "spss" else STATA_WORDS
    size = LIMITS[program][0]
    seen: set[str] = set()
    for name in names:
        length = len(name.encode()) if program == "spss" else len(name)
        plain = name.upper() if program == "spss" else name
        if length > size:
            raise _refuse(
                program,
                name,
                f"names of more than {size} characters",
                "shorten it",
                "data.name.too-long",
            )
        if not re.fullmatch(pattern, name) or plain in reserved or re.fullmatch(r"str\d+", name):
            raise _refuse(
                program,
                name,
                "this name",
                "use letters, digits and underscores",
                "data.name.unsupported",
            )
        if plain in seen:
            raise _refuse(
                program, name, "names that differ in case only", "rename it", "data.name.duplicate"
            )
        seen.add(plain)


def _variable(column: Column, name: str, program: str) -> _Variable:
    column = column.compact() if column.levels.dtype.kind != "O" else column
    _refuse_labels(column, name, program)
    if column.levels.dtype.kind != "O":
        return _numeric_variable(column, name, program, _as_numbers(column, name, program))
    if column.kind is Kind.ORDERED:
        # An order of words has no other home than numbers with labels.
        numbers = np.arange(1.0, len(column.levels) + 1)
        variable = _numeric_variable(column, name, program, numbers)
        variable.value_labels |= {i + 1: str(v) for i, v in enumerate(column.levels)}
        return variable
    return _text_variable(column, name, program)


def _refuse_labels(column: Column, name: str, program: str) -> None:
    _, _, variable, value = LIMITS[program]
    labels = [*column.value_labels.values(), *(m.label for m in column.missing)]
    if len(column.label.encode()) > variable or any(len(t.encode()) > value for t in labels):
        what = f"labels of more than {variable} (variables) or {value} bytes (values)"
        raise _refuse(program, name, what, "shorten them", "data.label.too-long")
    if any("\0" in text for text in (column.label, *labels)):
        raise _refuse(
            program, name, "labels with NUL characters", "remove these", "data.label.unsupported"
        )


# -------------------------------------------------------------------------------------------------
# Text


def _text_variable(column: Column, name: str, program: str) -> _Variable:
    texts = [str(value) for value in column.levels]
    codes = [m.code for m in column.missing]
    entries = [*texts, *(None if c is None or c == "" else str(c) for c in codes)]
    _refuse_texts([e for e in entries if e], name, program)
    declared = [e for e in entries[len(texts) :] if e]
    labels = {str(v): text for v, text in column.value_labels.items()}
    labels |= {
        e: m.label
        for e, m in zip(entries[len(texts) :], column.missing, strict=True)
        if e and m.label
    }
    if program == "stata":
        if labels:
            raise _refuse(
                program,
                name,
                "labels of text",
                "write SPSS or Parquet instead",
                "data.label.unsupported",
            )
        declared = []
    elif len(declared) > 3 or any(len(code.encode()) > 8 for code in declared):
        what = "more than three missing codes of text, or longer ones than 8 bytes"
        raise _refuse(program, name, what, "join or shorten them", "data.code.unsupported")
    cells = pl.Series(entries, dtype=pl.String).gather(column.codes)
    return _Variable(cells, column.label, labels, declared)


def _refuse_texts(texts: Sequence[str], name: str, program: str) -> None:
    size = LIMITS[program][1]
    if any(len(text.encode()) > size for text in texts):
        raise _refuse(
            program, name, f"text of more than {size:,} bytes", "shorten it", "data.value.too-long"
        )
    if any("\0" in text for text in texts):
        raise _refuse(program, name, "NUL characters", "remove them", "data.value.unsupported")
    if program == "spss" and any(text.endswith(" ") for text in texts):
        raise _refuse(
            program, name, "text that ends in a blank", "strip it", "data.value.unsupported"
        )


# -------------------------------------------------------------------------------------------------
# Numbers


def _as_numbers(column: Column, name: str, program: str) -> NDArray[np.float64]:
    """Return the levels as the program's numbers."""
    levels = column.levels
    if levels.dtype.kind == "M":
        return _from_times(levels, column.kind, name, program)
    too_large = levels.dtype.kind in "iu" and any(abs(v) > EXACT_INTEGER for v in levels.tolist())
    if too_large or (np.abs(levels.astype(np.float64)) > LARGEST[program]).any():
        what = "a whole number beyond 2^53, or one of this size"
        raise _refuse(program, name, what, "declare the kind as text", "data.value.too-large")
    return levels.astype(np.float64)


def _from_times(
    levels: NDArray[np.datetime64], kind: Kind, name: str, program: str
) -> NDArray[np.float64]:
    start, per_day, per_second = EPOCHS[program]
    micros = (levels.astype("datetime64[us]") - start).astype(np.int64)
    if kind is Kind.DATE:
        numbers = micros / (86_400_000_000 / per_day)
    else:
        seconds, rest = np.divmod(micros, 1_000_000)
        numbers = seconds * float(per_second) + rest * per_second / 1e6
    back = as_times(numbers, kind, program)
    if (back.astype(levels.dtype) != levels).any() or (levels.astype(back.dtype) != back).any():
        raise _refuse(
            program,
            name,
            "times as fine as these",
            "round them to milliseconds",
            "data.value.unsupported",
        )
    return numbers


def _numeric_variable(
    column: Column, name: str, program: str, numbers: NDArray[np.float64]
) -> _Variable:
    entries: list[Any] = [*numbers.tolist()]
    labels = _numeric_labels(column, name, program)
    declared: list[Any] = []
    for m in column.missing:
        entry = _missing_entry(m.code, name, program)
        entries.append(entry)
        if entry is None:
            continue
        if isinstance(entry, str) or program == "spss":
            declared.append(entry)
        if m.label:
            labels[entry] = m.label
    if program == "spss":
        declared = _ranges(declared, numbers, name)
    if program == "stata" and any(
        not isinstance(value, str) and (value != int(value) or abs(value) > STATA_LONG)
        for value in labels
    ):
        raise _refuse(
            program,
            name,
            "labels of other values than whole numbers",
            "remove them",
            "data.label.unsupported",
        )
    return _Variable(
        _cells(entries, column, program),
        column.label,
        {v if isinstance(v, str) else _whole_labelled_write(v): text for v, text in labels.items()},
        declared,
        _form(column, program),
    )


def _numeric_labels(column: Column, name: str, program: str) -> dict[Any, str]:
    if not column.value_labels or column.levels.dtype.kind == "O":
        return {}
    if column.levels.dtype.kind == "M":
        raise _refuse(program, name, "labels of dates", "remove them", "data.label.unsupported")
    return {float(value): text for value, text in column.value_labels.items()}


def _missing_entry(code: Any, name: str, program: str) -> float | str | None:
    """Return what stands in the cells that are missing in this way."""
    if code is None or code != code or code == "":
        return None
    if isinstance(code, str) and means_missing(code):
        return None
    if not isinstance(code, str):
        return float(code)
    if program == "stata" and re.fullmatch(r"\.[a-z]", code):
        return code[1]
    words = "words" if program == "spss" else "words other than .a to .z"
    raise _refuse(
        program,
        name,
        f"{words} as missing codes of numbers",
        "use numbers instead",
        "data.code.unsupported",
    )


def _ranges(codes: list[float], numbers: NDArray[np.float64], name: str) -> list[Any]:
    """Return missing codes as SPSS takes them: three values, or a range and one value."""
    codes = sorted(codes)
    if len(codes) <= 3:
        return list(codes)
    choices = [(codes[1:], codes[:1]), (codes[:-1], codes[-1:]), (codes, [])]
    for inside, alone in sorted(choices, key=lambda choice: choice[0][-1] - choice[0][0]):
        low, high = inside[0], inside[-1]
        if not ((numbers >= low) & (numbers <= high)).any():
            return [{"lo": low, "hi": high}, *alone]
    what = "more than three missing codes that no range sets apart from the values"
    raise _refuse("spss", name, what, "join some of them", "data.code.too-many")


def _cells(entries: list[Any], column: Column, program: str) -> pl.Series:
    numbers = [e for e in entries if e is not None and not isinstance(e, str)]
    whole = all(e == int(e) and abs(e) <= STATA_LONG for e in numbers)
    if program == "stata" and whole and column.levels.dtype.kind != "M":
        entries = [int(e) if isinstance(e, float) else e for e in entries]
    if any(isinstance(e, str) for e in entries):
        lookup = np.empty(len(entries), dtype=object)
        lookup[:] = entries
        return pl.Series(lookup[column.codes].tolist(), dtype=pl.Object)
    dtype = (
        pl.Int32 if program == "stata" and whole and column.levels.dtype.kind != "M" else pl.Float64
    )
    return pl.Series(entries, dtype=dtype).gather(column.codes)


def _measure_labelled_write(column: Column) -> str:
    """Return the measurement level: the one the column came with, or that of its kind."""
    kept = column.storage.partition("|")[2] if column.storage.startswith("spss:") else ""
    return kept if kept in ("nominal", "ordinal", "scale") else measure_of(column)


def _form(column: Column, program: str) -> str:
    """Return the display format: the one the column came with, or one that shows its kind."""
    owner, _, form = column.storage.partition("|")[0].partition(":")
    time = column.kind if column.levels.dtype.kind == "M" else None
    if owner == program and form and kind_of_format(form, program) == time and form[0] != "A":
        return form
    if time is Kind.DATE:
        return "DATE11" if program == "spss" else "%td"
    if time is Kind.DATETIME:
        return "DATETIME23.2" if program == "spss" else "%tc"
    return "F8.0" if program == "spss" and column.kind is not Kind.NUMERIC else ""


def _whole_labelled_write(value: float) -> float | int:
    return int(value) if value == int(value) else value
