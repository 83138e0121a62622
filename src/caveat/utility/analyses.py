"""Fit the same model to the original and to the synthetic copies, and compare the coefficients."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from numpy.typing import NDArray
from scipy.stats import chi2
from statsmodels.tools.sm_exceptions import ConvergenceWarning, HessianInversionWarning

from caveat.errors import CaveatError
from caveat.table import Column
from caveat.utility.combining import Rule, combine
from caveat.utility.comparison import Comparison
from caveat.utility.weighting import UNWEIGHTED, WEIGHTED, Weights

__all__ = ["FAMILIES", "Coefficients", "ModelComparison", "check_model", "compare_model", "overlap"]

Floats = NDArray[np.float64]
Z95 = 1.959963984540054

FAMILIES = ("linear", "logistic", "poisson", "multinomial")


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
    notes: tuple[str, ...]

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
    comparisons: Comparison | Sequence[Comparison],
    model: str,
    *,
    rule: Rule = "original",
) -> ModelComparison:
    """Fit a model to the original and to every copy.

    Parameters
    ----------
    comparisons
        The comparison with each copy.
    model
        A formula such as ``"income ~ age + sex"``. The family follows from the response: linear
        for numbers, logistic for two categories, multinomial for more. To choose it, put it in
        front: ``"poisson: children ~ age"``.
    rule
        How the copies are combined; see :data:`caveat.utility.combining.RULES`.

    Notes
    -----
    Rows with a missing cell are left out, as statsmodels does. The first level of a category that
    all tables have is its reference. With survey weights the original's estimates are the weighted
    ones, their covariance is the sandwich of survey statistics (records drawn independently).
    """
    copies = [comparisons] if isinstance(comparisons, Comparison) else list(comparisons)
    family, formula = _parse(model, copies[0])
    used = [n for n in copies[0].names if re.search(rf"(?<!\w){re.escape(n)}(?!\w)", formula)]
    frames, notes = _frames(copies, used)
    weights = copies[0].weights
    if weights is not None:
        notes.append(WEIGHTED if family != "multinomial" else f"{UNWEIGHTED}: a multinomial model")
    fits = [
        _fit(formula, family, frames[0], weights),
        *(_fit(formula, family, f) for f in frames[1:]),
    ]
    terms = [term for term in fits[0].estimate if all(term in fit.estimate for fit in fits)]
    lost = sorted({term for fit in fits for term in fit.estimate} - set(terms))
    if lost:
        notes.append(f"not estimable everywhere, left out: {', '.join(lost)}")
    if not terms:
        raise CaveatError("no term can be estimated everywhere", where=model, do="simplify it")
    ours, theirs = fits[0], fits[1:]
    sizes = [fit.n for fit in theirs]
    combined = combine(
        np.array([fit.vector(terms) for fit in theirs]),
        np.array([np.diag(fit.covariance(terms)) for fit in theirs]),
        rule,
        n_original=ours.n,
        n_synthetic=round(float(np.mean(sizes))),
    )
    coefficients = Coefficients(
        tuple(terms),
        ours.vector(terms),
        np.sqrt(np.diag(ours.covariance(terms))),
        combined.estimate,
        combined.se,
    )
    spread = ours.covariance(terms) * ours.n / sum(sizes)
    if weights is not None:
        # Given the original, copies vary as samples without weights do: by their own covariance.
        spread = np.mean([fit.covariance(terms) for fit in theirs], axis=0) / len(theirs)
    fit = _lack_of_fit(coefficients.synthetic - coefficients.original, spread)
    return ModelComparison(
        formula,
        family,
        coefficients,
        fit,
        len(terms),
        None if fit is None else float(chi2.sf(fit, len(terms))),
        ours.n,
        float(np.mean(sizes)),
        tuple(notes),
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
    >>> check_model("poisson: children ~ age + C(sex):np.log(income)", ["children", "age", "sex"])
    Traceback (most recent call last):
    caveat.errors.CaveatError: model: there is no column 'income'; choose among children, age, sex.
    """
    _, formula, _ = _split(model)
    for side in formula.split("~", 1):
        for name in _columns_of(side):
            if name not in names:
                raise CaveatError(
                    f"there is no column {name!r}",
                    where="model",
                    do=f"choose among {', '.join(names)}",
                )


def _columns_of(side: str) -> list[str]:
    """Return the columns that one side of a formula names."""
    try:
        # An interaction is no Python, a product is; a colon in a quoted name stays.
        tokens = tokenize.generate_tokens(io.StringIO(side.strip()).readline)
        python = " ".join("*" if token.string == ":" else token.string for token in tokens)
        tree = ast.parse(python.strip(), mode="eval").body
    except (SyntaxError, tokenize.TokenError):
        raise CaveatError(
            "the model cannot be read",
            where="model",
            do="write it as 'income ~ age + sex', quote odd names as Q('name')",
        ) from None
    return list(_names_in(tree))


def _names_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
        return
    inside: Sequence[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call):
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        if function == "Q" and node.args and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value)
            return
        # What stands behind the column in C(column, Sum) is no column.
        inside = node.args[:1] if function == "C" else node.args
    for part in inside:
        yield from _names_in(part)


def _split(model: str) -> tuple[str, str, str]:
    """Return the family ("" if it is not given), the formula and the name of the response."""
    head, _, rest = model.partition(":")
    family, formula = (head.strip(), rest) if rest and "~" not in head else ("", model)
    response, tilde, _ = formula.partition("~")
    name = response.strip()
    quoted = re.fullmatch(r"Q\(\s*[\"'](.+)[\"']\s*\)", name)
    name = quoted.group(1) if quoted else name
    if not tilde or not name:
        raise CaveatError("a model is a formula", where=model, do="write 'income ~ age + sex'")
    if family and family not in FAMILIES:
        raise CaveatError(
            f"there is no family {family!r}", where=model, do=f"choose among {', '.join(FAMILIES)}"
        )
    return family, formula.strip(), name


def _parse(model: str, comparison: Comparison) -> tuple[str, str]:
    family, formula, name = _split(model)
    return family or _family(comparison, name), formula


def _family(comparison: Comparison, response: str) -> str:
    """Return the family that suits a response; transformed responses are numbers."""
    if response not in comparison.names or comparison.original[response].kind.is_number:
        return "linear"
    column = comparison.original[response]
    return (
        "logistic" if np.count_nonzero(column.counts[: len(column.levels)]) == 2 else "multinomial"
    )


def _frames(copies: Sequence[Comparison], names: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Return the original and all copies as frames with the same reference levels."""
    notes = []
    tables = [copies[0].original, *(copy.synthetic for copy in copies)]
    frames: list[dict[str, Any]] = [{} for _ in tables]
    for name in names:
        columns = [table[name] for table in tables]
        levels = _levels(columns)
        for frame, column in zip(frames, columns, strict=True):
            frame[name] = _cells(column, levels)
        strange = [_strange(column, levels) for column in columns[1:]]
        if any(strange):
            notes.append(f"{name}: {max(strange):,} synthetic rows with levels the original lacks")
    return [pd.DataFrame(frame) for frame in frames], notes


def _levels(columns: Sequence[Column]) -> list[str] | None:
    """Return the levels of the original, one that all tables have first; None for numbers."""
    if columns[0].kind.is_number:
        return None
    held = [_used(column) for column in columns]
    everywhere = set.intersection(*map(set, held))
    first = next((level for level in held[0] if level in everywhere), None)
    return held[0] if first is None else [first, *(lv for lv in held[0] if lv != first)]


def _used(column: Column) -> list[str]:
    n = len(column.levels)
    return [str(column.levels[i]) for i in np.flatnonzero(column.counts[:n])]


def _strange(column: Column, levels: list[str] | None) -> int:
    if levels is None:
        return 0
    n = len(column.levels)
    return sum(int(column.counts[i]) for i in range(n) if str(column.levels[i]) not in set(levels))


def _cells(column: Column, levels: list[str] | None) -> Any:
    if levels is None:
        return np.append(column.numbers, np.full(len(column.missing), np.nan))[column.codes]
    place = {level: i for i, level in enumerate(levels)}
    lookup = [place.get(str(level), -1) for level in column.levels.tolist()]
    codes = np.array([*lookup, *[-1] * len(column.missing)])[column.codes]
    return pd.Categorical.from_codes(codes, levels).remove_unused_categories()


@dataclass(frozen=True, eq=False)
class _Fit:
    estimate: Mapping[str, float]
    covariances: Any
    n: int

    def vector(self, terms: Sequence[str]) -> Floats:
        return np.array([self.estimate[term] for term in terms])

    def covariance(self, terms: Sequence[str]) -> Floats:
        places = [list(self.estimate).index(term) for term in terms]
        return np.asarray(self.covariances)[np.ix_(places, places)]


def _fit(formula: str, family: str, frame: Any, weights: Weights = None) -> _Fit:
    response, _, predictors = formula.partition("~")
    name = response.strip()
    more: dict[str, Any] = {}
    if weights is not None:
        # Weights on the scale of the variance leave the sandwich as it is, whatever their sum.
        more = {"weights": weights[~frame.isna().any(axis=1).to_numpy()]}
        frame = frame.dropna()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", HessianInversionWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            if family == "linear":
                model = smf.ols(formula, frame) if not more else smf.wls(formula, frame, **more)
                found = model.fit(cov_type="nonrobust" if not more else "HC0")
            elif family == "poisson":
                found = _general(formula, frame, sm.families.Poisson(), weights=more)
            else:
                complete = frame.dropna()
                codes = complete[name].cat.codes.to_numpy()
                data = complete.assign(_response=codes)
                formula = f"_response ~ {predictors}"
                if family == "logistic":
                    found = _general(formula, data, sm.families.Binomial(), weights=more)
                else:
                    return _multinomial(formula, data, list(complete[name].cat.categories))
    except Exception as error:
        raise CaveatError(
            f"the model cannot be fitted ({type(error).__name__})",
            where=formula,
            do="check the names of the columns, quote odd ones as Q('name'), or simplify it",
        ) from error
    covariance = np.asarray(found.cov_params())
    usable = np.flatnonzero(np.isfinite(np.diag(covariance)) & (np.diag(covariance) > 0))
    estimate = {str(found.params.index[i]): float(found.params.iloc[i]) for i in usable}
    return _Fit(estimate, covariance[np.ix_(usable, usable)], int(found.nobs))


def _general(formula: str, frame: Any, family: Any, weights: Mapping[str, Floats]) -> Any:
    if not weights:
        return smf.glm(formula, frame, family=family).fit()
    model = smf.glm(formula, frame, family=family, var_weights=weights["weights"])
    return model.fit(cov_type="HC0")


def _multinomial(formula: str, data: Any, levels: Sequence[str]) -> _Fit:
    found = smf.mnlogit(formula, data).fit(disp=0, method="newton", maxiter=50)
    estimate = {
        f"{level}: {term}": float(found.params.iloc[i, j])
        for j, level in enumerate(levels[1:])
        for i, term in enumerate(found.params.index)
    }
    return _Fit(estimate, np.asarray(found.cov_params()), int(found.nobs))
