"""What a column is beside its cells, as a plain state for a file, and a column from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.table.column import Codes, Column, Kind, Missing

__all__ = ["column_of", "content_hash", "dictionary_state", "plain"]


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
