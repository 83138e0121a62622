"""What a column is beside its cells, as a plain state for a file, and a column from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.table.column import Codes, Column, Kind, Missing

__all__ = ["column_of", "dictionary_state", "plain"]


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
