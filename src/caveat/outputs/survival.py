"""Survival tables: who is at risk in a line, who has left since, and what else tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.outputs.cell_numbers import last_place, mostly_numbers, numbers
from caveat.outputs.finding import Finding, cells_in_words
from caveat.outputs.output_table import TIMES, OutputTable, Statistic
from caveat.outputs.statbarns import STATBARNS, Rules, Statbarn, Verdict, known_barn
from caveat.outputs.table_rules import statistic_findings
from caveat.table import Table

__all__ = ["is_survival", "survival_barns", "survival_findings"]

Floats = NDArray[np.float64]
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
