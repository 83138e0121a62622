"""From words and signs to a tree: one grammar for conditions, arithmetic and formulas.

The parser is ours, so that nothing a user writes ever reaches a compiler. What nests is counted,
so that no text can exhaust the stack; chains such as ``a + b - c`` are one node, however long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from caveat.errors import CaveatError
from caveat.expressions.tokens import Place, Token, render, tokens_of

__all__ = [
    "FUNCTIONS", "OVER_GROUPS", "Call", "Chain", "Constant", "Function", "Items", "Name", "Node",
    "Parser", "Unary", "names_in", "parts",
]  # fmt: skip

DEEPEST = 30  # brackets, signs and powers inside each other
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "in", "not in")
# How tightly signs between two operands bind, the loosest first; : is for formulas alone.
LEVELS = (("or", "|"), ("and", "&"), COMPARISONS, ("+", "-"), ("*", "/", "//", "%"), (":",))
TIGHTNESS = {sign: i for i, signs in enumerate(LEVELS, start=1) for sign in signs}
NOT, SIGNED, POWER = 2, len(LEVELS) + 1, len(LEVELS) + 2
TIGHTNESS["**"] = POWER
WORDS = ("and", "or", "not", "in", "None")


class Function(NamedTuple):
    """What a function computes, and how many arguments it takes."""

    compute: Callable[..., Any]
    least: int = 1
    most: int = 1


FUNCTIONS: dict[str, Function] = {
    "round": Function(lambda x, digits=0: np.round(x, int(digits)), 1, 2),
    "floor": Function(np.floor),
    "ceil": Function(np.ceil),
    "abs": Function(np.abs),
    "sqrt": Function(np.sqrt),
    "log": Function(np.log),
    "exp": Function(np.exp),
    "min": Function(lambda *xs: reduce(np.minimum, xs), 1, 1000),
    "max": Function(lambda *xs: reduce(np.maximum, xs), 1, 1000),
}
IN_FORMULAS = ("C", "I", "Q")
OVER_GROUPS = ("sum", "mean", "count", "any", "all")  # of the members of a group, in expressions


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a text or a truth value."""

    value: int | float | str | bool


@dataclass(frozen=True, slots=True)
class Name:
    """A column, and its name as it was written."""

    name: str
    written: str


@dataclass(frozen=True, slots=True)
class Items:
    """What stands in brackets after ``in``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """A sign or ``not`` before an operand."""

    sign: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Chain:
    """Operands with signs of one level between them: ``a < b <= c``, ``a + b - c``."""

    operands: tuple[Node, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function of arguments, and the call as it was written."""

    function: str
    arguments: tuple[Node, ...]
    written: str


Node = Constant | Name | Items | Unary | Chain | Call


def parts(node: Node) -> tuple[Node, ...]:
    """Return the nodes that a node is made of, in the order in which they stand."""
    match node:
        case Items():
            return node.items
        case Unary():
            return (node.operand,)
        case Chain():
            return node.operands
        case Call():
            return node.arguments
    return ()


def names_in(node: Node, *, asked: bool = True) -> Iterator[str]:
    """Yield the columns that a node names; those inside ``missing()`` only if so `asked`."""
    if isinstance(node, Name):
        yield node.name
    elif asked or not (isinstance(node, Call) and node.function == "missing"):
        for part in parts(node):
            yield from names_in(part, asked=asked)


class Parser:
    """Reads one text from left to right.

    Parameters
    ----------
    place
        The text and what it is called.
    formula
        Whether it is a model formula, which has ``C()``, ``I()``, ``Q()`` and ``:``.
    unreadable
        What is said of a text that breaks off, and what to do then.

    Examples
    --------
    >>> Parser(Place("expression", "age < 18")).whole()
    Chain(operands=(Name(name='age', written='age'), Constant(value=18)), signs=('<',))
    """

    def __init__(
        self,
        place: Place,
        *,
        formula: bool = False,
        unreadable: tuple[str, str] = ("it cannot be read", "check the brackets"),
    ) -> None:
        self.place = place
        self.tokens = tokens_of(place)
        self.at = 0
        self._formula = formula
        self._algebra = formula  # signs join terms; within a function they are arithmetic
        self._unreadable = unreadable
        self._depth = 0

    @property
    def next(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    def take(self, *words: str) -> bool:
        """Go behind the next token if it is one of these words or signs."""
        found = self.next.is_word(*words)
        self.at += found
        return found

    def whole(self) -> Node:
        """Read an expression that ends where the text ends."""
        node = self.expression()
        self.end()
        return node

    def end(self) -> None:
        """Refuse anything that still follows."""
        if self.next.kind != "end":
            raise self.unexpected()

    def expression(self, looser: int = 0) -> Node:
        """Read an operand and all that is joined to it more tightly than the given level."""
        left = self._operand()
        while (level := self._tightness()) > looser:
            operands, signs = [left], []
            while self._tightness() == level:
                signs.append(self._sign())
                operands.append(self._right(signs[-1], level))
            left = Chain(tuple(operands), tuple(signs))
        return left

    def unexpected(self) -> CaveatError:
        """Return the error about the next token."""
        if self.next.kind == "end":
            return self.place.error(*self._unreadable)
        return self.place.error(
            f"{self.next.written[:40]!r} is not part of the language at this place",
            f"use arithmetic, comparisons, and, or, not, in, {', '.join(self._functions)}",
        )

    @property
    def _functions(self) -> tuple[str, ...]:
        """The functions of the language here."""
        return (*FUNCTIONS, "missing", *(IN_FORMULAS if self._formula else OVER_GROUPS))

    def _tightness(self) -> int:
        """Return how tightly the next token joins two operands; 0 if it does not."""
        token = self.next
        if token.kind not in ("name", "sign") or (token.written == ":" and not self._algebra):
            return 0
        if token.written == "not":
            return TIGHTNESS["in"] if self.tokens[self.at + 1].is_word("in") else 0
        return TIGHTNESS.get(token.written, 0)

    def _sign(self) -> str:
        sign = self.next.written
        self.at += 1
        return sign if sign != "not" or not self.take("in") else "not in"

    def _right(self, sign: str, level: int) -> Node:
        if sign in ("in", "not in"):
            closing = ")" if self.next.is_word("(") else "]"
            if not self.take("(", "["):
                raise self.place.error(
                    "a list is expected after in",
                    "write it as in [1, 2]",
                    code="expression.list.absent",
                )
            items = self._several(closing)
            if not items:
                raise self.place.error(
                    "the list after in is empty",
                    "write it as in [1, 2]",
                    code="expression.list.empty",
                )
            return Items(items)
        if sign == "**":  # from right to left
            return self._inside(lambda: self.expression(level - 1))
        return self.expression(level)

    def _inside(self, read: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.place.error(
                f"more than {DEEPEST} brackets or signs stand inside each other",
                "make it simpler",
                code="expression.bracket.too-many",
            )
        node = read()
        self._depth -= 1
        return node

    def _operand(self) -> Node:
        token = self.next
        if self.take("+", "-"):
            return Unary(token.written, self._inside(lambda: self.expression(SIGNED)))
        if self.take("not"):
            return Unary("not", self._inside(lambda: self.expression(NOT)))
        if not self._algebra and self.take("~"):
            return Unary("not", self._inside(lambda: self.expression(SIGNED)))
        if self.take("("):
            node = self._inside(self.expression)
            if not self.take(")"):
                raise self.unexpected()
            return node
        if token.kind in ("sign", "end") or token.is_word(*WORDS):
            raise self.unexpected()
        self.at += 1
        if token.kind == "quoted":
            return Name(str(token.value), token.written)
        if token.kind != "name":
            return Constant(token.value)
        if token.written in ("True", "False"):
            return Constant(token.written == "True")
        if self.next.is_word("("):
            return self._call(token)
        return Name(token.written, token.written)

    def _call(self, token: Token) -> Node:
        start, name = self.at - 1, token.written.removeprefix("np.")
        if name not in self._functions:
            raise self.place.error(
                f"{name[:40]}() is not part of the language", f"use {', '.join(self._functions)}"
            )
        self.at += 1
        algebra, self._algebra = self._algebra, False
        arguments = self._several(")")
        self._algebra = algebra
        written = render(self.tokens[start : self.at])
        if name == "Q" and len(arguments) == 1 and isinstance(arguments[0], Constant):
            return Name(str(arguments[0].value), written)
        self._check(name, arguments)
        return Call(name, arguments, written)

    def _several(self, closing: str) -> tuple[Node, ...]:
        """Read operands with commas between them up to the closing bracket."""
        items: list[Node] = []
        while not self.take(closing):
            items.append(self._inside(self.expression))
            if not self.take(",") and not self.next.is_word(closing):
                raise self.unexpected()
        return tuple(items)

    def _check(self, name: str, arguments: tuple[Node, ...]) -> None:
        if name == "Q":
            raise self.place.error(
                "Q() takes a name in quotation marks",
                "write Q('net income')",
                code="expression.argument.type",
            )
        if name == "C" and (len(arguments) != 1 or not isinstance(arguments[0], Name)):
            raise self.place.error(
                "C() takes the name of one column",
                "write C(region)",
                code="expression.argument.type",
            )
        if name in ("C", "I") and not self._algebra:
            raise self.place.error(
                f"{name}() stands inside a function",
                "take it out",
                code="expression.function.refused",
            )
        if name == "missing" and not [name for a in arguments for name in names_in(a)]:
            raise self.place.error(
                "missing() takes the name of a column",
                "write missing(age)",
                code="expression.argument.type",
            )
        least, most = FUNCTIONS[name][1:] if name in FUNCTIONS else (1, 1)
        if not least <= len(arguments) <= most:
            wanted = f"{least} or more" if most > 2 else f"{least}" if most == least else "1 or 2"
            raise self.place.error(
                f"{name}() takes {wanted} arguments, not {len(arguments)}",
                code="expression.argument.mismatch",
            )
