"""The columns of a draft: categories, numbers, and what is computed from others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.table import Column, Kind

__all__ = [
    "Category",
    "ColumnPlan",
    "Derived",
    "Floats",
    "Numeric",
    "Rows",
    "as_columns",
    "check_weight",
    "numbers_of",
    "with_derived",
    "worth",
]

Floats = NDArray[np.float64]
Rows = dict[str, NDArray[Any]]
"""The cells of a draft: codes of categories, numbers of all others."""

FAMILIES = ("normal", "gamma", "lognormal", "beta")
ADD_UP = 0.005
"""Shares may miss 1 by so much: they are published with few digits."""
LARGEST = 1e100
MOST_DIGITS = 15
FINE = 6  # digits of a standard deviation that a number is written with


def check_weight(weight: float) -> None:
    """Refuse a weight that would push a draft away from a target, or let it alone."""
    if not 0 < weight <= LARGEST:
        raise CaveatError(
            "a weight is a number above 0",
            entry=("weight",),
            do="correct it",
            code="draft.entry.range",
        )


@dataclass(frozen=True)
class Category:
    """A column with levels.

    Parameters
    ----------
    levels
        The levels in their order.
    shares
        The share of each; None where only tables tell it.
    weight
        How much its shares count where they and tables differ.
    """

    levels: tuple[str, ...]
    shares: tuple[float, ...] | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_weight(self.weight)
        if self.shares is None:
            return
        if any(share < 0 for share in self.shares):
            raise CaveatError(
                "a share is negative", entry=("shares",), do="correct it", code="draft.entry.range"
            )
        total = sum(self.shares)
        if abs(total - 1) > ADD_UP:
            raise CaveatError(
                f"the shares sum to {total:.4g}, not to 1",
                entry=("shares",),
                do="add the level that is missing, or correct a share",
                code="draft.share.mismatch",
            )

    @property
    def values(self) -> Floats | None:
        """What the levels are worth in a correlation: themselves, or 0 and 1; else None."""
        try:
            found = np.array([float(level) for level in self.levels])
        except ValueError:
            found = np.array([np.nan])
        if np.isfinite(found).all():  # "nan" and "inf" are words here
            return found
        return np.array([0.0, 1.0]) if len(self.levels) == 2 else None


@dataclass(frozen=True)
class Numeric:
    """A column of numbers.

    Parameters
    ----------
    mean, sd
        What is published; None where nothing is.
    least, most
        Between which numbers it lies.
    family
        The shape that it starts with. By default a beta distribution between two bounds, a gamma
        distribution above one, and a normal one without.
    whole
        Whether only whole numbers occur.
    decimals
        Digits behind the point; by default so many that rounding does not show in any target.
    weight
        How much mean and standard deviation count against other targets.
    exact
        Whether the mean is a published total: the sum over all rows is then exact to the last digit
        of the column, whatever other targets ask.
    """

    mean: float | None = None
    sd: float | None = None
    least: float | None = None
    most: float | None = None
    family: str | None = None
    whole: bool = False
    decimals: int | None = None
    weight: float = 1.0
    exact: bool = False

    def __post_init__(self) -> None:
        check_weight(self.weight)
        if not 0 <= (self.decimals or 0) <= MOST_DIGITS:
            raise CaveatError(
                f"a number has up to {MOST_DIGITS} digits behind the point", entry=("decimals",),
                do="choose fewer",
                code="draft.entry.range",
            )  # fmt: skip
        low, high = self.bounds
        for key in ("mean", "sd", "least", "most"):
            if not abs(getattr(self, key) or 0.0) <= LARGEST:
                raise CaveatError(
                    f"{key} is beyond {LARGEST:g}, or no number",
                    entry=(key,),
                    do="use a larger unit",
                    code="draft.entry.range",
                )
        if self.sd is not None and self.sd <= 0:
            raise CaveatError(
                "a standard deviation is above 0", entry=("sd",), do="correct it; a constant is "
                "a category with one level",
                code="draft.entry.range",
            )  # fmt: skip
        if not low < high:
            if self.least is not None and self.most is not None and self.least < self.most:
                raise CaveatError(
                    "fewer than two numbers with these digits lie between least and most",
                    entry=("least",),
                    do="move one of them, or allow more decimals",
                    code="draft.entry.conflict",
                )
            raise CaveatError(
                "least is not below most",
                entry=("least",),
                do="exchange them",
                code="draft.entry.conflict",
            )
        if (self.mean is None or self.sd is None) and not np.isfinite([low, high]).all():
            raise CaveatError(
                "nothing says where the numbers lie",
                do="give mean and sd, or least and most",
                code="draft.entry.absent",
            )
        if self.mean is not None and not low < self.mean < high:
            raise CaveatError(
                "the mean is not between least and most",
                entry=("mean",),
                do="correct one of them",
                code="draft.entry.conflict",
            )
        largest = self._largest_sd
        if self.sd is not None and self.sd >= largest:
            raise CaveatError(
                f"no numbers between least and most have this mean and this standard deviation; "
                f"the largest feasible one is {largest:.4g}",
                entry=("sd",),
                do="correct it",
                code="draft.entry.conflict",
            )
        self._check_family(low, high)

    def check_total(self, total: float) -> None:
        """Refuse a total that no numbers with the digits of the column have."""
        if round(total, self.digits) != total:
            raise CaveatError(
                f"the total {total!r} is finer than the column, which has {self.digits} digits "
                f"behind the point",
                entry=("total",),
                do="round it, or give the column more decimals",
                code="draft.entry.conflict",
            )

    def _check_family(self, low: float, high: float) -> None:
        if self.family in ("gamma", "lognormal") and self.least is None:
            raise CaveatError(
                f"a {self.family} column begins somewhere",
                entry=("family",),
                do="add least = 0",
                code="draft.entry.absent",
            )
        if self.family == "beta" and not np.isfinite([low, high]).all():
            raise CaveatError(
                "a beta column lies between two numbers", entry=("family",),
                do="add least and most",
                code="draft.entry.absent",
            )  # fmt: skip

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which numbers it lies; infinite where nothing is said.

        Bounds with more digits than the column move inwards to numbers that occur.
        """
        low = -np.inf if self.least is None else self.least
        high = np.inf if self.most is None else self.most
        if self.whole or self.decimals is not None:
            return self._inwards(low, high)
        return low, high

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest number that can be written."""
        return self._inwards(*self.bounds)

    def _inwards(self, low: float, high: float) -> tuple[float, float]:
        unit = 10.0**self.digits
        first, last = low * unit, high * unit
        return (
            float(np.ceil(first - max(1e-9, 1e-15 * abs(first))) / unit),
            float(np.floor(last + max(1e-9, 1e-15 * abs(last))) / unit),
        )

    @property
    def _largest_sd(self) -> float:
        low, high = self.bounds
        if self.mean is None:
            return (high - low) / 2
        # Bhatia and Davis: all at the two ends.
        room = (self.mean - low) * (high - self.mean)
        return float(np.sqrt(room)) if np.isfinite(room) else np.inf

    @property
    def start(self) -> tuple[float, float]:
        """Mean and standard deviation to begin with."""
        low, high = self.bounds
        mean = (low + high) / 2 if self.mean is None else self.mean
        usual = min((high - low) / np.sqrt(12), 0.9 * self._largest_sd)
        return mean, float(usual if self.sd is None else self.sd)

    @property
    def digits(self) -> int:
        """Digits behind the point."""
        if self.whole:
            return 0
        if self.decimals is not None:
            return self.decimals
        return int(np.clip(np.ceil(FINE - np.log10(self.start[1])), 0, MOST_DIGITS))

    def quantiles(self, chances: Floats) -> Floats:
        """Return the numbers that lie above these shares of the column."""
        (mean, sd), (low, high) = self.start, self.bounds
        chances = np.clip(chances, 1e-9, 1 - 1e-9)
        both = np.isfinite([low, high]).all()
        family = self.family or (
            "beta" if both else "gamma" if self.least is not None else "normal"
        )
        if family == "beta":
            span = high - low
            at, spread = (mean - low) / span, (sd / span) ** 2
            size = at * (1 - at) / spread - 1
            found = low + span * scipy.stats.beta.ppf(chances, at * size, (1 - at) * size)
        elif family == "gamma":
            shape = ((mean - low) / sd) ** 2
            found = low + scipy.stats.gamma.ppf(chances, shape, scale=(mean - low) / shape)
        elif family == "lognormal":
            sigma = np.sqrt(np.log1p((sd / (mean - low)) ** 2))
            middle = np.log(mean - low) - sigma**2 / 2
            found = low + np.exp(middle + sigma * scipy.stats.norm.ppf(chances))
        else:
            found = scipy.stats.norm.ppf(chances, mean, sd)
        return np.asarray(np.clip(found, low, high))


@dataclass(frozen=True)
class Derived:
    """A column that follows from others in every row: a total, or an answer that is repeated.

    Parameters
    ----------
    formula
        How: ``goods + services``.
    mean, sd
        What is published about it; None where nothing is.
    weight
        How much these count.
    """

    formula: Expression
    mean: float | None = None
    sd: float | None = None
    weight: float = 1.0
    parts: tuple[str, ...] = field(init=False)

    @property
    def start(self) -> tuple[float, float]:
        """Mean and standard deviation, as far as they are known."""
        return (0.0 if self.mean is None else self.mean, 1.0 if self.sd is None else self.sd)

    def __post_init__(self) -> None:
        check_weight(self.weight)
        if self.sd is not None and self.sd <= 0:
            raise CaveatError(
                "a standard deviation is above 0",
                entry=("sd",),
                do="correct it",
                code="draft.entry.range",
            )
        if not self.formula.columns:
            raise CaveatError(
                "the formula names no column",
                entry=("formula",),
                do="name one",
                code="draft.formula.constant",
            )
        object.__setattr__(self, "parts", self.formula.columns)


ColumnPlan = Category | Numeric | Derived


def as_columns(plans: Mapping[str, ColumnPlan], rows: Rows, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of a draft as expressions read them."""
    found = {}
    for name in names:
        plan, cells = plans[name], rows[name]
        if isinstance(plan, Category):
            found[name] = Column(cells, np.array(plan.levels, dtype=object), Kind.CATEGORY)
        else:
            found[name] = Column(np.arange(len(cells)), cells, Kind.NUMERIC)
    return found


def with_derived(plans: Mapping[str, ColumnPlan], rows: Rows) -> Rows:
    """Return the rows with everything that follows from them."""
    done = dict(rows)
    for name, plan in plans.items():
        if isinstance(plan, Derived):
            done[name] = _computed(plans, plan, done)
    return done


def _computed(plans: Mapping[str, ColumnPlan], plan: Derived, done: Rows) -> Floats:
    for part in plan.parts:
        below = plans[part]
        if isinstance(below, Derived) and part not in done:
            done[part] = _computed(plans, below, done)
    return plan.formula.evaluate(as_columns(plans, done, plan.parts)).astype(np.float64)


def worth(plan: ColumnPlan, cells: NDArray[Any]) -> Floats:
    """Return cells as the numbers that a correlation takes."""
    if isinstance(plan, Category):
        assert plan.values is not None
        return np.asarray(plan.values[cells])
    return cells


def numbers_of(plans: Mapping[str, ColumnPlan], rows: Rows, names: Sequence[str]) -> Floats:
    """Return some columns as numbers, one beside the other."""
    return np.column_stack([worth(plans[name], rows[name]) for name in names])
