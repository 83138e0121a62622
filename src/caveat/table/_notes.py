"""What a Parquet or Feather file cannot say by itself, kept as JSON in its metadata.

Kinds, labels, ways to be missing and data types travel under one key. Other software ignores them
and finds ordinary columns. Codes that a column's type cannot hold (``NA`` among numbers, say) are
empty cells there; which of them an empty cell is, stands in the note.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from caveat.errors import CaveatError
from caveat.table.column import Column, Kind, Missing
from caveat.table.decode import decode
from caveat.table.dictionary import plain
from caveat.table.table import Table

__all__ = ["KEY", "Note", "fits", "notes_of", "plain_codes", "read_notes", "restore"]

KEY = b"caveat"
VERSION = 1
BACKENDS = ("", "pandas", "polars", "pyarrow", "dict")
# Types of the levels that a kind can have; categories, text and ids have any.
TYPES = {
    Kind.NUMERIC: "iuf",
    Kind.INTEGER: "iuf",
    Kind.BOOLEAN: "b",
    Kind.DATE: "M",
    Kind.DATETIME: "M",
}
TEXT_FORMS = (
    r"text:((decimals=\d{1,3}|point)?(;[.,'\u0020\u00a0\u202f]?[.,])?|lower|upper|title"
    r"|%Y-%m-%d[T ]%H:%M(:%S(\.\d)?)?|(%d[./]%m|%m/%d)[./]%Y( %H:%M(:%S)?)?)"
)
Note = Mapping[str, Any]


def fits(code: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a missing code can stand among values of a type."""
    if code is None:
        return False
    if isinstance(code, str):
        return dtype.kind == "O"
    if dtype.kind == "f":
        return True
    if dtype.kind in "iu" and code == code and code == int(code):
        info = np.iinfo(dtype)
        return bool(info.min <= int(code) <= info.max)
    return False


def plain_codes(column: Column) -> list[Any]:
    """Return what stands in missing cells; None where the type of the others has no room for it."""
    return [
        plain(m.code) if fits(m.code, column.levels.dtype) and m.code == m.code else None
        for m in column.missing
    ]


def notes_of(table: Table) -> bytes:
    """Return the metadata for a table."""
    columns = {name: _note(column) for name, column in table.columns.items()}
    content = {"version": VERSION, "backend": table.backend, "columns": columns}
    return json.dumps(content).encode()


def _note(column: Column) -> dict[str, Any]:
    note: dict[str, Any] = {"kind": str(column.kind), "type": column.levels.dtype.str}
    if column.label:
        note["label"] = column.label
    if column.storage:
        note["storage"] = column.storage
    if column.missing:
        note["missing"] = [[_plain(m.code), m.label] for m in column.missing]
    if column.value_labels:
        note["value_labels"] = [[_plain(v), label] for v, label in column.value_labels.items()]
    used = column.counts[: len(column.levels)] > 0
    ordinary = column.levels.dtype.kind == "M" or column.levels.tolist() == sorted(
        column.levels.tolist()
    )
    if not (used.all() and ordinary):
        note["levels"] = [_plain(value) for value in column.levels.tolist()]
    marks = _marks(column)
    if marks is not None:
        note["marks"] = marks
    return note


def _marks(column: Column) -> str | None:
    """Return which way of being missing each empty cell is, if the cells cannot say it."""
    n = len(column.levels)
    hidden = np.array(
        [False] * n + [not fits(m.code, column.levels.dtype) for m in column.missing], bool
    )
    ways = column.codes[hidden[column.codes]] - n
    if not len(ways) or all(column.missing[way].code is None for way in np.unique(ways)):
        return None
    return base64.b64encode(zlib.compress(ways.astype("<u4").tobytes())).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, np.datetime64):
        return {"time": str(value)}
    return value.item() if isinstance(value, np.generic) else value


def _value(plain: Any) -> Any:
    return np.datetime64(plain["time"]) if isinstance(plain, dict) else plain


def read_notes(metadata: Mapping[bytes, bytes]) -> tuple[str, dict[str, Note]]:
    """Return the kind of frame and the notes by column; nothing if the file is not ours."""
    try:
        content = json.loads(metadata[KEY])
        backend, columns = content["backend"], content["columns"]
    except (KeyError, ValueError, TypeError, RecursionError):
        return "", {}
    return (backend, columns) if backend in BACKENDS and isinstance(columns, dict) else ("", {})


def restore(column: Column, note: Note, name: str, backend: str) -> Column:
    """Return the column as its note describes it, as far as the cells still agree with it."""
    try:
        restored = _restore(column, note)
        _try_storage(restored, backend)
    except Exception:  # the note may hold anything that JSON can say
        raise CaveatError(
            "the file's note on the column is damaged",
            column=name,
            do="make it anew",
            code="data.note.damaged",
        ) from None
    return restored


def _try_storage(column: Column, backend: str) -> None:
    """Refuse the name of a data type that no frame has, and a form that no text has."""
    if column.storage.startswith("text:") and not re.fullmatch(TEXT_FORMS, column.storage):
        raise ValueError("no form of text")
    if backend:
        decode(column.take(slice(0)), backend)


def _restore(column: Column, note: Note) -> Column:
    kind, dtype = Kind(note["kind"]), np.dtype(note["type"])
    if dtype.kind not in TYPES.get(kind, "biufMO"):
        raise ValueError("kind and type do not fit")
    missing = [Missing(_code(code), _str(label)) for code, label in note.get("missing", [])]
    column = _with_missing(column, missing)
    column = _with_marks(column, note.get("marks"), len(missing))
    levels = column.levels
    if levels.dtype != dtype and (not len(levels) or {levels.dtype.kind, dtype.kind} <= set("iuf")):
        levels = levels.astype(dtype)
    if levels.dtype.kind not in TYPES.get(kind, "biufMO"):
        raise ValueError("kind and cells do not fit")
    column = replace(
        column,
        levels=levels,
        kind=kind,
        label=_str(note.get("label", "")),
        value_labels={_value(v): _str(label) for v, label in note.get("value_labels", [])},
        storage=_str(note.get("storage", "")),
    )
    return _with_levels(column, note["levels"]) if "levels" in note else column


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _code(value: Any) -> Any:
    if not isinstance(value, str | int | float | None):
        raise TypeError("not a code")
    return value


def _with_missing(column: Column, wanted: list[Missing]) -> Column:
    """Return the column with the given ways to be missing, in the given order."""
    column = column.declare_missing(wanted)
    keys = [m.key for m in wanted]
    order = sorted(
        range(len(column.missing)),
        key=lambda j: keys.index(k) if (k := column.missing[j].key) in keys else len(keys),
    )
    lookup = np.arange(column.n_levels)
    lookup[len(column.levels) + np.array(order, np.intp)] = len(column.levels) + np.arange(
        len(order)
    )
    missing = tuple(column.missing[j] for j in order)
    return replace(column, codes=lookup[column.codes], missing=missing)


def _with_marks(column: Column, marks: str | None, n_noted: int) -> Column:
    """Return the column with its empty cells told apart, unless rows have changed since."""
    empty = np.array([False] * len(column.levels) + [m.code is None for m in column.missing], bool)
    if marks is None or not empty.any():
        return column
    cells = empty[column.codes]
    size = 4 * int(cells.sum())
    unpacked = zlib.decompressobj().decompress(base64.b64decode(marks), size + 1)
    ways = np.frombuffer(unpacked[: len(unpacked) // 4 * 4], "<u4")
    changed = any(m.code is not None for m in column.missing[n_noted:])
    if changed or len(unpacked) != size:
        return column
    codes = column.codes.astype(np.int64)
    codes[cells] = len(column.levels) + ways
    # No cell is simply empty any more, unless the note knows of such cells.
    return replace(column, codes=codes, missing=column.missing[:n_noted])


def _with_levels(column: Column, declared: list[Any]) -> Column:
    """Return the column on a list of levels in a declared order."""
    typed = np.empty(len(declared), dtype=column.levels.dtype)
    typed[:] = declared
    position = {value: i for i, value in enumerate(typed.tolist())}
    if any(value not in position for value in column.levels.tolist()):
        return column
    lookup = np.array(
        [position[value] for value in column.levels.tolist()]
        + [len(typed) + j for j in range(len(column.missing))],
        dtype=np.intp,
    )
    return replace(column, codes=lookup[column.codes], levels=typed)
