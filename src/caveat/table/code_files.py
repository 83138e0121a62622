"""Code files: a table on disk as it is in memory, read by the page.

A folder holds the codes of each column as a plain array (``00000.npy``, ``00001.npy`` …, readable
by NumPy alone) and one document with everything else; levels that are no text are arrays as well.
An opened table takes no memory but for its dictionaries: what is looked at comes from the file, and
the system forgets it when it needs the space. Several processes that open a folder share it.

They are working files of one release of Caveat, as confidential as the data, and nothing in them
is ever executed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from caveat.errors import CaveatError
from caveat.table.array_files import open_array, write_array
from caveat.table.atomic import unwritable
from caveat.table.column import Column
from caveat.table.dictionary import column_of, dictionary_state
from caveat.table.table import Table

__all__ = ["CodeFiles", "open_code_files", "write_code_files"]

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
