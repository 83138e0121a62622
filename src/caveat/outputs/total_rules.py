"""The rules on totals: that they are the sums of their cells, and what they tell of hidden ones."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.outputs.cell_numbers import last_place, rounded_to
from caveat.outputs.finding import Finding, cells_in_words, named_in_words
from caveat.outputs.grid import named_place
from caveat.outputs.hidden_cells import Computable, Place, computable
from caveat.outputs.output_table import OutputTable
from caveat.outputs.statbarns import Rules, Verdict
from caveat.outputs.total_names import Totals, totals_of

__all__ = ["SLACK", "found_in", "totals_findings"]

Floats = NDArray[np.float64]
Rows = list[int]

HIDE_MORE = "hide a second cell in each row and column with a hidden one, or use caveat tables"
SLACK = 1e-9  # by so much, of a total, sums of decimal numbers may differ from it
FEWEST_VALUES = 3  # a hidden cell with fewer values left is nearly known


def found_in(
    table: OutputTable, rows: Sequence[int], rule: str, verdict: Verdict, what: str, remedy: str
) -> Iterator[Finding]:
    """Say of rows what was found, if there are any and the verdict is not safe."""
    if len(rows) and verdict is not Verdict.SAFE:
        cells = tuple(table.places[row] for row in rows)
        columns = len({column for _, column in table.places}) > 1
        yield Finding(
            rule, verdict, f"{cells_in_words(cells, columns=columns)}: {what}", remedy, cells
        )


@dataclass(frozen=True)
class _Sums:
    """Totals beside the sums of their cells.

    Attributes
    ----------
    wrong
        The rows of totals that are other than the sums.
    told
        Hidden cells for which a total leaves nothing.
    beside
        Whether a total has hidden cells.
    over
        Whether a total is less than its cells: its equations are not true.
    """

    wrong: set[int]
    told: set[int]
    beside: bool
    over: bool

    __repr__ = without_values


def totals_findings(
    table: OutputTable, column: str | None, values: Floats, rules: Rules
) -> Iterator[Finding]:
    """Compare totals with the cells that they are of, and see what they tell of hidden ones."""
    base = table.base if column is None else rounded_to(values)
    guessed = base and (column is not None or table.rounded is None)
    slack = base / 2 if base else last_place(values) / 2
    totals = totals_of(table.cells, values, rules.totals, slack)
    places = [totals.place(cell) for cell in table.cells]
    sums = _sums(places, values, slack, totals.parents)
    found, rested = Computable(), sums.beside
    if base:  # rounded totals settle nothing
        rested = bool((rested or totals.doubtful) and guessed)
    elif not sums.over:
        found = _audited(table, column, totals, values, slack, rules)
        told = sums.told.union(found.rows)
        found, rested = replace(found, rows=tuple(sorted(told))), rested and not found.complete
    yield from _computed(table, column, found)
    if totals.doubtful and not base:
        perhaps = _audited(table, column, totals, values, slack, rules, perhaps=True)
        yield from _perhaps(table, totals.doubtful, sorted({*perhaps.rows} - {*found.rows}))
    if rested:
        yield Finding(
            "pattern", Verdict.REVIEW,
            "hidden cells stand beside totals: that none follows from several of them was not "
            "computed" + (f", as numbers look rounded to {base}" if base else ""),
            "say rounded = … in [[output]] of the rules: the base, or 1" if base
            else "make the table with caveat tables, which audits its pattern",
        )  # fmt: skip
    yield from found_in(
        table, sorted(sums.wrong), "totals", Verdict.REVIEW,
        "the total is not the sum of its cells"
        + (f", even if numbers are rounded to {base} as they seem to be" if guessed else ""),
        "check how the table was made: one that is wrong, or has subtotals among its cells, cannot "
        "be checked",
    )  # fmt: skip


def _sums(
    places: Sequence[Place], values: Floats, slack: float, parents: Sequence[Mapping[str, str]]
) -> _Sums:
    """Compare totals and subtotals with the sums of cells that differ from them in one key."""
    parts: dict[tuple[int, Place, str | None], Rows] = defaultdict(list)
    for row, place in enumerate(places):
        for i, value in enumerate(place):
            if value is not None:
                parts[i, place[:i] + place[i + 1 :], parents[i].get(value)].append(row)
    signed = bool(np.any(values < 0))
    wrong, told, beside, over = set(), set(), False, False
    for row, place in enumerate(places):
        for i, value in enumerate(place):
            if value is not None and value not in parents[i].values():
                continue
            rows = parts.get((i, place[:i] + place[i + 1 :], value), [])
            hidden = [one for one in rows if math.isnan(values[one])]
            left = values[row] - np.nansum(values[rows])
            if not rows or math.isnan(left):
                continue
            beside |= bool(hidden)
            near = slack * (len(rows) + 1) + SLACK * abs(values[row])
            over |= not signed and left < -near
            if left < -near or (not hidden and left > near):
                wrong.add(row)
            elif not signed and hidden and left <= near:
                told.update(hidden)
    return _Sums(wrong, told, beside, over)


def _audited(
    table: OutputTable, column: str | None, totals: Totals, values: Floats, slack: float,
    rules: Rules, *, perhaps: bool = False,
) -> Computable:  # fmt: skip
    """Run the exact audit on the hidden cells of a column."""
    empty = frozenset(
        row for row in np.flatnonzero(np.isnan(values)).tolist()
        if rules.is_structural(table.named(row))
    )  # fmt: skip
    places = [totals.path(cell, perhaps=perhaps) for cell in table.cells]
    grouped = any(totals.parents)
    found = computable(
        places, values, slack=slack, known=empty, whole=column is None,
        limits=table.limits.get(column or table.count_name),
        few=min(FEWEST_VALUES, rules.threshold - 1), gaps=not grouped,
    )  # fmt: skip
    return replace(found, left_out=()) if grouped else found


def _perhaps(table: OutputTable, doubtful: Sequence[str], rows: Rows) -> Iterator[Finding]:
    """Name hidden cells that follow if some values of keys are totals."""
    if rows:
        named = " and ".join(f"{value!r}" for value in doubtful[:3])
        yield Finding(
            "recomputed", Verdict.REVIEW,
            f"if {named} is a total, hidden cells can be computed: "
            + named_in_words([table.named(row) for row in rows]),
            "see whether it is one; if so, name it in totals = [ … ] of the rules",
            tuple(table.places[row] for row in rows),
        )  # fmt: skip


def _computed(table: OutputTable, column: str | None, found: Computable) -> Iterator[Finding]:
    """Name the hidden cells that follow from what is shown, and those that were left out."""
    bounds = (column or table.count_name) in table.limits
    of_what = "the totals and bounds" if bounds else "the totals"

    def told(rows: Sequence[int], verdict: Verdict, what: str, remedy: str) -> Iterator[Finding]:
        if rows:
            cells = tuple((table.places[row][0], column or table.places[row][1]) for row in rows)
            named = named_in_words([table.named(row) for row in rows])
            yield Finding("recomputed", verdict, f"{what}: {named}", remedy, cells)

    yield from told(
        found.rows, Verdict.REFUSE, f"hidden cells can be computed from {of_what}", HIDE_MORE
    )
    yield from told(
        found.near, Verdict.REVIEW, f"few values are left for hidden cells by {of_what}",
        f"write a sign instead of a bound; or {HIDE_MORE}",
    )  # fmt: skip
    if found.left_out:
        named = [named_place(table.keys, place) for place in found.left_out]
        yield Finding(
            "recomputed",
            Verdict.REFUSE,
            f"cells that are left out can be computed from the totals: {named_in_words(named)}",
            HIDE_MORE,
        )
