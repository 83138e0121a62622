"""Elimination as it is written in the paper, with whole numbers of any size.

Every column is kept fully reduced: slow, short, and never at the end of 64 bits. `elimination` does
the same with compiled loops and comes here when a number outgrows them; its tests compare the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from caveat.outputs._pattern import Problem, Refusal, Rule

__all__ = ["Eager"]

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
