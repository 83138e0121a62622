"""Model formulas: ``poisson: children ~ age * sex`` as a response and a list of terms.

The algebra is the usual one: ``a * b`` is ``a + b + a:b``, ``(a + b + c) ** 2`` has all terms up to
two-way, ``- a`` takes a term away, ``- 1`` or ``+ 0`` the intercept. Within a function signs are
arithmetic: ``log(income + 1)``, ``I(age ** 2)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions.expression import Evaluation
from caveat.expressions.parser import Call, Chain, Constant, Name, Node, Parser, Unary, names_in
from caveat.expressions.tokens import Place
from caveat.table import Column

__all__ = ["Formula", "Term"]

Term = tuple[str, ...]
"""The factors of a term as they are written; the intercept has none."""

MOST_TERMS = 500
MOST_FACTORS = 6  # of one term: the codings of its margins double with each
UNREADABLE = (
    "the model cannot be read",
    "write it as 'income ~ age + sex', quote odd names as Q('name')",
)


@dataclass(frozen=True)
class Formula:
    """A parsed model formula.

    Parameters
    ----------
    family
        What stands before the colon; "" if nothing does.
    text
        What stands behind it.
    response
        The response as it is written.
    terms
        The terms in the order of the formula, the intercept first if there is one.
    factors
        What the factors and the response mean.

    Examples
    --------
    >>> formula = Formula.parse("income ~ age * C(region) - age")
    >>> formula.response, formula.terms
    ('income', ((), ('C(region)',), ('age', 'C(region)')))
    >>> formula.columns
    ('income', 'age', 'region')
    """

    family: str
    text: str
    response: str
    terms: tuple[Term, ...]
    factors: Mapping[str, Node]

    @classmethod
    def parse(cls, text: str) -> Formula:
        """Read a formula, with or without a family before it."""
        place = Place("model", text)
        parser = Parser(place, formula=True, unreadable=UNREADABLE)
        tokens = parser.tokens
        tildes = [i for i, token in enumerate(tokens) if token.is_word("~")]
        family = ""
        if tokens[0].kind == "name" and tokens[1].is_word(":"):
            family, parser.at = tokens[0].written, 2
        if not tildes or tildes[0] <= parser.at:
            raise place.error("a model is a formula", "write 'income ~ age + sex'")
        start = tokens[parser.at].start
        response = parser.expression()
        if not parser.take("~"):
            raise parser.unexpected()
        if not isinstance(response, Name | Call) or not [*names_in(response)]:
            raise place.error(
                "the response is neither a column nor a function of columns",
                "write 'income ~ age' or 'log(income) ~ age'",
                code="expression.response.type",
            )
        algebra = _Algebra(place)
        found = algebra.of(parser.whole())
        terms = found.terms if found.intercept is False else ((), *found.terms)
        factors = {response.written: response, **algebra.factors}
        for node in factors.values():
            Evaluation({}, place).try_constants(node)
        return cls(family, text[start:].strip(), response.written, terms, factors)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, the response first."""
        return self._columns(asked=True)

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of the columns that must not be missing: all but those inside ``missing()``."""
        return self._columns(asked=False)

    def _columns(self, *, asked: bool) -> tuple[str, ...]:
        names = (n for node in self.factors.values() for n in names_in(node, asked=asked))
        return tuple(dict.fromkeys(names))

    def column(self, factor: str) -> str | None:
        """Return the column that a factor is, as it is or in ``C()``; None for other functions."""
        node = self.factors[factor]
        if isinstance(node, Call) and node.function == "C":
            node = node.arguments[0]
        return node.name if isinstance(node, Name) else None

    def is_category(self, factor: str) -> bool:
        """Whether a factor is marked as a category by ``C()``."""
        node = self.factors[factor]
        return isinstance(node, Call) and node.function == "C"

    def compute(self, factor: str, columns: Mapping[str, Column]) -> NDArray[Any]:
        """Return what a function has for each row: numbers or truth values."""
        node = self.factors[factor]
        if isinstance(node, Call) and node.function == "I":
            node = node.arguments[0]
        return Evaluation(columns, Place("model", self.text)).rows(node)


class _Sum(NamedTuple):
    """Terms, and whether the intercept was asked for (True), taken away (False) or neither."""

    terms: tuple[Term, ...] = ()
    intercept: bool | None = None


class _Algebra:
    """Turns the tree of a formula into terms."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.factors: dict[str, Node] = {}

    def of(self, node: Node) -> _Sum:
        match node:
            case Constant(value=0 | 1) if not isinstance(node.value, bool):
                return _Sum(intercept=bool(node.value))
            case Name() | Call():
                if not [*names_in(node)]:
                    raise self.place.error(
                        f"{node.written} names no column",
                        "name one",
                        code="expression.column.absent",
                    )
                self.factors[node.written] = node
                return _Sum(((node.written,),))
            case Unary(sign="+"):
                return self.of(node.operand)
            case Unary(sign="-", operand=Constant()):
                return self._minus(_Sum(), self.of(node.operand))
            case Chain(signs=("**",)):
                return self._power(*node.operands)
            case Chain(signs=(sign, *_)) if sign in ("+", "-", "*", ":"):
                total = self.of(node.operands[0])
                for sign, part in zip(node.signs, node.operands[1:], strict=True):
                    total = self._join(total, sign, self.of(part))
                return total
        raise self.place.error(
            "only + - * : ** join terms, with columns, functions, 0 and 1 between them",
            "put arithmetic into I(): I(age / 10)",
            code="expression.formula.unsupported",
        )

    def _join(self, left: _Sum, sign: str, right: _Sum) -> _Sum:
        if sign == "+":
            said = left.intercept if right.intercept is None else right.intercept
            return _Sum(self._known(left.terms + right.terms), said)
        if sign == "-":
            return self._minus(left, right)
        if left.intercept is not None or right.intercept is not None:
            raise self.place.error(
                "0 and 1 take no part in interactions",
                "remove them",
                code="expression.formula.unsupported",
            )
        both = self._interaction(left.terms, right.terms)
        return _Sum(self._known(left.terms + right.terms + both) if sign == "*" else both)

    def _minus(self, left: _Sum, right: _Sum) -> _Sum:
        gone = {frozenset(term) for term in right.terms}
        kept = tuple(term for term in left.terms if frozenset(term) not in gone)
        return _Sum(kept, left.intercept if right.intercept is None else not right.intercept)

    def _power(self, base: Node, exponent: Node) -> _Sum:
        terms, intercept = self.of(base)
        power = exponent.value if isinstance(exponent, Constant) else 0
        if not isinstance(power, int) or power < 1 or intercept is not None:
            raise self.place.error(
                "** takes terms and a whole number",
                "write (age + sex + region) ** 2",
                code="expression.argument.type",
            )
        every = step = terms
        for _ in range(1, min(power, len(terms))):
            step = self._interaction(terms, step)
            every = self._known(every + step)
        return _Sum(every)

    def _interaction(self, left: Sequence[Term], right: Sequence[Term]) -> tuple[Term, ...]:
        if len(left) * len(right) > MOST_TERMS**2:
            raise self._many()
        terms = self._known([tuple(dict.fromkeys(a + b)) for a in left for b in right])
        if max(map(len, terms), default=0) > MOST_FACTORS:
            raise self.place.error(
                f"a term has more than {MOST_FACTORS} factors",
                "make it simpler",
                code="expression.term.too-large",
            )
        return terms

    def _known(self, terms: Sequence[Term]) -> tuple[Term, ...]:
        """Return each term once."""
        found: dict[frozenset[str], Term] = {}
        for term in terms:
            found.setdefault(frozenset(term), term)
        if len(found) > MOST_TERMS:
            raise self._many()
        return tuple(found.values())

    def _many(self) -> CaveatError:
        return self.place.error(
            f"it has more than {MOST_TERMS} terms",
            "make it simpler",
            code="expression.term.too-many",
        )
