"""Fit one model to the original and to the copies: factors, design matrix, estimates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Categories, Formula, design
from caveat.notes import Note
from caveat.registry import Late
from caveat.table import Column, Table
from caveat.utility.pair import WeightedPair
from caveat.utility.weighting import Weights

__all__ = ["FAMILIES", "Fit", "fit_all"]

_sm = Late("statsmodels.api")
_sm_exceptions = Late("statsmodels.tools.sm_exceptions")

FAMILIES = ("linear", "logistic", "poisson", "multinomial")
Floats = NDArray[np.float64]
Factor = Floats | Categories


@dataclass(frozen=True, eq=False)
class Fit:
    """What was estimated from one table.

    Attributes
    ----------
    estimate
        The estimate of each term.
    covariances
        Their covariances.
    n
        Rows used.
    """

    estimate: Mapping[str, float]
    covariances: Any
    n: int

    def vector(self, terms: Sequence[str]) -> Floats:
        """Return the estimates of some terms."""
        return np.array([self.estimate[term] for term in terms])

    def covariance(self, terms: Sequence[str]) -> Floats:
        """Return the covariances of some terms."""
        places = [list(self.estimate).index(term) for term in terms]
        return np.asarray(self.covariances)[np.ix_(places, places)]


def fit_all(formula: Formula, copies: Sequence[WeightedPair]) -> tuple[str, list[Fit], list[Note]]:
    """Return the family, the fits to the original and to each copy, and what was left out."""
    tables = [copies[0].original, *(copy.synthetic for copy in copies)]
    cells: list[dict[str, Factor]] = [{} for _ in tables]
    notes: dict[str, Note] = {}
    for factor in formula.factors:
        for known, value in zip(cells, _cells(formula, factor, tables, notes), strict=True):
            known[factor] = value
    family = formula.family or _family(cells[0][formula.response], formula, copies[0])
    fits = []
    for i, (table, found) in enumerate(zip(tables, cells, strict=True)):
        keep = _complete(found, [table[name].is_missing for name in formula.needed])
        weights = copies[0].weights if i == 0 else None
        weights = None if weights is None else weights[keep]
        fits.append(_fit(formula, family, _rows(found, keep), weights))
    return family, fits, list(notes.values())


def _family(response: Factor, formula: Formula, pair: WeightedPair) -> str:
    """Return the family that suits a response; transformed responses are numbers."""
    if not isinstance(response, Categories):
        return "linear"
    name = formula.column(formula.response)
    if name is None:
        return "logistic"
    column = pair.original[name]
    held = np.count_nonzero(column.counts[: len(column.levels)])
    return "logistic" if held == 2 else "multinomial"


def _cells(
    formula: Formula, factor: str, tables: Sequence[Table], notes: dict[str, Note]
) -> list[Factor]:
    """Return a factor in all tables, categories with the same reference level."""
    name = formula.column(factor)
    if name is None:
        return [_computed(formula, factor, table) for table in tables]
    columns = [table[name] for table in tables]
    if columns[0].kind.is_number and not formula.is_category(factor):
        return [column.cell_numbers for column in columns]
    levels = _levels(columns)
    strange = max(_strange(column, levels) for column in columns[1:])
    if strange:
        notes[name] = Note(
            "strange-levels",
            "{column}: {n:,} synthetic rows with levels the original lacks",
            column=name,
            n=strange,
        )
    return [_categories(column, levels) for column in columns]


def _computed(formula: Formula, factor: str, table: Table) -> Factor:
    value = formula.compute(factor, table.columns)
    if value.dtype == np.bool_:
        return Categories(value.astype(np.int64), ("False", "True"))
    if np.isinf(value).any():
        raise CaveatError(
            f"{factor} is infinite for some rows",
            where="model",
            do="choose another function",
            code="measure.value.infinite",
        )
    return value


def _levels(columns: Sequence[Column]) -> list[str]:
    """Return the levels of the original, one that all tables have first."""
    held = [_used(column) for column in columns]
    everywhere = set.intersection(*map(set, held))
    first = next((level for level in held[0] if level in everywhere), None)
    return held[0] if first is None else [first, *(lv for lv in held[0] if lv != first)]


def _used(column: Column) -> list[str]:
    n = len(column.levels)
    return [str(column.levels[i]) for i in np.flatnonzero(column.counts[:n])]


def _strange(column: Column, levels: Sequence[str]) -> int:
    n, known = len(column.levels), set(levels)
    return sum(int(column.counts[i]) for i in range(n) if str(column.levels[i]) not in known)


def _categories(column: Column, levels: Sequence[str]) -> Categories:
    """Return the cells of a column by the levels that it has; others are missing."""
    held = set(_used(column))
    own = [level for level in levels if level in held]
    place = {level: i for i, level in enumerate(own)}
    lookup = [place.get(str(level), -1) for level in column.levels]
    codes = np.array([*lookup, *[-1] * len(column.missing)], dtype=np.int64)[column.codes]
    return Categories(codes, tuple(own))


def _complete(
    cells: Mapping[str, Factor], lacking: Sequence[NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    """Return the rows in which nothing that is needed is missing."""
    gaps = [
        cell.codes < 0 if isinstance(cell, Categories) else np.isnan(cell)
        for cell in cells.values()
    ]
    return np.asarray(~np.logical_or.reduce([*gaps, *lacking]))


def _rows(cells: Mapping[str, Factor], keep: NDArray[np.bool_]) -> dict[str, Any]:
    return {
        name: Categories(cell.codes[keep], cell.levels)
        if isinstance(cell, Categories)
        else cell[keep]
        for name, cell in cells.items()
    }


def _fit(formula: Formula, family: str, cells: Mapping[str, Factor], weights: Weights) -> Fit:
    names, matrix = design(formula.terms, cells)
    response, classes = _response(formula, family, cells[formula.response])
    if not names or not len(matrix):
        raise CaveatError(
            "the model cannot be fitted: no term or no complete row is left",
            where=formula.text,
            do="simplify it",
            code="measure.model.failed",
        )
    try:
        with warnings.catch_warnings():
            for known in (
                _sm_exceptions.ConvergenceWarning,
                _sm_exceptions.HessianInversionWarning,
                _sm_exceptions.PerfectSeparationWarning,
                RuntimeWarning,
            ):
                warnings.simplefilter("ignore", known)
            return _estimate(family, response, classes, names, matrix, weights)
    except Exception as error:  # whatever the numbers did to the solver
        raise CaveatError(
            f"the model cannot be fitted ({type(error).__name__})",
            where=formula.text,
            do="simplify it, or leave out what hardly varies",
            code="measure.model.failed",
        ) from error


def _response(formula: Formula, family: str, cells: Factor) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the response as numbers, and the classes that the numbers stand for, if any."""
    if family in ("linear", "poisson"):
        if isinstance(cells, Categories):
            raise CaveatError(
                f"{formula.response} is no number",
                where=formula.text,
                do="choose the family logistic or multinomial",
                code="measure.response.type",
            )
        return cells, ()
    if isinstance(cells, Categories):
        held, codes = np.unique(cells.codes, return_inverse=True)
        classes = tuple(cells.levels[i] for i in held)
    else:
        held, codes = np.unique(cells, return_inverse=True)
        classes = tuple(f"{value:g}" for value in held)
    if len(classes) < 2 or (family == "logistic" and len(classes) > 2):
        wanted = "two categories" if family == "logistic" else "two categories or more"
        raise CaveatError(
            f"{formula.response} has {len(classes):,} categories; a {family} model needs {wanted}",
            where=formula.text,
            do="choose another family",
            code="measure.response.unsupported",
        )
    return codes, classes


def _estimate(
    family: str,
    response: NDArray[Any],
    classes: Sequence[str],
    names: Sequence[str],
    matrix: Floats,
    weights: Weights,
) -> Fit:
    if family == "multinomial":
        found = _sm.MNLogit(response, matrix).fit(disp=0, method="newton", maxiter=50)
        estimate = {
            f"{level}: {term}": float(found.params[i, j])
            for j, level in enumerate(classes[1:])
            for i, term in enumerate(names)
        }
        return Fit(estimate, np.asarray(found.cov_params()), len(response))
    if family == "linear":
        model = _sm.OLS(response, matrix) if weights is None else _sm.WLS(response, matrix, weights)
    else:
        spread = _sm.families.Poisson() if family == "poisson" else _sm.families.Binomial()
        model = _sm.GLM(response, matrix, family=spread, var_weights=weights)
    found = model.fit() if weights is None else model.fit(cov_type="HC0")
    covariance = np.asarray(found.cov_params())
    usable = np.flatnonzero(np.isfinite(np.diag(covariance)) & (np.diag(covariance) > 0))
    estimate = {names[i]: float(found.params[i]) for i in usable.tolist()}
    return Fit(estimate, covariance[np.ix_(usable, usable)], len(response))
