"""How many rows a release has."""

from __future__ import annotations

from typing import Literal

from caveat.spec.document import Document
from caveat.table import Table

__all__ = ["Rows", "population_of", "read_rows"]

Rows = int | Literal["population"]


def read_rows(document: Document) -> Rows | None:
    """Return the rows that ``[release]`` asks for, if it does."""
    document.check(("release",))
    rows: Rows | None = document.content.get("release", {}).get("rows")
    if rows == "population" and not document.content.get("synthesis", {}).get("weights"):
        document.fail(
            ("release", "rows"),
            'release.rows: "population" needs weights that say for how many a record stands',
            'add weights = "…" to [synthesis]',
            code="spec.entry.absent",
        )
    return rows


def population_of(table: Table, weights: str) -> int:
    """Return for how many records those of a table stand."""
    return round(float(table[weights].cell_numbers.sum()))
