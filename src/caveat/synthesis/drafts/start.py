"""The rows that a draft begins with: tables by fitting, all else by a Gaussian copula.

Every column gets normal scores with the published correlations, and from these its own values:
numbers by their distribution, categories by their shares. Scores of columns that tables have fixed
already are given, and the others are drawn beside them. Correlations shrink on the way from scores
to values, so those of the scores are raised until those of the values are right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from caveat.errors import CaveatError
from caveat.synthesis.drafts.columns import (
    Category,
    Derived,
    Floats,
    Numeric,
    Rows,
    with_derived,
    worth,
)
from caveat.synthesis.drafts.correlations import nearest_correlation
from caveat.synthesis.drafts.joint import blocks_of, joint_rows, whole_counts
from caveat.synthesis.drafts.plan import DraftPlan

__all__ = ["check_numbers", "start_rows"]

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
