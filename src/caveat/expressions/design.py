"""The design matrix of a formula: treatment coding, full rank as in R.

Terms with the same numeric factors are looked at together. Within them each category of a term is
coded by contrasts with its first level where the rest of the term is in the model already, and by
all its levels where it is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.expressions.formula import Term

__all__ = ["Categories", "design"]

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
