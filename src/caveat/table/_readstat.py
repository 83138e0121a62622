"""SPSS, Stata and SAS files are parsed in a process of their own, which may crash.

The parser is a library in C that damaged files can bring down (7 of 3,000 SPSS files with flipped
bytes did). Here it takes down a child instead: this file, run as a program, which hands the columns
back as Arrow with the labels as JSON beside them. It imports nothing of Caveat, to start soon.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyreadstat

__all__ = ["parse_apart"]

KEY = b"readstat"
META = (
    "column_names",
    "column_names_to_labels",
    "missing_ranges",
    "number_rows",
    "original_variable_types",
    "readstat_variable_types",
    "variable_measure",
    "variable_value_labels",
)


def parse_apart(
    path: Path, suffix: str, columns: list[str] | None, most: float
) -> tuple[dict[str, Any], pa.Table]:
    """Return what a file says about its columns, and their cells.

    There are no cells if one of the columns does not exist, or if there are more than `most`.
    Numbers are columns n0, n1, …, the letters beside them t0, t1, …, text is s0, s1, …
    Whatever is wrong with the file is a ``ValueError``.
    """
    task = json.dumps([str(path), suffix, columns, most])
    if not Path(sys.executable or "").name.lower().startswith("python"):
        return _read(_parse(task))  # inside another program there is no interpreter to start
    # -P: the modules beside this one are not to be taken for others of their name.
    command = [sys.executable, "-P", __file__]
    child = subprocess.run(command, input=task.encode(), capture_output=True, check=False)
    if child.returncode:
        raise ValueError("the file cannot be parsed")
    return _read(pa.py_buffer(child.stdout))


def _read(content: pa.Buffer) -> tuple[dict[str, Any], pa.Table]:
    table = pa.ipc.open_stream(content).read_all()
    table.validate(full=True)
    meta = json.loads(table.schema.metadata[KEY])
    labels = meta["variable_value_labels"]
    meta["variable_value_labels"] = {name: dict(pairs) for name, pairs in labels.items()}
    return meta, table


def _parse(task: str) -> pa.Buffer:
    """Return the file as a stream of Arrow."""
    path, suffix, columns, most = json.loads(task)
    reader: Any = {
        ".dta": pyreadstat.read_dta,
        ".sas7bdat": pyreadstat.read_sas7bdat,
        ".xpt": pyreadstat.read_xport,
    }.get(suffix, pyreadstat.read_sav)
    options: dict[str, Any] = {} if suffix == ".xpt" else {"user_missing": True}
    # As arrays, whole numbers with special missing values come back with 0 for plain missing
    # (pyreadstat 1.3.7); SPSS has no whole numbers, so that the smaller arrays are safe there.
    options["output_format"] = "pandas" if suffix in (".sav", ".zsav") else "dict"
    arrays: dict[str, pa.Array] = {}
    facts_only = {**options, "output_format": "dict"}  # pandas is slow to load
    _, meta = reader(path, metadataonly=True, **facts_only)
    wanted = meta.column_names if columns is None else columns
    many = (meta.number_rows or 0) * (len(meta.column_names) + 8) > most
    if not many and len({*meta.column_names}) == len({*meta.column_names, *wanted}):
        frame, meta = reader(path, usecols=wanted, disable_datetime_conversion=True, **options)
        for position, name in enumerate(wanted):
            text = meta.readstat_variable_types.get(name, "").startswith("string")
            arrays |= (_text if text else _numbers)(frame[name], position)
            del frame[name]
    facts = {key: getattr(meta, key) for key in META}
    labels = facts["variable_value_labels"]
    facts["variable_value_labels"] = {name: list(pairs.items()) for name, pairs in labels.items()}
    table = pa.table(arrays).replace_schema_metadata({KEY: json.dumps(facts).encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as out:
        out.write_table(table)
    return sink.getvalue()


def _text(values: Any, position: int) -> dict[str, pa.Array]:
    # These programs know no difference between an empty cell and an empty text.
    cells = [value if isinstance(value, str) and value else None for value in values]
    return {f"s{position}": pa.array(cells, pa.large_string())}


def _numbers(values: Any, position: int) -> dict[str, pa.Array]:
    """Return the numbers, and the letters of Stata's and SAS's special missing values."""
    if not isinstance(values, list) and values.dtype != object:
        return {f"n{position}": pa.array(np.asarray(values).astype(np.float64))}
    tags = [v[:1] if isinstance(v, str) else "" for v in values]
    plain = [np.nan if v is None or isinstance(v, str) else float(v) for v in values]
    return {f"n{position}": pa.array(plain, pa.float64()), f"t{position}": pa.array(tags)}


if __name__ == "__main__":
    sys.stdout.buffer.write(_parse(sys.stdin.read()))
