"""From text to words, numbers and signs: the only place that looks at what a user wrote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from caveat.errors import CaveatError
from caveat.expressions.language import LONGEST

__all__ = ["Place", "Token", "render", "tokens_of"]

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
