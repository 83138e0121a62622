"""What an elimination is given, and why it refuses a cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values

__all__ = ["Ints", "Problem", "Refusal", "Rule", "Zeros"]

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
