"""The rules on tables: low counts, empty and full cells, totals, dominance, and those of barns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.outputs.dominance import few_have_most, largest_can_be_told
from caveat.outputs.finding import Finding, cells_in_words
from caveat.outputs.grid import Grid, lines_of, named_place
from caveat.outputs.hidden_cells import left_out
from caveat.outputs.output_table import OutputTable, Statistic
from caveat.outputs.statbarns import STATBARNS, Rules, Verdict, percentile_of, plain_name
from caveat.outputs.total_names import totals_of
from caveat.outputs.total_rules import SLACK, found_in, totals_findings

__all__ = ["dominates", "statistic_findings", "table_findings"]

Floats = NDArray[np.float64]
Rows = list[int]

COUNTS = STATBARNS["frequencies"]
AGGREGATES = STATBARNS["linear aggregates"]
SUMS, MEANS = ("total", "sum"), ("mean", "average")


def table_findings(table: OutputTable, rules: Rules) -> Iterator[Finding]:
    """Hold a table to the rules of the barns that its columns belong to."""
    yield from _marked(table)
    if table.counts is not None:
        yield from _low(table, table.counts, rules)
        if not table.is_rounded:  # a rounded 0 is not nobody
            yield from _empty_and_full(table, table.counts, rules)
        yield from totals_findings(table, None, table.counts, rules)
    yield from statistic_findings(table, rules)


def statistic_findings(table: OutputTable, rules: Rules) -> Iterator[Finding]:
    """Hold all columns but the counts to the rules of their barns."""
    if table.unknown:
        yield Finding(
            "unknown",
            Verdict.REVIEW,
            f"what {' and '.join(table.unknown[:3])} holds is not known",
            "say so with statistics = { … }, or with keys = [ … ], in [[output]] of the rules",
        )
    for name, statistic in table.statistics.items():
        yield from _statistic(table, name, statistic, rules)


def _marked(table: OutputTable) -> Iterator[Finding]:
    """See what a column says of cells: hidden ones must be empty, and why they are is not said."""
    marks = table.marks
    name = table.count_name
    if table.guessed and marks is None:
        yield Finding(
            "unknown", Verdict.REVIEW,
            "it was read as a cross table of persons; amounts look alike",
            'say form = "cross" in [[output]] of the rules',
        )  # fmt: skip
    elif table.guessed:
        yield Finding(
            "unknown", Verdict.REVIEW,
            f"{name} was taken for numbers of persons; amounts look alike",
            f'say count = "{name}", or statistics = {{ "{name}" = "total" }}, in [[output]] of the '
            "rules",
        )  # fmt: skip
    if marks is None:
        return
    columns = {column: one.values for column, one in table.statistics.items()}
    if table.counts is not None:
        columns[name] = table.counts
    seen = tuple(
        (row, column) for column, values in columns.items() for row in sorted(marks.hidden)
        if not math.isnan(values[row])
    )  # fmt: skip
    if seen:
        yield Finding(
            "hidden", Verdict.REFUSE,
            f"{cells_in_words(seen, columns=len(columns) > 1)}: {marks.column} says that the cell "
            "is hidden, and its value is there",
            "empty the cell", seen,
        )  # fmt: skip
    if marks.reasons:
        yield Finding(
            "hidden", Verdict.REVIEW,
            f"{marks.column} says why cells are hidden: that tells which are the small ones",
            "say only that they are hidden",
        )  # fmt: skip


def _low(table: OutputTable, counts: Floats, rules: Rules) -> Iterator[Finding]:
    low = np.flatnonzero((counts > 0) & (counts < rules.threshold)).tolist()
    what = f"fewer than {rules.threshold} persons"
    if table.is_rounded:
        low = []  # rounding is a remedy
    if table.rounded is not None and table.base:
        odd = np.flatnonzero(np.isfinite(counts) & (counts % table.base != 0)).tolist()
        yield from found_in(
            table, odd, "rounded", Verdict.REFUSE,
            f"no multiple of {table.base}, to which counts are said to be rounded",
            "round all counts, totals too",
        )  # fmt: skip
    elif low and table.base:
        what += f" (counts look rounded to {table.base}; if they are, say rounded = {table.base})"
    yield from found_in(table, low, "threshold", Verdict.REFUSE, what, COUNTS.remedy)
    if np.any(np.isfinite(counts) & (counts % 1 != 0)):
        yield Finding(
            "weighted",
            Verdict.REVIEW,
            "counts are not whole: the rules are about persons, not about weights or noise",
            "hand in the numbers of persons too; if a point stands between thousands, say "
            'decimal = "," in [[output]] of the rules',
        )


def _empty_and_full(table: OutputTable, counts: Floats, rules: Rules) -> Iterator[Finding]:
    """Find class disclosure; combinations that are not listed are empty, unless a total denies it.

    Keys of which one follows from another are codes of each other, or tell everything.
    """
    totals = totals_of(table.cells, counts, rules.totals, table.base / 2)
    places = [totals.place(cell) for cell in table.cells]
    groups = [row for row, cell in enumerate(table.cells) if totals.is_group(cell)]
    for row in groups:
        places[row] = (None,) * len(table.keys)
    inner = np.where(np.isin(np.arange(len(counts)), groups), np.nan, counts)
    grid = Grid([place for place in places if None not in place])
    someone = set(left_out(places, inner, slack=table.base / 2))
    empty = {
        row
        for row in np.flatnonzero(counts == 0).tolist()
        if not rules.is_structural(table.named(row))
    }
    full, by_absence = set(), set()
    for i, rows in lines_of(places):
        filled = [row for row in rows if counts[row] != 0]  # a hidden one may be
        if len(filled) != 1 or not counts[filled[0]] > 0:
            continue
        if someone and someone.intersection(grid.absent(i, places[filled[0]])):
            continue
        if empty.intersection(rows):
            full.add(filled[0])
        elif any(
            not rules.is_structural(named_place(table.keys, place))
            for place in grid.absent(i, places[filled[0]])
        ):
            by_absence.add(filled[0])
    what = "all persons of a line of the table are in one cell: what is true of all is true of each"
    yield from found_in(table, sorted(full), "full", rules.full, what, COUNTS.remedy)
    yield from found_in(
        table, sorted(by_absence - full), "full", rules.full,
        f"{what}; combinations that are not listed are empty",
        f"list hidden cells with a sign; else {COUNTS.remedy}",
    )  # fmt: skip
    yield from found_in(
        table, sorted(empty), "empty", rules.empty,
        "nobody is in the cell: it says of everybody else what they are not",
        f"declare what must be empty under [[structural]] of the rules; else {COUNTS.remedy}",
    )  # fmt: skip
    if rules.full is not Verdict.SAFE:
        yield from _nested(table, grid)


def _nested(table: OutputTable, grid: Grid) -> Iterator[Finding]:
    """Say which keys follow from others, unless that is declared."""
    pairs = [(table.keys[i], table.keys[j]) for i, j in grid.nested]
    told = [(i, j) for i, j in pairs if i not in table.nested]
    # Of two keys that follow from each other one declaration is enough.
    told = [(i, j) for i, j in told if not (j in table.nested and (j, i) in pairs)]
    if told:
        one, other = told[0]
        yield Finding(
            "full", Verdict.REVIEW,
            f"each value of {one} has one value of {other}: either that must be so, or it is told "
            "of everybody",
            f'if it must be so, say nested = ["{one}"] in [[output]] of the rules',
        )  # fmt: skip


def _statistic(
    table: OutputTable, name: str, statistic: Statistic, rules: Rules
) -> Iterator[Finding]:
    """Hold one column to the rules of its barn."""
    barn = statistic.barn
    shown = np.flatnonzero(np.isfinite(statistic.values)).tolist()
    if barn.name == "maxima and minima":
        yield Finding(
            "endpoint", Verdict.REFUSE, f"{name}: an end of the values is that of one person",
            barn.remedy, tuple((table.places[row][0], name) for row in shown),
        )  # fmt: skip
    elif barn.name == "calculated odds and risk ratios":
        yield Finding("ratio", Verdict.REVIEW, f"{name}: a ratio of counts is not assessed itself",
                      barn.remedy)  # fmt: skip
    elif barn.rules and table.counts is None:
        yield Finding(
            "threshold", Verdict.REVIEW, f"{name}: how many persons are behind it is not said",
            "add a column count with the number of persons",
        )  # fmt: skip
    elif barn.rules == ("degrees_of_freedom",) and table.counts is not None:
        few = [row for row in shown if not table.counts[row] > rules.degrees_of_freedom]
        what = f"{name} of {rules.degrees_of_freedom} or fewer persons"
        yield from found_in(table, few, "degrees_of_freedom", Verdict.REFUSE, what, barn.remedy)
    elif table.counts is not None and barn.rules:
        shown_of_hidden = [row for row in shown if math.isnan(table.counts[row])]
        what = f"{name} is shown where the number of persons is hidden"
        yield from found_in(table, shown_of_hidden, "threshold", Verdict.REVIEW, what, barn.remedy)
        if barn.name == "position":
            yield from _tails(table, name, statistic.said, table.counts, shown, rules)
    if plain_name(statistic.said) in SUMS:
        yield from totals_findings(table, name, statistic.values, rules)
    if barn is AGGREGATES:
        yield from _dominance(table, name, statistic, shown, rules)


def _tails(
    table: OutputTable, name: str, said: str, counts: Floats, shown: Rows, rules: Rules
) -> Iterator[Finding]:
    """See whether enough persons lie on either side of a percentile."""
    share = percentile_of(said)
    few = [row for row in shown if counts[row] * min(share, 1 - share) < rules.threshold
           and counts[row] >= rules.threshold]  # fmt: skip
    what = f"fewer than {rules.threshold} persons lie on one side of {name}"
    yield from found_in(
        table, few, "position", Verdict.REVIEW, what, STATBARNS["position"].remedy
    )  # fmt: skip


def _dominance(
    table: OutputTable, name: str, statistic: Statistic, shown: Rows, rules: Rules
) -> Iterator[Finding]:
    """Hold sums to the (n, k) and the p % rule, where the largest contributions are known."""
    needed, said = max(rules.dominance_n, 2), plain_name(statistic.said)
    if said not in SUMS and said not in MEANS:
        yield Finding("nk-rule", Verdict.REVIEW, f"{name}: a share is not assessed itself",
                      "hand in the total that it is a share of")  # fmt: skip
        return
    if len(table.largest) < needed or (said in MEANS and table.counts is None):
        yield Finding(
            "nk-rule", Verdict.REVIEW,
            f"{name}: whether few contributors make up most of a cell is not known",
            f"add columns largest_1 to largest_{needed} with the largest contributions "
            "(they are for the check, not for publication)",
        )  # fmt: skip
        return
    sums = statistic.values
    if said in MEANS and table.counts is not None:
        sums = sums * table.counts
    nk, p = [], []
    for row in shown:
        top = [column[row] for column in table.largest[:needed]]
        if any(math.isnan(one) for one in top):
            raise CaveatError(
                "a largest contribution is missing",
                row=row + 1,
                do="give 0 where there is none",
                code="outputs.value.absent",
            )
        many, ratio = dominates(sums[row], top, rules, row=row)
        nk += [row] * many
        p += [row] * ratio
    what = f"the {rules.dominance_n} largest have {rules.dominance_share:.0%} of {name} or more"
    yield from found_in(table, nk, "nk-rule", Verdict.REFUSE, what, AGGREGATES.remedy)
    what = f"the second largest can tell the largest within {rules.p:.0%} ({name})"
    yield from found_in(table, p, "p-ratio", Verdict.REFUSE, what, AGGREGATES.remedy)


def dominates(
    total: float, largest: Sequence[float], rules: Rules, *, row: int | None = None
) -> tuple[bool, bool]:
    """Say whether a cell breaks the (n, k) rule, and whether it breaks the p % rule.

    Parameters
    ----------
    total
        The sum of all contributions.
    largest
        The largest contributions, the largest first; at least n of them, and two.
    rules
        The rules.
    row
        The row of the cell, from 0, for messages.

    Examples
    --------
    >>> dominates(100, [60, 35], Rules())  # 95 of 100; the rest, 5, is below 10 % of 60
    (True, True)
    >>> dominates(100, [50, 30], Rules())  # 80 of 100; the rest, 20, is above 5
    (False, False)
    """
    where = None if row is None else row + 1
    if min(largest) < 0 or total < 0:
        raise CaveatError(
            "a contribution or a sum is below 0: there is no dominance rule for it",
            row=where,
            do="check amounts and their signs apart",
            code="outputs.rule.unsupported",
        )
    if any(one < other for one, other in pairwise(largest)):
        raise CaveatError(
            "the largest contributions are not in order",
            row=where,
            do="give the largest first",
            code="outputs.value.conflict",
        )
    if sum(largest) > total + SLACK * total:
        raise CaveatError(
            "the largest contributions are more than the sum",
            row=where,
            do="check how the table was made",
            code="outputs.total.mismatch",
        )
    top = sum(largest[: rules.dominance_n])
    # A cell of exactly k is refused, as in ACRO; of exactly p it is not.
    many = few_have_most(total, top, rules.dominance_share, SLACK)
    near = largest_can_be_told(total, largest[0], sum(largest[:2]), rules.p, SLACK)
    return bool(many), bool(near)
