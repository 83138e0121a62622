"""Expressions over columns: formulas of derived columns, conditions of rules, edit rules.

The language is a small one: arithmetic, comparisons, ``and``, ``or``, ``not``, ``in`` and a few
functions. It is parsed by us and never executed. Comparisons with constants are made level by
level, so that they cost as much as the dictionary of a column, not as its cells.

A comparison with a missing cell is false, but ``!=`` and ``not in`` are true; arithmetic with a
missing cell is missing; ``missing(x)`` asks.

Where rows belong to groups, ``sum(x)``, ``mean(x)``, ``count(c)``, ``any(c)`` and ``all(c)`` are of
all rows of a group and have the same value in each of them. Missing cells do not count.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
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
    Unary,
    names_in,
    parts,
)
from caveat.expressions.tokens import Place
from caveat.table import Column, Kind

__all__ = ["Evaluation", "Expression"]

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
