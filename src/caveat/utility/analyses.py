"""Fit the same model to the original and to the synthetic copies, and compare the coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Formula
from caveat.notes import Z95, Note
from caveat.showing import without_values
from caveat.utility.combining import Rule, combine
from caveat.utility.fitting import FAMILIES, Fit, fit_all
from caveat.utility.pair import WeightedPair
from caveat.utility.weighting import WEIGHTED, unweighted

__all__ = [
    "Coefficients",
    "ModelComparison",
    "check_model",
    "compare_model",
    "overlap",
    "read_model",
]

Floats = NDArray[np.float64]


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
        How the copies are combined; see :data:`caveat.utility.combining.RULES`.

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
