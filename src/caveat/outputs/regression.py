"""Regression results: safe if they are a regression, and not a table in the form of one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from caveat.errors import CaveatError
from caveat.outputs.cell_numbers import numbers
from caveat.outputs.finding import Finding
from caveat.outputs.statbarns import STATBARNS, Rules, Verdict
from caveat.table import Table

__all__ = ["OF_MODELS", "Regression", "is_regression", "regression_findings"]

ESTIMATES = ("estimate", "coef", "coefficient")
TERM, PERSONS, FREEDOM = "term", ("n", "nobs"), ("df_resid", "df", "degrees_of_freedom")
_ABOUT = "kind saturated coefficients title formula outcome r2 r_squared"
_NUMBERS = "se std_error standard_error t z p p_value statistic"
_BOUNDS = "low high conf_low conf_high lower upper"
OF_MODELS = frozenset(
    (TERM, *ESTIMATES, *PERSONS, *FREEDOM, *f"{_ABOUT} {_NUMBERS} {_BOUNDS}".split())
)
"""What belongs to a model; whatever else stands beside it has to be looked at."""
CONSTANTS = ("intercept", "const", "(intercept)", "_cons")
DUMMY = re.compile(r"(?P<factor>.+?)\[(?:T\.)?(?P<level>.*)\]")


@dataclass(frozen=True)
class Regression:
    """What of a regression its check needs.

    Parameters
    ----------
    terms
        The names of the coefficients.
    n
        The number of persons; None if it is not said.
    df_resid
        The residual degrees of freedom; without them n less the number of coefficients.
    saturated
        Whether there is a coefficient for every cell of a table; None to see it from the terms.

    Examples
    --------
    >>> Regression(("Intercept", "sex[T.m]", "age"), n=1440).freedom
    1437
    >>> Regression(("Intercept", "sex[T.m]")).is_saturated
    True
    """

    terms: tuple[str, ...]
    n: int | None = None
    df_resid: float | None = None
    saturated: bool | None = None

    @property
    def freedom(self) -> float | None:
        """The residual degrees of freedom; None if they are not known."""
        if self.df_resid is not None:
            return self.df_resid
        return None if self.n is None else self.n - len(self.terms)

    @property
    def is_saturated(self) -> bool:
        """Whether the model is a table: classes only, with all their interactions."""
        if self.saturated is not None:
            return self.saturated
        levels: dict[str, set[str]] = {}
        for term in self.terms:
            if term.strip().lower() in CONSTANTS:
                continue
            for part in term.split(":"):
                found = DUMMY.fullmatch(part.strip())
                if found is None:
                    return False
                levels.setdefault(found["factor"], set()).add(found["level"])
        has_constant = any(term.strip().lower() in CONSTANTS for term in self.terms)
        # One level of each factor is the reference, which has no coefficient of its own.
        cells = prod(len(found) + has_constant for found in levels.values())
        return len(self.terms) >= cells

    @classmethod
    def from_table(cls, table: Table) -> Regression:
        """Read a table with a row a coefficient: term, estimate, se, and n, df_resid in each."""
        if table.n_rows == 0:
            raise CaveatError(
                "the regression has no coefficients",
                do="check how it was made",
                code="outputs.table.empty",
            )
        terms = tuple(str(value) for value in table[TERM].values)
        names = {name.lower(): name for name in table.names}
        found = {}
        for kind, among in (("n", PERSONS), ("df_resid", FREEDOM)):
            name = next((names[one] for one in among if one in names), None)
            if name is not None:
                values = set(numbers(table[name], name).tolist())
                if len(values) != 1:
                    raise CaveatError(
                        "a regression has one such number",
                        column=name,
                        do="repeat it in every row",
                        code="outputs.value.mismatch",
                    )
                found[kind] = values.pop()
        return cls._of(terms, found)

    @classmethod
    def from_document(cls, content: Mapping[str, Any]) -> Regression:
        """Read the JSON form: kind, n, df_resid, saturated and coefficients with their terms."""
        rows = content.get("coefficients")
        if not isinstance(rows, list) or not rows:
            raise CaveatError(
                "the regression has no coefficients",
                do="list them, each with a term",
                code="outputs.table.empty",
            )
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict) or not isinstance(row.get(TERM), str):
                raise CaveatError(
                    f"coefficient {number} has no term",
                    do="name its term",
                    code="outputs.entry.absent",
                )
        saturated = content.get("saturated")
        if saturated is not None and not isinstance(saturated, bool):
            raise CaveatError(
                "saturated is neither true nor false",
                do="mend it, or leave it out",
                code="outputs.entry.type",
            )
        found = {name: content[name] for name in ("n", "df_resid") if content.get(name) is not None}
        return cls._of(tuple(row[TERM] for row in rows), found, saturated)

    @classmethod
    def from_statsmodels(cls, result: Any) -> Regression:
        """Read a fitted model of statsmodels; whether it is saturated is seen from its design."""
        try:
            terms = tuple(str(name) for name in result.model.exog_names)
            design = np.asarray(result.model.exog)
            found = {"n": float(result.nobs), "df_resid": float(result.df_resid)}
        except AttributeError:
            raise CaveatError(
                "this is no fitted model of statsmodels",
                do="give what .fit() returns",
                code="outputs.setting.type",
            ) from None
        cells = len(np.unique(design, axis=0))
        return cls._of(terms, found, cells <= np.linalg.matrix_rank(design))

    @classmethod
    def _of(
        cls, terms: tuple[str, ...], found: Mapping[str, Any], saturated: bool | None = None
    ) -> Regression:
        for name, value in found.items():
            if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
                raise CaveatError(
                    f"{name} is no number, 0 or more",
                    do="mend it, or leave it out",
                    code="outputs.entry.range",
                )
        n = found.get("n")
        return cls(terms, None if n is None else int(n), found.get("df_resid"), saturated)


def is_regression(table: Table) -> bool:
    """Whether a table is the list of the coefficients of a model."""
    names = {name.lower() for name in table.names}
    return TERM in table.names and bool(names.intersection(ESTIMATES))


def regression_findings(model: Regression, rules: Rules) -> Iterator[Finding]:
    """Hold a regression to the rules of its barn, which are about its form."""
    barn = STATBARNS["correlation coefficients and models"]
    if model.is_saturated:
        yield Finding(
            "saturated",
            Verdict.REVIEW,
            "the model has a coefficient for every cell: it is a table of means in another form",
            "hand in that table with counts and largest contributions, which is checked instead",
        )
    if model.freedom is None:
        yield Finding(
            "degrees_of_freedom",
            Verdict.REVIEW,
            "the degrees of freedom are not said",
            "add n or df_resid",
        )
    elif model.freedom < rules.degrees_of_freedom:
        yield Finding(
            "degrees_of_freedom",
            Verdict.REFUSE,
            f"fewer than {rules.degrees_of_freedom} residual degrees of freedom: the coefficients "
            "are nearly the data",
            barn.remedy if model.is_saturated else "use fewer terms or more persons",
        )
