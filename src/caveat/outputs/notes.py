"""Notes below a table: lines of the file that are no cells.

A line with a source has text in its first column and nothing else. Taken for a cell it would be a
hidden one, and what totals tell of the others would seem to be open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from caveat.outputs.cell_numbers import mostly_numbers
from caveat.outputs.finding import Finding
from caveat.outputs.statbarns import Verdict
from caveat.outputs.written_cells import cell_text
from caveat.table import Table

__all__ = ["without_notes"]

NOTE = re.compile(
    r"(?:(?:sources?|notes?|footnotes?|legend|key|remarks?|quellen?|anmerkung(?:en)?|hinweise?|"
    r"fußnoten?|legende|stand)\s*[:.]|©|\(c\)\s|[*†‡§#]+\s?\w|\(?\d\)|\[\d\]|[a-z]\)|table\s\d|"
    r"suppressed|cells? )",
    re.IGNORECASE,
)
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def without_notes(
    table: Table, totals: frozenset[str] = frozenset({"total"})
) -> tuple[Table, list[Finding]]:
    """Return a table without the notes below it, and what a person has to look at.

    Parameters
    ----------
    table
        The table as it was read.
    totals
        What totals are called, in small letters: what stands alone below one is no cell.

    Examples
    --------
    >>> import pandas as pd
    >>> told = pd.DataFrame({"sex": ["f", "m", "Source: office"], "count": [20, 30, None]})
    >>> without_notes(Table.from_frame(told))[0].n_rows
    2
    """
    if len(table.names) < 2 or table.n_rows < 2 or table[table.names[0]].kind.is_number:
        return table, []
    first = [cell_text(value).strip() for value in table[table.names[0]].values]
    filled = np.zeros((len(table.names), table.n_rows), bool)
    for i, name in enumerate(table.names):
        filled[i] = [bool(cell_text(value).strip()) for value in table[name].values]
    end = table.n_rows
    while end > 1 and filled[0, end - 1] and not filled[1:, end - 1].any():
        end -= 1
    above = first[end - 1].lower() in totals
    # A key that all other rows have is no key of this one.
    keyed = end < table.n_rows and any(
        filled[i, :end].all() and not mostly_numbers(table[name])
        for i, name in enumerate(table.names[1:], 1)
    )
    clear = [
        (keyed and first[row] not in first[:end]) or NOTE.match(first[row]) is not None
        for row in range(end, table.n_rows)
    ]
    start = end if above or all(clear) else end + clear.index(True) if any(clear) else table.n_rows
    if start == table.n_rows:
        return table, []
    return table.take(slice(0, start)), list(_found(first, start, clear[start - end :]))


def _found(first: list[str], start: int, clear: list[bool]) -> Iterator[Finding]:
    """Say which notes may be cells, or tell more than words."""
    for row, is_note in enumerate(clear, start):
        if not is_note:
            yield Finding(
                "unknown", Verdict.REVIEW,
                f"row {row + 1:,} stands below a total with nothing but text: it was taken for a "
                "note",
                "write hidden cells above the total, with a sign",
            )  # fmt: skip
        elif re.search(r"\d", YEAR.sub("", re.sub(r"^\W*\d\W", "", first[row]))):
            yield Finding(
                "unknown", Verdict.REVIEW, f"row {row + 1:,} is a note with numbers",
                "see whether they tell anything of the cells",
            )  # fmt: skip
