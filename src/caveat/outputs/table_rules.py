"""The rules on tables: counts, dominance, totals, and those of survival tables."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.outputs.cell_numbers import last_place, mostly_numbers, numbers, rounded_to
from caveat.outputs.hidden_cells import (
    Computable,
    Grid,
    Place,
    Totals,
    computable,
    left_out,
    lines_of,
    named_place,
    totals_of,
)
from caveat.outputs.output_table import TIMES, OutputTable, Statistic
from caveat.outputs.statbarns import (
    STATBARNS,
    Finding,
    Rules,
    Statbarn,
    Verdict,
    cells_in_words,
    few_have_most,
    known_barn,
    largest_can_be_told,
    named_in_words,
    percentile_of,
    plain_name,
)
from caveat.showing import without_values
from caveat.table import Table

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


# -------------------------------------------------------------------------------------------------
# The rules on tables: low counts, empty and full cells, totals, dominance, and those of barns.


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


# -------------------------------------------------------------------------------------------------
# Survival tables: who is at risk in a line, who has left since, and what else tells it.

SURVIVAL = STATBARNS["hazard and survival tables"]

ROLES: Mapping[str, tuple[str, ...]] = {
    "at risk": ("at_risk", "n_risk", "number_at_risk", "n_at_risk"),
    "events": ("events", "n_events", "n_event", "event", "deaths", "n_deaths", "died"),
    "counts": ("censored", "n_censored", "n_censor", "censor", "lost", "withdrawn", "entered",
               "n_entered", "n_enter"),
    "survival": ("survival", "surv", "s", "km", "kaplan_meier", "survival_probability"),
    "cumulated": ("cumulative_hazard", "cum_hazard", "cumhaz", "chaz", "nelson_aalen"),
    "hazard": ("hazard",),
    "time": ("time", "t", "interval", "start", "end", "stop", "day", "days", "months", "years",
             "weeks", "follow_up", "from", "to"),
    "errors": ("se", "std_err", "std_error", "standard_error", "se_survival", "lower", "upper",
               "low", "high", "conf_low", "conf_high", "ci_low", "ci_high", "lower_ci", "upper_ci"),
}  # fmt: skip
"""What columns of survival tables are called."""


def _role(name: str) -> str | None:
    plain = re.sub(r"[\s_.-]+", "_", name.strip().lower())
    found = next((role for role, names in ROLES.items() if plain in names), None)
    return "time" if found is None and TIMES.fullmatch(name.strip()) else found


def is_survival(table: Table) -> bool:
    """Whether a column of a table is the number of persons at risk."""
    return any(_role(name) == "at risk" for name in table.names)


@dataclass(frozen=True, eq=False)
class _Lines:
    """A survival table: its columns by their roles, and the lines of each group in their order."""

    table: Table
    at_risk: str
    roles: Mapping[str, str | None]
    groups: tuple[NDArray[np.int64], ...]

    __repr__ = without_values

    @classmethod
    def of(cls, table: Table) -> _Lines:
        if table.n_rows == 0:
            raise CaveatError(
                "the table has no rows", do="check how it was made", code="data.table.empty"
            )
        roles = {name: _role(name) for name in table.names}
        at_risk = next(name for name, role in roles.items() if role == "at risk")
        return cls(table, at_risk, roles, _groups(table, roles))

    def named(self, *wanted: str) -> list[str]:
        return [name for name, role in self.roles.items() if role in wanted]

    def values(self, name: str) -> Floats:
        return numbers(self.table[name], name)

    def counts(self, name: str) -> Floats:
        values = self.values(name)
        if np.any(values < 0):
            row = int(np.flatnonzero(values < 0)[0]) + 1
            raise CaveatError(
                "a count is below 0", column=name, row=row, code="outputs.value.range"
            )
        return values

    def before(self, values: Floats, first: float) -> Floats:
        """Return for each line the value of the line before it in its group."""
        out = np.full(len(values), first)
        for rows in self.groups:
            out[rows[1:]] = values[rows[:-1]]
        return out


def _groups(table: Table, roles: Mapping[str, str | None]) -> tuple[NDArray[np.int64], ...]:
    """Return the lines of each group: times that occur again are of another one."""
    times = [name for name, role in roles.items() if role == "time"]
    others = [
        name for name, role in roles.items()
        if role is None and known_barn(name) is None and 1 < table[name].n_levels < table.n_rows
    ]  # fmt: skip
    chosen: list[str] = []
    for name in sorted(others, key=lambda name: table[name].kind.is_number):
        if len(_keys(table, [*times, *chosen])) == table.n_rows:
            break
        if times or not table[name].kind.is_number:
            chosen.append(name)
    lines: dict[tuple[int, ...], list[int]] = {}
    for row, key in enumerate(zip(*(table[name].codes.tolist() for name in chosen), strict=True)):
        lines.setdefault(key, []).append(row)
    if not chosen:
        return (np.arange(table.n_rows),)
    return tuple(np.array(rows) for rows in lines.values())


def _keys(table: Table, names: list[str]) -> set[tuple[int, ...]]:
    return set(zip(*(table[name].codes.tolist() for name in names), strict=True))


def survival_barns(table: Table) -> tuple[str, ...]:
    """Return the barns of a survival table and of what stands beside it."""
    others = (barn.name for _, barn in _beside(_Lines.of(table)) if barn is not None)
    return tuple(dict.fromkeys((SURVIVAL.name, *others)))


def _beside(lines: _Lines) -> Iterator[tuple[str, Statbarn | None]]:
    """Return columns of numbers that are no part of a survival table, with their barns."""
    alone = [int(rows[0]) for rows in lines.groups]
    for name, role in lines.roles.items():
        if role is None:
            barn = known_barn(name)
            column = lines.table[name]
            if barn is not None:
                yield name, barn
            elif mostly_numbers(column) and not _tells_groups(lines, name, alone):
                yield name, None


def _tells_groups(lines: _Lines, name: str, first: list[int]) -> bool:
    """Whether a column has one value in each group, and another in each."""
    codes = lines.table[name].codes
    same = all((codes[rows] == codes[rows[0]]).all() for rows in lines.groups)
    return same and 1 < len(first) == len(set(codes[first].tolist()))


def survival_findings(table: Table, rules: Rules) -> Iterator[Finding]:
    """Hold a survival table to the rules: persons at risk, persons leaving, and all beside them."""
    lines = _Lines.of(table)
    few = f"fewer than {rules.survival_threshold} persons"
    at_risk = lines.counts(lines.at_risk)
    gone = lines.before(at_risk, np.nan) - at_risk
    yield from _few(lines.at_risk, gone, f"{few} less than in the line before", rules)
    yield from _few(lines.at_risk, at_risk, f"{few} at risk", rules)
    events = lines.named("events")
    shown = np.zeros(table.n_rows, bool)
    for name in lines.named("events", "counts"):
        values = lines.counts(name)
        if name in events:
            shown |= np.isfinite(values)
            what = f"{few} leave: the difference of two lines is a count too"
        else:
            what = f"{few} in {name}"
        yield from _few(name, values, what, rules)
    said = False
    for name in lines.named("survival", "cumulated", "hazard"):
        implied = _implied(lines, name, at_risk)
        if implied is not None:
            said = True
            what = f"{few} leave, as {name} tells"
            yield from _few(name, np.where(shown, np.nan, implied), what, rules)
    if not events and not said:
        yield Finding(
            "survival", Verdict.REVIEW, "how many leave in each line is not said",
            "add a column events",
        )  # fmt: skip
    yield from _others(lines, at_risk, rules)


def _few(name: str, values: Floats, what: str, rules: Rules) -> Iterator[Finding]:
    low = np.flatnonzero((values > 0) & (values < rules.survival_threshold))
    cells = tuple((int(row), name) for row in low)
    if cells:
        reason = f"{cells_in_words(cells)}: {what}"
        yield Finding("survival", Verdict.REFUSE, reason, SURVIVAL.remedy, cells)


def _implied(lines: _Lines, name: str, at_risk: Floats) -> Floats | None:
    """Return the events that a column of shares tells with those at risk; None if it tells none.

    It tells them where all of them come out whole, but for what rounding takes.
    """
    values = lines.values(name)
    unit = last_place(values)
    if lines.roles[name] == "survival":
        if np.nanmax(values, initial=0.0) > 1:  # per cent
            values, unit = values / 100, unit / 100
        before = lines.before(values, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share, error = 1 - values / before, unit / before
    elif lines.roles[name] == "cumulated":
        share, error = values - lines.before(values, 0.0), np.full(len(values), unit)
    else:
        share, error = values, np.full(len(values), unit / 2)
    with np.errstate(invalid="ignore"):
        events, slack = at_risk * share, at_risk * error + 1e-6
    known = np.isfinite(events) & np.isfinite(slack)
    whole = np.round(events)
    tight = known & (slack < 0.5)
    if not tight.any() or np.any(np.abs(events - whole)[tight] > slack[tight]):
        return None
    return np.where(tight, np.abs(whole), np.nan)


def _others(lines: _Lines, at_risk: Floats, rules: Rules) -> Iterator[Finding]:
    """Hold other statistics to the rules of their barns, of the persons at risk."""
    statistics, unknown = {}, []
    for name, barn in _beside(lines):
        if barn is None:
            unknown.append(name)
        else:
            statistics[name] = Statistic(barn, name, lines.values(name))
    n = lines.table.n_rows
    beside = OutputTable(
        (), ((),) * n, at_risk, lines.at_risk, statistics, (), lines.table.names,
        tuple((row, lines.at_risk) for row in range(n)), tuple(unknown),
    )  # fmt: skip
    yield from statistic_findings(beside, rules)
