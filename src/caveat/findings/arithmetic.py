"""Columns computed from others: sums, differences, products, ratios, powers, new units."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.expressions.parser import named
from caveat.findings.derived import EXCEPTIONS, sample_columns
from caveat.findings.profile import Finding, Strength, listed, plural, shown
from caveat.findings.shape import decimals_of
from caveat.table.table import Table

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Identity:
    """``target = constant + factor * product of inputs ** powers``, or the sum of signed inputs."""

    target: str
    inputs: tuple[str, ...]
    powers: tuple[int, ...]
    is_sum: bool
    factor: float = 1.0
    constant: float = 0.0

    @property
    def columns(self) -> frozenset[str]:
        """All columns concerned."""
        return frozenset((self.target, *self.inputs))

    def compute(self, values: Mapping[str, Values]) -> Values:
        """Compute the target from its inputs; NaN where one is missing or divides by zero."""
        parts = [values[name] for name in self.inputs]
        if self.is_sum:
            return np.asarray(np.array(self.powers, dtype=float) @ np.array(parts))
        return self.constant + self.factor * product_of(parts, self.powers)

    def formula(self, exact: bool = False) -> str:
        """Return the right-hand side, as in ``weight / (height / 100) ** 2``.

        An exact formula is one for machines: odd names in backticks, numbers with all digits.
        """
        names = [named(n) if exact else n for n in self.inputs]
        if self.is_sum:
            terms = [
                f"{'- ' if s < 0 else '+ '}{n}" for n, s in zip(names, self.powers, strict=True)
            ]
            return " ".join(terms).removeprefix("+ ")
        write = _all_digits if exact else shown
        return _product(names, self.powers, self.factor, self.constant, write)


def product_of(parts: Sequence[Values], powers: Sequence[int]) -> Values:
    """Multiply powers of the inputs; NaN where an input that divides is zero."""
    out = np.ones(len(parts[0]))
    for part, power in zip(parts, powers, strict=True):
        base = np.where(part == 0, np.nan, part) if power < 0 else part
        out = out * base ** float(power)
    return out


def _all_digits(number: float) -> str:
    text = shown(number)
    return text if float(text) == number else repr(float(number))


def _product(
    names: Sequence[str],
    powers: Sequence[int],
    factor: float,
    constant: float,
    write: Callable[[float], str],
) -> str:
    if powers[-1] == -2 and factor == 10_000:
        return f"{names[0]} / ({names[1]} / 100) ** 2"
    text = names[0]
    for name, power in zip(names[1:], powers[1:], strict=True):
        text += f" {'*' if power > 0 else '/'} {name}" + (" ** 2" if abs(power) == 2 else "")
    if factor not in (1.0, -1.0):
        inverse = 1 / factor
        divides = abs(factor) < 1 and abs(inverse - round(inverse)) < 1e-9 * inverse
        text = f"{text} / {round(inverse)}" if divides else f"{write(factor)} * {text}"
    elif factor == -1.0:
        return f"{write(constant)} - {text}" if constant else f"-{text}"
    return f"{text} {'+' if constant > 0 else '-'} {write(abs(constant))}" if constant else text


# -------------------------------------------------------------------------------------------------
# Columns computed from up to three others: sums, differences, products, ratios, a/b², new units.
#
# A target is compared with all combinations of the other columns on a few dozen rows; what fits
# is checked on every row. "Fits" means equal but for the rounding that the decimals of the target
# show.


# Rows on which combinations are tried, and the share of them that must fit.
TRIAL_ROWS = 64
TRIAL_FIT = 0.9
# Fewer rows with all columns known prove nothing.
LEAST_ROWS = 30
# Every input must make a difference in at least these rows and this share of them.
MATTERS_ROWS = 10
MATTERS_SHARE = 0.005
# Half a unit of the last decimal, and a tenth more for factors that are not known exactly.
ROUNDING = 0.55
# Correlation of two columns in eight rows from which on one may be the other in other units.
STRAIGHT = 0.95
# A rounded target must spread over this many units of its rounding, or fit exactly.
SPREAD = 40
# Sums of more columns than this are not looked for among very many columns.
MAX_COLUMNS = 60
# Sums and products are tried among so many columns: each is held against all pairs of the others.
MOST_COLUMNS = 100

# Two short looks before all trial rows: what fails both, one of them for an exception, is refused.
_LOOKS = (slice(0, TRIAL_ROWS, TRIAL_ROWS // 8), slice(5, TRIAL_ROWS, TRIAL_ROWS // 8))
# Exponents of the two inputs of a product.
PRODUCTS = ((1, 1), (1, -1), (1, -2), (1, 2))


_Finder = Callable[[str, Sequence[str], Values, Values, Values], Iterator[Identity]]


@dataclass(frozen=True)
class _Numbers:
    """The numeric columns of a table as floats, NaN where missing, and their decimals."""

    names: tuple[str, ...]
    values: Mapping[str, Values]
    decimals: Mapping[str, int | None]

    def tolerance(self, name: str, rows: NDArray[Any]) -> Values:
        """How far a computed value may be from the stored one, for each of the rows.

        That is the rounding the stored decimals show. Where the values spread over few units of it,
        rounding would let everything pass, and the value must be met exactly.
        """
        values, decimals = self.values[name][rows], self.decimals[name]
        exact = 1e-9 * np.abs(values) + 1e-9
        unit = ROUNDING * 10.0**-decimals if decimals is not None else 0.0
        low, high = np.quantile(values, [0.05, 0.95])
        return np.asarray(exact + unit if high - low >= SPREAD * unit else exact)


def find_identities(table: Table, names: Sequence[str]) -> list[Identity]:
    """Return the arithmetic identities among the named numeric columns, one per set of columns."""
    numbers = _numbers(table, names)
    order = {name: i for i, name in enumerate(table)}
    units = _search(numbers, order, (_new_units,))
    # What is another column in other units has nothing more to say.
    twins = {identity.target for identity in units}
    units = [identity for identity in units if identity.inputs[0] not in twins]
    rest = [n for n in numbers.names if n not in twins]
    few = replace(numbers, names=tuple(sample_columns(rest, MOST_COLUMNS)))
    return [*units, *_search(few, order, (_sums, _products, _long_sums))]


def _search(
    numbers: _Numbers, order: Mapping[str, int], finders: Sequence[_Finder]
) -> list[Identity]:
    found: dict[frozenset[str], Identity] = {}
    for target in numbers.names:
        others = [name for name in numbers.names if name != target]
        trial = _trial(numbers, target, others)
        if trial is None:
            continue
        for candidate in (c for finder in finders for c in finder(target, others, *trial)):
            known = found.get(candidate.columns)
            if known is not None and _rank(known, numbers, order) >= _rank(
                candidate, numbers, order
            ):
                continue
            explained = _holds_another(candidate.columns, found)
            if not explained and _verify(candidate, numbers) is not None:
                found[candidate.columns] = candidate
    return [i for columns, i in found.items() if not _holds_another(columns, found)]


def _holds_another(columns: frozenset[str], found: Collection[frozenset[str]]) -> bool:
    """Whether some of these columns have an identity of their own; two are too few for that."""
    return len(columns) > 2 and any(other < columns for other in found)


def _trial(
    numbers: _Numbers, target: str, others: Sequence[str]
) -> tuple[Values, Values, Values] | None:
    """Return the target, the other columns and the tolerance on rows with a target other than 0."""
    values = numbers.values[target]
    rows = np.flatnonzero(np.isfinite(values) & (values != 0))
    if len(rows) < LEAST_ROWS or not others:
        return None
    rows = rows[np.linspace(0, len(rows) - 1, TRIAL_ROWS).astype(np.int64)]
    x = np.array([numbers.values[name][rows] for name in others])
    return values[rows], x, numbers.tolerance(target, rows)


def _numbers(table: Table, names: Sequence[str]) -> _Numbers:
    values, decimals = {}, {}
    for name in names:
        column = table[name]
        lookup = np.append(column.numbers, np.full(len(column.missing), np.nan))
        values[name] = lookup[column.codes]
        decimals[name] = decimals_of(column.numbers)
    return _Numbers(tuple(names), values, decimals)


def _rank(identity: Identity, numbers: _Numbers, order: Mapping[str, int]) -> tuple[float, ...]:
    """Prefer as target the column with most decimals, a total of three, the last in the file."""
    decimals = numbers.decimals[identity.target]
    total = identity.is_sum and len(identity.inputs) > 2 and min(identity.powers) > 0
    if len(identity.inputs) == 1:
        return (order[identity.target],)
    return (99 if decimals is None else decimals, total, order[identity.target])


def _fits(difference: Values, tolerance: Values) -> NDArray[np.bool_]:
    """Return which candidates (first axis) agree with the target on nearly all known rows."""
    known = np.isfinite(difference)
    agree = (np.abs(difference) <= tolerance) & known
    n = known.sum(axis=-1)
    return np.asarray((agree.sum(axis=-1) >= TRIAL_FIT * n) & (n >= TRIAL_ROWS // 4))


def _new_units(
    target: str, others: Sequence[str], y: Values, x: Values, tolerance: Values
) -> Iterator[Identity]:
    straight = _straight(y, x)
    for name, values in zip(np.array(others, dtype=object)[straight], x[straight], strict=True):
        known = np.isfinite(values)
        lines = list(_lines(values[known], y[known]))
        best = _best([factor * values + constant - y for factor, constant in lines], tolerance)
        if best is not None:
            yield Identity(target, (name,), (1,), False, *lines[best])


def _straight(y: Values, x: Values) -> NDArray[np.bool_]:
    """Return the columns that lie on a line with the target in one of two short looks."""
    passed = np.zeros(len(x), dtype=bool)
    for look in _LOOKS:
        known = np.isfinite(x[:, look])
        n = np.maximum(known.sum(axis=1, keepdims=True), 1)
        part, goal = np.where(known, x[:, look], 0), np.where(known, y[look], 0)
        part = np.where(known, part - part.sum(axis=1, keepdims=True) / n, 0)
        goal = np.where(known, goal - goal.sum(axis=1, keepdims=True) / n, 0)
        size = (part**2).sum(axis=1) * (goal**2).sum(axis=1)
        passed |= (part * goal).sum(axis=1) ** 2 >= STRAIGHT**2 * size
    enough = np.isfinite(x).sum(axis=1) >= TRIAL_ROWS // 4
    varied = np.nanmax(x, axis=1, initial=-np.inf) > np.nanmin(x, axis=1, initial=np.inf)
    return np.asarray(passed & enough & varied)


def _best(differences: Sequence[Values], tolerance: Values) -> int | None:
    """Return the first of the candidates that agree with the target in most rows."""
    if not differences:
        return None
    difference = np.array(differences)
    fits = _fits(difference, tolerance)
    agree = (np.abs(difference) <= tolerance).sum(axis=1) * fits
    return int(np.argmax(agree)) if fits.any() else None


def _lines(x: Values, y: Values) -> Iterator[tuple[float, float]]:
    """Propose y = factor * x, then y = factor * x + constant, round numbers first."""
    if np.all(x != 0):
        yield from ((factor, 0.0) for factor in _nice(float(np.median(y / x))))
    # Median slope between rows half the list apart: a few exceptions do not matter.
    order = np.argsort(x, kind="stable")
    half = len(order) // 2
    low, high = order[:half], order[-half:]
    run, rise = x[high] - x[low], y[high] - y[low]
    if np.any(run > 0):
        for factor in _nice(float(np.median(rise[run > 0] / run[run > 0]))):
            constant = float(np.median(y - factor * x))
            yield factor, float(f"{constant:.9g}") if abs(constant) > 1e-9 else 0.0


def _nice(factor: float) -> list[float]:
    """Return the factor, rounder versions first."""
    if not np.isfinite(factor) or factor == 0:
        return []
    rounded = [float(f"{factor:.{digits}g}") for digits in (1, 2, 3, 4, 5, 6)]
    inverse = [1 / float(f"{1 / factor:.{digits}g}") for digits in (1, 2, 3)]
    return list(dict.fromkeys([*rounded[:3], *inverse, *rounded[3:], factor]))


def _sums(
    target: str, others: Sequence[str], y: Values, x: Values, tolerance: Values
) -> Iterator[Identity]:
    first, second = np.triu_indices(len(others), 1)
    for signs, a, b in (
        ((1, 1), first, second),
        ((1, -1), first, second),
        ((1, -1), second, first),
    ):
        for k in _adding_up(y, x, a, b, signs[1], tolerance):
            yield Identity(target, (others[a[k]], others[b[k]]), signs, True)
    # Three terms among very many columns would take longer than they are worth.
    for third in range(2, len(others) if len(others) <= MAX_COLUMNS else 0):
        below = second < third
        a, b = first[below], second[below]
        for k in _adding_up(y - x[third], x, a, b, 1, tolerance):
            names = (others[a[k]], others[b[k]], others[third])
            yield Identity(target, names, (1, 1, 1), True)


def _adding_up(
    y: Values,
    x: Values,
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    sign: int,
    tolerance: Values,
) -> NDArray[np.int64]:
    """Return the pairs of columns whose sum or difference is the target."""
    passed = np.zeros(len(a), dtype=bool)
    for look in _LOOKS:
        part = x[:, look]
        gap = np.abs(part[a] + sign * part[b] - y[look])
        passed |= ~(gap > tolerance[look]).any(axis=1)
    places = np.flatnonzero(passed)
    return places[_fits(x[a[places]] + sign * x[b[places]] - y, tolerance)]


def _products(
    target: str, others: Sequence[str], y: Values, x: Values, tolerance: Values
) -> Iterator[Identity]:
    with np.errstate(divide="ignore", invalid="ignore"):
        log_x = np.log(np.where(x == 0, np.nan, np.abs(x)))
    log_y, slack = np.log(np.abs(y)), 2 * tolerance / np.abs(y) + 1e-9
    first, second = np.triu_indices(len(others), 1)
    for powers, a, b in _arrangements(first, second):
        for k in _steady(log_y, log_x, slack, powers, a, b):
            factor = _factor(y, x, tolerance, powers, int(a[k]), int(b[k]))
            if factor:
                yield Identity(target, (others[a[k]], others[b[k]]), powers, False, factor)


def _arrangements(
    first: NDArray[np.int64], second: NDArray[np.int64]
) -> Iterator[tuple[tuple[int, int], NDArray[np.int64], NDArray[np.int64]]]:
    for powers in PRODUCTS:
        yield powers, first, second
        if powers != (1, 1):
            yield powers, second, first


def _steady(
    log_y: Values,
    log_x: Values,
    slack: Values,
    powers: tuple[int, int],
    a: NDArray[np.int64],
    b: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the pairs whose ratio to the target hardly varies."""
    known = np.isfinite(log_x).astype(np.float32)
    passed = np.zeros(len(a), dtype=bool)
    for look in _LOOKS:
        part = log_x[:, look]
        ratio = log_y[look] - powers[0] * part[a] - powers[1] * part[b]
        off = np.abs(ratio - ratio[:, :1]) > slack[look] + slack[look][0]
        passed |= ~off.any(axis=1)  # what is not known does not speak against it
    places = np.flatnonzero(passed & ((known @ known.T)[a, b] >= TRIAL_ROWS // 4))
    ratio = log_y - powers[0] * log_x[a[places]] - powers[1] * log_x[b[places]]
    # Unknown ratios are sorted to the end, so the middle of the known ones is their median.
    half = np.isfinite(ratio).sum(axis=1, keepdims=True) // 2
    middle = np.take_along_axis(np.sort(ratio, axis=1), half, axis=1)
    return places[_fits(ratio - middle, slack)]


def _factor(
    y: Values, x: Values, tolerance: Values, powers: tuple[int, int], a: int, b: int
) -> float | None:
    """Return the constant factor by which the product fits the target, if there is one."""
    product = product_of((x[a], x[b]), powers)
    ratio = y / np.where(product == 0, np.nan, product)
    middle = float(np.median(ratio[np.isfinite(ratio)]))
    factors = _nice(middle)
    best = _best([factor * product - y for factor in factors], tolerance)
    return None if best is None else factors[best]


def _long_sums(
    target: str, others: Sequence[str], y: Values, x: Values, _tolerance: Values
) -> Iterator[Identity]:
    """Find a total of four parts and more: regressed on everything, its parts have weight 1."""
    known = x[:, np.isfinite(x).all(axis=0)]
    if len(others) < 4 or known.shape[1] < len(others) + 5:
        return
    weights = np.linalg.lstsq(known.T, y[np.isfinite(x).all(axis=0)], rcond=None)[0]
    parts = np.flatnonzero(np.abs(weights - 1) < 1e-3)
    rest = np.delete(weights * np.abs(known).max(axis=1), parts)
    if len(parts) >= 4 and np.all(np.abs(rest) < 1e-3 * np.abs(y).max()):
        names = tuple(others[int(i)] for i in parts)
        yield Identity(target, names, (1,) * len(names), True)


def _verify(identity: Identity, numbers: _Numbers) -> tuple[int, int] | None:
    """Return the rows with all known and the exceptions, or None if the identity does not hold."""
    y = numbers.values[identity.target]
    difference = np.abs(identity.compute(numbers.values) - y)
    known = np.isfinite(difference)
    if identity.is_sum:  # 0 = 0 + 0 proves nothing
        known &= (y != 0) | np.any([numbers.values[n] != 0 for n in identity.inputs], axis=0)
    rows = int(known.sum())
    if rows < LEAST_ROWS:
        return None
    tolerance = np.full(len(y), np.nan)
    tolerance[known] = numbers.tolerance(identity.target, known)
    exceptions = int((difference[known] > tolerance[known]).sum())
    if exceptions > EXCEPTIONS * rows or not _all_matter(identity, numbers, known, tolerance):
        return None
    return int(np.isfinite(difference).sum()), exceptions


def _all_matter(
    identity: Identity, numbers: _Numbers, known: NDArray[np.bool_], tolerance: Values
) -> bool:
    """Whether the identity breaks if one input is held at its commonest value."""
    y = numbers.values[identity.target]
    for name in identity.inputs:
        present = numbers.values[name][known]
        values, counts = np.unique(present, return_counts=True)
        held = {**numbers.values, name: np.full(len(y), values[np.argmax(counts)])}
        broken = np.abs(identity.compute(held) - y)[known] > tolerance[known]
        if broken.sum() < max(MATTERS_ROWS, MATTERS_SHARE * known.sum()):
            return False
    return True


def report(table: Table, identities: Sequence[Identity]) -> list[Finding]:
    """Turn identities into findings, with exceptions and missing cells counted."""
    findings = []
    for identity in identities:
        numbers = _numbers(table, sorted(identity.columns))
        result = _verify(identity, numbers)
        if result is not None:
            findings.append(_finding(table, identity, numbers, *result))
    return findings


def _finding(
    table: Table, identity: Identity, numbers: _Numbers, rows: int, exceptions: int
) -> Finding:
    target = np.isfinite(numbers.values[identity.target])
    inputs = np.isfinite(identity.compute(numbers.values))
    notes = [
        f"except in {plural(exceptions, 'row')}" if exceptions else "",
        _rows_note(inputs & ~target, "missing in", "where no input is"),
        _rows_note(target & ~inputs, "not missing in", "where an input is"),
    ]
    notes = [note for note in notes if note]
    formula = identity.formula()
    tail = f", {'; '.join(notes)}" if notes else ""
    message = f"{identity.target} = {formula} in {plural(rows - exceptions, 'row')}{tail}."
    return Finding(
        "arithmetic",
        (identity.target, *identity.inputs),
        message,
        Strength.LIKELY if exceptions else Strength.CERTAIN,
        rows,
        rows / table.n_rows,
        {"formula": identity.formula(exact=True), "inputs": list(identity.inputs)},
    )


def _rows_note(flags: NDArray[np.bool_], before: str, after: str) -> str:
    which = np.flatnonzero(flags)
    if not len(which):
        return ""
    where = f" (row {listed([str(i + 1) for i in which], 3)})" if len(which) <= 3 else ""
    return f"{before} {plural(len(which), 'row')} {after}{where}"
