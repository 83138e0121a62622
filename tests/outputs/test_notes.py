"""Lines below a table that are no cells."""

from __future__ import annotations

import pandas as pd
import pytest

from caveat.outputs.cell_numbers import without_notes
from caveat.table import Table


def left(*rows: tuple[object, ...]) -> tuple[int, list[str]]:
    """Return how many rows are left, and what is said of the others."""
    columns = (
        ["region", "sex", "count"][-len(rows[0]) :] if len(rows[0]) > 2 else ["region", "count"]
    )
    table, findings = without_notes(Table.from_frame(pd.DataFrame(list(rows), columns=columns)))
    return table.n_rows, [finding.reason for finding in findings]


@pytest.mark.parametrize(
    "note", ["Source: office", "Quelle: Amt, 2024", "* hidden", "1) without homes", "© office"]
)
def test_notes(note: str) -> None:
    assert left(("north", "30"), ("south", "*"), (note, None)) == (2, [])


def test_a_hidden_cell_may_be_empty() -> None:
    assert left(("north", "30"), ("total", "33"), ("south", None), ("east", "3")) == (4, [])
    assert left(("north", 30), ("south", None)) == (2, [])


def test_below_a_total_there_is_no_cell() -> None:
    assert left(("north", "30"), ("south", "*"), ("total", "33"), ("Office of X", None)) == (
        3,
        ["row 4 stands below a total with nothing but text: it was taken for a note"],
    )


def test_a_row_without_a_key_that_all_others_have_is_a_note() -> None:
    assert left(("a", "f", 30), ("a", "m", None), ("Office of X", None, None)) == (2, [])
    # With empty keys as totals it is a hidden total.
    assert left(("a", "f", 30), ("a", "m", None), ("a", None, None)) == (3, [])


def test_numbers_in_a_note_are_looked_at() -> None:
    assert left(("north", 30), ("south", 40), ("Note: 3 of south are ill", None)) == (
        2,
        ["row 3 is a note with numbers"],
    )
