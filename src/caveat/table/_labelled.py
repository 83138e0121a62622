"""SPSS, Stata and SAS files in, with their labels and user-defined missing values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyreadstat
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.memory import is_memory_short
from caveat.table._expand import check_expansion
from caveat.table.column import Column, Kind, Missing
from caveat.table.encode import LAST_YEAR, encode, outside_calendar
from caveat.table.frames import refuse_bad_names
from caveat.table.table import Table

__all__ = [
    "EPOCHS",
    "as_times",
    "kind_of_format",
    "measure_of",
    "program_of",
    "read_labelled",
    "read_value_labels",
]

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
