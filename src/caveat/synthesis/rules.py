"""Rules that hold in the data and must hold in the synthetic copies.

``if age < 18 then marital = "single"`` fixes a value where a condition on earlier columns holds;
the records it covers take no part in the fit. Instead of a value another column may stand, in
backticks: the partner in a household mirrors its first member in ``if role == "partner" then
marital = `first.marital` ``. ``start <= end`` keeps the order of two numbers or dates: what is
drawn in the wrong order is drawn again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.expressions.parser import Parser, Place, named
from caveat.table import Column, Table
from caveat.table.align import recode_to

__all__ = ["Fixed", "Order", "parse_rule"]

UNREADABLE = (
    "it cannot be read",
    'write it as in: if age < 18 then marital = "single", or: start <= end',
)
WORDS = {"missing": None, "None": None, "True": True, "False": False}


@dataclass(frozen=True)
class Fixed:
    """Where the condition holds the column has a value (None: empty), or that of another column."""

    condition: Expression
    column: str
    value: Any
    other: str = ""

    def __str__(self) -> str:
        value = "missing" if self.value is None else repr(self.value)
        value = f"`{self.other}`" if self.other else value
        return f"if {self.condition.text} then {named(self.column)} = {value}"

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that decide."""
        return (*self.condition.columns, *([self.other] if self.other else []))

    @property
    def target(self) -> str:
        """The column that is decided upon."""
        return self.column

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
            code="data.value.unknown",
        )

    def contradictions(self, table: Table) -> int:
        """Return how many records meet the condition and have another value."""
        holds = self.condition.holds(table.columns)
        column = table[self.column]
        wanted = recode_to(table[self.other], column) if self.other else self.code(column)
        return int(np.sum(holds & (column.codes != wanted)))


@dataclass(frozen=True)
class Order:
    """The first column is never greater than the second."""

    lower: str
    upper: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that decide."""
        return (self.lower,)

    @property
    def target(self) -> str:
        """The column that is decided upon."""
        return self.upper

    def __str__(self) -> str:
        return f"{named(self.lower)} <= {named(self.upper)}"

    def broken(self, table: Table) -> NDArray[np.bool_]:
        """Return which records have both values, and in the wrong order."""
        return np.asarray(table[self.lower].cell_numbers > table[self.upper].cell_numbers)

    def contradictions(self, table: Table) -> int:
        """Return how many records have the two values in the wrong order."""
        return int(self.broken(table).sum())


def parse_rule(text: str) -> Fixed | Order:
    """Read a rule.

    Examples
    --------
    >>> str(parse_rule("if age < 18 then marital = 'single'"))
    "if age < 18 then marital = 'single'"
    >>> parse_rule("married <= divorced")
    Order(lower='married', upper='divorced')
    """
    parser = Parser(Place("rule", text), unreadable=UNREADABLE)
    if parser.take("if"):
        start = parser.next.start
        parser.expression()
        end = parser.tokens[parser.at - 1].end
        _expect(parser, "then")
        column = _column(parser)
        _expect(parser, "=", "==")
        other = _column(parser) if parser.next.kind == "quoted" else ""
        value = None if other else _value(parser)
        parser.end()
        return Fixed(Expression(text[start:end]), column, value, other)
    first = _column(parser)
    upwards = parser.next.is_word("<=")
    _expect(parser, "<=", ">=")
    second = _column(parser)
    parser.end()
    return Order(first, second) if upwards else Order(second, first)


def _expect(parser: Parser, *words: str) -> None:
    if not parser.take(*words):
        raise parser.place.error(*UNREADABLE).replaced(code="synthesis.rule.malformed")


def _column(parser: Parser) -> str:
    token = parser.next
    if token.kind not in ("name", "quoted"):
        raise parser.place.error(*UNREADABLE).replaced(code="synthesis.rule.malformed")
    parser.at += 1
    return token.written if token.kind == "name" else str(token.value)


def _value(parser: Parser) -> Any:
    """Read a number, a text, a truth value or the word missing."""
    signed, negative = parser.next.is_word("+", "-"), parser.next.is_word("-")
    parser.at += signed
    token = parser.next
    if token.kind != "end":
        parser.at += 1
    if token.kind == "number":
        return -token.value if negative else token.value  # type: ignore[operator]
    if not signed and token.kind == "text":
        return token.value
    if not signed and token.is_word(*WORDS):
        return WORDS[token.written]
    raise parser.place.error(
        "the value is neither a number nor quoted text",
        'write it as in: if age < 18 then marital = "single"',
    ).replaced(code="synthesis.rule.malformed")
