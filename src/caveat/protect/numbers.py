"""Protections of numbers that look at the release alone: extremes, rounding, smoothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.protect.record import Protected, Step
from caveat.protect.values import Floats, number_column, numbers_of, with_numbers
from caveat.risk import key_cells
from caveat.seeds import rng_of
from caveat.table import Table

__all__ = ["code_extremes", "round_numbers", "smooth"]

Smoother = Callable[[Floats, Floats, NDArray[Any], np.random.Generator], Floats]


def code_extremes(
    synthetic: Table,
    *,
    top: Mapping[str, float] | None = None,
    bottom: Mapping[str, float] | None = None,
) -> Protected:
    """Replace numbers above the top by the top, and numbers below the bottom by the bottom.

    Examples
    --------
    >>> release = Table.from_frame({"income": [500, 900, 25000]})
    >>> code_extremes(release, top={"income": 5000}).table["income"].values.tolist()
    [500, 900, 5000]
    """
    top, bottom = dict(top or {}), dict(bottom or {})
    columns, counts = {}, {}
    for name in dict.fromkeys([*bottom, *top]):
        low, high = bottom.get(name, -np.inf), top.get(name, np.inf)
        if not low < high:
            raise CaveatError(
                "the bottom is not below the top",
                column=name,
                do="mend the limits",
                code="protection.setting.range",
            )
        column = number_column(synthetic, name, "coding of extremes")
        numbers = numbers_of(column)
        columns[name] = with_numbers(column, np.clip(numbers, low, high))
        counts[f"{name}: at the top"] = int((numbers > high).sum())
        counts[f"{name}: at the bottom"] = int((numbers < low).sum())
    step = Step("code_extremes", {"top": top, "bottom": bottom}, counts)
    return Protected(synthetic.with_columns(columns), step)


def round_numbers(synthetic: Table, base: Mapping[str, float]) -> Protected:
    """Round numbers to multiples of a base; halves go to the even multiple.

    Examples
    --------
    >>> release = Table.from_frame({"income": [512, 949, 25000]})
    >>> round_numbers(release, {"income": 100}).table["income"].values.tolist()
    [500, 900, 25000]
    """
    columns, counts = {}, {}
    for name, width in base.items():
        if not width > 0:
            raise CaveatError(
                "the base is not above 0",
                column=name,
                do="give 10, say",
                code="protection.setting.range",
            )
        column = number_column(synthetic, name, "rounding")
        numbers = numbers_of(column)
        rounded = np.round(numbers / width) * width
        columns[name] = with_numbers(column, rounded)
        counts[f"{name}: changed"] = int((rounded[~column.is_missing] != numbers[
            ~column.is_missing]).sum())  # fmt: skip
    step = Step("round_numbers", {"base": dict(base)}, counts)
    return Protected(synthetic.with_columns(columns), step)


def smooth(
    synthetic: Table,
    columns: Sequence[str],
    smoother: Smoother,
    *,
    by: Sequence[str] = (),
    seed: int = 0,
) -> Protected:
    """Smooth numbers, so that values of real people do not come out as they are.

    Parameters
    ----------
    synthetic
        The release. Bandwidths are found from it, not from the original.
    columns
        The numbers to smooth.
    smoother
        A function of values, the distinct values, their counts and a random generator; see
        ``caveat.synthesis.smoothing``.
    by
        Smooth within each combination of these columns.
    seed
        Seed of the draws.
    """
    groups = _groups(synthetic, by)
    out, counts = {}, {}
    for position, name in enumerate(columns):
        column = number_column(synthetic, name, "smoothing")
        numbers = numbers_of(column)
        smoothed = numbers.copy()
        rng = rng_of(seed, position)
        for rows in groups:
            here = rows[~np.isnan(numbers[rows])]
            if len(here):
                known, times = np.unique(numbers[here], return_counts=True)
                smoothed[here] = smoother(numbers[here], known, times, rng)
        out[name] = with_numbers(column, smoothed)
        kept = np.isin(out[name].levels, column.levels)
        counts[f"{name}: values of the release that remain"] = int(kept.sum())
    parameters = {"columns": list(columns), "by": list(by), "smoother": smoother.__name__}
    return Protected(synthetic.with_columns(out), Step("smooth", parameters, counts, seed))


def _groups(table: Table, by: Sequence[str]) -> list[NDArray[np.intp]]:
    if not by:
        return [np.arange(table.n_rows)]
    (cells,), n = key_cells([[table[k].codes for k in by]], [table[k].n_levels for k in by])
    order = np.argsort(cells, kind="stable")
    return np.split(order, np.searchsorted(cells[order], np.arange(1, n)))
