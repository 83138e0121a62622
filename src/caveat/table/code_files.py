"""Code files: a table on disk as it is in memory, and what a column is beside its cells."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table.coding import decode
from caveat.table.drafts import unwritable
from caveat.table.table import Codes, Column, Kind, Missing, Table

MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([^']+)', 'fortran_order': (False|True), 'shape': \(([\d, ]*)\), \} *\n"
)
PIECE = 1 << 24  # bytes that are written at once


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array to a new file as NumPy does, but report a full disk as such.

    Parameters
    ----------
    path
        The file; it must not be there, and only its owner can read it.
    array
        A plain array: no objects, no records.
    """
    array = np.ascontiguousarray(array)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        raw = array.reshape(-1).view(np.uint8)
        for start in range(0, len(raw), PIECE):
            file.write(raw[start : start + PIECE].tobytes())


def open_array(path: Path, mode: Literal["r", "c"] | None = None) -> NDArray[Any]:
    """Return the array of a file.

    Parameters
    ----------
    path
        A file that `write_array` or `numpy.save` wrote from a plain array.
    mode
        "r" to map the file for reading, "c" to map it so that changes stay in memory; without it
        the array is read into memory.

    Raises
    ------
    ValueError
        If the file holds no plain array, or only a part of it.
    """
    with path.open("rb") as file:
        start = file.read(len(MAGIC) + 2)
        size = int.from_bytes(start[len(MAGIC) :], "little")
        found = HEADER.fullmatch(file.read(size)) if start.startswith(MAGIC) else None
        if found is None:
            raise ValueError("no file of a plain array")
        dtype = np.dtype(found[1].decode())
        if dtype.hasobject:
            raise ValueError("no file of a plain array")
        order: Literal["C", "F"] = "F" if found[2] == b"True" else "C"
        shape = tuple(int(length) for length in found[3].split(b",") if length.strip())
        if mode is None:
            return np.fromfile(file, dtype).reshape(shape, order=order)
    return np.memmap(
        path, dtype=dtype, mode=mode, offset=len(start) + size, shape=shape, order=order
    )


# -------------------------------------------------------------------------------------------------
# What a column is beside its cells, as a plain state for a file, and a column from it.


def plain(value: Any) -> Any:
    """Return a scalar as one of Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def dictionary_state(column: Column) -> dict[str, Any]:
    """Return everything about a column but its cells."""
    levels = column.levels
    kept: Any = levels.tolist() if levels.dtype == object else levels
    if levels.dtype.kind == "M":
        kept = levels.view(np.int64)
    return {
        "levels": kept,
        "type": levels.dtype.str,
        "kind": str(column.kind),
        "missing": [[plain(m.code), m.label] for m in column.missing],
        "label": column.label,
        "value_labels": [[plain(v), label] for v, label in column.value_labels.items()],
        "storage": column.storage,
    }


def content_hash(columns: Mapping[str, Column]) -> str:
    """Return the SHA-256 of columns: names, kinds, values and their order, labels aside.

    Examples
    --------
    >>> one = Column(np.array([0, 1]), np.array([4, 5]), Kind.INTEGER)
    >>> content_hash({"x": one}) == content_hash({"x": one.take([1, 0])})
    False
    """
    whole = hashlib.sha256()
    for name, column in columns.items():
        column = column.compact()
        told = (name, str(column.kind), [str(v) for v in column.levels.tolist()],
                [str(m.code) for m in column.missing], len(column))  # fmt: skip
        whole.update(json.dumps(told).encode())
        whole.update(column.codes.astype("<u4").tobytes())
    return whole.hexdigest()


def column_of(codes: Codes, levels: NDArray[Any], state: Mapping[str, Any]) -> Column:
    """Return the column of a state, whose levels are an array again."""
    return Column(
        codes,
        levels,
        Kind(state["kind"]),
        tuple(Missing(code, label) for code, label in state["missing"]),
        state["label"],
        dict(state["value_labels"]),
        state["storage"],
    )


# -------------------------------------------------------------------------------------------------
# Code files: a table on disk as it is in memory, read by the page.
#
# A folder holds the codes of each column as a plain array (``00000.npy``, ``00001.npy`` …,
# readable by NumPy alone) and one document with everything else; levels that are no text are
# arrays as well. An opened table takes no memory but for its dictionaries: what is looked at
# comes from the file, and the system forgets it when it needs the space. Several processes that
# open a folder share it.
#
# They are working files of one release of Caveat, as confidential as the data, and nothing in
# them is ever executed.


DOCUMENT = "table.json"
FORMAT = "caveat codes"
VERSION = 1


def write_code_files(table: Table, folder: Path) -> Table:
    """Write a table into a folder as code files; return it as `open_code_files` does.

    Parameters
    ----------
    table
        The table.
    folder
        A folder that is there, and empty.

    Examples
    --------
    >>> import tempfile
    >>> table = Table.from_frame({"sex": ["f", "m", "f"], "pay": [800, None, 950]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opened = write_code_files(table, Path(folder))
    ...     opened == table, sorted(path.name for path in Path(folder).iterdir())
    (True, ['00000.npy', '00001.levels.npy', '00001.npy', 'table.json'])
    """
    files = CodeFiles(folder)
    return files.table({name: files.keep(name, table[name]) for name in table}, table.backend)


def open_code_files(folder: Path) -> Table:
    """Return the table of a folder; its codes are mapped, and nobody can write to them."""
    document = _document(folder)
    columns = {state["name"]: _opened(folder, state) for state in document["columns"]}
    return Table(columns, document["backend"])


class CodeFiles:
    """A folder that is filled column by column, so that no more than one is in memory.

    Parameters
    ----------
    folder
        A folder that is there, and empty.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states: dict[str, dict[str, Any]] = {}

    def keep(self, name: str, column: Column) -> Column:
        """Write the codes and the levels of a column; return it with its codes mapped."""
        number = len(self.states)
        state = {"name": name, "number": number, **dictionary_state(column)}
        with unwritable(self.folder):
            write_array(_codes(self.folder, number), column.codes)
            if column.levels.dtype != object:
                write_array(_levels(self.folder, number), column.levels)
                state["levels"] = None
        self.states[name] = state
        return _opened(self.folder, state)

    def table(self, columns: Mapping[str, Column], backend: str) -> Table:
        """Write down which of the kept columns a table has, in which order."""
        states = [self.states[name] for name in columns]
        document = {"format": FORMAT, "version": VERSION, "backend": backend, "columns": states}
        with unwritable(self.folder):
            # Last, and under its name only when it is whole: a folder with it has everything.
            draft = self.folder / f"{DOCUMENT}.draft"
            draft.write_text(json.dumps(document), encoding="ascii")
            draft.replace(self.folder / DOCUMENT)
        return Table(columns, backend)


def _codes(folder: Path, number: int) -> Path:
    return folder / f"{number:05}.npy"


def _levels(folder: Path, number: int) -> Path:
    return folder / f"{number:05}.levels.npy"


def _opened(folder: Path, state: dict[str, Any]) -> Column:
    number = state["number"]
    if state["levels"] is None:
        levels = open_array(_levels(folder, number))
    else:
        levels = np.empty(len(state["levels"]), dtype=object)
        levels[:] = state["levels"]
    codes = open_array(_codes(folder, number), "r")
    return column_of(codes, levels, state)


def _document(folder: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads((folder / DOCUMENT).read_text("ascii"))
    except (OSError, ValueError, RecursionError):
        raise CaveatError(
            "there are no code files here, or not all of them",
            where=str(folder),
            do="write them again",
            code="data.folder.damaged",
        ) from None
    named = document if isinstance(document, dict) else {}
    if (named.get("format"), named.get("version")) != (FORMAT, VERSION):
        raise CaveatError(
            "code files of another version of Caveat",
            where=str(folder),
            do="write them again",
            code="data.version.mismatch",
        )
    return document


# -------------------------------------------------------------------------------------------------
# What a Parquet or Feather file cannot say by itself, kept as JSON in its metadata.
#
# Kinds, labels, ways to be missing and data types travel under one key. Other software ignores
# them and finds ordinary columns. Codes that a column's type cannot hold (``NA`` among numbers,
# say) are empty cells there; which of them an empty cell is, stands in the note.


KEY = b"caveat"
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
