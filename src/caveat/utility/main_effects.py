"""The main effects of a regression, kept as codes: its normal equations are sums over groups.

A column of codes stands for all 0/1 columns of its levels, so that the products of two columns are
a table of weights and no product of matrices. The design itself is never written down: a step of
the regression takes a tenth of the time and no memory to speak of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.showing import without_values
from caveat.utility.logistic import NEW_SHARE, Logistic, iterate
from caveat.utility.stacked import Stacked
from caveat.utility.weighting import Weights

__all__ = ["MainEffects"]

Floats = NDArray[np.float64]

# What is new in a column is known well enough from products above this share of its square; below
# it the rows themselves are asked.
CLEAR = 1e-6
# Weights that leave less of a column than this separate the rows: better ask for a basis.
SEPARATED = 1e-10


class _UnclearError(Exception):
    """Products of columns are too inexact to tell."""


@dataclass(frozen=True, eq=False)
class _Effect:
    """One column: its codes, and the number of each code unless it is a category."""

    codes: NDArray[np.int64]
    levels: int
    numbers: Floats | None

    __repr__ = without_values

    @property
    def width(self) -> int:
        return self.levels - 1 if self.numbers is None else 1

    def sums(self, weighted: Floats) -> Floats:
        """Return the products of the columns that it stands for with a column."""
        if self.numbers is not None:
            return np.array([self.numbers[self.codes] @ weighted])
        return np.asarray(np.bincount(self.codes, weighted, self.levels)[1:], np.float64)

    def fitted(self, coefficients: Floats) -> Floats:
        """Return the sum of the columns that it stands for, each times its coefficient."""
        if self.numbers is not None:
            return np.asarray((self.numbers * coefficients[0])[self.codes])
        return np.asarray(np.append(0.0, coefficients)[self.codes])


class MainEffects:
    """A constant and the main effects of stacked columns.

    Parameters
    ----------
    data
        The columns; numbers are centred, which leaves the model as it is.

    Attributes
    ----------
    rank
        Number of coefficients that can be estimated; None if only the rows can tell.
    """

    def __init__(self, data: Stacked) -> None:
        self._rows = len(data.is_synthetic)
        self._effects = []
        clear = True
        for codes, levels, values in zip(data.codes, data.n_levels, data.values, strict=True):
            numbers = None
            if values is not None:
                counts = np.bincount(codes, minlength=levels)
                numbers = values - counts @ values / self._rows
                rest, length = counts @ numbers**2, counts @ values**2
                clear = clear and (levels == 1 or bool(rest > CLEAR * length))
                if levels == 1:
                    numbers = np.zeros(1)
            self._effects.append(_Effect(codes, levels, numbers))
        widths = [effect.width for effect in self._effects]
        self._starts = 1 + np.cumsum([0, *widths])
        self._kept = np.zeros(0, np.int64)
        self.rank: int | None = None
        if clear:
            try:
                self._kept = self._independent(self._products(np.ones(self._rows)))
                self.rank = len(self._kept)
            except _UnclearError:
                pass

    def fit(self, response: NDArray[np.bool_], weights: Weights = None) -> Logistic | None:
        """Fit a logistic regression; None if the weights of its steps make it inexact."""
        if self.rank is None:
            return None
        try:
            return iterate(self._step, self.rank, response, weights)
        except _UnclearError:
            return None

    def _blocks(self) -> Iterator[tuple[slice, _Effect]]:
        for start, effect in zip(self._starts, self._effects, strict=False):
            yield slice(int(start), int(start) + effect.width), effect

    def _products(self, weight: Floats) -> Floats:
        """Return the weighted products of all columns with each other."""
        found = np.zeros((self._starts[-1], self._starts[-1]))
        found[0, 0] = weight.sum()
        before: list[tuple[slice, _Effect]] = []
        for here, effect in self._blocks():
            weighted = weight if effect.numbers is None else weight * effect.numbers[effect.codes]
            found[0, here] = effect.sums(weight)
            if effect.numbers is None:
                found[here, here] = np.diag(found[0, here])
            else:
                found[here, here] = effect.sums(weighted)
            for there, other in before:
                if effect.numbers is None and other.numbers is None:
                    joint = other.codes * effect.levels + effect.codes
                    cells = np.bincount(joint, weight, other.levels * effect.levels)
                    found[there, here] = cells.reshape(other.levels, effect.levels)[1:, 1:]
                elif effect.numbers is None:
                    found[there, here] = effect.sums(weight * other.numbers[other.codes])  # type: ignore[index]
                else:
                    found[there, here] = other.sums(weighted)[:, None]
            before.append((here, effect))
        return np.triu(found) + np.triu(found, 1).T

    def _columns(self, weighted: Floats) -> Floats:
        """Return the products of all columns with a column."""
        parts = [effect.sums(weighted) for _, effect in self._blocks()]
        return np.concatenate([[weighted.sum()], *parts])

    def _fitted(self, coefficients: Floats) -> Floats:
        found = np.full(self._rows, coefficients[0])
        for here, effect in self._blocks():
            found += effect.fitted(coefficients[here])
        return found

    def _independent(self, products: Floats) -> NDArray[np.int64]:
        """Return the columns that are not made of those before them, as R's ``glm`` does."""
        lengths = np.sqrt(np.diag(products))
        scaled = products / np.outer(lengths, lengths).clip(1e-300)
        root = np.zeros_like(scaled)
        kept: list[int] = []
        for k in np.flatnonzero(lengths > 0).tolist():
            r = len(kept)
            part = np.zeros(0)
            if r:
                part = scipy.linalg.solve_triangular(root[:r, :r], scaled[kept, k], lower=True)
            left = 1.0 - float(part @ part)
            if left <= CLEAR:
                self._refuse_if_new(k, np.array(kept), products)
                continue
            root[r, :r], root[r, r] = part, np.sqrt(left)
            kept.append(k)
        return np.array(kept)

    def _refuse_if_new(self, k: int, kept: NDArray[np.int64], products: Floats) -> None:
        """See row by row whether a column is made of others; that it is not quite is unclear."""
        unit = np.zeros(len(products))
        unit[k] = 1.0
        rest = self._fitted(unit)
        length = float(np.linalg.norm(rest))
        factor = scipy.linalg.cho_factor(products[np.ix_(kept, kept)])
        for _ in range(2):  # once more, to clean up rounding
            unit[:] = 0.0
            unit[kept] = scipy.linalg.cho_solve(factor, self._columns(rest)[kept])
            rest = rest - self._fitted(unit)
        if float(np.linalg.norm(rest)) >= NEW_SHARE * length:
            raise _UnclearError

    def _step(self, working: Floats, weight: Floats) -> Floats:
        """Return the fitted values of a weighted regression."""
        normal = self._products(weight)[np.ix_(self._kept, self._kept)]
        lengths = np.sqrt(np.diag(normal))
        if not (lengths > 0).all():
            raise _UnclearError
        try:
            factor = scipy.linalg.cho_factor(normal / np.outer(lengths, lengths))
        except scipy.linalg.LinAlgError as error:
            raise _UnclearError from error
        if np.diag(factor[0]).min() ** 2 <= SEPARATED:
            raise _UnclearError
        right = self._columns(weight * working)[self._kept] / lengths
        coefficients = np.zeros(self._starts[-1])
        coefficients[self._kept] = scipy.linalg.cho_solve(factor, right) / lengths
        return self._fitted(coefficients)
