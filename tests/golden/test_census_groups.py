"""Linked hierarchical tables with the shape of a census group, generated.

Langsrud (2024), Table 4, has for group 1 of the European census of 2021: 11,356 cells over 2,186
inner cells, 114 of them primary (counts up to 3), 54 of these ones; secondary cells 552 with no
rule for ones, 560 with virtual cells, 604 with any-sum, 625 with subspace. Those data, a million
synthetic persons, are not at hand. What is known of the group is its formula,

    sex*age*lms + sex*age*hst + sex*age*fst + sex*lms*hst,

with three levels of age, household status (hst) and family status (fst) and two of marital status
(lms), and the numbers above. How many codes each level has, which combinations occur and how
frequent they are is not known, so the widths and counts here are our own, and so are the numbers
of cells, fixed by a seed: one that was chosen because a sum of ones can be computed where no rule
forbids it (so in 2 of 21). Only the formula, the sizes, and the order of the methods are
comparable. The subspace rule of the authors' program is stricter than the text, which is ours.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from caveat.outputs.audit import recoverable
from caveat.outputs.elimination import Suppressed, by_worth, suppress
from caveat.outputs.tables import Cells, Hierarchy, Layout, cells_of

WIDTHS = {"sex": (2,), "age": (101, 21, 6), "lms": (6, 4), "hst": (6, 4, 2), "fst": (6, 4, 2)}
FORMULA = ("sex age lms", "sex age hst", "sex age fst", "sex lms hst")
SHRINK = 1e-4
PERSONS, SITUATIONS = 1_000_000, 30
SECONDARY = {"": 797, "virtual": 799, "any-sum": 960, "subspace": 983}


def nested(name: str, widths: tuple[int, ...]) -> Hierarchy:
    """Return codes of which equal shares stand below each code of the level above."""
    level = [f"{name}{i}" for i in range(widths[0])]
    leaves, above = level, {}
    for depth, width in enumerate(widths[1:], 1):
        up = [f"{name}{i * width // len(level)}^{depth}" for i in range(len(level))]
        above |= dict(zip(level, up, strict=True))
        level = list(dict.fromkeys(up))
    return Hierarchy.of(leaves, above)


@cache
def census() -> tuple[Cells, np.ndarray]:
    """Return the cells and the counts of the inner cells.

    A person is in one of a few situations, combinations of the three statuses; each is found at
    some ages, more often in the middle of them, and by its own ratio of the sexes.
    """
    rng = np.random.default_rng(16)
    sizes = [WIDTHS[name][0] for name in ("lms", "hst", "fst")]
    drawn = [rng.integers(0, size, SITUATIONS) for size in sizes]
    situations = np.unique(np.stack(drawn, axis=1), axis=0)
    n = len(situations)
    middle, half = rng.uniform(0, 100, n), rng.uniform(0.5, 1.5, n) * 22
    common = rng.lognormal(0, 1, n)
    age = np.arange(101)[:, None]
    alive = 1 / (1 + np.exp((age - 82) / 6))
    men = np.clip(1 - ((age - middle) / half) ** 2, 0, None) ** 2 * common * alive
    rates = np.stack([men, men * rng.uniform(0.5, 2, n)])
    counts = rng.poisson(rates * PERSONS / rates.sum())
    sex, years, which = np.nonzero(counts)
    codes = dict(zip(WIDTHS, (sex, years, *situations[which].T), strict=True))
    trees = {name: nested(name, widths) for name, widths in WIDTHS.items()}
    cells = cells_of(codes, trees, [Layout(by, tuple(by.split())) for by in FORMULA])
    return cells, np.bincount(cells.row_of, counts[counts > 0]).astype(np.int64)


def sums_of_ones() -> list[np.ndarray]:
    """Return the sums of all ones that stand beside each other below one total."""
    cells, counts = census()
    values = cells.sums(counts)
    beside = [below[values[below] == 1] for _, below in cells.families()]
    return [cells.matrix[:, ones].sum(axis=1) for ones in beside if len(ones) > 1]


@cache
def hidden_by(method: str) -> Suppressed:
    cells, counts = census()
    values = cells.sums(counts)
    options = {
        "": {},
        "virtual": {"virtual": sums_of_ones()},
        "any-sum": {"zero_rows": counts == 1},
        "subspace": {"zero_rows": counts == 1, "zeros": "subspace"},
    }[method]
    order = by_worth(values, cells.matrix)
    return suppress(cells.matrix, (values > 0) & (values <= 3), order, **options)


def test_the_shape_is_that_of_the_first_group():
    cells, counts = census()
    values = cells.sums(counts)
    assert [len(tree.at_depth) - 1 for tree in cells.hierarchies.values()] == [1, 3, 2, 3, 3]
    assert counts.sum() == 1_000_496
    # 11,356 cells, 2,186 inner, 114 primary, 54 of them ones.
    shape = cells.n_cells, len(cells.inner), (values <= 3).sum(), (values == 1).sum()
    assert shape == (13_197, 2277, 99, 48)


@pytest.mark.parametrize("method", SECONDARY)
def test_secondary_cells(method: str):
    """552, 560, 604 and 625 in the paper: the same order."""
    assert hidden_by(method).secondary.sum() == SECONDARY[method]


@pytest.mark.parametrize("method", SECONDARY)
def test_no_hidden_cell_can_be_computed(method: str):
    """Neither one that is primary nor one that protects others; sums of ones by the rules only."""
    cells, _ = census()
    sums = sp.csc_array(np.stack(sums_of_ones(), axis=1))
    every = sp.hstack([cells.matrix, sums], format="csc")
    beside = np.ones(sums.shape[1], bool)
    known = recoverable(every, np.append(hidden_by(method).hidden, beside))
    assert not known[: cells.n_cells].any()
    assert known[cells.n_cells :].sum() == (method == "")


@pytest.mark.parametrize("method", SECONDARY)
def test_another_population_agrees_with_all_that_is_published(method: str):
    """Without the exact arithmetic: one change of the inner cells that moves every hidden cell.

    No inner cell is empty, so a small part of the change leaves a population.
    """
    cells, counts = census()
    hidden = hidden_by(method).hidden
    published = cells.matrix[:, np.flatnonzero(~hidden)].astype(float)
    squares = (published @ published.T).toarray()
    # Each step shrinks what the published cells see, and leaves the rest as it is.
    factor = cho_factor(squares + SHRINK * np.eye(len(counts)), overwrite_a=True)
    change = np.random.default_rng(0).standard_normal(len(counts))
    for _ in range(4):
        change = SHRINK * cho_solve(factor, change)
    moved = np.abs(cells.matrix.T @ change)
    assert moved[~hidden].max() < 1e-7
    assert moved[hidden].min() > 1e-5
