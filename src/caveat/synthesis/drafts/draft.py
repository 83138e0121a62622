"""A draft: rows that have the published numbers, and how near they came to each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.discreet import without_values
from caveat.seeds import rng_of
from caveat.synthesis.drafts.columns import Category, Derived, Floats, Numeric, Rows, with_derived
from caveat.synthesis.drafts.nearing import Search, movable
from caveat.synthesis.drafts.plan import DraftPlan, check_rows
from caveat.synthesis.drafts.start import check_numbers, start_rows
from caveat.synthesis.drafts.targets import Nearness, targets_of
from caveat.table import Table

__all__ = ["Draft", "draft"]

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
