"""Rules that hold in the data and must hold in the synthetic copies.

``if age < 18 then marital = "single"`` fixes a value where a condition on earlier columns holds;
the records it covers take no part in the fit. ``start <= end`` keeps the order of two numbers or
dates: what is drawn in the wrong order is drawn again.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.synthesis.expression import Expression
from caveat.table import Column, Table

__all__ = ["Fixed", "Order", "parse_rule"]

NAME = r"(`[^`]+`|\w+)"


@dataclass(frozen=True)
class Fixed:
    """Where the condition holds the column has the given value (None: an empty cell)."""

    condition: Expression
    column: str
    value: Any

    def __str__(self) -> str:
        value = "missing" if self.value is None else repr(self.value)
        return f"if {self.condition.text} then {_quoted(self.column)} = {value}"

    def code(self, column: Column) -> int:
        """Return the code of the fixed value."""
        for code, level in enumerate(column.levels.tolist()):
            if level == self.value or (
                column.levels.dtype.kind == "M" and str(level) == self.value
            ):
                return code
        for position, missing in enumerate(column.missing):
            # "missing" is an empty cell; in a column that has none, its first missing code
            if missing.code == self.value or self.value is None:
                return len(column.levels) + position
        raise CaveatError(
            f"the rule gives {self.column} a value that never occurs in the data",
            where=f"rule {str(self)!r}",
            do="use a value of the column, or missing",
        )

    def contradictions(self, table: Table) -> int:
        """Return how many records meet the condition and have another value."""
        holds = self.condition.evaluate(table.columns).astype(bool)
        column = table[self.column]
        return int(np.sum(holds & (column.codes != self.code(column))))


@dataclass(frozen=True)
class Order:
    """The first column is never greater than the second."""

    lower: str
    upper: str

    def __str__(self) -> str:
        return f"{_quoted(self.lower)} <= {_quoted(self.upper)}"

    def broken(self, table: Table) -> NDArray[np.bool_]:
        """Return which records have both values, and in the wrong order."""
        return np.asarray(table[self.lower].cell_numbers > table[self.upper].cell_numbers)

    def contradictions(self, table: Table) -> int:
        """Return how many records have the two values in the wrong order."""
        return int(self.broken(table).sum())


def _quoted(name: str) -> str:
    """Return a name as it must be written in a rule, which a model file keeps as text."""
    return name if re.fullmatch(r"\w+", name) else f"`{name}`"


def parse_rule(text: str) -> Fixed | Order:
    """Read a rule.

    Examples
    --------
    >>> str(parse_rule("if age < 18 then marital = 'single'"))
    "if age < 18 then marital = 'single'"
    >>> parse_rule("married <= divorced")
    Order(lower='married', upper='divorced')
    """
    fixed = re.fullmatch(rf"\s*if\s+(.+?)\s+then\s+{NAME}\s*==?\s*(.+?)\s*", text)
    if fixed:
        name = fixed[2].strip("`")
        if fixed[3] == "missing":
            return Fixed(Expression(fixed[1]), name, None)
        try:
            return Fixed(Expression(fixed[1]), name, ast.literal_eval(fixed[3]))
        except (ValueError, SyntaxError):
            raise CaveatError(
                "the value is neither a number nor quoted text",
                where=f"rule {text!r}",
                do='write it as in: if age < 18 then marital = "single"',
            ) from None
    order = re.fullmatch(rf"\s*{NAME}\s*(<=|>=)\s*{NAME}\s*", text)
    if order:
        first, second = order[1].strip("`"), order[3].strip("`")
        return Order(first, second) if order[2] == "<=" else Order(second, first)
    raise CaveatError(
        "it cannot be read",
        where=f"rule {text!r}",
        do='write it as in: if age < 18 then marital = "single", or: start <= end',
    )
