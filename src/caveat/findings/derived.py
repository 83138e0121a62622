"""What holds between columns in every row: columns that fix others, and rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from caveat.expressions.parser import Rule, fixed, is_one_of, literal, named, suggest
from caveat.findings.profile import Finding, Strength, listed, plain, plural, shown, shown_level
from caveat.table.table import Column, Kind, Table

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


# -------------------------------------------------------------------------------------------------
# Rules that hold in every row: missing together, missing when, a <= b, a level that fixes
# another.
#
# Only rules that the data would break often if the columns had nothing to do with each other are
# reported, and none that follows from another one.


# Rows that a rule must be about.
SUPPORT = 30
# Share of rows that would break a <= b if the columns were independent.
ORDER_CHANCE = 0.02
# Levels of a column that may stand in "level of a implies level of b".
RULE_LEVELS = 20
# Share of the rows that may break "level of a implies level of b".
RULE_EXCEPTIONS = 0.001
# A level that nearly all rows have follows from everything.
COMMON = 0.9
# How many rules of a sort are shown.
MOST_RULES = 12


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Columns that are missing in the same rows."""

    columns: tuple[str, ...]
    missing: NDArray[np.bool_]
    rows: int


def _patterns(table: Table) -> list[_Pattern]:
    groups: dict[bytes, list[str]] = {}
    flags: dict[bytes, NDArray[np.bool_]] = {}
    for name in table:
        missing = table[name].is_missing
        rows = int(missing.sum())
        if SUPPORT <= rows <= len(missing) - SUPPORT:
            key = np.packbits(missing).tobytes()
            groups.setdefault(key, []).append(name)
            flags[key] = missing
    return [_Pattern(tuple(g), flags[k], int(flags[k].sum())) for k, g in groups.items()]


def find_missing_patterns(
    table: Table, names: Sequence[str], explained: Sequence[frozenset[str]]
) -> list[Finding]:
    """Find columns missing in the same rows, and the values of others that go with it."""
    findings = []
    patterns = _patterns(table)
    for pattern in patterns:
        columns, rows = pattern.columns, pattern.rows
        if len(columns) > 1 and not any(set(columns) <= e for e in explained):
            message = f"{len(columns)} columns are missing in the same {rows:,} rows."
            share = rows / table.n_rows
            findings.append(Finding("missing-together", columns, message, rows=rows, share=share))
    reasons: dict[_Reason, list[str]] = {}
    for pattern in sample_columns(patterns, MOST_COLUMNS):
        reason = _reason(table, names, pattern)
        if reason is not None:
            reasons.setdefault(reason, []).extend(pattern.columns)
    return [*findings, *(_missing_when(table, r, columns) for r, columns in reasons.items())]


def _missing_when(table: Table, reason: _Reason, columns: Sequence[str]) -> Finding:
    which = listed(columns, 3)
    be = "is" if len(columns) == 1 else "are"
    always = "exactly where" if reason.exact else "wherever"
    rules = [rule for name in columns for rule in _skips(table, reason, name)]
    condition = f"{reason.column} {reason.words}"
    apart = f", {plural(reason.exceptions, 'exception')}" if reason.exceptions else ""
    return Finding(
        "missing-when",
        (*columns, reason.column),
        f"{which} {be} missing {always} {condition} ({plural(reason.rows, 'row')}{apart}).",
        rows=reason.rows,
        share=reason.rows / table.n_rows,
        suggestion=suggest(rules),
    )


def _skips(table: Table, reason: _Reason, name: str) -> Iterator[Rule]:
    """Return the rule that a column is missing for the reason, and the other way round if exact."""
    source, column = table[reason.column], table[name]
    for_it = np.isin(np.arange(source.n_levels), reason.codes)[source.codes]
    ways = np.unique(column.codes[for_it & column.is_missing]) - len(column.levels)
    code = column.missing[ways[0]].code
    empty = code is None or code != code
    # A rule gives one value, and the word "missing" means the first way to be missing.
    if len(ways) > 1 or (empty and ways[0] > 0):
        return
    value = "missing" if empty else literal(code)
    yield fixed(reason.column, reason.condition, name, value)
    if reason.exact and len(reason.codes) == 1 and source.kind is not Kind.DATETIME:
        condition = f"missing({named(name)})" if empty else is_one_of(name, [code])
        level = literal(plain(source, reason.codes[0]))
        yield fixed(name, condition, reason.column, level)


def _reason(table: Table, names: Sequence[str], pattern: _Pattern) -> _Reason | None:
    """Find the column whose values explain as many rows of the pattern as possible."""
    found = []
    for name in names:
        column = table[name]
        if name in pattern.columns:
            continue
        reason = None
        if len(column.levels) <= RULE_LEVELS:
            reason = _levels(column, name, pattern)
        elif column.kind.is_number:
            reason = _threshold(column, name, pattern)
        if reason is not None:
            found.append(reason)
    return max(found, key=lambda reason: (reason.exact, reason.rows), default=None)


@dataclass(frozen=True, slots=True)
class _Reason:
    """A condition on a column under which others are missing, in words and in formal language."""

    column: str
    words: str
    condition: str
    codes: tuple[int, ...]
    exact: bool
    rows: int
    exceptions: int = 0


def _by_code(
    column: Column, flags: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the rows of each code, and those of them that are flagged."""
    return column.counts, np.bincount(column.codes[flags], minlength=column.n_levels)


def _threshold(column: Column, name: str, pattern: _Pattern) -> _Reason | None:
    """Whether all rows below or above some value are missing."""
    counts, missing = (c[: len(column.levels)] for c in _by_code(column, pattern.missing))
    used = np.flatnonzero(counts)
    full = missing[used] == counts[used]
    if full.all() or not full.any():
        return None
    low, high = int(np.argmin(full)), len(full) - int(np.argmin(full[::-1]))
    below, above = int(counts[used[:low]].sum()), int(counts[used[high:]].sum())
    rows = max(below, above)
    if rows < SUPPORT or rows * (1 - pattern.rows / len(column)) < CHANCE_ROWS:
        return None
    if below >= above:
        side, sign, codes, end = "most", "<=", used[:low], used[low - 1]
    else:
        side, sign, codes, end = "least", ">=", used[high:], used[high]
    words = f"is at {side} {shown_level(column, end)}"
    condition = f"{named(name)} {sign} {literal(plain(column, end))}"
    return _Reason(name, words, condition, tuple(codes), rows == pattern.rows, rows)


def _levels(column: Column, name: str, pattern: _Pattern) -> _Reason | None:
    """Which levels go with missing in every row, or in nearly every row."""
    n = len(column.levels)
    counts, missing = (c[:n] for c in _by_code(column, pattern.missing))
    by_chance = 1 - pattern.rows / len(column)
    known = counts - missing
    full = np.flatnonzero((known <= EXCEPTIONS * by_chance * counts) & (counts >= SUPPORT))
    rows, exceptions = int(missing[full].sum()), int(known[full].sum())
    if not len(full) or rows * by_chance < CHANCE_ROWS:
        return None
    what = " or ".join(shown_level(column, i) for i in full[:4])
    what = f"is {what}" if len(full) <= 4 else f"has one of {len(full)} levels"
    condition = is_one_of(name, [plain(column, i) for i in full])
    exact = rows == pattern.rows and not exceptions
    return _Reason(name, what, condition, tuple(full), exact, rows, exceptions)


def find_orders(
    table: Table, names: Sequence[str], explained: Sequence[frozenset[str]]
) -> list[Finding]:
    """Find pairs of numeric or date columns of which one is never larger than the other."""
    rows = sample_rows(table.n_rows, SCREEN_ROWS)
    values = {name: _values(table[name]) for name in names}
    known = _pairs(explained)
    holds: dict[tuple[str, str], tuple[int, float]] = {}
    for a in names:
        for b in names:
            same_sort = (table[a].levels.dtype.kind == "M") == (table[b].levels.dtype.kind == "M")
            if a == b or not same_sort or (a, b) in known:
                continue
            with np.errstate(invalid="ignore"):
                if np.any(values[a][rows] > values[b][rows]) or np.any(values[a] > values[b]):
                    continue
            chance, both = _chance(values[a], values[b])
            if chance >= ORDER_CHANCE and chance * both >= CHANCE_ROWS:
                holds[a, b] = (both, chance)
    # Of columns that are equal throughout only the first one speaks.
    equal = {b for a, b in holds if (b, a) in holds and names.index(a) < names.index(b)}
    holds = {pair: v for pair, v in holds.items() if not equal & set(pair)}
    direct = {
        (a, b): v
        for (a, b), v in holds.items()
        if not any((a, c) in holds and (c, b) in holds for c in names)
    }
    findings = []
    for (a, b), (both, _) in direct.items():
        strict = not np.any(values[a] == values[b])
        sign = "<" if strict else "<="
        message = f"{a} {sign} {b} in all {both:,} rows where neither is missing."
        findings.append(
            Finding(
                "order",
                (a, b),
                message,
                rows=both,
                share=both / table.n_rows,
                suggestion=suggest([Rule(a, b, f"{named(a)} <= {named(b)}")]),
            )
        )
    return _most(findings)


def _pairs(explained: Sequence[frozenset[str]]) -> set[tuple[str, str]]:
    """Return the pairs of columns, either way round, of which something better is known."""
    return {pair for columns in explained for pair in permutations(columns, 2)}


def _values(column: Column) -> NDArray[np.float64]:
    return np.append(column.numbers, np.full(len(column.missing), np.nan))[column.codes]


def _chance(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[float, int]:
    """Return how often a > b would be if the columns were independent, and the rows with both.

    Zeros are left out: they are below everything whatever the scale of the other column.
    """
    both = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    n = int(both.sum())
    if n < SUPPORT:
        return 0.0, n
    sorted_b = np.sort(b[both])
    return float(np.searchsorted(sorted_b, a[both], "left").mean() / n), n


def find_implications(
    table: Table, names: Sequence[str], explained: Sequence[frozenset[str]]
) -> list[Finding]:
    """Find levels of short factors that always go with one level of another one."""
    rows = sample_rows(table.n_rows, SCREEN_ROWS)
    known = _pairs(explained)
    found: dict[tuple[str, int, str], int] = {}
    from_level: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for a in names:
        for b in names:
            if a != b and (a, b) not in known:
                for i, j in _implied(table[a], table[b], rows):
                    found[a, i, b] = j
                    from_level.setdefault((a, i), []).append((b, j))
    direct = {
        (a, i, b): j
        for (a, i, b), j in found.items()
        # a => c => b gives a => b as well
        if not any(c != b and found.get((c, k, b)) == j for c, k in from_level[a, i])
    }
    grouped: dict[tuple[str, str, int], list[int]] = {}
    for (a, i, b), j in direct.items():
        grouped.setdefault((a, b, j), []).append(i)
    position = {name: k for k, name in enumerate(names)}
    findings = []
    for (a, b, j), levels in grouped.items():
        both_ways = len(levels) == 1 and grouped.get((b, a, levels[0])) == [j]
        if both_ways and position[b] < position[a]:
            continue  # said from the other side
        if not _reversed(table, a, b, levels, j, grouped):
            findings.append(_implication(table, a, b, levels, j, both_ways))
    findings.sort(key=lambda f: -f.suggestion["chance"])
    return _most(findings)


def _implied(a: Column, b: Column, rows: NDArray[np.int64] | slice) -> list[tuple[int, int]]:
    """Return pairs of codes: where the first stands, the known cells of ``b`` are the second."""
    counts = count_pairs(a, b, rows)
    if not _nearly_one(counts, SCREEN_SLACK).any():
        return []
    if not isinstance(rows, slice):
        counts = count_pairs(a, b, slice(None))
    shares = counts.sum(axis=0) / max(int(counts.sum()), 1)
    out = []
    for i in np.flatnonzero(_nearly_one(counts)):
        j = int(counts[i].argmax())
        n = int(counts[i].sum())
        if n >= SUPPORT and shares[j] <= COMMON and n * (1 - shares[j]) >= CHANCE_ROWS:
            out.append((int(i), j))
    return out


def _nearly_one(counts: NDArray[np.int64], slack: float = 1.0) -> NDArray[np.bool_]:
    """Return the rows of a joint table that hold one column only, but for rare exceptions."""
    total, most = counts.sum(axis=1), counts.max(axis=1, initial=0)
    return np.asarray((total > 0) & (total - most <= slack * RULE_EXCEPTIONS * total + (slack > 1)))


def _reversed(
    table: Table,
    a: str,
    b: str,
    levels: list[int],
    j: int,
    grouped: dict[tuple[str, str, int], list[int]],
) -> bool:
    """Whether the same is said the other way round already (two levels each)."""
    if len(table[a].levels) != 2 or len(table[b].levels) != 2 or len(levels) != 1:
        return False
    other = grouped.get((b, a, 1 - levels[0]))
    return other == [1 - j] and list(table).index(b) < list(table).index(a)


def _implication(
    table: Table, a: str, b: str, levels: list[int], j: int, both_ways: bool
) -> Finding:
    what = " or ".join(shown_level(table[a], i) for i in levels[:4])
    what = what if len(levels) <= 4 else f"one of {len(levels)} levels"
    beside = np.isin(table[a].codes, levels) & ~table[b].is_missing
    rows = int(beside.sum())
    exceptions = rows - int((table[b].codes[beside] == j).sum())
    known = ~table[a].is_missing & ~table[b].is_missing
    share = float((table[b].codes[known] == j).mean())
    level = shown_level(table[b], j)
    rule = (
        f"{a} is {what} exactly if {b} is {level}"
        if both_ways
        else (f"if {a} is {what}, {b} is {level}")
    )
    where = f"all {rows:,} rows" if not exceptions else f"all but {exceptions} of {rows:,} rows"
    return Finding(
        "implication",
        (a, b),
        f"{rule} ({where}).",
        Strength.LIKELY if exceptions else Strength.CERTAIN,
        rows=rows,
        share=rows / table.n_rows,
        suggestion={
            **suggest(list(_consequences(table, a, b, levels, j, both_ways))),
            "chance": round(rows * (1 - share), 1),
        },
    )


def _consequences(
    table: Table, a: str, b: str, levels: list[int], j: int, both_ways: bool
) -> Iterator[Rule]:
    """Return the rules of an implication, unless they would fill cells that are missing."""
    ways = [(a, levels, b, j), *([(b, [j], a, levels[0])] if both_ways else [])]
    for source, when, target, then in ways:
        beside = table[target].codes[np.isin(table[source].codes, when)]
        others = int((beside != then).sum())
        if others <= RULE_EXCEPTIONS * len(beside) and table[target].kind is not Kind.DATETIME:
            condition = is_one_of(source, [plain(table[source], i) for i in when])
            yield fixed(source, condition, target, literal(plain(table[target], then)))


def _most(findings: list[Finding]) -> list[Finding]:
    """Keep the first rules of a sort and say how many were left out."""
    if len(findings) <= MOST_RULES:
        return findings
    rest = len(findings) - MOST_RULES
    message = f"{plural(rest, 'further rule')} of this kind are not listed."
    return [*findings[:MOST_RULES], Finding(findings[0].code, (), message)]
