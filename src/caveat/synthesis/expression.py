"""Expressions over columns: the formulas of derived columns and the conditions of rules.

The language is a small part of Python's: arithmetic, comparisons, ``and``, ``or``, ``not``, ``in``
and a few functions. It is parsed, never executed. Comparisons with constants are made level by
level, so that they cost as much as the dictionary of a column, not as its cells.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table import Column, Kind

__all__ = ["Expression"]

ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "round": lambda x, digits=0: np.round(x, int(digits)),
    "floor": np.floor,
    "ceil": np.ceil,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
    "min": lambda *xs: reduce(np.minimum, xs),
    "max": lambda *xs: reduce(np.maximum, xs),
}


@dataclass(frozen=True)
class Expression:
    """A parsed expression and the columns it needs.

    Parameters
    ----------
    text
        The expression. Column names that are no Python names stand in backticks.

    Examples
    --------
    >>> from caveat.table import Table
    >>> table = Table.from_frame({"height": [170, 200], "weight": [89.0, None]})
    >>> bmi = Expression("weight / (height / 100) ** 2")
    >>> bmi.columns
    ('weight', 'height')
    >>> bmi.evaluate(table.columns).round(2).tolist()
    [30.8, nan]
    """

    text: str

    def __post_init__(self) -> None:
        _check(self._tree, self.text)

    @property
    def _tree(self) -> ast.expr:
        plain, _ = _without_backticks(self.text)
        try:
            return ast.parse(plain.strip(), mode="eval").body
        except SyntaxError:
            raise CaveatError(
                "it cannot be read", where=f"expression {self.text!r}", do="check the brackets"
            ) from None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns in the order in which they occur."""
        _, quoted = _without_backticks(self.text)
        names = [
            (node.lineno, node.col_offset, quoted.get(node.id, node.id))
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Name) and node.id not in (*FUNCTIONS, "missing")
        ]
        return tuple(dict.fromkeys(name for _, _, name in sorted(names)))

    def evaluate(self, columns: Mapping[str, Column]) -> NDArray[Any]:
        """Return one value per row: a truth value for conditions, a number for formulas."""
        _, quoted = _without_backticks(self.text)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = _Evaluation(columns, quoted, self.text).of(self._tree)
        return np.asarray(_number(value, self.text) if isinstance(value, Column) else value)


def _without_backticks(text: str) -> tuple[str, dict[str, str]]:
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        raise CaveatError("a backtick is not closed", where=f"expression {text!r}")
    quoted = {f"_quoted{i}": name for i, name in enumerate(pieces[1::2])}
    plain = "".join(p if i % 2 == 0 else f"_quoted{i // 2}" for i, p in enumerate(pieces))
    return plain, quoted


def _check(node: ast.AST, text: str) -> None:
    allowed = (
        ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.List, ast.Load, ast.Name,
        ast.Tuple, ast.UnaryOp, ast.And, ast.Or, ast.Not, ast.UAdd, ast.USub, ast.In, ast.NotIn,
        *ARITHMETIC, *COMPARISONS,
    )  # fmt: skip
    for part in ast.walk(node):
        known = not isinstance(part, ast.Call) or (
            isinstance(part.func, ast.Name)
            and part.func.id in (*FUNCTIONS, "missing")
            and not part.keywords
        )
        if not isinstance(part, allowed) or not known:
            raise CaveatError(
                f"{ast.unparse(part) if isinstance(part, ast.expr) else type(part).__name__} is"
                " not part of the language",
                where=f"expression {text!r}",
                do=f"use arithmetic, comparisons, and, or, not, in, {', '.join(FUNCTIONS)}",
            )


@dataclass(frozen=True)
class _Evaluation:
    """One walk over the syntax tree with the columns at hand."""

    columns: Mapping[str, Column]
    quoted: Mapping[str, str]
    text: str

    def of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._column(self.quoted.get(node.id, node.id))
            case ast.List() | ast.Tuple():
                return [self.of(item) for item in node.elts]
            case ast.UnaryOp(op=ast.Not()):
                return ~self._truth(node.operand)
            case ast.UnaryOp():
                value = self._number(node.operand)
                return -value if isinstance(node.op, ast.USub) else value
            case ast.BinOp():
                return ARITHMETIC[type(node.op)](self._number(node.left), self._number(node.right))
            case ast.BoolOp():
                join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
                return reduce(join, [self._truth(value) for value in node.values])
            case ast.Compare():
                return self._compare(node)
            case ast.Call(func=ast.Name(id="missing")):
                column = self.of(node.args[0])
                return column.is_missing if isinstance(column, Column) else np.isnan(column)
            case ast.Call(func=ast.Name(id=name)):
                return FUNCTIONS[name](*[self._number(argument) for argument in node.args])
        raise AssertionError(f"unchecked node {node!r}")

    def _column(self, name: str) -> Column:
        if name not in self.columns:
            raise CaveatError(
                f"there is no column {name!r}",
                where=f"expression {self.text!r}",
                do=f"choose among {', '.join(self.columns)}",
            )
        return self.columns[name]

    def _number(self, node: ast.expr) -> Any:
        value = self.of(node)
        return _number(value, self.text) if isinstance(value, Column) else value

    def _truth(self, node: ast.expr) -> NDArray[np.bool_]:
        value = self.of(node)
        if isinstance(value, Column):
            if value.kind is not Kind.BOOLEAN:
                raise CaveatError("a condition is expected", where=f"expression {self.text!r}")
            return np.append(value.levels, [False] * len(value.missing))[value.codes].astype(bool)
        return np.asarray(value, dtype=bool)

    def _compare(self, node: ast.Compare) -> NDArray[np.bool_]:
        sides = [node.left, *node.comparators]
        results = [
            self._pair(self.of(left), op, self.of(right))
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False)
        ]
        return np.asarray(reduce(np.logical_and, results))

    def _pair(self, left: Any, op: ast.cmpop, right: Any) -> Any:
        if isinstance(op, ast.In | ast.NotIn):
            found = reduce(np.logical_or, [self._pair(left, ast.Eq(), item) for item in right])
            return ~found if isinstance(op, ast.NotIn) else found
        if not isinstance(left, Column) and isinstance(right, Column):
            mirrored = {ast.Lt: ast.Gt(), ast.Gt: ast.Lt(), ast.LtE: ast.GtE(), ast.GtE: ast.LtE()}
            left, op, right = right, mirrored.get(type(op), op), left
        if isinstance(left, Column) and not isinstance(right, Column | np.ndarray):
            return _against_constant(left, op, right, self.text)
        numbers = [_number(v, self.text) if isinstance(v, Column) else v for v in (left, right)]
        return COMPARISONS[type(op)](*numbers)


def _number(column: Column, text: str) -> NDArray[np.float64]:
    """Return the cells as numbers, NaN where they are missing."""
    try:
        return column.cell_numbers
    except (TypeError, ValueError):
        raise CaveatError(
            "a column of text stands where a number is expected", where=f"expression {text!r}"
        ) from None


def _against_constant(column: Column, op: ast.cmpop, value: Any, text: str) -> NDArray[np.bool_]:
    """Compare each level with a constant, then look the rows up; missing cells equal nothing."""
    levels = column.levels
    if levels.dtype.kind == "M":
        try:
            value = np.datetime64(value)
        except ValueError:
            raise CaveatError(
                "a date is expected", where=f"expression {text!r}", do='write it as "2024-03-01"'
            ) from None
    if column.kind is Kind.ORDERED and levels.dtype == object:
        value, levels = _place(column, value, text), np.arange(len(levels))
    elif levels.dtype == object and not isinstance(value, str):
        value = str(value)
    compare = COMPARISONS[type(op)]
    try:
        if levels.dtype == object:  # numpy would strip NUL characters from the end of the text
            result = np.array([compare(level, value) for level in levels.tolist()], dtype=bool)
        else:
            result = np.asarray(compare(levels, value), dtype=bool)
    except (TypeError, np.exceptions.DTypePromotionError):
        raise CaveatError(
            "a number is compared with text",
            where=f"expression {text!r}",
            do="compare like with like",
        ) from None
    lookup = np.append(np.broadcast_to(result, len(levels)), [False] * len(column.missing))
    codes = [i for i, m in enumerate(column.missing) if m.code is not None and m.code == value]
    if isinstance(op, ast.Eq):
        lookup[[len(levels) + i for i in codes]] = True
    if isinstance(op, ast.NotEq):
        lookup[len(levels) :] = True
        lookup[[len(levels) + i for i in codes]] = False
    return lookup[column.codes].astype(bool)


def _place(column: Column, value: Any, text: str) -> int:
    found = np.flatnonzero(column.levels == value)
    if not len(found):
        raise CaveatError(
            "an ordered column is compared with something that is not one of its levels",
            where=f"expression {text!r}",
            do="use a level",
        )
    return int(found[0])
