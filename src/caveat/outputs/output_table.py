"""What an output is: a table with keys and statistics, or the results of a regression."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.outputs.cell_numbers import (
    SMALLEST_BASE,
    Limits,
    Marks,
    base_of,
    cell_text,
    has_decimals,
    is_numeric,
    limits,
    marks_of,
    mostly_numbers,
    numbers,
    unmarked,
    written_decimal,
)
from caveat.outputs.statbarns import (
    STATBARNS,
    Cell,
    Finding,
    Rules,
    Statbarn,
    Verdict,
    barn_of,
    known_barn,
)
from caveat.showing import without_values
from caveat.table import Table

Floats = NDArray[np.float64]

LARGEST = re.compile(r"largest[ _-]?(\d+)", re.IGNORECASE)
FREQUENCIES = STATBARNS["frequencies"]
VALUE = ("value", "cell value", "obs_value")
TIMES = re.compile(
    r"(?:survey |reference )?(?:years?|quarter|month|week|wave|period|time|date|jahr|berichtsjahr)",
    re.IGNORECASE,
)
"""Columns of numbers that are keys even if they are the same in every row."""


@dataclass(frozen=True)
class Described:
    """What is known about an output, where its columns do not say it.

    Parameters
    ----------
    form
        "long": a row is a cell. "cross": the first column and the header are the keys, and the
        cells are counts.
    count
        The column with the number of persons.
    statistics
        Other columns with the statistic that they hold.
    largest
        The columns with the largest contributions, the largest first.
    keys
        Columns that say which cell a row is, whatever they are called; all others that are no
        statistics do so too, unless they are numbers that tell no rows apart.
    across
        Of a cross table: what the header holds.
    decimal
        The decimal sign of numbers that are written as text, point or comma; None to see it from
        the table.
    status
        The column that says which cells are hidden.
    nested
        Keys whose values have one value of another by their nature: municipalities of regions.
    rounded
        The base that counts are rounded to, 1 if they are not; None to guess it from them.
    """

    form: str = "long"
    count: str | None = None
    statistics: Mapping[str, str] = field(default_factory=dict)
    largest: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    across: str = "columns"
    decimal: str | None = None
    status: str | None = None
    nested: tuple[str, ...] = ()
    rounded: int | None = None


@dataclass(frozen=True)
class Statistic:
    """A column beside the counts: its barn, what it is called there, and its cells."""

    barn: Statbarn
    said: str
    values: Floats

    __repr__ = without_values


@dataclass(frozen=True)
class OutputTable:
    """A table of cells.

    Parameters
    ----------
    keys
        The columns that say which cell a row is.
    cells
        For each row its values of the keys, as text.
    counts
        For each row the number of persons, NaN if it is hidden; None if there is no such column.
    count_name
        The column of the counts.
    statistics
        The other statistics by their columns.
    largest
        The largest contributions, the largest first.
    columns
        All columns of the file.
    places
        Row and column in the file for each cell.
    unknown
        Columns of numbers that say neither which cell a row is nor what they are.
    marks
        What is said of cells; None if no column does.
    guessed
        Whether the counts are a column of values that could be amounts as well.
    nested
        Keys whose values have one value of another by their nature.
    rounded
        The base that counts are said to be rounded to; None if nothing is said.
    limits
        What bounds in hidden cells leave for them, by columns that have such bounds.
    """

    keys: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    counts: Floats | None
    count_name: str
    statistics: Mapping[str, Statistic]
    largest: tuple[Floats, ...]
    columns: tuple[str, ...]
    places: tuple[Cell, ...]
    unknown: tuple[str, ...] = ()
    marks: Marks | None = None
    guessed: bool = False
    nested: tuple[str, ...] = ()
    rounded: int | None = None
    limits: Mapping[str, Limits] = field(default_factory=dict)

    __repr__ = without_values

    @classmethod
    def of(
        cls,
        table: Table,
        described: Described | None = None,
        totals: frozenset[str] = frozenset({"total"}),
    ) -> OutputTable | None:
        """Read a table as an output; None if no column is a known statistic.

        Parameters
        ----------
        table
            The table.
        described
            What its columns are, where their names do not say it.
        totals
            What totals are called, in small letters.
        """
        described = described or Described()
        _check_names(table, described)
        decimal = described.decimal or written_decimal(table)
        if described.form == "cross":
            return _cross(table, described, decimal)
        if described == Described(decimal=described.decimal) and _has_margin(
            table, decimal, totals
        ):
            return replace(_cross(table, described, decimal), guessed=True)
        return cls._long(table, described, decimal)

    @classmethod
    def _long(cls, table: Table, described: Described, decimal: str | None) -> OutputTable | None:
        """Read a table with a row a cell."""
        found = _statistics(table, described, decimal)
        marks = marks_of(table, described.status, described.keys)
        value = _value(table, described, decimal) if marks and not found else None
        if value is not None:
            found = {value: _counts_or_amounts(numbers(table[value], value, decimal))}
        if described.count is None and not found:
            return None
        counted = [name for name, barn in found.items() if barn is FREQUENCIES]
        count = described.count or next(iter(counted), "")
        largest = described.largest or _largest(table)
        chosen = {name: barn for name, barn in found.items() if barn is not FREQUENCIES}
        others = {*chosen, *largest, count, marks.column if marks else ""}
        rest = tuple(name for name in table.names if name not in others)
        unknown = _unknown(table, rest, described.keys, decimal)
        keys = tuple(name for name in rest if name not in unknown)
        if (
            len(keys) == 1
            and keys[0] not in described.keys
            and has_decimals(table[keys[0]], decimal)
        ):
            unknown += keys  # a statistic, it seems

        def column(name: str) -> Floats:
            return unmarked(numbers(table[name], name, decimal), marks)

        statistics = {
            name: Statistic(
                barn,
                described.statistics.get(name, "total" if name == value else name),
                column(name),
            )
            for name, barn in chosen.items()
            if name not in largest
        }
        return cls(
            keys,
            _unique_cells(keys, _rows(table, keys)),
            _counts(column(count), count) if count else None,
            count,
            statistics,
            tuple(numbers(table[name], name, decimal) for name in largest),
            table.names,
            tuple((row, count or next(iter(chosen))) for row in range(table.n_rows)),
            unknown,
            marks,
            value is not None and count == value,
            described.nested,
            described.rounded,
            _limits(table, count, tuple(statistics), decimal),
        )

    @property
    def base(self) -> int:
        """What counts are rounded to, as it is said or else guessed; 0 if they are not."""
        return base_of(self.rounded, self.counts)

    @property
    def is_rounded(self) -> bool:
        """Whether counts are said to be rounded, to a base that protects them."""
        return self.rounded is not None and self.base >= SMALLEST_BASE

    def named(self, row: int) -> dict[str, str]:
        """Return the values of the keys in a row."""
        return dict(zip(self.keys, self.cells[row], strict=True))


def _check_names(table: Table, described: Described) -> None:
    if table.n_rows == 0:
        raise CaveatError(
            "the table has no rows", do="check how it was made", code="data.table.empty"
        )
    wanted = (
        described.count, described.status, *described.statistics, *described.largest,
        *described.keys, *described.nested,
    )  # fmt: skip
    for name in wanted:
        if name is not None and name not in table:
            raise CaveatError(
                f"there is no column {name!r}",
                do=f"use {', '.join(table.names[:20])}",
                code="data.column.unknown",
            )


def _statistics(table: Table, described: Described, decimal: str | None) -> dict[str, Statbarn]:
    """Return the columns that hold a statistic, by what they are declared or called."""
    found: dict[str, Statbarn] = {}
    for name in table.names:
        if name in described.statistics:
            found[name] = barn_of(described.statistics[name])
        elif name == described.count:
            found[name] = FREQUENCIES
        elif name not in (*described.largest, *described.keys) and not LARGEST.fullmatch(name):
            barn = known_barn(name)
            if barn is not None and is_numeric(table[name], decimal):
                found[name] = barn
    counts = [name for name, barn in found.items() if barn is FREQUENCIES]
    if len(counts) > 1 and described.count is None:
        raise CaveatError(
            f"{' and '.join(counts[:2])} could both be the numbers of persons",
            do='say which with count = "…" in [[output]] of the rules',
            code="outputs.column.conflict",
        )
    return found


def _value(table: Table, described: Described, decimal: str | None) -> str | None:
    """Return the column of values of a table that says which of them are hidden."""
    for name in table.names:
        if name.lower() in VALUE and name not in described.keys:
            return name if is_numeric(table[name], decimal) else None
    return None


def _counts_or_amounts(values: Floats) -> Statbarn:
    shown = values[np.isfinite(values)]
    whole = not np.any((shown < 0) | (shown % 1 != 0))
    return FREQUENCIES if whole else STATBARNS["linear aggregates"]


def _largest(table: Table) -> tuple[str, ...]:
    """Return the columns with the largest contributions, by their numbers."""
    found = {int(m[1]): name for name in table.names if (m := LARGEST.fullmatch(name))}
    return tuple(found[number] for number in sorted(found))


def _unknown(
    table: Table, names: tuple[str, ...], keys: tuple[str, ...], decimal: str | None
) -> tuple[str, ...]:
    """Return columns of numbers without which the rows are told apart as well: no keys."""
    kept = list(names)
    for name in reversed(names):
        column = table[name]
        when = table.n_rows > 1 and column.n_levels == 1 and TIMES.fullmatch(name.strip())
        if not when and name not in keys and mostly_numbers(column, decimal):
            others = [other for other in kept if other != name]
            if len(set(_rows(table, others))) == table.n_rows:
                kept.remove(name)
    return tuple(name for name in names if name not in kept)


def _counts(values: Floats, name: str) -> Floats:
    """Return counts, none of which is below 0."""
    negative = np.flatnonzero(values < 0)
    if len(negative):
        raise CaveatError(
            "a count is below 0",
            column=name,
            row=int(negative[0]) + 1,
            do="check how the table was made",
            code="outputs.value.range",
        )
    return values


def _limits(
    table: Table, count: str, others: tuple[str, ...], decimal: str | None
) -> dict[str, Limits]:
    """Return what bounds in hidden cells of columns leave for them."""
    names = (count, *others) if count else others
    found = {name: limits(table[name], decimal, whole=name == count) for name in names}
    return {name: ends for name, ends in found.items() if ends is not None}


def _rows(table: Table, keys: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    columns = [[cell_text(value) for value in table[key].values] for key in keys]
    return tuple(zip(*columns, strict=True)) if columns else ((),) * table.n_rows


def _unique_cells(
    keys: tuple[str, ...], cells: tuple[tuple[str, ...], ...]
) -> tuple[tuple[str, ...], ...]:
    seen: dict[tuple[str, ...], int] = {}
    for row, cell in enumerate(cells):
        if cell in seen:
            raise CaveatError(
                f"it is the same cell as row {seen[cell] + 1:,}"
                + ("" if keys else ": no column says which cell a row is"),
                row=row + 1,
                do="say in [[output]] of the rules which columns are statistics",
                code="outputs.cell.duplicate",
            )
        seen[cell] = row
    return cells


def _cross(table: Table, described: Described, decimal: str | None) -> OutputTable:
    """Return a cross table of counts as one row a cell."""
    side, *names = table.names
    if not names:
        raise CaveatError(
            "a cross table has a column beside its first",
            do="give it as long",
            code="outputs.column.too-few",
        )
    labels = [cell_text(value) for value in table[side].values]
    columns = {name: _counts(numbers(table[name], name, decimal), name) for name in names}
    rows = range(table.n_rows)
    keys = (side, described.across)
    ends = {name: limits(table[name], decimal) for name in names}
    free = np.full(table.n_rows, -np.inf), np.full(table.n_rows, np.inf)
    low, high = np.array([found or free for found in ends.values()]).transpose(1, 2, 0)
    cells = tuple((labels[row], name) for row in rows for name in names)
    return OutputTable(
        keys,
        _unique_cells(keys, cells),
        np.array([columns[name][row] for row in rows for name in names]),
        described.across,
        {},
        (),
        table.names,
        tuple((row, name) for row in rows for name in names),
        rounded=described.rounded,
        limits={described.across: (low.ravel(), high.ravel())} if any(ends.values()) else {},
    )


def _has_margin(table: Table, decimal: str | None, totals: frozenset[str]) -> bool:
    """Whether the last column is the sum of all others but the first, and all are whole."""
    side, *names = table.names
    if len(names) < 3 or names[-1].strip().lower() not in totals or mostly_numbers(table[side]):
        return False
    if not all(is_numeric(table[name], decimal) for name in names):
        return False
    cells = np.array([numbers(table[name], name, decimal) for name in names])
    shown = np.isfinite(cells).all(axis=0)
    whole = not np.any((cells < 0) | (cells % 1 > 0))
    return bool(whole and shown.any() and np.all((cells[:-1].sum(0) == cells[-1])[shown]))


# -------------------------------------------------------------------------------------------------
# Regression results: safe if they are a regression, and not a table in the form of one.


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
