"""SPSS, Stata and SAS files in, with their labels and user-defined missing values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyreadstat
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table.column import Column, Kind, Missing
from caveat.table.encode import encode
from caveat.table.frames import refuse_bad_names
from caveat.table.table import Table

__all__ = ["EPOCHS", "as_times", "kind_of_format", "program_of", "read_labelled"]

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
    reader: Any = {
        ".dta": pyreadstat.read_dta,
        ".sas7bdat": pyreadstat.read_sas7bdat,
        ".xpt": pyreadstat.read_xport,
    }.get(suffix, pyreadstat.read_sav)
    options: dict[str, Any] = {} if suffix == ".xpt" else {"user_missing": True}
    # As arrays, whole numbers with special missing values come back with 0 for plain missing
    # (pyreadstat 1.3.7); SPSS has no whole numbers, so that the smaller arrays are safe there.
    options["output_format"] = "pandas" if program_of(suffix) == "spss" else "dict"
    try:
        _, meta = reader(str(path), metadataonly=True)
        refuse_bad_names(meta.column_names)
        wanted = list(meta.column_names if columns is None else columns)
        unknown = [name for name in wanted if name not in meta.column_names]
        if unknown:
            raise CaveatError(
                f"there is no column {unknown[0]!r}",
                where=str(path),
                do=f"choose among {', '.join(meta.column_names)}",
            )
        frame, meta = reader(str(path), usecols=wanted, disable_datetime_conversion=True, **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError, OSError):
        raise CaveatError(
            f"not a file of the format {suffix[1:]}, or a damaged one",
            where=str(path),
            do="check how it was made",
        ) from None
    encoded = {}
    for name in wanted:
        encoded[name] = _encode(_as_array(frame[name]), name, meta, program_of(suffix))
        del frame[name]
    return Table(encoded)


def _as_array(values: Any) -> NDArray[Any]:
    if not isinstance(values, list):
        return np.asarray(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _encode(values: NDArray[Any], name: str, meta: Any, program: str) -> Column:
    labels = dict(meta.variable_value_labels.get(name, {}))
    ranges = meta.missing_ranges.get(name, [])
    form = meta.original_variable_types.get(name) or ""
    if meta.readstat_variable_types.get(name, "").startswith("string"):
        column = _text(values, name, labels, ranges)
    else:
        column = _numbers(values, name, labels, ranges, kind_of_format(form, program), program)
        if column.kind in (Kind.INTEGER, Kind.NUMERIC) and _all_labelled(column):
            ordinal = meta.variable_measure.get(name) == "ordinal"
            column = replace(column, kind=Kind.ORDERED if ordinal else Kind.CATEGORY)
    label = meta.column_names_to_labels.get(name) or ""
    return replace(column, label=label, storage=f"{program}:{form}")


def _all_labelled(column: Column) -> bool:
    return len(column.levels) > 0 and set(column.levels.tolist()) <= set(column.value_labels)


def _text(values: NDArray[Any], name: str, labels: dict[Any, str], ranges: Sequence[Any]) -> Column:
    # These programs know no difference between an empty cell and an empty text.
    series = pl.Series([value or None for value in values.tolist()], dtype=pl.String)
    codes = {str(entry["lo"] if isinstance(entry, dict) else entry) for entry in ranges}
    declared = [Missing(code, labels.pop(code, "")) for code in sorted(codes)]
    return replace(encode(series, name).declare_missing(declared), value_labels=labels)


def _numbers(
    values: NDArray[Any],
    name: str,
    labels: dict[Any, str],
    ranges: Sequence[Any],
    kind: Kind | None,
    program: str,
) -> Column:
    numbers, tags = _split_tags(values)
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
    column = encode(_series(numbers, ordinary, kind, program), name)
    codes = column.codes.astype(np.int64)
    for way, (_, cells) in enumerate(ways):
        codes[cells] = len(column.levels) + way
    numbered = {_whole(value): label for value, label in labels.items()}
    missing = tuple(way for way, _ in ways)
    return Column(codes, column.levels, column.kind, missing, value_labels=numbered)


def _split_tags(values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return the numbers, and the letters of Stata's and SAS's special missing values."""
    if values.dtype != object:
        return values.astype(np.float64), np.full(len(values), "", "<U1")
    tags = np.array([v if isinstance(v, str) else "" for v in values], dtype="<U1")
    plain = [np.nan if v is None or isinstance(v, str) else float(v) for v in values]
    return np.array(plain, dtype=np.float64), tags


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
    return int(value) if isinstance(value, float) and value == int(value) else value


def _series(
    numbers: NDArray[np.float64], ordinary: NDArray[np.bool_], kind: Kind | None, program: str
) -> pl.Series:
    if kind is None:
        return pl.Series(np.where(ordinary, numbers, np.nan)).fill_nan(None)
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
