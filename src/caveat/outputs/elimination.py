"""Secondary suppression by Gaussian elimination (Langsrud 2024).

Cells are sums of inner cells, z = X'y. A hidden cell can be computed if and only if its column of X
depends linearly on columns of published cells. The cells are taken by their worth; one is published
unless a hidden one could then be computed. All tables of the same data go into one X, so linked and
hierarchical tables are protected together. All numbers are whole: nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress as suppress_error
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.outputs._attempt import DEPENDS, FREE, attempt, commit
from caveat.outputs._eager import Eager
from caveat.outputs._pattern import Ints, Problem, Refusal, Rule, Zeros
from caveat.outputs.echelon import OVERFLOW, ROOM, Columns
from caveat.outputs.tables import only_rows
from caveat.stopping import stop_if_told

__all__ = ["Owners", "Suppressed", "as_column", "by_worth", "suppress"]

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
