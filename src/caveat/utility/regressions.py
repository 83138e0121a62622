"""Regressions on both sides, chosen by rule or named, and how near their coefficients come.

The rule looks at the original only. Responses are up to ``RESPONSES`` numbers and columns of two
levels: those that go together most with other columns. Each is explained by up to ``PREDICTORS``
numbers and categories of at most ``MOST_LEVELS`` levels, the strongest first, without those that
say nearly the same as one that was chosen.

Coefficients are compared as a study of ``AS_MANY`` records would see them: standard errors of more
records are widened to those of so many. What counts as different from 0, and how far two intervals
overlap, then does not depend on the number of records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.errors import CaveatError
from caveat.expressions import Formula
from caveat.notes import Z95
from caveat.showing import without_values
from caveat.table import Column, Table
from caveat.utility.analyses import overlap, read_model
from caveat.utility.correlations import strengths_of
from caveat.utility.fitting import Fit, fit_all
from caveat.utility.pair import WeightedPair
from caveat.utility.sampling import sample_of

__all__ = ["AS_MANY", "ROWS", "Agreement", "agreement", "automatic_models"]

RESPONSES = 5
MOST_TRIED = 3 * RESPONSES
PREDICTORS = 5
MOST_LEVELS = 10
AS_MANY = 1000
ROWS = 10_000
"""Rows of each table that these regressions are fitted to."""

# What goes together more than this says the same: a response and a predictor, two predictors.
SAME, NEARLY_SAME = 0.99, 0.9
# The rarer of two levels of a response has at least this share of the rows, and so many rows.
RARER_SHARE, RARER_ROWS = 0.05, 5
# Of the rows with a response so many also have all predictors.
COMPLETE = 0.5
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Agreement:
    """The coefficients of one regression on both sides; the intercept is not among them.

    Attributes
    ----------
    formula, family
        The model.
    terms
        The terms that the original has.
    ratios
        How near each coefficient comes to the original's: the smaller over the larger of the two,
        0 for opposite signs or none; not a number where the original's does not differ from 0.
    overlaps
        Overlap of the 95 % intervals of the same coefficients, at least 0.
    n_original, n_synthetic
        Rows used; 0 if the model cannot be fitted to the release.
    """

    formula: str
    family: str
    terms: tuple[str, ...]
    ratios: Floats
    overlaps: Floats
    n_original: int
    n_synthetic: int

    __repr__ = without_values

    def to_dict(self) -> dict[str, Any]:
        """Return what the evidence holds: no coefficient of the original."""
        return {
            "formula": self.formula,
            "family": self.family,
            "n_original": self.n_original,
            "n_synthetic": self.n_synthetic,
            "terms": int(np.isfinite(self.ratios).sum()),
            "coefficient_ratio": mean_of(self.ratios),
            "interval_overlap": mean_of(self.overlaps),
        }


def mean_of(values: Floats) -> float | None:
    """Return the mean of the values that are numbers; ``None`` if none is."""
    held = values[np.isfinite(values)]
    return float(held.mean()) if len(held) else None


def automatic_models(pair: WeightedPair) -> tuple[str, ...]:
    """Return the regressions that the rule chooses from the original.

    Examples
    --------
    >>> people = {"age": list(range(20, 60)), "pay": [3 * i + 17 * i % 40 for i in range(40)]}
    >>> automatic_models(WeightedPair.of(people, people))
    ('age ~ pay', 'pay ~ age')
    """
    return pair.once_of_original("automatic models", lambda: _choose(pair))


def _choose(pair: WeightedPair) -> tuple[str, ...]:
    found = strengths_of(pair)
    strength = found.strongest
    table = _prepared(pair).original.select(found.names)
    roles = [_roles(table[name]) for name in found.names]
    usable = np.array([is_predictor for _, is_predictor in roles], dtype=bool)
    scores = []
    for i, (as_response, _) in enumerate(roles):
        others = np.where(usable & (strength[i] <= SAME), strength[i], 0.0)
        if as_response and others.any():
            scores.append((-float((np.sort(others)[-PREDICTORS:] ** 2).sum()), i))
    models: list[str] = []
    for _, i in sorted(scores)[:MOST_TRIED]:
        candidates = [j for j in np.argsort(-strength[i], kind="stable").tolist()
                      if usable[j] and 0 < strength[i, j] <= SAME]  # fmt: skip
        chosen = _predictors(table, i, candidates, strength)
        family = "logistic: " if roles[i][0] == "logistic" else ""
        model = _formula(found.names[i], [found.names[j] for j in chosen])
        models += [f"{family}{model}"] if model and _is_telling(pair, family + model) else []
        if len(models) == RESPONSES:
            break
    return tuple(models)


def _is_telling(pair: WeightedPair, model: str) -> bool:
    """Whether a regression on the original has a coefficient that differs from 0.

    None has where the predictors fix the response, as an age fixes whether somebody is old.
    """
    with threadpool_limits(limits=1):
        try:
            _, fit = _fit_original(_prepared(pair), read_model(model))
        except CaveatError:
            return False
    terms = _slopes(fit)
    return bool((np.abs(fit.vector(terms)) > Z95 * _as_many(fit, terms)).any())


def _roles(column: Column) -> tuple[str, bool]:
    """Return the family of a column as a response, "" if it is none, and if it can explain."""
    held = column.counts[: len(column.levels)]
    held = held[held > 0]
    is_number = column.kind.is_number
    family = "linear" if is_number and len(held) > 2 else ""
    if len(held) == 2 and held.min() >= max(RARER_ROWS, RARER_SHARE * held.sum()):
        family = "logistic"
    return family, len(held) > 1 and (is_number or len(held) <= MOST_LEVELS)


def _predictors(table: Table, response: int, candidates: list[int], strength: Floats) -> list[int]:
    """Return the strongest predictors that differ from each other and leave enough rows."""
    names = table.names
    complete = ~table[names[response]].is_missing
    least = COMPLETE * complete.sum()
    chosen: list[int] = []
    for j in candidates:
        rows = complete & ~table[names[j]].is_missing
        if rows.sum() >= least and all(strength[j, k] <= NEARLY_SAME for k in chosen):
            chosen.append(j)
            complete = rows
        if len(chosen) == PREDICTORS:
            break
    return chosen


def _formula(response: str, predictors: list[str]) -> str:
    """Return a formula; "" if it has no predictor or a name cannot be written in one."""
    quoted = [f"`{name}`" for name in predictors]
    for left, right in ((response, predictors), (f"`{response}`", quoted)):
        text = f"{left} ~ {' + '.join(right)}"
        try:
            if predictors and Formula.parse(text).columns == (response, *predictors):
                return text
        except CaveatError:
            continue
    return ""


def agreement(pair: WeightedPair, model: str) -> Agreement:
    """Fit a regression to both tables and compare its coefficients.

    Tables of more than ``ROWS`` rows are sampled. The commonest level of a category is its
    reference. A coefficient that the release cannot estimate is 0 there.
    """

    def found() -> Agreement:
        with threadpool_limits(limits=1):  # small matrices: threads cost more than they bring
            return _agreement(pair, model)

    return pair.once(("agreement", model), found)


def _agreement(pair: WeightedPair, model: str) -> Agreement:
    rows, formula = _prepared(pair), read_model(model)
    theirs: Fit | None = None
    try:
        family, (ours, theirs), _ = fit_all(formula, [rows])
    except CaveatError:  # of the original it is an error, of the release a finding
        family, ours = _fit_original(rows, formula)
    terms = _slopes(ours)
    if not terms:
        raise CaveatError(
            "no term can be estimated", where=model, do="simplify it", code="measure.model.failed"
        )
    b, se = ours.vector(terms), _as_many(ours, terms)
    there = [theirs is not None and term in theirs.estimate for term in terms]
    other, other_se = np.zeros(len(terms)), np.full(len(terms), np.nan)
    if theirs is not None and any(there):
        held = [term for term, is_there in zip(terms, there, strict=True) if is_there]
        other[there], other_se[there] = theirs.vector(held), _as_many(theirs, held)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.maximum(np.fmin(other / b, b / other), 0.0)
        ends = b - Z95 * se, b + Z95 * se, other - Z95 * other_se, other + Z95 * other_se
        shared = np.nan_to_num(overlap(*ends, floor=True))
    differs = np.abs(b) > Z95 * se
    ratio = np.where(differs, np.where(other == 0, 0.0, ratio), np.nan)
    shared = np.where(differs, shared, np.nan)
    n = 0 if theirs is None else theirs.n
    return Agreement(formula.text, family, terms, ratio, shared, ours.n, n)


def _prepared(pair: WeightedPair) -> WeightedPair:
    """Return the rows that regressions are fitted to."""
    return pair.once("regression rows", lambda: _commonest_first(sample_of(pair, ROWS)))


def _fit_original(rows: WeightedPair, formula: Formula) -> tuple[str, Fit]:
    alone = WeightedPair(rows.original, rows.original, weights=rows.weights)
    family, fits, _ = fit_all(formula, [alone])
    return family, fits[0]


def _slopes(fit: Fit) -> tuple[str, ...]:
    """Return the terms without the intercepts."""
    return tuple(term for term in fit.estimate if not term.endswith("Intercept"))


def _as_many(fit: Fit, terms: list[str] | tuple[str, ...]) -> Floats:
    """Return standard errors as ``AS_MANY`` records give them; those of fewer as they are."""
    errors = np.sqrt(np.diag(fit.covariance(terms)))
    return np.asarray(errors * np.sqrt(max(1.0, fit.n / AS_MANY)))


def _commonest_first(pair: WeightedPair) -> WeightedPair:
    """Return the pair with the levels of categories in the order of how common they are."""
    ours, theirs = {}, {}
    for name in pair.names:
        column, other = pair.columns(name)
        if not column.kind.is_number:
            n = len(column.levels)
            order = np.argsort(-pair.weigh(column.codes, column.n_levels)[:n], kind="stable")
            place = np.arange(column.n_levels)
            place[order] = np.arange(n)
            column, other = (
                replace(c, codes=place[c.codes], levels=c.levels[order]) for c in (column, other)
            )
        ours[name], theirs[name] = column, other
    return WeightedPair(Table(ours), Table(theirs), weights=pair.weights)
