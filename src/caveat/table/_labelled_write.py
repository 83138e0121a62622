"""SPSS and Stata files out; what a format cannot hold is refused before anything is written."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyreadstat
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table._labelled import EPOCHS, as_times, kind_of_format, measure_of, program_of
from caveat.table.column import Column, Kind
from caveat.table.encode import EXACT_INTEGER
from caveat.table.table import Table
from caveat.table.written import means_missing

__all__ = ["prepare_labelled"]

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
            measures = {name: _measure(table[name]) for name in variables}
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
        {v if isinstance(v, str) else _whole(v): text for v, text in labels.items()},
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


def _measure(column: Column) -> str:
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


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value
