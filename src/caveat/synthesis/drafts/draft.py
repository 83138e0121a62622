"""A draft: rows that start from the published numbers, and how near they came to each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from threadpoolctl import threadpool_limits

from caveat.errors import CaveatError
from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.synthesis.drafts.columns import (
    Category,
    Derived,
    Floats,
    Numeric,
    Rows,
    blocks_of,
    joint_rows,
    nearest_correlation,
    whole_counts,
    with_derived,
    worth,
)
from caveat.synthesis.drafts.plan import DraftPlan, check_rows
from caveat.synthesis.drafts.targets import Nearness, Search, movable, targets_of
from caveat.table import Table

__all__ = ["Draft", "check_numbers", "draft", "start_rows"]


NEAR = 0.002
ROUNDS = 12  # in which the correlations of the scores are raised


def start_rows(plan: DraftPlan, rows: int, rng: np.random.Generator) -> Rows:
    """Return rows near the targets, without what is computed from others."""
    found: Rows = {}
    blocks = blocks_of(plan.margins)
    for block in blocks:
        sizes = {name: len(plan.category(name).levels) for name in block}
        own = [margin for margin in plan.margins if set(margin.by) <= set(block)]
        found |= joint_rows(block, sizes, own, rows, rng)
    fixed = tuple(found)
    _copula(plan, rows, fixed, found, rng)
    check_numbers(plan, found)
    _explain(plan, rows, blocks, found, rng)
    return {name: found[name] for name in plan.columns if name in found}


def check_numbers(plan: DraftPlan, rows: Rows) -> None:
    """Refuse formulas that give no number: the logarithm of what may be negative."""
    whole = with_derived(plan.columns, rows)
    asked: list[tuple[tuple[str | int, ...], Floats]] = [
        (("columns", name, "formula"), whole[name])
        for name, one in plan.columns.items()
        if isinstance(one, Derived)
    ]
    for i, equations in enumerate(plan.equations):
        _, cells = equations.cells(whole)
        asked += [(("model", i, "formula"), part) for part in cells]
    for entry, cells_of in asked:
        if not np.isfinite(cells_of).all():
            raise CaveatError(
                "it is no number in some rows",
                entry=entry,
                do="choose another function, or bound its columns with least and most",
                code="draft.formula.undefined",
            )


def _copula(
    plan: DraftPlan, rows: int, fixed: tuple[str, ...], found: Rows, rng: np.random.Generator
) -> None:
    """Fill in the columns that no table fixes."""
    related, matrix, _ = plan.correlation
    base = {n: p for n, p in plan.columns.items() if isinstance(p, Category | Numeric)}
    given = [n for n in related if n in fixed]
    drawn = [n for n in base if n not in fixed]
    names = [*given, *drawn]
    wanted = np.eye(len(names))
    inside = [n for n in names if n in related]
    at, of = [names.index(n) for n in inside], [related.index(n) for n in inside]
    wanted[np.ix_(at, at)] = matrix[np.ix_(of, of)]
    noise = rng.standard_normal((rows, len(names)))
    ties = rng.permutation(rows)
    for j, name in enumerate(given):
        noise[:, j] = _scores(worth(base[name], found[name]), ties)
    latent = wanted.copy()
    values = np.zeros((rows, len(names)))
    for step in range(ROUNDS if at else 1):
        scores = _with_correlation(noise, latent, len(given))
        for j, name in enumerate(names):
            if j >= len(given):
                found[name] = _values(base[name], scores[:, j])
            if j in at:
                values[:, j] = worth(base[name], found[name])
        if not at or step == ROUNDS - 1:
            break
        with np.errstate(invalid="ignore"):  # a handful of rows may have one value only
            now = np.nan_to_num(np.atleast_2d(np.corrcoef(values[:, at], rowvar=False)))
        if np.abs(now - wanted[np.ix_(at, at)]).max() < NEAR:
            break
        latent[np.ix_(at, at)] += wanted[np.ix_(at, at)] - now
        latent = nearest_correlation(np.clip(latent, -0.999, 0.999) + 0.001 * np.eye(len(names)))


def _scores(values: Floats, ties: NDArray[np.int64]) -> Floats:
    """Return normal scores of values, equal ones in the order of `ties`."""
    order = np.lexsort([ties, values])
    scores = np.empty(len(values))
    scores[order] = ndtri((np.arange(len(values)) + 0.5) / len(values))
    return scores


def _with_correlation(noise: Floats, wanted: Floats, given: int) -> Floats:
    """Return noise with exactly these correlations; the given first columns stay as they are."""
    rows = len(noise)
    centred = noise - noise.mean(axis=0)
    if rows <= noise.shape[1] + 1:
        return np.asarray(centred)
    base, _ = np.linalg.qr(centred)
    base = base * np.sign((base * centred).sum(axis=0))
    root = np.sqrt(rows - 1)
    held = centred[:, :given] / np.maximum(centred[:, :given].std(axis=0, ddof=1), 1e-12)
    own = held.T @ held / (rows - 1)
    slopes = np.linalg.pinv(own) @ wanted[:given, given:]
    rest = wanted[given:, given:] - slopes.T @ own @ slopes
    values, vectors = np.linalg.eigh((rest + rest.T) / 2)
    half = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(np.hstack([held, held @ slopes + base[:, given:] * root @ half.T]))


def _values(plan: Category | Numeric, scores: Floats) -> NDArray[np.float64] | NDArray[np.int64]:
    """Return the values of a column: numbers by their quantiles, categories by exact counts."""
    if isinstance(plan, Numeric):
        return plan.quantiles(ndtr(scores))
    shares = np.array(plan.shares) / sum(plan.shares or ())
    counts = whole_counts(shares, [(0,)], [shares], len(scores))
    worths = np.arange(len(shares)) if plan.values is None else plan.values
    codes = np.empty(len(scores), np.int64)
    rising = np.argsort(worths, kind="stable")
    codes[np.argsort(scores, kind="stable")] = np.repeat(rising, counts[rising])
    return codes


def _explain(
    plan: DraftPlan,
    rows: int,
    blocks: list[tuple[str, ...]],
    found: Rows,
    rng: np.random.Generator,
) -> None:
    """Deal the values of explained columns anew: high ones where the model says high.

    Where tables tie a column to others, it is dealt within the cells of these.
    """
    related = plan.correlation[0]
    for equations in plan.equations:
        name = equations.response
        if name is None or name not in found or name in related:
            continue
        fitted = equations.fit(with_derived(plan.columns, found))
        predictor = fitted.matrix @ fitted.beta
        if equations.family == "linear":
            left = max(float(found[name].var()) - float(predictor.var()), 0.0)
            luck = rng.standard_normal(rows) * np.sqrt(left)
        else:
            luck = rng.logistic(size=rows) * (1.0 if equations.family == "logistic" else 0.3)
        group = np.zeros(rows, np.int64)
        for other in next((block for block in blocks if name in block), ()):
            if other != name:
                group = group * len(plan.category(other).levels) + found[other]
        values = found[name]
        if isinstance(plan.columns[name], Category):
            first = equations.model.reference.get(name, plan.category(name).levels[0])
            values = (values != plan.category(name).levels.index(first)).astype(np.int64)
        to, source = np.lexsort([predictor + luck, group]), np.lexsort([values, group])
        dealt = np.empty_like(found[name])
        dealt[to] = found[name][source]
        found[name] = dealt


# -------------------------------------------------------------------------------------------------
# A draft: rows that have the published numbers, and how near they came to each.


MOST_STEPS = 2.0**53  # whole numbers up to here have all their digits
DERIVED = 12  # digits of what is computed from numbers that are no sums


@dataclass(frozen=True, eq=False)
class Draft:
    """A file made from published numbers.

    Parameters
    ----------
    table
        The file.
    nearness
        How near it came to each published number.
    """

    table: Table
    nearness: tuple[Nearness, ...]

    __repr__ = without_values

    def mean_error(self, kind: str) -> float:
        """Return the mean absolute difference of the targets of one kind."""
        off = [abs(n.got - n.wanted) for n in self.nearness if n.kind == kind and n.got is not None]
        return float(np.mean(off)) if off else float("nan")


def draft(
    plan: DraftPlan,
    *,
    seed: int = 1,
    rows: int | None = None,
    optimise: bool = True,
    done: Callable[[int, int], None] | None = None,
) -> Draft:
    """Make a file that has published numbers.

    Parameters
    ----------
    plan
        The columns and the published numbers.
    seed
        Root of all randomness.
    rows
        Number of rows; that of the plan by default.
    optimise
        Whether rows are changed until the targets are met. Without it the draft is what fitting of
        tables and a Gaussian copula give.
    done
        Told of each generation of an evolution, and how many there are at most.

    Examples
    --------
    >>> from caveat.synthesis.drafts import Correlations, DraftPlan, Numeric
    >>> columns = {"height": Numeric(170, 10), "weight": Numeric(70, 12, least=30)}
    >>> half = np.array([[1, 0.5], [0.5, 1]])
    >>> made = draft(DraftPlan(columns, (), (Correlations(("height", "weight"), half),), rows=200))
    >>> x, y = (made.table[name].cell_numbers for name in columns)
    >>> round(float(np.corrcoef(x, y)[0, 1]), 6), round(float(y.std(ddof=1)), 5)
    (0.5, 12.0)
    """
    check_rows(plan.n_rows if rows is None else rows)
    # Sums of several threads differ in the last digit, and rows would evolve another way.
    with threadpool_limits(limits=1):
        return _made(plan, seed, plan.n_rows if rows is None else rows, optimise, done)


def _made(
    plan: DraftPlan,
    seed: int,
    n: int,
    optimise: bool,
    done: Callable[[int, int], None] | None,
) -> Draft:
    rng = rng_of(seed, 0)
    found = start_rows(plan, n, rng)
    check_numbers(plan, found)
    targets = targets_of(plan, n)
    if optimise:
        found = _optimised(plan, Search(plan.columns, targets), found, rng, done)
    found = _rounded(plan, found, [*movable(plan.columns, whole=True),
                                   *movable(plan.columns, whole=False)])  # fmt: skip
    whole = _with_digits(plan, with_derived(plan.columns, found))
    nearness = tuple(one for target in targets for one in target.report(whole))
    return Draft(_table(plan, whole), nearness)


def _optimised(
    plan: DraftPlan,
    search: Search,
    rows: Rows,
    rng: np.random.Generator,
    done: Callable[[int, int], None] | None,
) -> Rows:
    smooth = movable(plan.columns, whole=False)
    stepped = movable(plan.columns, whole=True)
    numbers = [name for name, one in plan.columns.items() if isinstance(one, Numeric)]
    rows = _rounded(plan, search.move_numbers(rows, numbers), stepped)
    if len(smooth) < len(numbers):
        rows = search.move_numbers(rows, smooth)
    rows = search.evolve(rows, stepped, rng, done=done)
    return search.move_numbers(rows, smooth)


def _rounded(plan: DraftPlan, rows: Rows, names: Sequence[str]) -> Rows:
    """Return some columns of numbers with the digits that they are written with."""
    done = dict(rows)
    for name in names:
        one = plan.columns[name]
        if isinstance(one, Numeric):
            done[name] = _on_grid(one, rows[name])
    return done


def _on_grid(one: Numeric, cells: Floats) -> Floats:
    """Round numbers so that their total is the published one to the last digit."""
    unit = 10.0**one.digits
    steps = np.rint(cells * unit)
    low, high = (np.rint(bound * unit) for bound in one.ends)
    total = np.rint(len(cells) * (one.mean or 0.0) * unit)
    if one.mean is not None and max(np.abs(steps).sum(), abs(total)) < MOST_STEPS:
        # Those that were rounded most against the direction go first.
        lack = total - steps.sum()
        order = np.argsort((steps - cells * unit) * np.sign(lack), kind="stable")
        steps = _spread(steps, lack, np.array([low, high]), order, once=not one.exact)
    return np.asarray(np.clip(steps, low, high) / unit + 0.0)


def _spread(
    steps: Floats, lack: float, bounds: Floats, order: NDArray[np.int64], *, once: bool
) -> Floats:
    """Spread what a total lacks over the rows: no row twice, or until nothing is left."""
    steps, way = steps.copy(), np.sign(lack)
    while lack:
        room = bounds[1] - steps if way > 0 else steps - bounds[0]
        free = order[room[order] >= 1]
        some = free[: int(min(abs(lack), len(free)))]
        if not len(some):
            break
        each = 1.0 if once else abs(lack) // len(some)
        moved = np.minimum(room[some], each)
        steps[some] += way * moved
        lack -= way * moved.sum()
        if once:
            break
    return steps


def _digits(plan: DraftPlan, name: str) -> int:
    one = plan.columns[name]
    if isinstance(one, Derived):
        return max((_digits(plan, part) for part in one.parts), default=DERIVED)
    return one.digits if isinstance(one, Numeric) else DERIVED


def _with_digits(plan: DraftPlan, rows: Rows) -> Rows:
    """Return the rows with totals that have the digits of their parts."""
    done = dict(rows)
    for name, one in plan.columns.items():
        if isinstance(one, Derived):
            made = np.round(rows[name], _digits(plan, name))
            if np.allclose(made, rows[name], rtol=0, atol=1e-9 * max(1, np.abs(made).max())):
                done[name] = made + 0.0
    return done


def _table(plan: DraftPlan, rows: Rows) -> Table:
    frame: dict[str, Any] = {}
    for name, one in plan.columns.items():
        cells = rows[name]
        if isinstance(one, Category):
            levels: list[Any] = list(one.levels)
            if all(str(_whole(level)) == level for level in levels):
                levels = [int(level) for level in levels]
            frame[name] = [levels[code] for code in cells.tolist()]
        elif _digits(plan, name) == 0 and np.array_equal(cells, np.round(cells)):
            frame[name] = cells.astype(np.int64)
        else:
            frame[name] = cells
    return Table.from_frame(frame)


def _whole(level: str) -> int | None:
    try:
        return int(level)
    except ValueError:
        return None
