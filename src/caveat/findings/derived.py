"""Columns that another column fixes: groups of it, other names for it, functions of it.

Every pair is screened on a sample; what passes is counted on all rows. A few exceptions and missing
cells are allowed and reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from caveat.findings.profile import Finding, Strength, plain, plural, shown, shown_level
from caveat.table.column import Column
from caveat.table.table import Table

__all__ = [
    "EXCEPTIONS",
    "Dependency",
    "count_pairs",
    "find_dependencies",
    "find_shared_in_groups",
    "report",
    "sample_columns",
    "sample_rows",
]

# Share of the rows that may break a relation, of those that would break it by chance.
EXCEPTIONS = 0.01
# Fewer chance exceptions than this prove nothing.
CHANCE_ROWS = 30
# Rows on which pairs are screened, and how much more than EXCEPTIONS passes there.
SCREEN_ROWS = 20_000
SCREEN_SLACK = 5.0
# A determinant with few rows per level fixes everything by chance: rows per level needed …
ROWS_PER_LEVEL = 2
# … and for quantities, whose values are nearly names of records.
ROWS_PER_NUMBER = 10
# A column with more levels than this is not called a grouping.
MAX_GROUPS = 50
# Joint tables up to this many cells are counted directly.
DENSE_CELLS = 1 << 22

# Pairs are looked at among this many columns: with all of 10,000 there would be 50 million.
MOST_COLUMNS = 300

Rows = NDArray[np.int64] | slice
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Dependency:
    """``source`` fixes ``target`` but for some exceptions; ``cuts`` if it does so by intervals."""

    source: str
    target: str
    exceptions: int
    cuts: tuple[int, ...] | None = None


def sample_rows(n: int, most: int) -> Rows:
    """Return evenly spread rows, all of them if there are few."""
    return slice(None) if n <= most else np.linspace(0, n - 1, most).astype(np.int64)


def sample_columns(columns: Sequence[Item], most: int) -> list[Item]:
    """Return evenly spread columns, all of them if there are few."""
    if len(columns) <= most:
        return list(columns)
    return [columns[i] for i in np.linspace(0, len(columns) - 1, most).astype(np.int64).tolist()]


def count_pairs(a: Column, b: Column, rows: Rows) -> NDArray[np.int64]:
    """Count the pairs of ordinary codes in the given rows."""
    n_a, n_b = len(a.levels), len(b.levels)
    codes_a, codes_b = a.codes[rows], b.codes[rows]
    both = (codes_a < n_a) & (codes_b < n_b)
    cells = codes_a[both].astype(np.int64) * n_b + codes_b[both]
    return np.bincount(cells, minlength=n_a * n_b).reshape(n_a, n_b)


def _exceptions(joint: NDArray[np.int64], slack: float = 1.0) -> int | None:
    """Return how many rows break "row fixes column", or None if they are too many."""
    per_level = joint.sum(axis=1)
    total = int(per_level.sum())
    exceptions = total - int(joint.max(axis=1).sum())
    tested = total - int((per_level > 0).sum())
    chance = tested * (1 - joint.sum(axis=0).max() / max(total, 1))
    enough = CHANCE_ROWS if slack == 1 else CHANCE_ROWS / 3
    if chance < enough or exceptions > slack * EXCEPTIONS * chance + (slack > 1):
        return None
    return exceptions


def find_dependencies(table: Table, names: Sequence[str]) -> list[Dependency]:
    """Return all pairs among the named columns of which the first fixes the second."""
    rows = sample_rows(table.n_rows, SCREEN_ROWS)
    found = []
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            found += _between(table, first, second, rows)
    return found


def _between(table: Table, first: str, second: str, rows: Rows) -> list[Dependency]:
    a, b = table[first], table[second]
    directions = []
    if len(a.levels) * len(b.levels) <= DENSE_CELLS and (_may_fix(a, b) or _may_fix(b, a)):
        joint = count_pairs(a, b, rows)
        forward = _may_fix(a, b) and _exceptions(joint, SCREEN_SLACK) is not None
        backward = _may_fix(b, a) and _exceptions(joint.T, SCREEN_SLACK) is not None
        if forward or backward:
            whole = joint if isinstance(rows, slice) else count_pairs(a, b, slice(None))
            directions = [(forward, first, second, whole), (backward, second, first, whole.T)]
    found = []
    for passed, source, target, counts in directions:
        exceptions = _exceptions(counts) if passed else None
        if exceptions is not None:
            cuts = _cuts(table[source], table[target]) if table[source].kind.is_number else None
            found.append(Dependency(source, target, exceptions, cuts and cuts[0]))
    for source, target in ((first, second), (second, first)):
        if not any(d.source == source for d in found):
            found += _grouping(table, source, target, rows)
    return found


def _may_fix(source: Column, target: Column) -> bool:
    per_level = ROWS_PER_NUMBER if source.kind.is_number else ROWS_PER_LEVEL
    enough_rows = len(source) >= per_level * len(source.levels)
    return enough_rows and 2 <= len(target.levels) <= len(source.levels)


def _grouping(table: Table, source: str, target: str, rows: Rows) -> list[Dependency]:
    """Find a grouping of a quantity with so many values that counting pairs says nothing."""
    a, b = table[source], table[target]
    groups = len(b.levels)
    if (
        not a.kind.is_number
        or _may_fix(a, b)
        or not 2 <= groups <= min(MAX_GROUPS, len(a.levels) / 2)
    ):
        return []
    codes_a, codes_b = a.codes[rows], b.codes[rows]
    both = (codes_a < len(a.levels)) & (codes_b < groups)
    along = codes_b[both][np.argsort(codes_a[both], kind="stable")]
    changes = int((along[1:] != along[:-1]).sum())
    if changes > 2 * groups + 2 * SCREEN_SLACK * EXCEPTIONS * len(along):
        return []
    cut = _cuts(a, b)
    return [Dependency(source, target, cut[1], cut[0])] if cut else []


def _cuts(a: Column, b: Column) -> tuple[tuple[int, ...], int] | None:
    """Return the last code of ``a`` in each group of ``b`` but the last, and the exceptions."""
    n_a, groups = len(a.levels), len(b.levels)
    both = (a.codes < n_a) & (b.codes < groups)
    codes_a, codes_b = a.codes[both].astype(np.int64), b.codes[both].astype(np.int64)
    members = [np.sort(codes_a[codes_b == g]) for g in range(groups)]
    used = [g for g in range(groups) if len(members[g])]
    if not 2 <= len(used) <= MAX_GROUPS:
        return None
    used.sort(key=lambda g: float(np.median(members[g])))
    cuts = tuple(_cut(members[low], members[high]) for low, high in pairwise(used))
    if list(cuts) != sorted(cuts):
        return None
    position = np.empty(groups, dtype=np.int64)
    position[used] = np.arange(len(used))
    exceptions = int((np.searchsorted(cuts, codes_a) != position[codes_b]).sum())
    chance = len(codes_a) - max(len(m) for m in members)
    if chance < CHANCE_ROWS or exceptions > EXCEPTIONS * chance:
        return None
    return cuts, exceptions


def _cut(low: NDArray[np.int64], high: NDArray[np.int64]) -> int:
    """Return the code that parts two groups with the fewest rows on the wrong side."""
    places = np.unique(np.concatenate([low, high]))
    wrong = (
        len(low) - np.searchsorted(low, places, "right") + np.searchsorted(high, places, "right")
    )
    return int(places[np.argmin(wrong)])


def find_shared_in_groups(table: Table, group: str, names: Sequence[str]) -> Finding | None:
    """Find the columns that have one value within each group, as a household's income does."""
    g = table[group]
    shared = []
    for name in names:
        column = table[name]
        if name == group or len(column.levels) < 2:
            continue
        codes = column.codes.astype(np.int64)
        last = np.zeros(g.n_levels, dtype=np.int64)
        last[g.codes] = codes
        differs = int((codes != last[g.codes]).sum())
        tested = len(codes) - g.n_levels
        chance = tested * (1 - column.counts.max() / len(codes))
        if chance >= CHANCE_ROWS and differs <= EXCEPTIONS * chance:
            shared.append(name)
    if not shared:
        return None
    message = f"one value within each group of {group}."
    return Finding(
        "same-in-group",
        (*shared, group),
        message,
        Strength.LIKELY,
        table.n_rows,
        1.0,
        {"group": group},
    )


def report(
    table: Table, dependencies: Sequence[Dependency], explained: Sequence[frozenset[str]]
) -> list[Finding]:
    """Turn dependencies into findings, leaving out what others explain.

    Parameters
    ----------
    table
        The interpreted table.
    dependencies
        Everything that was found.
    explained
        Sets of columns of which something better is known, such as an arithmetic identity.
    """
    pairs = {(d.source, d.target): d for d in dependencies}
    pairs = {p: d for p, d in pairs.items() if not any(set(p) <= e for e in explained)}
    position = {name: i for i, name in enumerate(table)}
    findings, twins = [], set()
    for (a, b), d in sorted(
        pairs.items(), key=lambda item: (position[item[0][0]], position[item[0][1]])
    ):
        if (b, a) in pairs and a not in twins and position[a] < position[b] and b not in twins:
            findings.append(_one_to_one(table, d, pairs[b, a]))
            twins.add(b)
    by_target: dict[str, list[str]] = {}
    for a, b in pairs:
        by_target.setdefault(b, []).append(a)
    for target in table:
        if target in twins:
            continue
        sources = [
            a for a in by_target.get(target, ()) if a not in twins and (target, a) not in pairs
        ]
        direct = [a for a in sources if not _passes_through(a, target, sources, pairs)]
        if direct:
            candidates = [pairs[a, target] for a in direct]
            findings.append(_fixed(table, min(candidates, key=lambda d: _directness(d, table))))
    return findings


def _directness(d: Dependency, table: Table) -> tuple[bool, int, int]:
    return d.cuts is None, d.exceptions, len(table[d.source].levels)


def _passes_through(
    a: str, b: str, sources: Sequence[str], pairs: Mapping[tuple[str, str], Dependency]
) -> bool:
    """Whether a fixes b only by way of another source of b that fixes it as well."""
    return any(
        (a, c) in pairs and (c, a) not in pairs and pairs[c, b].exceptions <= pairs[a, b].exceptions
        for c in sources
    )


def _one_to_one(table: Table, d: Dependency, back: Dependency) -> Finding:
    a, b = d.source, d.target
    exceptions = max(d.exceptions, back.exceptions)
    n = len(table[b].levels)
    both = int((~table[a].is_missing & ~table[b].is_missing).sum())
    message = f"each of the {n} levels of one corresponds to one of the other{_but(exceptions)}."
    return Finding(
        "one-to-one",
        (b, a),
        message,
        Strength.LIKELY if exceptions else Strength.CERTAIN,
        both,
        both / table.n_rows,
        {"from": a},
    )


def _but(exceptions: int) -> str:
    return f", except in {plural(exceptions, 'row')}" if exceptions else ""


def _fixed(table: Table, d: Dependency) -> Finding:
    a, b = table[d.source], table[d.target]
    both = int((~a.is_missing & ~b.is_missing).sum())
    lost = int((~a.is_missing & b.is_missing).sum())
    note = f"; missing in {plural(lost, 'row')} where {d.source} is not" if lost else ""
    if d.cuts is not None:
        intervals = _intervals(a, b, d.cuts)
        what = ", ".join(
            f"{shown_level(b, group)} = {shown_level(a, low)} to {shown_level(a, high)}"
            for group, low, high in intervals[:8]
        )
        more = f" and {len(intervals) - 8} more" if len(intervals) > 8 else ""
        message = f"classes of {d.source}{_but(d.exceptions)}: {what}{more}{note}."
        groups = [
            [plain(b, group), shown(plain(a, low)), shown(plain(a, high))]
            for group, low, high in intervals
        ]
        suggestion = {"from": d.source, "groups": groups}
        code = "groups-of"
    else:
        message = (
            f"each of the {len(a.levels):,} levels of {d.source} has one of its {len(b.levels):,} "
            f"levels{_but(d.exceptions)}{note}."
        )
        suggestion = {"from": d.source}
        code = "determined-by"
    strength = Strength.LIKELY if d.exceptions else Strength.CERTAIN
    return Finding(
        code, (d.target, d.source), message, strength, both, both / table.n_rows, suggestion
    )


def _intervals(a: Column, b: Column, cuts: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return the codes of each group and of the smallest and largest value of the source in it."""
    n_a, n_b = len(a.levels), len(b.levels)
    both = (a.codes < n_a) & (b.codes < n_b)
    which = np.searchsorted(cuts, a.codes[both])
    out = []
    used = np.flatnonzero(a.counts[:n_a])
    for k in range(len(cuts) + 1):
        group = int(np.bincount(b.codes[both][which == k], minlength=n_b).argmax())
        inside = used[np.searchsorted(cuts, used) == k]
        out.append((group, int(inside[0]), int(inside[-1])))
    return out
