# mypy: disable-error-code="no-untyped-def"
"""Secondary suppression by Gaussian elimination (Langsrud 2024)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress as suppress_error
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import product
from math import gcd
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.compiling import kernel
from caveat.errors import CaveatError
from caveat.outputs.audit import (
    EMPTY,
    OVERFLOW,
    ROOM,
    Columns,
    clear,
    is_set,
    load,
    next_row,
    reduce,
    store,
    subtract,
)
from caveat.outputs.tables import only_rows
from caveat.showing import without_values
from caveat.stopping import stop_if_told

Ints = NDArray[np.int64]
Zeros = Literal["", "subspace", "any-sum"]


class Rule(IntEnum):
    """Why a cell may not be published beside what is published already."""

    REVEALS = 1
    ZEROS = 2
    WITHIN = 3
    COMBINATIONS = 4
    CLOSE = 5

    @property
    def words(self) -> str:
        """The rule in words."""
        return {
            Rule.REVEALS: "with it another hidden cell could be computed",
            Rule.ZEROS: "with it a sum of hidden zeros would be known to be zero",
            Rule.WITHIN: "with it a single contributor could compute another's cell",
            Rule.COMBINATIONS: "it would be a combination of one or two contributors' values",
            Rule.CLOSE: "with it another hidden cell would be known too closely",
        }[self]


class Refusal(NamedTuple):
    """A rule, and the hidden column that it protects (-1 if it is no single one)."""

    rule: Rule
    column: int


@dataclass(frozen=True)
class Problem:
    """Columns over inner cells, and the rules to keep.

    Parameters
    ----------
    matrix
        Whole numbers, inner cells by columns, as a ``scipy.sparse.csc_array``.
    primary
        The columns that may not be computed.
    n_ordinary
        How many rows stand before those of zeros or of single contributors.
    n_unlike
        How many rows stand before those that cannot protect each other, as zeros cannot.
    row_owner
        The contributor of each row, -1 where there are several.
    column_owner
        The contributor of each column; -1 where there are several, `VIRTUAL` for one that needs no
        protection against single contributors.
    zeros, within, combinations
        The rules.
    """

    matrix: Any
    primary: Ints
    n_ordinary: int
    n_unlike: int
    row_owner: Ints
    column_owner: Ints
    zeros: Zeros = ""
    within: bool = False
    combinations: bool = False

    VIRTUAL: ClassVar[int] = -2

    __repr__ = without_values

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return int(self.matrix.shape[1])

    def entries(self, j: int) -> Iterator[tuple[int, int]]:
        """Return the entries of a column."""
        part = slice(self.matrix.indptr[j], self.matrix.indptr[j + 1])
        rows, values = self.matrix.indices[part].tolist(), self.matrix.data[part].tolist()
        return zip(rows, values, strict=True)


# -------------------------------------------------------------------------------------------------
# Elimination as it is written in the paper, with whole numbers of any size.
#
# Every column is kept fully reduced: slow, short, and never at the end of 64 bits. `elimination`
# does the same with compiled loops and comes here when a number outgrows them; its tests compare
# the two.


Sparse = dict[int, int]


class Eager:
    """One elimination: columns as dictionaries from the place of a row to its entry."""

    def __init__(self, problem: Problem, rows: Sequence[int]) -> None:
        place = {int(row): position for position, row in enumerate(rows)}
        self.problem = problem
        self.special = int(problem.n_ordinary)
        self.alike = int(problem.n_unlike)
        self.owner = [int(problem.row_owner[row]) for row in rows]
        self.columns = [
            {place[row]: value for row, value in problem.entries(j)}
            for j in range(problem.n_columns)
        ]
        self.waiting = set(range(problem.n_columns)) - set(problem.primary.tolist())
        self.touched: set[int] = set()

    def attempt(self, j: int, *, known: bool = False) -> Refusal | bool | None:
        """Say whether a column may be published: None if it depends, False if it may be."""
        column = self.columns[j]
        if not column:
            return None
        refused = None if known else self._as_pivot(column)
        if refused:
            return Refusal(refused, -1)
        top = min(column)
        for p in self.problem.primary.tolist():
            if top in self.columns[p]:
                left = _without(self.columns[p], column, top)
                if not left:
                    return Refusal(Rule.REVEALS, p)
                if self._is_one_contributors(left, int(self.problem.column_owner[p])):
                    return Refusal(Rule.WITHIN, p)
        return False

    def publish(self, j: int) -> None:
        """Eliminate by a column that may be published."""
        self.waiting.discard(j)
        column = self.columns[j]
        if not column:
            return
        top = min(column)
        if self.problem.zeros and top >= self.alike:
            self.touched |= set(column)
        for k in [*self.waiting, *self.problem.primary.tolist()]:
            if top in self.columns[k]:
                self.columns[k] = _without(self.columns[k], column, top)

    def _as_pivot(self, column: Sparse) -> Rule | None:
        """Return the rule by which a column may not eliminate, if there is one."""
        if min(column) < self.special:
            return None
        if self.problem.combinations:
            owners = {self.owner[row] for row in column} - {-1}  # an empty cell is nobody's
            if 1 <= len(owners) <= 2:
                return Rule.COMBINATIONS
        if min(column) < self.alike:
            return None
        if self.problem.zeros == "subspace":
            return Rule.ZEROS
        if self.problem.zeros == "any-sum":
            signs = {value > 0 for value in column.values()}
            if len(signs) == 1 or self.touched & set(column):
                return Rule.ZEROS
        return None

    def _is_one_contributors(self, left: Sparse, owner: int) -> bool:
        if not self.problem.within or owner == self.problem.VIRTUAL or min(left) < self.special:
            return False
        found = {self.owner[row] for row in left}
        return len(found) == 1 and not found & {owner, -1}


def _without(column: Sparse, pivot: Sparse, row: int) -> Sparse:
    """Return the column with a multiple of the pivot taken away, so that the row is gone."""
    common = gcd(column[row], pivot[row])
    times, take = pivot[row] // common, column[row] // common
    if times < 0:
        times, take = -times, -take
    out = {r: times * value for r, value in column.items()}
    for r, value in pivot.items():
        out[r] = out.get(r, 0) - take * value
    out = {r: value for r, value in out.items() if value}
    divisor = gcd(*out.values()) if out else 1
    return {r: value // divisor for r, value in out.items()}


# -------------------------------------------------------------------------------------------------
# One candidate of an elimination, compiled: may it be published, and what follows if it is.


FREE, DEPENDS, REVEALS, ZEROS, WITHIN, COMBINATIONS = -10, 0, 1, 2, 3, 4
SUBSPACE, ANY_SUM = 1, 2


@kernel
def _as_pivot(work, mask, rules, owner, touched):
    """Return the rule by which the open column, all of it in special rows, may not eliminate."""
    special, zeros, _, combinations, alike = rules
    plus, minus, bad = False, False, False
    one, two, few = np.int64(-9), np.int64(-9), True
    row = next_row(mask, special)
    all_alike = row >= alike
    if all_alike and zeros == SUBSPACE:
        return ZEROS
    while row >= 0:
        if work[row] > 0:
            plus = True
        else:
            minus = True
        bad |= touched[row]
        who = owner[row]
        if who < 0:  # an empty cell is nobody's
            pass
        elif one == -9 or who == one:
            one = who
        elif two == -9 or who == two:
            two = who
        else:
            few = False
        row = next_row(mask, row + 1)
    if combinations and few and one != -9:
        return COMBINATIONS
    if all_alike and zeros == ANY_SUM and (bad or not (plus and minus)):
        return ZEROS
    return FREE


@kernel
def _is_one_contributors(mask, special, owner, mine):
    """Whether all rows of the open column belong to one contributor who does not own it."""
    row = next_row(mask, special)
    who = owner[row]
    while row >= 0:
        if owner[row] != who:
            return False
        row = next_row(mask, row + 1)
    return who >= 0 and who != mine


@kernel
def _change(p, pivot_column, eager, held, rules, owners, open_):
    """Take the new pivot away from a primary column, and store what is left.

    Returns DEPENDS if nothing changes, FREE if what is left may be so, or why it may not; where
    the store ends; and the topmost row.
    """
    rows, vals, start, length, pivot, _ = held
    special, _, within, _, _ = rules
    row_owner, column_owner, _ = owners
    work, mask = open_
    first, n, top, end = pivot_column
    load(rows, vals, start[p], length[p], work, mask)
    if not is_set(mask, top):
        clear(work, mask)
        return DEPENDS, end, top
    if not subtract(work, mask, top, rows, vals, first, n, vals[first]):
        return OVERFLOW, end, top
    begin = 0 if eager else top + 1
    new = reduce(work, mask, begin, special, pivot, start, length, rows, vals)
    if new < 0:
        return REVEALS if new == EMPTY else OVERFLOW, end, new
    alone = within and new >= special and column_owner[p] != -2
    if alone and _is_one_contributors(mask, special, row_owner, column_owner[p]):
        clear(work, mask)
        return WITHIN, end, new
    end = store(work, mask, rows, vals, end)
    clear(work, mask)
    return ROOM if end == ROOM else FREE, end, new


@kernel
def attempt(j, held, primaries, rules, owners, open_, staged, found):
    """Say whether a column may be published; what follows is written to `staged`, not yet done.

    `staged` has for the column and for each primary column that changes: which, where it is
    stored, its length, its topmost row; `found` how many, and the primary column of a refusal.
    """
    rows, vals, start, length, pivot, used = held
    head, following, _ = primaries
    special, within = rules[0], rules[2]
    row_owner, _, touched = owners
    work, mask = open_
    found[0], found[1] = 0, -1
    load(rows, vals, start[j], length[j], work, mask)
    top = reduce(work, mask, 0, special, pivot, start, length, rows, vals)
    if top < 0:
        return DEPENDS if top == EMPTY else OVERFLOW
    if top >= special:
        rule = _as_pivot(work, mask, rules, row_owner, touched)
        if rule != FREE:
            clear(work, mask)
            return rule
    end = store(work, mask, rows, vals, used)
    clear(work, mask)
    if end == ROOM:
        return ROOM
    staged[0, 0], staged[0, 1], staged[0, 2], staged[0, 3] = j, used, end - used, top
    n, at = end - used, 1
    eager = within and top >= special
    p = head[len(pivot)] if eager else head[top]
    while p >= 0:
        here = end
        status, end, new = _change(p, (used, n, top, end), eager, held, rules, owners, open_)
        if status == FREE:
            staged[at, 0], staged[at, 1], staged[at, 2], staged[at, 3] = p, here, end - here, new
            at += 1
        elif status != DEPENDS:
            found[1] = p
            return status
        p = following[p]
    found[0] = at
    return FREE


@kernel
def commit(held, primaries, rules, touched, staged, found):
    """Do what was staged, and return where the store ends."""
    rows, _, start, length, pivot, used = held
    head, following, in_special = primaries
    special, zeros, within, _, alike = rules
    n_rows = len(pivot)
    top = staged[0, 3]
    if not (within and top >= special):
        head[top] = -1  # all of them move
    for i in range(found[0]):
        j, first, n, row = staged[i, 0], staged[i, 1], staged[i, 2], staged[i, 3]
        start[j], length[j] = first, n
        used = first + n
        if i == 0:
            pivot[row] = j
            if zeros and row >= alike:
                for k in range(first, first + n):
                    touched[rows[k]] = True
        elif within and row >= special:
            if not in_special[j]:
                in_special[j] = True
                following[j], head[n_rows] = head[n_rows], j
        else:
            following[j], head[row] = head[row], j
    return used


# -------------------------------------------------------------------------------------------------
# Secondary suppression by Gaussian elimination (Langsrud 2024).
#
# Cells are sums of inner cells, z = X'y. A hidden cell can be computed if and only if its column
# of X depends linearly on columns of published cells. The cells are taken by their worth; one is
# published unless a hidden one could then be computed. All tables of the same data go into one X,
# so linked and hierarchical tables are protected together. All numbers are whole: nothing is
# rounded.


RULES: dict[Zeros, int] = {"": 0, "subspace": 1, "any-sum": 2}
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Suppressed:
    """Which cells stay hidden beside the primary ones.

    Attributes
    ----------
    primary, secondary
        Whether each cell is hidden by a rule about itself, or to protect others.
    why
        For each secondary cell the rule and the hidden cell that it protects (-1 if no single one).
    """

    primary: NDArray[np.bool_]
    secondary: NDArray[np.bool_]
    why: dict[int, Refusal]

    __repr__ = without_values

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Whether each cell is hidden."""
        return self.primary | self.secondary


def by_worth(values: NDArray[Any], matrix: Any) -> Ints:
    """Return the cells from the most to the least worth publishing.

    The larger value comes first; of equal values the one with more inner cells, then the one that
    stands first.

    Examples
    --------
    >>> by_worth(np.array([3, 5, 5]), sp.csc_array([[1, 0, 1], [0, 1, 1]])).tolist()
    [2, 1, 0]
    """
    sizes = np.diff(sp.csc_array(matrix).indptr)
    return np.lexsort((np.arange(len(values)), -sizes, -np.asarray(values, float))).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Owners:
    """Who contributes alone and so knows the value, and how others are protected against it.

    Parameters
    ----------
    rows, columns
        The one contributor of each inner cell and of each cell, numbered from 0; -1 where there
        are several.
    within
        None can compute a hidden cell of another.
    parallel
        This is tried in two orders of their inner cells.
    combinations
        No combination of values of one or two of them is published.
    """

    rows: NDArray[Any]
    columns: NDArray[Any]
    within: bool = True
    parallel: bool = True
    combinations: bool = True

    __repr__ = without_values


def suppress(
    matrix: Any,
    primary: NDArray[np.bool_],
    order: Sequence[int] | Ints,
    *,
    zero_rows: NDArray[np.bool_] | None = None,
    zeros: Zeros = "any-sum",
    owners: Owners | None = None,
    virtual: Sequence[Any] = (),
    known: NDArray[np.bool_] | None = None,
    possible: NDArray[np.bool_] | None = None,
    rows: Sequence[int] | Ints | None = None,
    progress: Progress | None = None,
) -> Suppressed:
    """Hide further cells until no primary cell can be computed.

    Parameters
    ----------
    matrix
        Inner cells by cells, whole numbers: a scipy sparse array. Structural zeros have no row.
    primary
        The cells that must stay hidden.
    order
        The other cells from the most to the least worth publishing; primary ones in it are skipped.
    zero_rows
        The inner cells that cannot protect each other, as zeros cannot: a sum of them that is 0
        reveals them all. The same holds of ones where all zeros are known.
    zeros
        ``any-sum`` protects every sum of such inner cells; ``subspace`` every combination of them.
    owners
        Single contributors.
    virtual
        Further columns that may not be computed, such as sums of two cells.
    known
        The cells that are published already, whatever the rules would say about them. No primary or
        virtual column may follow from them alone.
    possible
        The inner cells that can have records for a reader who knows of nested columns.
    rows
        The order of the inner cells; those of zeros or single contributors come last in any case.
    progress
        Called with the number of cells done and of all.

    Examples
    --------
    >>> sums = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
    >>> matrix = sp.csc_array(np.hstack([np.eye(4, dtype=int), sums]))  # two by two, with totals
    >>> primary = np.array([True] + [False] * 7)
    >>> np.flatnonzero(suppress(matrix, primary, [4, 5, 6, 7, 3, 2, 1]).secondary).tolist()
    [1, 2, 3]
    """
    primary = np.asarray(primary, bool)
    known = np.zeros(len(primary), bool) if known is None else np.asarray(known, bool)
    whole = _whole(matrix, len(primary))
    problems = _problems(whole, primary, zero_rows, zeros, owners, virtual, possible)
    tasks = [(one, o) for one in problems for o in _orders(one, rows, zero_rows, owners)]
    candidates = np.asarray(order, np.int64)
    candidates = candidates[~(primary | known)[candidates]]
    why = _eliminate(tasks, (np.flatnonzero(known), candidates), progress)
    return Suppressed(primary, np.isin(np.arange(len(primary)), list(why)), why)


def _problems(
    matrix: Any,
    primary: NDArray[np.bool_],
    zero_rows: NDArray[np.bool_] | None,
    zeros: Zeros,
    owners: Owners | None,
    virtual: Sequence[Any],
    possible: NDArray[np.bool_] | None,
) -> list[Problem]:
    """Return what must not be computed by anybody, and by those who know of nested columns."""
    problems = [_problem(matrix, primary, zero_rows, owners, virtual)]
    if possible is not None:
        fewer = [only_rows(as_column(one, matrix.shape[0]), possible) for one in virtual]
        nested = only_rows(matrix, possible)
        problems.append(_problem(nested, primary, zero_rows, owners, fewer))
    return problems if zero_rows is None else [replace(one, zeros=zeros) for one in problems]


def _problem(
    matrix: Any,
    primary: NDArray[np.bool_],
    zero_rows: NDArray[np.bool_] | None,
    owners: Owners | None,
    virtual: Sequence[Any],
) -> Problem:
    n_rows, n_cells = matrix.shape
    extra = [as_column(column, n_rows) for column in virtual]
    whole = sp.csc_array(sp.hstack([matrix, *extra], format="csc")) if extra else matrix
    columns = np.append(np.flatnonzero(primary), np.arange(n_cells, whole.shape[1]))
    filled = np.diff(whole.indptr) > 0
    row_owner = np.full(n_rows, -1) if owners is None else np.asarray(owners.rows)
    column_owner = np.full(n_cells, -1) if owners is None else np.asarray(owners.columns)
    alike = np.zeros(n_rows, bool) if zero_rows is None else np.asarray(zero_rows, bool)
    return Problem(
        whole,
        columns[filled[columns]].astype(np.int64),
        int((~alike & (row_owner < 0)).sum()),
        int((~alike).sum()),
        row_owner.astype(np.int64),
        np.append(column_owner, np.full(len(virtual), Problem.VIRTUAL)).astype(np.int64),
        within=owners is not None and owners.within,
        combinations=owners is not None and owners.combinations,
    )


def _orders(
    problem: Problem,
    rows: Sequence[int] | Ints | None,
    zero_rows: NDArray[np.bool_] | None,
    owners: Owners | None,
) -> list[Ints]:
    """Return the order of the rows, and another one if two are to be tried."""
    last = (problem.row_owner >= 0).astype(np.int64)
    if zero_rows is not None:
        last[np.asarray(zero_rows, bool)] = 2
    first = np.arange(len(last)) if rows is None else np.asarray(rows, np.int64)
    first = first[np.argsort(last[first], kind="stable")]
    if owners is None or not (owners.within and owners.parallel):
        return [first]
    ordinary, owned, alike = np.split(first, [problem.n_ordinary, problem.n_unlike])
    return [first, np.concatenate([ordinary, owned[::-1], alike[::-1]])]


def as_column(given: Any, n_rows: int) -> Any:
    """Return one column of whole numbers as a sparse array."""
    if sp.issparse(given):
        return sp.csc_array(given, dtype=np.int64)
    return sp.csc_array(np.asarray(given, np.int64).reshape(n_rows, 1))


def _whole(matrix: Any, n_cells: int) -> Any:
    given = sp.csc_array(matrix)
    if given.shape[1] != n_cells:
        raise CaveatError(
            "there must be one mark for every cell", where="tables", code="outputs.setting.mismatch"
        )
    if given.dtype.kind not in "biu":
        raise CaveatError(
            "the model matrix must hold whole numbers", where="tables", code="outputs.setting.type"
        )
    return given.astype(np.int64)


def _eliminate(
    tasks: Sequence[tuple[Problem, Ints]], columns: tuple[Ints, Ints], progress: Progress | None
) -> dict[int, Refusal]:
    """Take what is known, then the candidates in turn; return which are refused, and why."""
    with suppress_error(OverflowError):
        return _through([_Compiled(one, order) for one, order in tasks], *columns, progress)
    with suppress_error(OverflowError):
        others = [(one, _rarest_first(one, order)) for one, order in tasks]
        return _through([_Compiled(one, order) for one, order in others], *columns, progress)
    return _through([Eager(one, order.tolist()) for one, order in tasks], *columns, progress)


def _rarest_first(problem: Problem, rows: Ints) -> Ints:
    """Return an order in which numbers often stay small, though it mostly takes longer.

    Ordinary rows come first that few small candidates have. What may be published does not depend
    on the order of ordinary rows.
    """
    sizes = np.diff(problem.matrix.indptr).astype(float)
    sizes[problem.primary] = np.inf
    use = np.asarray(problem.matrix @ (1 / np.maximum(sizes, 1)))
    ordinary = rows[: problem.n_ordinary]
    first = ordinary[np.argsort(use[ordinary], kind="stable")]
    return np.append(first, rows[problem.n_ordinary :])


def _through(
    runs: Sequence[Eager | _Compiled], known: Ints, candidates: Ints, progress: Progress | None
) -> dict[int, Refusal]:
    why: dict[int, Refusal] = {}
    for j, run in product(known.tolist(), runs):
        if isinstance(run.attempt(j, known=True), Refusal):
            raise CaveatError(
                "what is published already tells a cell that is to be hidden",
                where="tables",
                do="this cannot be undone: hide what can still be hidden",
                code="outputs.cell.confidential",
            )
        run.publish(j)
    for done, j in enumerate(candidates.tolist()):
        if done % 1000 == 0:
            stop_if_told()
            if progress is not None:
                progress(done, len(candidates))
        answers = [run.attempt(j) for run in runs]
        refused = next((answer for answer in answers if isinstance(answer, Refusal)), None)
        if refused is not None:
            why[j] = refused
        else:
            for run in runs:
                run.publish(j)
    return why


class _Compiled:
    """One elimination in 64 bits; raises OverflowError where they are not enough."""

    def __init__(self, problem: Problem, rows: Ints) -> None:
        places = np.empty(len(rows), np.int64)
        places[rows] = np.arange(len(rows))
        self.columns = Columns(problem.matrix, places)
        n_rows = len(rows)
        special = np.zeros(problem.n_columns, bool)
        self.primaries = (
            np.full(n_rows + 1, -1, np.int64),
            np.full(problem.n_columns, -1, np.int64),
            special,
        )
        self.rules = (
            problem.n_ordinary,
            RULES[problem.zeros],
            int(problem.within),
            int(problem.combinations),
            problem.n_unlike,
        )
        # Nothing about what is published already can be refused but that it tells a hidden cell.
        self.no_rules = (problem.n_ordinary, 0, int(problem.within), 0, problem.n_unlike)
        self.owners = (problem.row_owner[rows], problem.column_owner, np.zeros(n_rows, bool))
        self.staged = np.zeros((len(problem.primary) + 1, 4), np.int64)
        self.found = np.zeros(2, np.int64)
        self.state = DEPENDS
        head, following, _ = self.primaries
        for p in problem.primary.tolist():
            row = int(self.columns.rows[self.columns.start[p]])
            if problem.within and row >= problem.n_ordinary:
                row, special[p] = n_rows, True
            following[p], head[row] = head[row], p

    @property
    def held(self) -> tuple[Any, ...]:
        c = self.columns
        return c.rows, c.vals, c.start, c.length, c.pivot, c.used

    def attempt(self, j: int, *, known: bool = False) -> Refusal | bool | None:
        """Say whether a column may be published: None if it depends, False if it may be."""
        rules = self.no_rules if known else self.rules
        while True:
            open_ = (self.columns.work, self.columns.mask)
            self.state = attempt(
                j, self.held, self.primaries, rules, self.owners, open_, self.staged, self.found,
            )  # fmt: skip
            if self.state != ROOM:
                break
            self.columns.grow()
        if self.state == OVERFLOW:
            raise OverflowError
        if self.state in (FREE, DEPENDS):
            return None if self.state == DEPENDS else False
        return Refusal(Rule(self.state), int(self.found[1]))

    def publish(self, _j: int) -> None:
        """Eliminate by the column that was tried last."""
        if self.state == FREE:
            self.columns.used = commit(
                self.held, self.primaries, self.rules, self.owners[2], self.staged, self.found
            )
