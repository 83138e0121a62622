"""Expressions over columns, model formulas, and the design matrix of a formula."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions.parser import (
    COMPARISONS,
    FUNCTIONS,
    OVER_GROUPS,
    Call,
    Chain,
    Constant,
    Items,
    Name,
    Node,
    Parser,
    Place,
    Unary,
    names_in,
    parts,
)
from caveat.showing import without_values
from caveat.table import Column, Kind

SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
JOINS = {"and": np.logical_and, "&": np.logical_and, "or": np.logical_or, "|": np.logical_or}
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
MOST_DECIMALS = 15  # that round() takes: no double has more
# "now" and "today" would be dates as well, and other ones tomorrow.
DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?)?)?", re.ASCII)


@dataclass(frozen=True)
class Expression:
    """A parsed expression and the columns it needs.

    Parameters
    ----------
    text
        The expression. Column names that are no plain words stand in backticks.

    Examples
    --------
    >>> from caveat.table import Table
    >>> table = Table.from_frame({"height": [170, 200], "weight": [89.0, None]})
    >>> bmi = Expression("weight / (height / 100) ** 2")
    >>> bmi.columns
    ('weight', 'height')
    >>> bmi.evaluate(table.columns).round(2).tolist()
    [30.8, nan]
    >>> Expression("weight > 80").holds(table.columns).tolist()
    [True, False]
    """

    text: str
    tree: Node = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        tree = Parser(self._place).whole()
        object.__setattr__(self, "tree", tree)
        evaluation = Evaluation({}, self._place)
        if evaluation.try_constants(tree):
            evaluation.rows(tree)

    @property
    def _place(self) -> Place:
        return Place("expression", self.text)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns in the order in which they occur."""
        return tuple(dict.fromkeys(names_in(self.tree)))

    @property
    def is_of_groups(self) -> bool:
        """Whether it asks about all rows of a group."""
        return _asks_groups(self.tree)

    @property
    def is_one_call(self) -> bool:
        """Whether it is one function and nothing around it."""
        return isinstance(self.tree, Call)

    def evaluate(
        self, columns: Mapping[str, Column], groups: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return one value per row: a truth value for conditions, a number for formulas.

        ``groups`` numbers the groups that the rows belong to, if they belong to any.
        """
        return Evaluation(columns, self._place, groups).rows(self.tree)

    def holds(self, columns: Mapping[str, Column]) -> NDArray[np.bool_]:
        """Return for each row whether the condition holds; what is no condition is an error."""
        return Evaluation(columns, self._place).truths(self.tree)


@dataclass(frozen=True)
class Evaluation:
    """One walk over the tree with the columns at hand."""

    columns: Mapping[str, Column]
    place: Place
    groups: NDArray[Any] | None = None

    __repr__ = without_values

    def rows(self, node: Node) -> NDArray[Any]:
        """Return one number or truth value per row."""
        with np.errstate(all="ignore"):
            value = self._of(node)
            if not (isinstance(value, bool) or getattr(value, "dtype", None) == np.bool_):
                value = self._number(value)
        return self._spread(value)

    def truths(self, node: Node) -> NDArray[np.bool_]:
        """Return one truth value per row."""
        with np.errstate(all="ignore"):
            return self._spread(self._truth(node))

    def try_constants(self, node: Node) -> bool:
        """Compute what needs no column, so that it fails at once; return whether all is such."""
        inside = parts(node)
        constant = [self.try_constants(part) for part in inside]
        if all(constant) and not isinstance(node, Name | Items) and not _asks_groups(node):
            return True
        for part, alone in zip(inside, constant, strict=True):
            if alone and not isinstance(part, Constant | Items):
                self.rows(part)
        return isinstance(node, Items) and all(constant)

    def _spread(self, value: Any) -> NDArray[Any]:
        """Return a single value for each row, if there are rows."""
        size = [len(column) for column in self.columns.values()][:1]
        return np.broadcast_to(value, size or np.shape(value))

    def _of(self, node: Node) -> Any:
        match node:
            case Constant():
                return node.value
            case Name():
                return self._column(node.name)
            case Items():
                return [self._of(item) for item in node.items]
            case Unary(sign="not"):
                return ~self._truth(node.operand)
            case Unary():
                value = self._of(node.operand)
                if isinstance(value, bool) or not isinstance(value, int | float):
                    value = self._number(value)
                return -value if node.sign == "-" else value
            case Chain():
                return self._chain(node)
            case Call(function="missing"):
                value = self._of(node.arguments[0])
                return value.is_missing if isinstance(value, Column) else np.isnan(value)
            case Call() if node.function in OVER_GROUPS:
                return self._over_groups(node)
            case Call():
                return self._call(node)
        raise AssertionError(f"unknown node {node!r}")

    def _chain(self, node: Chain) -> Any:
        sign = node.signs[0]
        if sign in JOINS:
            return reduce(JOINS[sign], [self._truth(part) for part in node.operands])
        values = [self._of(part) for part in node.operands]
        if sign in COMPARISONS:
            pairs = zip(values, node.signs, values[1:], strict=False)
            return reduce(np.logical_and, [self._pair(*pair) for pair in pairs])
        value, *others = map(self._number, values)
        for sign, other in zip(node.signs, others, strict=True):
            value = self._finite(SIGNS[sign](value, other))
        return value

    def _call(self, node: Call) -> Any:
        values = [self._number(self._of(argument)) for argument in node.arguments]
        if node.function == "round" and len(values) == 2:
            digits = values[1]
            if np.ndim(digits) or digits % 1 or abs(digits) > MOST_DECIMALS:
                raise self.place.error(
                    f"round() takes a whole number of digits, at most {MOST_DECIMALS}",
                    code="expression.argument.range",
                )
        return self._finite(FUNCTIONS[node.function].compute(*values))

    def _over_groups(self, node: Call) -> Any:
        """Return what the rows of each group are together, for each of its rows."""
        if self.groups is None:
            raise self.place.error(
                f"{node.function}() is of the members of a group",
                "say which rows are one: [groups]",
                code="expression.group.undeclared",
            )
        inner = node.arguments[0]
        wants_truth = node.function in ("count", "any", "all")
        values = self._truth(inner) if wants_truth else self._number(self._of(inner))
        values = np.broadcast_to(np.asarray(values, np.float64), self.groups.shape)
        known = ~np.isnan(values)
        sums = np.bincount(self.groups, np.where(known, values, 0.0))[self.groups]
        n = np.bincount(self.groups, known)[self.groups]
        if node.function == "any":
            return sums > 0
        if node.function == "all":
            return sums == n
        if node.function == "mean":
            return sums / n
        return np.where(n > 0, sums, np.nan)

    def _finite(self, value: Any) -> Any:
        """Return a value; one that was computed from constants alone must be a number."""
        if np.ndim(value) == 0 and not np.isfinite(value):
            raise self.place.error(
                "its constants give no finite number",
                "check them",
                code="expression.value.infinite",
            )
        return value

    def _column(self, name: str) -> Column:
        if name not in self.columns:
            raise self.place.error(
                f"there is no column {name!r}",
                f"choose among {', '.join(self.columns)}",
                code="data.column.unknown",
            )
        return self.columns[name]

    def _number(self, value: Any) -> Any:
        """Return numbers, NaN where they are missing."""
        if isinstance(value, str):
            raise self.place.error(
                "text stands where a number is expected", code="expression.value.type"
            )
        if not isinstance(value, Column):
            return np.asarray(value, dtype=np.float64)[()]
        if not _is_numeric(value):
            raise self.place.error(
                "a column of text stands where a number is expected", code="expression.value.type"
            )
        return value.cell_numbers

    def _truth(self, node: Node) -> Any:
        value = self._of(node)
        if isinstance(value, Column) and value.kind is Kind.BOOLEAN:
            return np.append(value.levels, np.zeros(len(value.missing), bool))[value.codes]
        if isinstance(value, bool) or getattr(value, "dtype", None) == np.bool_:
            return np.asarray(value)
        raise self.place.error(
            "a condition is expected", "compare it with something", code="expression.value.type"
        )

    def _pair(self, left: Any, sign: str, right: Any) -> Any:
        if isinstance(left, list):
            raise self.place.error(
                "a list stands on the left of a comparison",
                "use and",
                code="expression.list.unsupported",
            )
        if sign in ("in", "not in"):
            found = reduce(np.logical_or, [self._pair(left, "==", item) for item in right])
            return ~found if sign == "not in" else found
        if not isinstance(left, Column) and isinstance(right, Column):
            left, sign, right = right, MIRRORED.get(sign, sign), left
        if isinstance(left, Column) and isinstance(right, Column):
            return self._columns(left, sign, right)
        if isinstance(left, Column) and not isinstance(right, np.ndarray):
            return self._against_constant(left, sign, right)
        if isinstance(left, str) and isinstance(right, str):
            return np.asarray(SIGNS[sign](left, right))
        if isinstance(left, str) or isinstance(right, str):
            raise self._unlike()
        return np.asarray(SIGNS[sign](self._number(left), self._number(right)))

    def _columns(self, left: Column, sign: str, right: Column) -> NDArray[np.bool_]:
        """Compare two columns cell by cell: dates with dates, text with text, other as numbers."""
        dates = [column.levels.dtype.kind == "M" for column in (left, right)]
        if all(dates):
            cells = [
                np.append(c.levels, np.full(len(c.missing), "NaT", c.levels.dtype))[c.codes]
                for c in (left, right)
            ]
            return np.asarray(SIGNS[sign](*cells))
        numeric = [_is_numeric(column) for column in (left, right)]
        if all(numeric) and not any(dates):
            return np.asarray(SIGNS[sign](left.cell_numbers, right.cell_numbers))
        if any(numeric):
            raise self._unlike()
        words = [list(map(str, column.levels.tolist())) for column in (left, right)]
        ordered = words[0] == words[1] and left.kind is right.kind is Kind.ORDERED
        known = words[0] if ordered else sorted({*words[0], *words[1]})
        rank = {word: float(i) for i, word in enumerate(known)}
        ranks = [
            np.array([*map(rank.__getitem__, own), *[np.nan] * len(c.missing)])[c.codes]
            for own, c in zip(words, (left, right), strict=True)
        ]
        return np.asarray(SIGNS[sign](*ranks))

    def _against_constant(self, column: Column, sign: str, value: Any) -> NDArray[np.bool_]:
        """Compare each level with a constant, then look the rows up; missing equals nothing."""
        n, equality = len(column.levels), sign in ("==", "!=")
        codes = [n + i for i, m in enumerate(column.missing) if _is_code(m.code, value, column)]
        if codes and equality:  # no level is a code, and a code need not be a date
            result = np.full(n, sign == "!=")
        else:
            result = self._levels_against(column, sign, value)
        lookup = np.append(result, np.full(len(column.missing), sign == "!="))
        if equality:
            lookup[codes] = sign == "=="
        return np.asarray(lookup[column.codes])

    def _levels_against(self, column: Column, sign: str, value: Any) -> NDArray[np.bool_]:
        levels, compare = column.levels, SIGNS[sign]
        equality = sign in ("==", "!=")
        if levels.dtype.kind == "M":
            return np.asarray(compare(levels, self._date(value)))
        if levels.dtype != object:
            if isinstance(value, str):
                raise self._unlike()
            # Truth values are numbers here; numpy compares them with no number beyond 64 bits.
            numbers = levels.astype(np.uint8) if levels.dtype == np.bool_ else levels
            return np.asarray(compare(numbers, value))
        if not equality and not isinstance(value, str):
            raise self._unlike()
        if not equality and column.kind is Kind.ORDERED:
            return np.asarray(compare(np.arange(len(levels)), self._rank(column, value)))
        # Level by level: numpy would strip NUL characters from the end of the text.
        word = str(value)
        return np.array([compare(str(level), word) for level in levels.tolist()], dtype=bool)

    def _date(self, value: Any) -> np.datetime64:
        try:
            if isinstance(value, str) and DATE.fullmatch(value):
                return np.datetime64(value)
        except ValueError:
            pass  # the 31st of June
        raise self.place.error(
            "a date is expected", 'write it as "2024-03-01"', code="expression.date.malformed"
        )

    def _rank(self, column: Column, value: str) -> int:
        found = [i for i, level in enumerate(column.levels.tolist()) if str(level) == value]
        if not found:
            raise self.place.error(
                "an ordered column is compared with something that is not one of its levels",
                "use a level",
                code="data.level.unknown",
            )
        return found[0]

    def _unlike(self) -> CaveatError:
        return self.place.error(
            "a number is compared with text",
            "compare like with like",
            code="expression.value.mismatch",
        )


def _asks_groups(node: Node) -> bool:
    own = isinstance(node, Call) and node.function in OVER_GROUPS
    return own or any(map(_asks_groups, parts(node)))


def _is_numeric(column: Column) -> bool:
    return column.kind.is_number or column.levels.dtype.kind in "biuf"


def _is_code(code: Any, value: Any, column: Column) -> bool:
    """Whether a constant is the code of a way to be missing."""
    if code is None:
        return False
    return bool(code == value) or (column.levels.dtype == object and str(code) == str(value))


# -------------------------------------------------------------------------------------------------
# Model formulas: ``poisson: children ~ age * sex`` as a response and a list of terms.
#
# The algebra is the usual one: ``a * b`` is ``a + b + a:b``, ``(a + b + c) ** 2`` has all terms
# up to two-way, ``- a`` takes a term away, ``- 1`` or ``+ 0`` the intercept. Within a function
# signs are arithmetic: ``log(income + 1)``, ``I(age ** 2)``.


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


# -------------------------------------------------------------------------------------------------
# The design matrix of a formula: treatment coding, full rank as in R.
#
# Terms with the same numeric factors are looked at together. Within them each category of a term
# is coded by contrasts with its first level where the rest of the term is in the model already,
# and by all its levels where it is not.


MOST_COLUMNS = 2_000
Floats = NDArray[np.float64]
Coding = dict[str, bool]
"""The categories of a part of a term, and whether all levels of each are coded."""


@dataclass(frozen=True, eq=False)
class Categories:
    """A factor with levels; the code −1 is missing.

    Parameters
    ----------
    codes
        The place of each cell among the levels.
    levels
        The levels, the reference first.
    """

    codes: NDArray[np.int64]
    levels: tuple[str, ...]
    __repr__ = without_values


Factor = Floats | Categories


def design(terms: Sequence[Term], factors: Mapping[str, Factor]) -> tuple[list[str], Floats]:
    """Return the names of the columns and the matrix.

    Parameters
    ----------
    terms
        The terms of a formula.
    factors
        The cells of each factor, none of them missing.

    Examples
    --------
    >>> sex = Categories(np.array([0, 1, 1]), ("f", "m"))
    >>> cells = {"age": np.array([3.0, 4.0, 5.0]), "sex": sex}
    >>> names, matrix = design([(), ("age",), ("sex",)], cells)
    >>> names
    ['Intercept', 'sex[T.m]', 'age']
    >>> matrix.tolist()
    [[1.0, 0.0, 3.0], [1.0, 1.0, 4.0], [1.0, 1.0, 5.0]]
    """
    coded = [(term, coding) for term, codings in _codings(terms, factors) for coding in codings]
    width = sum(int(np.prod([len(p) for p in _places(*c, factors)])) for c in coded)
    if width > MOST_COLUMNS:
        raise CaveatError(
            f"the model has {width:,} coefficients",
            do=f"{MOST_COLUMNS:,} are the most: simplify it",
            code="expression.coefficient.too-many",
        )
    sizes = [len(f.codes if isinstance(f, Categories) else f) for f in factors.values()]
    names, columns = [], []
    for term, coding in coded:
        # The first factor runs fastest, as in R.
        for backwards in product(*reversed(_places(term, coding, factors))):
            used = [name for name in term if name in coding or _is_number(factors[name])]
            label, column = [], np.ones(sizes[0])
            for name, place in zip(used, reversed(backwards), strict=True):
                factor = factors[name]
                if isinstance(factor, Categories):
                    sign = "" if coding[name] else "T."
                    label.append(f"{name}[{sign}{factor.levels[place]}]")
                    column = column * (factor.codes == place)
                else:
                    label.append(name)
                    column = column * factor
            names.append(":".join(label) or "Intercept")
            columns.append(column)
    return names, np.column_stack(columns) if columns else np.empty((sizes[0], 0))


def _is_number(factor: Factor) -> bool:
    return not isinstance(factor, Categories)


def _places(term: Term, coding: Coding, factors: Mapping[str, Factor]) -> list[range]:
    """Return for each factor of a part of a term the levels that have a column; one for numbers."""
    places = []
    for name in term:
        factor = factors[name]
        if not isinstance(factor, Categories):
            places.append(range(1))
        elif name in coding:
            places.append(range(0 if coding[name] else 1, len(factor.levels)))
    return places


def _codings(
    terms: Sequence[Term], factors: Mapping[str, Factor]
) -> list[tuple[Term, list[Coding]]]:
    """Return the terms in their order, each with the codings that its columns need."""
    buckets: dict[frozenset[str], list[Term]] = {frozenset(): []}
    for term in terms:
        numeric = frozenset(name for name in term if _is_number(factors[name]))
        buckets.setdefault(numeric, []).append(term)
    found = []
    for numeric, together in buckets.items():
        spanned: set[frozenset[str]] = set()
        for term in sorted(together, key=len):
            categories = [name for name in term if name not in numeric]
            found.append((term, _coding(categories, spanned)))
    return found


def _coding(categories: Sequence[str], spanned: set[frozenset[str]]) -> list[Coding]:
    """Return how the categories of a term are coded, given the margins that are spanned already.

    All levels of a are 1 and the contrasts of a. So a product of categories is the sum of the
    contrasts of all its margins; those that are new are joined again where they can be.
    """
    margins = [
        frozenset(some)
        for size in range(len(categories) + 1)
        for some in combinations(categories, size)
    ]
    new: list[Coding] = [dict.fromkeys(m, False) for m in margins if m not in spanned]
    spanned.update(margins)
    while _joined(new):
        pass
    return new


def _joined(parts: list[Coding]) -> bool:
    """Join the first part that is another one without the contrasts of one category."""
    for i, short in enumerate(parts):
        for j, long in enumerate(parts[i + 1 :], start=i + 1):
            if len(long) == len(short) + 1 and short.items() <= long.items():
                parts[j] = {name: whole or name not in short for name, whole in long.items()}
                del parts[i]
                return True
    return False
