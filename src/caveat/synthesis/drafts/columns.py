"""The columns of a draft, their correlations, and the joint table of its categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.showing import without_values
from caveat.synthesis.methods.tables import MOST_CELLS, fit_joint
from caveat.table import Column, Kind

__all__ = [
    "Category",
    "ColumnPlan",
    "Derived",
    "Floats",
    "Margin",
    "Numeric",
    "Rows",
    "as_columns",
    "blocks_of",
    "check_weight",
    "completed",
    "joint_rows",
    "nearest_correlation",
    "numbers_of",
    "whole_counts",
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


# -------------------------------------------------------------------------------------------------
# Correlation matrices: what is missing in them, and the nearest one that any data can have.
#
# A matrix that was put together from several sources, or rounded, may be that of no data: one of
# its eigenvalues is negative. The nearest correlation matrix is found by projecting in turn on
# matrices without negative eigenvalues and on those with ones in the diagonal (Higham 2002).


MOST_ROUNDS = 5_000
NEAR = 1e-10


def nearest_correlation(matrix: Floats, known: NDArray[np.bool_] | None = None) -> Floats:
    """Return the correlation matrix that is nearest to a symmetric matrix.

    Parameters
    ----------
    matrix
        The matrix.
    known
        Which entries count; all by default.

    Examples
    --------
    The example of Higham (2002):

    >>> bad = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    >>> nearest_correlation(bad).round(4).tolist()
    [[1.0, 0.7607, 0.1573], [0.7607, 1.0, 0.7607], [0.1573, 0.7607, 1.0]]
    """
    wanted = np.asarray(matrix, np.float64)
    counts = np.ones(wanted.shape, bool) if known is None else known
    found = wanted.copy()
    for _ in range(1 if counts.all() else 50):
        # What nobody knows is taken from the last answer: it pulls nowhere.
        found = _nearest(np.where(counts, wanted, found))
    return found


def _nearest(matrix: Floats) -> Floats:
    now, below = matrix.copy(), np.zeros(matrix.shape)
    for _ in range(MOST_ROUNDS):
        moved = now - below
        positive = _without_negative(moved)
        below = positive - moved
        after = positive.copy()
        np.fill_diagonal(after, 1.0)
        if np.abs(after - now).max() <= NEAR:
            break
        now = after
    # The last step to a matrix that is both: the diagonal is scaled, not set.
    inner = _without_negative(now)
    size = np.sqrt(np.diag(inner))
    found = inner / np.outer(size, size)
    np.fill_diagonal(found, 1.0)
    return np.asarray((found + found.T) / 2)


def completed(matrix: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return a matrix without negative eigenvalues that keeps what is known, if there is one.

    Examples
    --------
    >>> known = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], bool)
    >>> chain = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> bool(completed(chain, known)[0, 2] > 0.61)  # less would contradict the other two
    True
    """
    now = np.where(known, matrix, 0.0)
    for _ in range(MOST_ROUNDS):
        after = np.where(known, matrix, _without_negative(now))
        if np.abs(after - now).max() <= NEAR:
            break
        now = after
    return np.asarray(after)


def _without_negative(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


# -------------------------------------------------------------------------------------------------
# Published tables of categories become rows: the joint table that has them as its margins.
#
# Tables that share columns are fitted together by iterative proportional fitting. The cells of
# the joint table then become whole numbers of rows, so that all published tables stay as near as
# can be.


AGREE = 0.005
"""Shares of two publications may differ by so much: they are rounded."""
MOST_EXACT = 5_000  # cells of a joint table that are rounded, or repaired, by solving a program


@dataclass(frozen=True, eq=False)
class Margin:
    """Shares of a table.

    Parameters
    ----------
    by
        Its columns.
    shares
        One axis for each.
    weight
        How much it counts against others.
    entry
        Where it is written.
    published
        The shares as they are published, which may miss 1 by rounding; None if they do not.
    """

    by: tuple[str, ...]
    shares: Floats
    weight: float
    entry: tuple[str | int, ...]
    published: Floats | None = None

    __repr__ = without_values


def blocks_of(margins: Sequence[Margin]) -> list[tuple[str, ...]]:
    """Return the columns that hang together by tables, each block in the order of the tables."""
    blocks: list[list[str]] = []
    for margin in margins:
        touched = [block for block in blocks if set(block) & set(margin.by)]
        joined = dict.fromkeys(name for block in [*touched, list(margin.by)] for name in block)
        blocks = [block for block in blocks if block not in touched] + [list(joined)]
    return [tuple(block) for block in blocks]


def joint_rows(
    block: Sequence[str],
    sizes: Mapping[str, int],
    margins: Sequence[Margin],
    rows: int,
    rng: np.random.Generator,
) -> dict[str, NDArray[np.int64]]:
    """Return the codes of a block of columns, row by row in a random order."""
    shape = tuple(sizes[name] for name in block)
    if np.prod(shape, dtype=float) > MOST_CELLS:
        raise CaveatError(
            f"the columns {', '.join(block)} have more than {MOST_CELLS:,} combinations",
            entry=margins[0].entry,
            do="leave a table out, or group levels",
            code="draft.table.too-large",
        )
    axes = [tuple(block.index(name) for name in margin.by) for margin in margins]
    targets = [
        _against(margin.shares, kept, len(shape))
        for margin, kept in zip(margins, axes, strict=True)
    ]
    joint = fit_joint(shape, axes, targets, agreeing=False)
    _check_agree(joint, axes, targets, margins)
    counts = whole_counts(joint, axes, targets, rows)
    cells = np.repeat(np.arange(joint.size), counts.ravel())
    places = np.unravel_index(rng.permutation(cells), shape)
    return {name: place.astype(np.int64) for name, place in zip(block, places, strict=True)}


def _against(shares: Floats, kept: tuple[int, ...], depth: int) -> Floats:
    """Return shares shaped to stand against the joint table."""
    ordered = np.transpose(shares, np.argsort(kept))
    sizes = iter(ordered.shape)
    return ordered.reshape([next(sizes) if axis in kept else 1 for axis in range(depth)])


def _sums(joint: Floats, kept: tuple[int, ...]) -> Floats:
    others = tuple(axis for axis in range(joint.ndim) if axis not in kept)
    return np.asarray(joint.sum(axis=others, keepdims=True))


def _check_agree(
    joint: Floats,
    axes: Sequence[tuple[int, ...]],
    targets: Sequence[Floats],
    margins: Sequence[Margin],
) -> None:
    """Refuse tables that no file can have together, and say which ones are nearest."""
    off = [float(np.abs(_sums(joint, k) - t).max()) for k, t in zip(axes, targets, strict=True)]
    if max(off) <= AGREE:
        return
    worst = int(np.argmax(off))
    if joint.size <= MOST_EXACT:
        scale = np.concatenate([np.full(t.size, m.weight**0.5) for t, m in
                                zip(targets, margins, strict=True)])  # fmt: skip
        matrix = _margins_matrix(joint.shape, axes).toarray() * scale[:, None]
        wanted = np.concatenate([t.ravel() for t in targets]) * scale
        joint = scipy.optimize.nnls(matrix, wanted)[0].reshape(joint.shape)
        joint /= joint.sum()
        gaps = [np.abs(_sums(joint, k) - t).max() for k, t in zip(axes, targets, strict=True)]
        worst = int(np.argmax(gaps))
    feasible = _sums(joint, axes[worst]).ravel()
    shown = ", ".join(f"{share:.4f}" for share in feasible[:12])
    more = " …" if len(feasible) > 12 else ""
    raise CaveatError(
        f"the tables contradict each other: {' × '.join(margins[worst].by)} cannot be as it is "
        f"beside the others; the nearest feasible shares are {shown}{more}",
        entry=margins[worst].entry,
        do="correct it, or leave one of the tables out",
        code="draft.table.conflict",
    )


def _margins_matrix(shape: tuple[int, ...], axes: Sequence[tuple[int, ...]]) -> Any:
    """Return which cells of the joint table each cell of a margin sums."""
    places = np.indices(shape).reshape(len(shape), -1)
    parts = []
    for kept in axes:
        ordered = sorted(kept)
        sizes = [shape[axis] for axis in ordered]
        line = np.ravel_multi_index([places[axis] for axis in ordered], sizes)
        ones = np.ones(len(line))
        parts.append(scipy.sparse.csr_array((ones, (line, np.arange(len(line)))),
                               shape=(int(np.prod(sizes)), len(line))))  # fmt: skip
    return scipy.sparse.vstack(parts, "csr")


def whole_counts(
    joint: Floats, axes: Sequence[tuple[int, ...]], targets: Sequence[Floats], rows: int
) -> NDArray[np.int64]:
    """Return whole numbers of rows for the cells, with the margins as near as can be.

    Examples
    --------
    >>> joint = np.array([[0.3, 0.3], [0.2, 0.2]])
    >>> sums = [np.array([[0.6], [0.4]]), np.array([[0.5, 0.5]])]
    >>> counts = whole_counts(joint, [(0,), (1,)], sums, 10)
    >>> counts.sum(axis=1).tolist(), counts.sum(axis=0).tolist()
    ([6, 4], [5, 5])
    """
    exact = joint.ravel() * rows
    low = np.floor(exact + 1e-9)
    if joint.size > MOST_EXACT:
        return _by_remainder(exact, low, rows).reshape(joint.shape)
    matrix = _margins_matrix(joint.shape, axes)
    wanted = np.concatenate([t.ravel() for t in targets]) * rows
    n, m = len(exact), len(wanted)
    # Cells go up by one or two or stay; what a margin then lacks or has too much of is the cost.
    held = scipy.sparse.hstack(
        [matrix, scipy.sparse.eye_array(m), -scipy.sparse.eye_array(m)], "csr"
    )
    every = scipy.sparse.hstack(
        [scipy.sparse.csr_array(np.ones((1, n))), scipy.sparse.csr_array((1, 2 * m))], "csr"
    )
    ahead = np.concatenate([(low + 1 - exact) * 1e-3, np.ones(2 * m)])
    top = np.where(exact > 0, 2.0, 0.0)
    found = scipy.optimize.milp(
        ahead,
        constraints=[
            scipy.optimize.LinearConstraint(held, wanted - matrix @ low, wanted - matrix @ low),
            scipy.optimize.LinearConstraint(every, rows - low.sum(), rows - low.sum()),
        ],
        integrality=np.concatenate([np.ones(n), np.zeros(2 * m)]),
        bounds=scipy.optimize.Bounds(
            np.zeros(n + 2 * m), np.concatenate([top, np.full(2 * m, np.inf)])
        ),
        options={"node_limit": 200, "mip_rel_gap": 0.01},
    )
    if found.x is None:
        return _by_remainder(exact, low, rows).reshape(joint.shape)
    return np.asarray((low + np.round(found.x[:n])).astype(np.int64).reshape(joint.shape))


def _by_remainder(exact: Floats, low: Floats, rows: int) -> NDArray[np.int64]:
    """Return the floors, and one more where most is left over."""
    counts = low.astype(np.int64)
    first = np.argsort(low - exact, kind="stable")[: rows - int(counts.sum())]
    counts[first] += 1
    return counts
