"""From microdata to tables of which some cells are hidden, audited and widened."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.outputs.audit import (
    Interval,
    Leak,
    bounds,
    insiders,
    recoverable_by_any,
    room,
    too_narrow,
)
from caveat.outputs.elimination import (
    Owners,
    Problem,
    Progress,
    Refusal,
    Rule,
    Suppressed,
    as_column,
    by_worth,
    suppress,
)
from caveat.outputs.primary import (
    Contributors,
    Earlier,
    PrimaryRules,
    Reason,
    Settled,
    contributors_of,
    primary_cells,
    settle,
)
from caveat.outputs.tables import TOTAL, Cells, Hierarchy, Layout, cells_of, only_rows
from caveat.showing import without_values
from caveat.table import Column, Table
from caveat.table.table import survey_weights

Bools = NDArray[np.bool_]
TRIES = 8  # cells that are tried for each that is known too closely
MORE = 4  # cells that are hidden for one at most
LARGEST = 1000  # inner cells of a sum whose other cells are looked at


@dataclass(frozen=True, eq=False)
class Widened:
    """What became of hidden cells that were known too closely.

    Attributes
    ----------
    protects
        The further cells that are hidden, with the cell that each of them protects.
    found
        What is now known about each cell that was known too closely.
    """

    protects: dict[int, int]
    found: tuple[Interval, ...]

    __repr__ = without_values


def widen(
    matrix: Any,
    values: NDArray[Any],
    hidden: Bools,
    narrow: Sequence[Interval],
    fixed: Bools,
    *,
    share: float,
    whole: bool = False,
    least: int = 0,
    seconds: float = np.inf,
) -> Widened:
    """Hide further cells so that others are known less closely.

    Hiding takes an equation away: no interval becomes narrower.

    Parameters
    ----------
    matrix, values, hidden, whole, least
        As for :func:`caveat.outputs.audit.bounds`.
    narrow
        The cells that are known too closely.
    fixed
        The cells that cannot be hidden any more.
    share
        Less room than this share of the value, on either side, is too narrow.
    seconds
        When to stop.

    Examples
    --------
    >>> matrix = sp.csc_array([[1, 0, 0, 1, 0], [0, 1, 0, 1, 1], [0, 0, 1, 0, 1]])
    >>> values = np.array([100, 1, 1]) @ matrix  # the first two are 101, the last two 2
    >>> hidden = np.array([True, True, True, False, False])
    >>> narrow = bounds(matrix, values, hidden, [0])
    >>> done = widen(matrix, values, hidden, narrow, ~np.ones(5, bool), share=0.1)
    >>> done.protects, done.found[0].high
    ({3: 0}, inf)
    """
    hidden = np.asarray(hidden, bool).copy()
    options: dict[str, Any] = {"whole": whole, "least": least}
    end, found = time.monotonic() + seconds, []
    protects: dict[int, int] = {}
    for one in narrow:
        mine: list[int] = []
        now = one
        while time.monotonic() < end:
            if mine or protects:  # what was hidden for others may be enough
                now = bounds(matrix, values, hidden, [one.cell], **options)[0]
            around = _around(matrix, hidden, fixed, one.cell)
            done = not too_narrow([now], values, share, whole=whole)
            if done or len(mine) == MORE or not len(around):
                break
            around = around[np.argsort(values[around], kind="stable")][:TRIES]
            chosen = _best(matrix, values, hidden, one.cell, around.tolist(), share, end, options)
            mine.append(chosen)
            hidden[mine[-1]] = True
        found.append(_without_needless(matrix, values, hidden, now, mine, share, options))
        protects |= {more: one.cell for more in mine if hidden[more]}
    return Widened(protects, tuple(found))


def _without_needless(
    matrix: Any, values: NDArray[Any], hidden: Bools, now: Interval, mine: Sequence[int],
    share: float, options: dict[str, Any],
) -> Interval:  # fmt: skip
    """Show again what is not needed with the cells that were hidden later."""
    for more in mine[:-1]:
        hidden[more] = False
        then = bounds(matrix, values, hidden, [now.cell], **options)[0]
        if too_narrow([then], values, share, whole=options["whole"]):
            hidden[more] = True
        else:
            now = then
    return now


def _around(matrix: Any, hidden: Bools, fixed: Bools, cell: int) -> NDArray[np.int64]:
    """Return the cells that stand in one sum with another cell, or with what stands in one.

    A sum that cannot be hidden tells as much as any other: its parts are looked at as well.
    """
    columns, by_row = sp.csc_array(matrix), sp.csr_array(matrix)
    sizes = np.diff(columns.indptr)
    rows = columns.indices[columns.indptr[cell] : columns.indptr[cell + 1]]
    sums = np.unique(by_row[rows].indices)
    sums = sums[~hidden[sums]]
    small = sums[sizes[sums] <= LARGEST]
    rows = np.unique(np.append(rows, columns[:, small].indices))
    around = np.unique(np.append(sums, by_row[rows].indices)).astype(np.int64)
    return around[~(hidden | fixed)[around]]


def _best(
    matrix: Any,
    values: NDArray[Any],
    hidden: Bools,
    cell: int,
    around: Sequence[int],
    share: float,
    end: float,
    options: dict[str, Any],
) -> int:
    """Return the first cell without which another is not known too closely; else least closely."""
    widest, best = -np.inf, around[0]
    for more in around:
        if time.monotonic() > end:
            break
        hidden[more] = True
        now = bounds(matrix, values, hidden, [cell], **options)[0]
        hidden[more] = False
        if not too_narrow([now], values, share, whole=options["whole"]):
            return more
        space = room(now, values[cell], whole=options["whole"])
        if space > widest:
            widest, best = space, more
    return best


# -------------------------------------------------------------------------------------------------
# From microdata to tables of which some cells are hidden, audited.


ROUNDS = 10
MOST_INTERVALS, SECONDS = 200, 60.0
MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Inner:
    """The cells of tables with what the records say about their inner cells.

    Attributes
    ----------
    cells
        The cells.
    amounts
        The sum of each inner cell: records or weights, or weighted values.
    counts
        The number of records of each inner cell.
    given
        Who contributes how much.
    is_count
        Whether the tables count records.
    several
        Whether a contributor has several records.
    """

    cells: Cells
    amounts: NDArray[Any]
    counts: NDArray[np.int64]
    given: Contributors
    is_count: bool
    several: bool = False

    __repr__ = without_values

    @property
    def values(self) -> NDArray[Any]:
        """The value of each cell."""
        return self.cells.sums(self.amounts)


@dataclass(frozen=True, eq=False)
class Publication:
    """Tables with hidden cells.

    Attributes
    ----------
    cells, values
        The cells and their values; confidential.
    reasons
        Why a cell is hidden by itself; None where it is not.
    done
        The pattern; what an earlier publication hides is primary.
    settled
        What an earlier publication has told already.
    leaks
        What single contributors could still compute; empty unless the rules could not prevent it.
    leaks_before
        What they can compute from an earlier publication alone.
    intervals, narrow
        What hidden cells are known to lie in, of the first primary cells, and those of them that
        are known too closely.
    added
        How many cells are hidden only so that others are known less closely.
    recovered
        The primary cells that follow from published ones: by the audit, which knows nothing of how
        the pattern was found.
    """

    cells: Cells
    values: NDArray[Any]
    reasons: NDArray[Any]
    done: Suppressed
    settled: Settled
    leaks: tuple[Leak, ...]
    leaks_before: tuple[Leak, ...]
    intervals: tuple[Interval, ...]
    narrow: tuple[Interval, ...]
    added: int = 0
    recovered: tuple[int, ...] = ()

    __repr__ = without_values


def inner_cells(
    table: Table,
    layouts: Sequence[Layout],
    parents: Mapping[str, Mapping[str, str]] | None = None,
    *,
    value: str | None = None,
    weight: str | None = None,
    contributor: str | None = None,
    every: bool = False,
    total: str = TOTAL,
) -> Inner:
    """Lay tables over microdata.

    Parameters
    ----------
    table
        The microdata.
    layouts
        The tables.
    parents
        For columns with a hierarchy: for each code the code above it.
    value
        The column that is added up; records are counted if not given. Records without a value
        are in no cell.
    weight
        The column that says how many each record stands for.
    contributor
        The column that says to whom a record belongs; each record is its own if not given.
    every
        Whether combinations that no record has may be shown as zeros, and be hidden.
    total
        What totals are called.
    """
    if not table.n_rows:
        raise CaveatError(
            "the data have no rows",
            where="tables",
            do="give a file with records",
            code="data.table.empty",
        )
    names = tuple(dict.fromkeys(name for layout in layouts for name in layout.by))
    amounts, there = _amounts(table, value)
    trees, codes = {}, {}
    for name in names:
        labels, found = _labels(table[name])
        codes[name] = found[there]
        trees[name] = Hierarchy.of(labels, (parents or {}).get(name), total=total, column=name)
    cells = cells_of(codes, trees, layouts, every=every)
    weights = None if weight is None else survey_weights(table[weight], weight)[there]
    who = None if contributor is None else table[contributor].codes.astype(np.int64)[there]
    given = contributors_of(cells.row_of, who, weights, amounts)
    n = len(cells.inner)
    each = np.ones(len(cells.row_of)) if amounts is None else amounts
    sums = np.bincount(cells.row_of, each if weights is None else each * weights, n)
    is_count = value is None
    if is_count and weights is None:
        sums = sums.astype(np.int64)
    counts = np.bincount(cells.row_of, minlength=n)
    several = who is not None and len(np.unique(who)) < len(who)
    return Inner(cells, sums, counts, given, is_count, several)


def publish(
    inner: Inner,
    rules: PrimaryRules | None = None,
    *,
    earlier: Earlier | None = None,
    share: float = 0.1,
    progress: Progress | None = None,
) -> Publication:
    """Hide the cells that tell too much, and those from which they could be computed.

    Parameters
    ----------
    inner
        The tables, from :func:`inner_cells`.
    rules
        The primary rules.
    earlier
        What is published already. Those tables are in `inner` too; they stay as they are.
    share
        A hidden cell with an upper or a lower bound that is nearer to its value than this share of
        it is known too closely; a count if its bounds are nearer to each other.
    progress
        Called with the number of cells done and of all.
    """
    rules = rules or PrimaryRules()
    cells, values = inner.cells, inner.values
    reasons, owner, row_owner = primary_cells(cells, inner.given, rules)
    if rules.zeros and not inner.given.negative:
        reasons[(values == 0) & (reasons == None)] = Reason.ZERO  # noqa: E711
    settled = settle(cells, reasons, earlier)
    order = by_worth(values, cells.matrix)
    alike = _alike(inner, rules)
    leaks: list[Leak] = []
    before: list[Leak] = []
    if inner.is_count and not inner.several:  # who counts 1 learns nothing by knowing it
        done = suppress(
            cells.matrix, settled.primary, order, zero_rows=alike, known=settled.known,
            possible=cells.possible, progress=progress,
        )  # fmt: skip
    else:
        owners = Owners(row_owner, owner)
        virtual = _virtual(inner, rules, settled.primary, owners)
        done, leaks, before = _against_insiders(
            cells, settled, order, alike, owners, virtual, progress
        )
    intervals, added = _bounded(inner, rules, settled, reasons, done, share)
    if added:
        secondary = done.secondary.copy()
        secondary[list(added)] = True
        closer = {more: Refusal(Rule.CLOSE, cell) for more, cell in added.items()}
        done = replace(done, secondary=secondary, why={**done.why, **closer})
    recovered = np.flatnonzero(recoverable_by_any(cells.matrices, done.hidden) & done.primary)
    whole = inner.amounts.dtype.kind == "i"
    narrow = too_narrow(intervals, values, share, whole=whole)
    return Publication(
        cells, values, reasons, done, settled, tuple(leaks), tuple(before), tuple(intervals),
        tuple(narrow), len(added), tuple(recovered.tolist()),
    )  # fmt: skip


def _bounded(
    inner: Inner,
    rules: PrimaryRules,
    settled: Settled,
    reasons: NDArray[Any],
    done: Suppressed,
    share: float,
) -> tuple[list[Interval], dict[int, int]]:
    """Bound the first primary cells, and hide more until they are not known too closely.

    Returns the bounds, and the further cells with what they protect.
    """
    if (inner.amounts < 0).any():
        return [], {}
    values, whole = inner.values, inner.amounts.dtype.kind == "i"
    options: dict[str, Any] = {"whole": whole, "least": int(whole and not rules.zeros)}
    # What was hidden earlier was so perhaps only to protect others.
    first = np.flatnonzero(done.primary & (reasons != Reason.EARLIER))[:MOST_INTERVALS]
    hidden, end = done.hidden.copy(), time.monotonic() + SECONDS
    found: dict[int, Interval] = {}
    protects: dict[int, int] = {}
    for matrix, mine in _by_knowledge(inner.cells, first):
        found |= {
            one.cell: one
            for one in bounds(
                matrix, values, hidden, mine, seconds=end - time.monotonic(), **options
            )
        }
    for matrix, mine in _by_knowledge(inner.cells, first):
        narrow = too_narrow(
            [found[cell] for cell in mine if cell in found], values, share, whole=whole
        )
        if narrow:
            wider = widen(
                matrix, values, hidden, narrow, settled.known, share=share, seconds=SECONDS,
                **options,
            )  # fmt: skip
            found |= {one.cell: one for one in wider.found}
            protects |= wider.protects
            hidden[list(wider.protects)] = True
    return [found[cell] for cell in first.tolist() if cell in found], protects


def _by_knowledge(cells: Cells, which: NDArray[np.int64]) -> list[tuple[Any, list[int]]]:
    """Return cells with the matrix of those who know most about them.

    Who knows of nested columns knows others to be empty: these are bounded for those who do not.
    """
    impossible = cells.impossible[which]
    parts = [(cells.matrices[-1], which[~impossible]), (cells.matrix, which[impossible])]
    return [(matrix, part.tolist()) for matrix, part in parts if len(part)]


def _alike(inner: Inner, rules: PrimaryRules) -> NDArray[np.bool_] | None:
    """Return the inner cells that protect each other in no sum, if they are hidden.

    Zeros, unless negative values may add up to one; or, in counts, ones where it is known which
    cells are empty.
    """
    if rules.zeros:
        return None if inner.given.negative else np.asarray(inner.amounts == 0)
    hides = rules.singles or (rules.least or 0) > 1
    return inner.counts == 1 if inner.is_count and hides else None


def _against_insiders(
    cells: Cells,
    settled: Settled,
    order: NDArray[np.int64],
    alike: NDArray[np.bool_] | None,
    owners: Owners,
    virtual: list[Any],
    progress: Progress | None,
) -> tuple[Suppressed, list[Leak], list[Leak]]:
    """Protect against single contributors too, again as long as the audit finds one who learns.

    Returns the pattern, what they could still compute, and what they can from what is known.
    """
    primary, known = settled.primary, settled.known
    columns = owners.columns
    before: list[Leak] = []
    if known.any():
        before = _insiders(cells, ~known, primary, owners)
        virtual = _not_known(cells, known, virtual)
    out = {(leak.owner, leak.cell) for leak in before}
    tried = columns.copy()
    tried[[leak.cell for leak in before]] = Problem.VIRTUAL
    leaks: list[Leak] = []
    for _ in range(ROUNDS):
        done = suppress(
            cells.matrix, primary, order, zero_rows=alike, owners=replace(owners, columns=tried),
            virtual=virtual, known=known, possible=cells.possible, progress=progress,
        )  # fmt: skip
        found = _insiders(cells, done.hidden, primary, owners)
        leaks = [leak for leak in found if (leak.owner, leak.cell) not in out]
        if not leaks:
            break
        virtual += [leak.column for leak in leaks]
    return done, leaks, before


def _insiders(
    cells: Cells, hidden: NDArray[np.bool_], targets: NDArray[np.bool_], owners: Owners
) -> list[Leak]:
    """Return what single contributors can compute, with or without knowledge of nested columns."""
    found = [
        leak for matrix in cells.matrices
        for leak in insiders(matrix, hidden, targets, owners.columns, owners.rows)
    ]  # fmt: skip
    return list({(leak.owner, leak.cell): leak for leak in found}.values())


def _not_known(cells: Cells, known: NDArray[np.bool_], virtual: list[Any]) -> list[Any]:
    """Return the columns that do not follow from known cells: others cannot be protected."""
    if not virtual:
        return []
    n = len(cells.inner)
    whole = sp.hstack([cells.matrix[:, known], *(as_column(one, n) for one in virtual)])
    hidden = np.arange(whole.shape[1]) >= known.sum()
    matrices = [whole] if cells.possible is None else [whole, only_rows(whole, cells.possible)]
    follows = recoverable_by_any(matrices, hidden)[hidden]
    return [one for one, told in zip(virtual, follows, strict=True) if not told]


def _virtual(
    inner: Inner, rules: PrimaryRules, primary: NDArray[np.bool_], owners: Owners
) -> list[Any]:
    """Return further columns to protect.

    What all primary cells below a total add up to, which is left of it when the others are shown:
    if too few contribute to it, or it is two cells of which one has a single contributor. And inner
    cells of single contributors who have no cell themselves.
    """
    cells, owner, n = inner.cells, owners.columns, len(inner.cells.inner)
    parts = [below[primary[below]] for _, below in cells.families()]
    parts = [part for part in parts if len(part) > 1]
    columns: list[Any] = []
    if parts:
        ends = np.cumsum([0, *map(len, parts)])
        which = sp.csc_array(
            (np.ones(ends[-1], np.int64), np.concatenate(parts), ends), (cells.n_cells, len(parts))
        )
        sums = sp.csc_array(cells.matrix @ which)
        # Of contributors alone: whatever else the rules say holds of cells.
        few = replace(rules, dominance=None, p_percent=None, zeros=False)
        as_cells = replace(cells, keys=np.zeros((len(parts), 0), np.int64), matrix=sums)
        reasons, *_ = primary_cells(as_cells, inner.given, few)
        columns = [
            sums[:, [i]]
            for i, part in enumerate(parts)
            if reasons[i] is not None or (len(part) == 2 and (owner[part] >= 0).any())
        ]
    shown = set(owner[primary].tolist())
    alone = [row for row in np.flatnonzero(owners.rows >= 0) if owners.rows[row] not in shown]
    return columns + [sp.csc_array(([1], ([row], [0])), shape=(n, 1)) for row in alone]


def _labels(column: Column) -> tuple[list[str], NDArray[np.int64]]:
    """Return the codes that occur as text, and which of them each record has."""
    compact = column.compact()
    names = [str(level) for level in compact.levels.tolist()]
    names += [MISSING if way.code in (None, "") else str(way) for way in compact.missing]
    if len(set(names)) < len(names):
        names = [f"{name} ({i + 1})" if names.count(name) > 1 else name
                 for i, name in enumerate(names)]  # fmt: skip
    return names, compact.codes.astype(np.int64)


def _amounts(
    table: Table, value: str | None
) -> tuple[NDArray[np.float64] | None, NDArray[np.bool_]]:
    """Return what is added up, and which records have it; no amounts if records are counted."""
    if value is None:
        return None, np.ones(table.n_rows, bool)
    amounts = _numbers(table[value], value)
    # Who has no value is in no cell: one of nobody else has no value either, which is not 0.
    there = ~np.isnan(amounts)
    if not there.any():
        raise CaveatError(
            "no record has a value",
            column=value,
            do="choose another column",
            code="data.column.empty",
        )
    return amounts[there], there


def _numbers(column: Column, name: str) -> NDArray[np.float64]:
    if not column.kind.is_number:
        raise CaveatError(
            "values must be numbers",
            column=name,
            do="choose another column",
            code="data.column.type",
        )
    return column.cell_numbers
