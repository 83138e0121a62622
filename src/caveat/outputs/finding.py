"""What a check says: findings with a reason and a remedy, and the verdict on an output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from caveat.outputs.statbarns import Verdict

if TYPE_CHECKING:
    from caveat.outputs.differencing import Counts

__all__ = ["Cell", "Checked", "Finding", "cells_in_words", "named_in_words"]

Cell = tuple[int, str]

SHOWN = 6  # cells that a reason names; results.json has all of them


@dataclass(frozen=True)
class Finding:
    """One thing that is not safe about an output.

    Parameters
    ----------
    rule
        The rule that it breaks, as results.json names it.
    verdict
        How bad it is.
    reason
        What was found. It names rows and columns, no value.
    remedy
        What can be done.
    cells
        The cells of the file that it is about: the row, from 0, and the column.
    """

    rule: str
    verdict: Verdict
    reason: str
    remedy: str
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Checked:
    """An output with what was found about it.

    Parameters
    ----------
    name
        The file, or what else it is called.
    form
        "table", "regression", "survival table", "evidence", "report", "synthetic table",
        "manifest", "file of a run" or "custom".
    barns
        The names of the statbarns whose rules it was held to.
    findings
        What is not safe about it.
    columns
        The columns of the file, for the places of cells.
    counts
        The counts that it publishes, for the comparison with other outputs; None if there are none.
    """

    name: str
    form: str
    barns: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    columns: tuple[str, ...] = ()
    counts: Counts | None = field(default=None, repr=False)

    @property
    def verdict(self) -> Verdict:
        """The worst of what was found; safe if nothing was."""
        found = [finding.verdict for finding in self.findings]
        return max(found, key=lambda verdict: verdict.severity, default=Verdict.SAFE)


def cells_in_words(cells: Sequence[Cell], *, columns: bool = False) -> str:
    """Return cells as a reason names them: rows from 1, with columns where they matter.

    Examples
    --------
    >>> cells_in_words([(1, "n")]), cells_in_words([(1, "n"), (4, "n"), (5, "n")])
    ('row 2', 'rows 2, 5 and 6')
    >>> cells_in_words([(1, "north"), (4, "south")], columns=True)
    'row 2 of north and row 5 of south'
    """
    shown, more = cells[:SHOWN], len(cells) - SHOWN
    if not columns:
        parts = [f"{row + 1:,}" for row, _ in shown]
        start = "row " if len(cells) == 1 else "rows "
    else:
        parts, start = [f"row {row + 1:,} of {column}" for row, column in shown], ""
    if more > 0:
        parts.append(f"{more:,} more")
    return start + " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def named_in_words(cells: Sequence[Mapping[str, str]]) -> str:
    """Return cells by the values of their keys, the first three of them.

    Examples
    --------
    >>> named_in_words([{"region": "n", "sex": "f"}, {}])
    'region n, sex f; all together'
    """
    named = [
        ", ".join(f"{name} {value}" for name, value in cell.items()) or "all together"
        for cell in cells[:3]
    ]
    more = f" and {len(cells) - 3:,} more" if len(cells) > 3 else ""
    return "; ".join(named) + more
