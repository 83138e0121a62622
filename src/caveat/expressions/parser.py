"""From text to words and signs, and from these to a tree: one grammar for everything."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np

from caveat.errors import CaveatError

LONGEST = 10_000  # characters of a rule or formula: longer ones are not read
# Words with a meaning of their own: a column of this name stands in backticks.
RESERVED = frozenset(
    ("round", "floor", "ceil", "abs", "sqrt", "log", "exp", "min", "max", "missing")
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in words of the language, the column it asks about and the one it decides upon."""

    source: str
    target: str
    text: str


def can_be_named(name: str) -> bool:
    """Whether a column of this name can stand in a formula or a rule at all."""
    return not re.search(r"[`\n]| then ", name)


def named(name: str) -> str:
    """Return a column name as it stands in a formula, in backticks unless it is a plain word."""
    plain = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)
    return name if plain and not keyword.iskeyword(name) and name not in RESERVED else f"`{name}`"


def literal(value: Any) -> str:
    """Return a number or a text as it stands in a rule.

    What would end a text too early, a backtick or the word before the consequence, is escaped.
    """
    return repr(value).replace("`", r"\x60").replace(" then ", r" \x74hen ")


def is_one_of(name: str, values: Sequence[Any]) -> str:
    """Return the condition that a column has one of the values."""
    if len(values) == 1:
        return f"{named(name)} == {literal(values[0])}"
    return f"{named(name)} in [{', '.join(map(literal, values))}]"


def fixed(source: str, condition: str, target: str, value: str) -> Rule:
    """Return the rule that the target has a value, as it is written, where a condition holds."""
    return Rule(source, target, f"if {condition} then {named(target)} = {value}")


def suggest(rules: Sequence[Rule]) -> dict[str, Any]:
    """Return the rules that can be written, as the suggestion of a finding."""
    known = [
        rule
        for rule in rules
        if can_be_named(rule.source) and can_be_named(rule.target) and len(rule.text) <= LONGEST
    ]
    return {
        "rules": [rule.text for rule in known],
        "between": [[rule.source, rule.target] for rule in known],
    }


# -------------------------------------------------------------------------------------------------
# From text to words, numbers and signs: the only place that looks at what a user wrote.


Value = int | float | str
MALFORMED = "expression.formula.malformed"
MOST_DIGITS = 40  # of a number; the longest number of 64 bits has 24 signs

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>(?:np\.(?=(?:log|exp|sqrt|abs|floor|ceil)\s*\())?[^\W\d]\w*)
    | (?P<quoted>`[^`]*`)
    | (?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
    | (?P<sign>\*\*|//|==|!=|<=|>=|[-+*/%<>()\[\],:~&|=])
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_UNCLOSED = {"`": "a backtick", "'": "a quotation mark", '"': "a quotation mark"}


class Token(NamedTuple):
    """A piece of text, where it stands, and what a number, text or quoted name is worth."""

    kind: Literal["number", "name", "quoted", "text", "sign", "end"]
    written: str
    start: int
    end: int
    value: Value = ""

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words or signs, not in quotes of any sort."""
        return self.kind in ("name", "sign") and self.written in words


class Place(NamedTuple):
    """What is read, for messages: "expression", "rule" or "model"."""

    noun: str
    text: str

    def error(self, what: str, do: str | None = None, *, code: str = MALFORMED) -> CaveatError:
        """Return an error about it; most often it cannot be read."""
        return CaveatError(what, where=f"{self.noun} {self.text!r}", do=do, code=code)


def tokens_of(place: Place) -> list[Token]:
    """Return the pieces of a text, an empty one at the end.

    Examples
    --------
    >>> [token.written for token in tokens_of(Place("expression", "`net pay`>=1.5*age"))]
    ['`net pay`', '>=', '1.5', '*', 'age', '']
    """
    text = place.text
    if not isinstance(text, str):
        raise CaveatError("it must be a text", where=place.noun, code="expression.formula.type")
    if len(text) > LONGEST:
        raise place.error(
            f"it has more than {LONGEST:,} characters",
            "make it shorter",
            code="expression.formula.too-long",
        )
    tokens: list[Token] = []
    end = 0
    while not tokens or tokens[-1].kind != "end":
        found = _TOKEN.match(text, end)
        if found is None:
            sign = text[end:].lstrip()[0]
            if sign in _UNCLOSED:
                raise place.error(f"{_UNCLOSED[sign]} is not closed")
            raise place.error(f"{sign!r} is not part of the language", "remove it")
        kind, start, end = found.lastgroup, found.start(found.lastgroup or 0), found.end()
        written = text[start:end]
        tokens.append(Token(kind, written, start, end, _value(kind, written, place)))  # type: ignore[arg-type]
    return tokens


def _value(kind: str | None, written: str, place: Place) -> Value:
    if kind == "number":
        if len(written) > MOST_DIGITS:
            raise place.error(
                f"a number has more than {MOST_DIGITS} digits",
                "make it shorter",
                code="expression.number.too-long",
            )
        whole = int(written) if written.isdigit() else None
        number = float(written)
        if number == float("inf"):
            raise place.error("a number is too large", code="expression.number.too-large")
        # Whole numbers that a column of whole numbers can hold are compared exactly.
        return whole if whole is not None and whole < 2**64 else number
    if kind == "text":
        return _ESCAPE.sub(lambda found: _escaped(found, place), written[1:-1])
    return written[1:-1] if kind == "quoted" else ""


def _escaped(found: re.Match[str], place: Place) -> str:
    digits = found[1] or found[2] or found[3]
    if digits and int(digits, 16) <= 0x10FFFF:
        return chr(int(digits, 16))
    if found[4] in _ESCAPES:
        return _ESCAPES[found[4]]
    raise place.error("a backslash stands before something else than a sign it knows",
                      r"write a backslash as \\")  # fmt: skip


def render(tokens: Sequence[Token]) -> str:
    """Return tokens as text with spaces around signs between two operands and after commas.

    Examples
    --------
    >>> render(tokens_of(Place("model", "log(income+1)")))
    'log(income + 1)'
    """
    text = ""
    before: Token | None = None
    for token in tokens:
        after_operand = before is not None and (
            before.kind != "sign" or before.written in (")", "]")
        )
        if token.kind != "sign":
            spaced = after_operand
        else:
            spaced = token.written not in "()[],:~" and after_operand
        waiting = before is not None and before.written in (",", "and", "or", "not", "in")
        text += (" " if (spaced or waiting) and token.kind != "end" else "") + token.written
        if token.kind == "sign" and spaced:
            text += " "
            before = None  # what follows is not after an operand, and the space is there
        else:
            before = token
    return text


# -------------------------------------------------------------------------------------------------
# From words and signs to a tree: one grammar for conditions, arithmetic and formulas.
#
# The parser is ours, so that nothing a user writes ever reaches a compiler. What nests is
# counted, so that no text can exhaust the stack; chains such as ``a + b - c`` are one node,
# however long.


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
