"""How a column enters the models: as itself, or as two variables, its kind of value and its number.

A numeric column with ways to be missing or declared special values (-8, a spike at 0) is modelled
in two steps, as synthpop does it: first which kind of value a row has (an ordinary number, or one
of the others), then the number among the ordinary ones. As a predictor of later columns it enters
as both; the number of a row that has none is set to zero there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.synthesis.grid import Grid
from caveat.table import Column
from caveat.table.table import smallest_unsigned

__all__ = ["Coding", "Part"]

ORDINARY = 0  # the first kind of a two-step column


@dataclass(frozen=True)
class Part:
    """One variable of a model.

    Parameters
    ----------
    codes
        One code per row.
    n_levels
        Number of possible codes.
    ordered
        Whether the order of the codes has a meaning.
    numbers
        The number that each code stands for, for variables that are numbers.
    exact
        The number of each row, where it need not be one that a code stands for.
    grid
        What is public about the numbers, where a method needs it.
    """

    codes: NDArray[Any]
    n_levels: int
    ordered: bool
    numbers: NDArray[np.float64] | None = None
    exact: NDArray[np.float64] | None = None
    grid: Grid | None = None

    __repr__ = without_values

    @property
    def values(self) -> NDArray[np.float64]:
        """The number of each row, for variables that are numbers."""
        assert self.numbers is not None
        return self.numbers[self.codes] if self.exact is None else self.exact

    def take(self, rows: NDArray[Any] | slice) -> Part:
        """Return the variable for some rows."""
        exact = None if self.exact is None else self.exact[rows]
        return replace(self, codes=self.codes[rows], exact=exact)


@dataclass(frozen=True, eq=False)
class Coding:
    """The mapping between the codes of a column and the variables it is modelled as.

    Parameters
    ----------
    column
        A column that holds the dictionary; its cells do not matter.
    special
        Ordinary values that are modelled apart, as the missing ones are.
    grid
        What is public about the numbers, where a method needs it.
    """

    column: Column
    special: tuple[Any, ...] = ()
    grid: Grid | None = None

    __repr__ = without_values

    @classmethod
    def of(
        cls, column: Column, special: Sequence[Any], name: str, grid: Grid | None = None
    ) -> Coding:
        """Return the coding of a column, or say which special value it does not have."""
        levels = column.levels.tolist()
        if special and not column.kind.is_number:
            raise CaveatError(
                "special values are for numbers",
                column=name,
                do="leave them out",
                code="synthesis.column.type",
            )
        if any(value not in levels for value in special):
            raise CaveatError(
                "a declared special value does not occur",
                column=name,
                do="leave it out",
                code="data.value.unknown",
            )
        return cls(column, tuple(special), grid)

    @property
    def is_number(self) -> bool:
        """Whether the ordinary values are modelled as numbers."""
        return self.column.kind.is_number and len(self.column.levels) > 1

    @property
    def two_step(self) -> bool:
        """Whether kind and number are modelled apart."""
        return self.is_number and bool(self.column.missing or self.special)

    @cached_property
    def _special(self) -> NDArray[np.bool_]:
        """Which codes are not ordinary numbers."""
        flags = np.zeros(self.column.n_levels, dtype=bool)
        flags[: len(self.column.levels)] = np.isin(self.column.levels, list(self.special))
        flags[len(self.column.levels) :] = True
        return flags

    @cached_property
    def kind_of(self) -> NDArray[Any]:
        """Kind of each code: 0 for ordinary numbers, 1, 2, … for the others."""
        kinds = np.where(self._special, np.cumsum(self._special), ORDINARY)
        return kinds.astype(smallest_unsigned(self.n_kinds))

    @property
    def n_kinds(self) -> int:
        """Number of kinds."""
        return 1 + int(self._special.sum())

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The numbers the value variable can have, sorted; for two steps zero is among them."""
        ordinary = self.column.numbers[~self._special[: len(self.column.levels)]]
        return np.union1d(ordinary, [0.0]) if self.two_step else ordinary

    @cached_property
    def value_of(self) -> NDArray[Any]:
        """Code of the value variable for each code of the column; zero stands for no number."""
        values = np.zeros(self.column.n_levels)
        values[: len(self.column.levels)] = self.column.numbers
        values[self._special] = 0.0
        return np.searchsorted(self.numbers, values).astype(smallest_unsigned(len(self.numbers)))

    @property
    def special_numbers(self) -> NDArray[np.float64]:
        """The special values as numbers, in the order of their kinds."""
        return self.column.numbers[self._special[: len(self.column.levels)]]

    @cached_property
    def _code_of_value(self) -> NDArray[np.int64]:
        lookup = np.zeros(len(self.numbers), dtype=np.int64)
        ordinary = np.flatnonzero(~self._special)
        lookup[self.value_of[ordinary]] = ordinary
        return lookup

    def parts(self, codes: NDArray[Any]) -> list[Part]:
        """Return the variables of these cells: one, or number and kind."""
        if not self.is_number:
            # missing cells of an ordered factor are its last level, as in synthpop
            return [Part(codes, self.column.n_levels, self.column.kind.has_order)]
        if not self.two_step:
            return [Part(codes, len(self.numbers), True, self.numbers, grid=self.grid)]
        value = Part(self.value_of[codes], len(self.numbers), True, self.numbers, grid=self.grid)
        return [value, Part(self.kind_of[codes], self.n_kinds, False)]

    def parts_of_numbers(self, kinds: NDArray[Any], values: NDArray[np.float64]) -> list[Part]:
        """Return the variables of numbers that may be new: each takes the nearest one's place."""
        known = self.numbers
        right = np.clip(np.searchsorted(known, values), 1, len(known) - 1)
        nearest = right - (values - known[right - 1] < known[right] - values)
        if not self.two_step:
            return [Part(nearest, len(known), True, known, values, self.grid)]
        ordinary = kinds == ORDINARY
        nearest = np.where(ordinary, nearest, np.searchsorted(known, 0.0))
        exact = np.where(ordinary, values, 0.0)
        value = Part(nearest, len(known), True, known, exact, self.grid)
        return [value, Part(kinds, self.n_kinds, False)]

    def split(self, column: Column) -> tuple[NDArray[Any] | None, NDArray[np.float64]]:
        """Return kinds and numbers of any column of numbers, known to the dictionary or not."""
        column = column.declare_missing([m for m in self.column.missing if m.code is not None])
        numbers = np.append(column.numbers, np.zeros(len(column.missing)))[column.codes]
        if not self.two_step:
            return None, numbers
        ways = {m.key: j for j, m in enumerate(self.column.missing)}
        special = self.special_numbers
        kinds = np.full(column.n_levels, ORDINARY)
        apart = np.flatnonzero(np.isin(column.numbers, special))
        kinds[apart] = 1 + np.searchsorted(special, column.numbers[apart])
        for position, m in enumerate(column.missing):
            # a way to be missing that the model does not know has a kind of its own: impossible
            place = ways.get(m.key, len(self.column.missing))
            kinds[len(column.levels) + position] = 1 + len(special) + place
        return kinds[column.codes], numbers

    def join(self, kinds: NDArray[Any] | None, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the codes of the column from drawn kinds and the codes of drawn numbers."""
        if kinds is None:
            return np.asarray(values, dtype=np.int64)
        other = np.concatenate([[0], np.flatnonzero(self._special)])
        return np.asarray(np.where(kinds == ORDINARY, self._code_of_value[values], other[kinds]))
