"""Both tables stacked, as the propensity models see them.

The synthetic rows come first. A number stays a number: its missing cells are set to 0 and every way
to be missing becomes a 0/1 column after all the others, as in synthpop's ``utility.gen``. For other
columns a way to be missing is a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.table import Column
from caveat.tree import Predictors
from caveat.utility.pair import Category, WeightedPair
from caveat.utility.weighting import Weights

__all__ = ["Stacked", "stack", "stacked_weights"]


@dataclass(frozen=True, eq=False)
class Stacked:
    """Columns of codes over the synthetic rows and then the original ones.

    Attributes
    ----------
    names
        Names of the columns, those for missing cells included.
    codes
        One array for each column; every code occurs.
    values
        The number that each code of a column stands for, ``None`` for categories.
    ordered
        Whether the order of the codes has a meaning.
    is_synthetic
        Which rows are synthetic.
    """

    names: tuple[str, ...]
    codes: tuple[NDArray[np.int64], ...]
    values: tuple[NDArray[np.float64] | None, ...]
    ordered: tuple[bool, ...]
    is_synthetic: NDArray[np.bool_]

    __repr__ = without_values

    @property
    def n_levels(self) -> list[int]:
        """Number of codes of each column."""
        return [int(codes.max()) + 1 for codes in self.codes]

    def predictors(self) -> Predictors:
        """Return the columns as the tree engine wants them."""
        unsigned = [codes.astype(np.uint32) for codes in self.codes]
        return Predictors(unsigned, self.n_levels, self.ordered)

    def n_terms(self, order: int) -> int:
        """Return the number of columns that `design` has."""
        widths = [
            levels - 1 if numbers is None else 1
            for levels, numbers in zip(self.n_levels, self.values, strict=True)
        ]
        # Coefficient k of Π (1 + w x) is the number of products of k columns.
        products = np.ones(1)
        for width in widths:
            products = np.convolve(products, [1.0, width])
        return int(products[: order + 2].sum())

    def pooled(self, most: int) -> Stacked:
        """Return the columns with their rare levels pooled, so that a regression has few terms.

        Levels of categories that few rows have become one level of their column: fewer than the
        smallest number of rows that leaves at most ``most`` main effects.

        Examples
        --------
        >>> towns = {"town": ["a"] * 4 + ["b"] * 3 + ["c", "d", "e"]}
        >>> stack(WeightedPair.of(towns, towns)).pooled(3).n_levels
        [3]
        """
        counts = [np.bincount(codes) for codes in self.codes]
        factors = [number is None for number in self.values]
        held = [c for c, is_factor in zip(counts, factors, strict=True) if is_factor]
        numbers = 1 + len(counts) - len(held)

        def terms(fewest: int) -> int:
            found = ((c >= fewest).sum() + (c < fewest).any() - 1 for c in held)
            return numbers + int(sum(found))

        sizes = np.unique(np.concatenate([*held, np.ones(1, np.int64)])) + 1
        fewest = next((int(size) for size in sizes if terms(int(size)) <= most), None)
        if fewest is None:
            raise CaveatError(
                f"the logistic model would have {self.n_terms(0):,} columns, {numbers:,} of them "
                "for numbers",
                do="choose fewer variables",
                code="measure.model.too-large",
            )
        codes = list(self.codes)
        for i, (own, is_factor) in enumerate(zip(counts, factors, strict=True)):
            if is_factor and (own < fewest).sum() > 1:
                rare = own < fewest
                codes[i] = np.where(rare, len(own) - rare.sum(), np.cumsum(~rare) - 1)[codes[i]]
        return replace(self, codes=tuple(codes))

    def design(self, order: int) -> NDArray[np.float64]:
        """Return the columns of a regression: a constant, main effects, products up to `order`.

        Parameters
        ----------
        order
            0 for main effects, 1 for products of two columns, and so on.
        """
        blocks = [
            _dummies(codes, levels) if numbers is None else numbers[codes][:, None]
            for codes, numbers, levels in zip(self.codes, self.values, self.n_levels, strict=True)
        ]
        terms = [(i, block) for i, block in enumerate(blocks)]
        parts, last = [np.ones((len(self.is_synthetic), 1)), *blocks], terms
        for _ in range(order):
            last = [
                (j, _products(a, blocks[j])) for i, a in last for j in range(i + 1, len(blocks))
            ]
            parts += [block for _, block in last]
        return np.concatenate(parts, axis=1)


def _dummies(codes: NDArray[np.int64], levels: int) -> NDArray[np.float64]:
    return np.asarray(codes[:, None] == np.arange(1, levels), dtype=np.float64)


def _products(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((a[:, :, None] * b[:, None, :]).reshape(len(a), -1))


def stack(
    pair: WeightedPair, names: Sequence[str] | None = None, groups: int | None = None
) -> Stacked:
    """Stack two tables.

    Parameters
    ----------
    pair
        The two tables.
    names
        The columns to use; all unless given.
    groups
        Cut numbers into this many groups and use them as categories.

    Examples
    --------
    >>> people = {"sex": ["f", "m", "m"], "age": [31, None, 52]}
    >>> both = stack(WeightedPair.of(people, people))
    >>> both.names, both.values[1].tolist()
    (('sex', 'age', 'age: empty'), [0.0, 31.0, 52.0])
    """
    chosen = pair.choose(names)
    columns: list[_StackedColumn] = []
    indicators: list[_StackedColumn] = []
    for name in chosen:
        ours, theirs = pair.columns(name)
        if groups is not None and ours.kind.is_number:
            columns.append(_grouped(name, pair.categories(groups)[name]))
            continue
        codes = np.concatenate([theirs.codes, ours.codes]).astype(np.int64)
        if ours.kind.is_number:
            columns.append(_number(name, codes, ours))
            indicators += _indicators(name, codes, ours)
        else:
            columns.append(_StackedColumn(name, *_used(codes, None), ordered=ours.kind.has_order))
    every = [*columns, *indicators]
    origin = np.arange(pair.n_synthetic + pair.n_original) < pair.n_synthetic
    return Stacked(
        tuple(c.name for c in every),
        tuple(c.codes for c in every),
        tuple(c.values for c in every),
        tuple(c.ordered for c in every),
        origin,
    )


def stacked_weights(pair: WeightedPair) -> Weights:
    """Return the weights of the stacked rows: 1 for the synthetic ones; None without weights."""
    if pair.weights is None:
        return None
    return np.concatenate([np.ones(pair.n_synthetic), pair.weights])


@dataclass(frozen=True, eq=False)
class _StackedColumn:
    name: str
    codes: NDArray[np.int64]
    values: NDArray[np.float64] | None
    ordered: bool

    __repr__ = without_values


def _used(
    codes: NDArray[np.int64], values: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Return codes without gaps, in the same order."""
    used = np.bincount(codes) > 0
    kept = None if values is None else values[: len(used)][used]
    return (np.cumsum(used) - 1)[codes], kept


def _grouped(name: str, column: Category) -> _StackedColumn:
    codes = np.concatenate([column.synthetic, column.original]).astype(np.int64)
    return _StackedColumn(name, *_used(codes, None), ordered=False)


def _number(name: str, codes: NDArray[np.int64], column: Column) -> _StackedColumn:
    values = np.concatenate([column.numbers, np.zeros(len(column.missing))])
    distinct, position = np.unique(values, return_inverse=True)
    return _StackedColumn(name, *_used(position[codes], distinct), ordered=True)


def _indicators(name: str, codes: NDArray[np.int64], column: Column) -> list[_StackedColumn]:
    found = []
    for j, way in enumerate(column.missing):
        hit = (codes == len(column.levels) + j).astype(np.int64)
        if 0 < hit.sum() < len(hit):
            found.append(_StackedColumn(f"{name}: {way}", hit, np.array([0.0, 1.0]), ordered=True))
    return found
