"""One model fitted to the original and to the copies: estimates, combined and compared."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Categories, Formula, design
from caveat.notes import Z95, Note
from caveat.registry import Late
from caveat.showing import without_values
from caveat.table import Column, Table
from caveat.utility.pair import WEIGHTED, WeightedPair, Weights, unweighted

Floats = NDArray[np.float64]

Rule = Literal[
    "original", "population", "population, proper", "between", "partial", "full", "full, adjusted"
]

RULES: dict[Rule, str] = {
    "original": "ū k/n: the standard error that the original would have given",
    "population": "ū (k/n + 1/m): for the population, synthesis with fixed parameters",
    "population, proper": "ū (k/n + (1 + k/n)/m): for the population, parameters drawn per copy",
    "between": "(1 + 1/m) b, t with m − 1 degrees of freedom",
    "partial": "ū + b/m: only part of the values is synthetic (Reiter 2003)",
    "full": "(1 + 1/m) b − ū: fully synthetic by imputation; can be negative",
    "full, adjusted": "max(0, (1 + 1/m) b − ū), and ū k/n where that is 0 (Reiter 2002)",
}
"""The variance of q̄ under each rule."""


@dataclass(frozen=True, eq=False)
class Combined:
    """Estimates combined over copies.

    Attributes
    ----------
    estimate, variance
        One number for each quantity. A variance may be negative under "full": not a number in `se`.
    df
        Degrees of freedom of the t distribution for each quantity; infinite for the normal.
    """

    estimate: Floats
    variance: Floats
    df: Floats

    __repr__ = without_values

    @property
    def se(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.where(self.variance >= 0, self.variance, np.nan))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the limits of confidence intervals."""
        tail = (1 + level) / 2
        finite = np.isfinite(self.df)
        width = np.where(
            finite,
            scipy.stats.t.ppf(tail, np.where(finite, self.df, 1)),
            scipy.stats.norm.ppf(tail),
        )
        return self.estimate - width * self.se, self.estimate + width * self.se


def combine(
    estimates: Sequence[Floats] | Floats,
    variances: Sequence[Floats] | Floats,
    rule: Rule = "original",
    *,
    n_original: int = 1,
    n_synthetic: int = 1,
) -> Combined:
    """Combine the estimates of m copies.

    Parameters
    ----------
    estimates, variances
        One row per copy, one column per quantity.
    rule
        Which variance; see ``RULES``. "original" and "population" are those of Raab, Nowok and
        Dibben (2016), as in synthpop.
    n_original, n_synthetic
        Rows of the original and of each copy.

    Examples
    --------
    >>> found = combine([[1.0], [3.0]], [[0.5], [0.7]], "between")
    >>> found.estimate.tolist(), found.variance.tolist(), found.df.tolist()
    ([2.0], [3.0], [1.0])
    """
    q, u = np.atleast_2d(np.asarray(estimates, float)), np.atleast_2d(np.asarray(variances, float))
    m = len(q)
    if m == 1 and rule in ("between", "partial", "full", "full, adjusted"):
        raise CaveatError(
            f"the rule {rule!r} needs at least two copies",
            do="give more copies or choose another",
            code="measure.copy.too-few",
        )
    mean_u, ratio = u.mean(axis=0), n_synthetic / n_original
    b = q.var(axis=0, ddof=1) if m > 1 else np.zeros(q.shape[1])
    df = np.full(q.shape[1], np.inf)
    if rule == "original":
        variance = mean_u * ratio
    elif rule == "population":
        variance = mean_u * (ratio + 1 / m)
    elif rule == "population, proper":
        variance = mean_u * (ratio + (1 + ratio) / m)
    elif rule == "between":
        variance, df = (1 + 1 / m) * b, np.full(q.shape[1], m - 1.0)
    elif rule == "partial":
        variance = mean_u + b / m
        df = _df_partial(mean_u, b / m, m)
    elif rule in ("full", "full, adjusted"):
        variance = (1 + 1 / m) * b - mean_u
        df = _df_full(mean_u, (1 + 1 / m) * b, m)
        if rule == "full, adjusted":
            df = np.where(variance > 0, df, np.inf)
            variance = np.where(variance > 0, variance, mean_u * ratio)
    else:
        what, do = f"there is no rule {rule!r}", f"choose among {', '.join(RULES)}"
        raise CaveatError(what, do=do, code="measure.setting.unknown")
    return Combined(q.mean(axis=0), variance, df)


def _df_partial(within: Floats, between: Floats, m: int) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray((m - 1) * (1 + within / between) ** 2)


def _df_full(within: Floats, between: Floats, m: int) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray((m - 1) * (1 - within / between) ** 2)


# -------------------------------------------------------------------------------------------------
# Fit one model to the original and to the copies: factors, design matrix, estimates.


_sm = Late("statsmodels.api")
_sm_exceptions = Late("statsmodels.tools.sm_exceptions")

FAMILIES = ("linear", "logistic", "poisson", "multinomial")
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


# -------------------------------------------------------------------------------------------------
# Fit the same model to the original and to the synthetic copies, and compare the coefficients.


def overlap(
    low: Floats, high: Floats, other_low: Floats, other_high: Floats, *, floor: bool = False
) -> Floats:
    """Return the overlap of intervals: the mean of the two shares that they have in common.

    Negative where the intervals do not meet, unless `floor` sets these to 0.

    Examples
    --------
    >>> ends = [np.array(x) for x in ([0.0, 0.0, 0.0], [10.0, 10.0, 10.0], [5.0, 2.0, 12.0])]
    >>> overlap(*ends, np.array([15.0, 4.0, 15.0])).round(3).tolist()
    [0.5, 0.6, -0.433]
    """
    common = np.minimum(high, other_high) - np.maximum(low, other_low)
    if floor:
        common = np.maximum(common, 0.0)
    return np.asarray(common / (2 * (high - low)) + common / (2 * (other_high - other_low)))


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Coefficients of the same terms from the original and from the synthetic copies.

    Attributes
    ----------
    terms
        The terms.
    original, original_se
        Estimates and standard errors from the original.
    synthetic, synthetic_se
        The same, combined over the copies.
    """

    terms: tuple[str, ...]
    original: Floats
    original_se: Floats
    synthetic: Floats
    synthetic_se: Floats

    __repr__ = without_values

    @property
    def standardised(self) -> Floats:
        """Synthetic minus original, in standard errors of the original."""
        return np.asarray((self.synthetic - self.original) / self.original_se)

    def _limits(self) -> tuple[Floats, Floats, Floats, Floats]:
        ours, theirs = Z95 * self.original_se, Z95 * self.synthetic_se
        return (
            self.original - ours,
            self.original + ours,
            self.synthetic - theirs,
            self.synthetic + theirs,
        )

    @property
    def overlap(self) -> Floats:
        """Overlap of the 95 % intervals, negative where they do not meet."""
        return overlap(*self._limits())

    @property
    def overlap_floored(self) -> Floats:
        """The same with 0 where they do not meet."""
        return overlap(*self._limits(), floor=True)

    @property
    def overlap_equal_width(self) -> Floats:
        """1 − |standardised| / (2 · 1.96): the overlap if both intervals were equally wide."""
        return np.asarray(1 - np.abs(self.standardised) / (2 * Z95))

    @property
    def same_sign(self) -> NDArray[np.bool_]:
        """Whether both estimates have the same sign."""
        return np.asarray(np.sign(self.original) == np.sign(self.synthetic))

    @property
    def same_significance(self) -> NDArray[np.bool_]:
        """Whether both intervals exclude 0, or neither does."""
        ours = np.abs(self.original) > Z95 * self.original_se
        return np.asarray(ours == (np.abs(self.synthetic) > Z95 * self.synthetic_se))

    def rows(self) -> list[dict[str, Any]]:
        """Return one entry per term."""
        names = (
            "original", "original_se", "synthetic", "synthetic_se", "standardised", "overlap",
            "overlap_floored", "same_sign", "same_significance",
        )  # fmt: skip
        columns = {name: getattr(self, name).tolist() for name in names}
        return [
            {"term": term} | {name: column[i] for name, column in columns.items()}
            for i, term in enumerate(self.terms)
        ]


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """One model on both sides.

    Attributes
    ----------
    formula, family
        The model.
    coefficients
        The terms that could be estimated everywhere.
    lack_of_fit, df, p_value
        Δᵀ V⁻¹ Δ with V the covariance of the original's estimates times n / (k m), with weights
        the mean covariance of the copies over m: about χ² with df degrees of freedom if the
        synthesis is right. ``None`` if V is singular.
    n_original, n_synthetic
        Rows used, in the original and on average in the copies.
    notes
        What was left out and why.
    """

    formula: str
    family: str
    coefficients: Coefficients
    lack_of_fit: float | None
    df: int
    p_value: float | None
    n_original: int
    n_synthetic: float
    notes: tuple[Note, ...]

    @property
    def mean_overlap(self) -> float:
        """Mean overlap of the intervals, each at least 0."""
        return float(self.coefficients.overlap_floored.mean())

    @property
    def mean_standardised(self) -> float:
        """Mean absolute standardised difference."""
        return float(np.abs(self.coefficients.standardised).mean())

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "formula": self.formula,
            "family": self.family,
            "mean_overlap": self.mean_overlap,
            "mean_standardised_difference": self.mean_standardised,
            "lack_of_fit": self.lack_of_fit,
            "df": self.df,
            "p_value": self.p_value,
            "n_original": self.n_original,
            "n_synthetic": self.n_synthetic,
            "terms": self.coefficients.rows(),
            "notes": list(self.notes),
        }


def compare_model(
    pairs: WeightedPair | Sequence[WeightedPair],
    model: str,
    *,
    rule: Rule = "original",
) -> ModelComparison:
    """Fit a model to the original and to every copy.

    Parameters
    ----------
    pairs
        The pair with each copy.
    model
        A formula such as ``"income ~ age + sex"``. The family follows from the response: linear
        for numbers, logistic for two categories, multinomial for more. To choose it, put it in
        front: ``"poisson: children ~ age"``.
    rule
        How the copies are combined; see :data:`caveat.utility.analyses.RULES`.

    Notes
    -----
    Rows with a missing cell are left out. The first level of a category that all tables have is its
    reference. The language of formulas is that of :class:`caveat.expressions.Formula`. With survey
    weights the original's estimates are the weighted ones, and their covariance is the sandwich of
    survey statistics (records drawn independently).
    """
    copies = [pairs] if isinstance(pairs, WeightedPair) else list(pairs)
    formula = read_model(model)
    _check_names(formula, copies[0].names, "the model cannot be fitted: ")
    family, fits, notes = fit_all(formula, copies)
    weights = copies[0].weights
    if weights is not None:
        notes.append(WEIGHTED if family != "multinomial" else unweighted("a multinomial model"))
    terms = [term for term in fits[0].estimate if all(term in fit.estimate for fit in fits)]
    lost = sorted({term for fit in fits for term in fit.estimate} - set(terms))
    if lost:
        names = ", ".join(lost)
        notes.append(Note("not-estimable", f"not estimable everywhere, left out: {names}"))
    if not terms:
        what = "no term can be estimated everywhere"
        raise CaveatError(what, where=model, do="simplify it", code="measure.model.failed")
    ours, theirs = fits[0], fits[1:]
    sizes = [fit.n for fit in theirs]
    coefficients = _coefficients(ours, theirs, terms, rule)
    spread = ours.covariance(terms) * ours.n / sum(sizes)
    if weights is not None:
        # Given the original, copies vary as samples without weights do: by their own covariance.
        spread = np.mean([fit.covariance(terms) for fit in theirs], axis=0) / len(theirs)
    fit = _lack_of_fit(coefficients.synthetic - coefficients.original, spread)
    return ModelComparison(
        formula.text,
        family,
        coefficients,
        fit,
        len(terms),
        None if fit is None else float(scipy.stats.chi2.sf(fit, len(terms))),
        ours.n,
        float(np.mean(sizes)),
        tuple(notes),
    )


def _coefficients(ours: Fit, theirs: Sequence[Fit], terms: list[str], rule: Rule) -> Coefficients:
    combined = combine(
        np.array([fit.vector(terms) for fit in theirs]),
        np.array([np.diag(fit.covariance(terms)) for fit in theirs]),
        rule,
        n_original=ours.n,
        n_synthetic=round(float(np.mean([fit.n for fit in theirs]))),
    )
    return Coefficients(
        tuple(terms),
        ours.vector(terms),
        np.sqrt(np.diag(ours.covariance(terms))),
        combined.estimate,
        combined.se,
    )


def _lack_of_fit(gap: Floats, spread: Floats) -> float | None:
    try:
        return float(gap @ np.linalg.solve(spread, gap))
    except np.linalg.LinAlgError:
        return None


def check_model(model: str, names: Sequence[str]) -> None:
    """Refuse a model that cannot be read, or that needs a column which is not among the names.

    Examples
    --------
    >>> check_model("poisson: children ~ age + C(sex):log(income)", ["children", "age", "sex"])
    Traceback (most recent call last):
    caveat.errors.CaveatError: model: there is no column 'income'; choose among children, age, sex.
    """
    _check_names(read_model(model), names)


def read_model(model: str) -> Formula:
    """Read a model without the data."""
    formula = Formula.parse(model)
    if formula.family and formula.family not in FAMILIES:
        raise CaveatError(
            f"there is no family {formula.family!r}",
            where="model",
            do=f"choose among {', '.join(FAMILIES)}",
            code="measure.family.unknown",
        )
    return formula


def _check_names(formula: Formula, names: Sequence[str], before: str = "") -> None:
    for name in formula.columns:
        if name not in names:
            raise CaveatError(
                f"{before}there is no column {name!r}",
                where="model",
                do=f"choose among {', '.join(names)}",
                code="data.column.unknown",
            )
