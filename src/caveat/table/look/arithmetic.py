"""Columns computed from up to three others: sums, differences, products, ratios, a/b², new units.

A target is compared with all combinations of the other columns on a few dozen rows; what fits is
checked on every row. "Fits" means equal but for the rounding that the decimals of the target show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.table.look.derived import EXCEPTIONS
from caveat.table.look.profile import Finding, Strength, listed, plural, shown
from caveat.table.look.spikes import decimals_of
from caveat.table.table import Table

__all__ = ["Identity", "find_identities", "report"]

# Rows on which combinations are tried, and the share of them that must fit.
TRIAL_ROWS = 64
TRIAL_FIT = 0.9
# Fewer rows with all columns known prove nothing.
LEAST_ROWS = 30
# Every input must make a difference in at least these rows and this share of them.
MATTERS_ROWS = 10
MATTERS_SHARE = 0.005
# A rounded target must spread over this many units of its rounding, or fit exactly.
SPREAD = 40
# Sums of more columns than this are not looked for among very many columns.
MAX_COLUMNS = 60

Values = NDArray[np.float64]
# Two short looks before all trial rows: what fails both, one of them for an exception, is refused.
_LOOKS = (slice(0, TRIAL_ROWS, TRIAL_ROWS // 4), slice(7, TRIAL_ROWS, TRIAL_ROWS // 4))
# Exponents of the two inputs of a product.
PRODUCTS = ((1, 1), (1, -1), (1, -2), (1, 2))


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
        return self.constant + self.factor * _product_of(parts, self.powers)

    def formula(self, quote: bool = False) -> str:
        """Return the right-hand side, as in ``weight / (height / 100) ** 2``."""
        names = [f"`{n}`" if quote and not n.isidentifier() else n for n in self.inputs]
        if self.is_sum:
            terms = [
                f"{'- ' if s < 0 else '+ '}{n}" for n, s in zip(names, self.powers, strict=True)
            ]
            return " ".join(terms).removeprefix("+ ")
        return _product(names, self.powers, self.factor, self.constant)


def _product_of(parts: Sequence[Values], powers: Sequence[int]) -> Values:
    """Multiply powers of the inputs; NaN where an input that divides is zero."""
    out = np.ones(len(parts[0]))
    for part, power in zip(parts, powers, strict=True):
        base = np.where(part == 0, np.nan, part) if power < 0 else part
        out = out * base ** float(power)
    return out


def _product(names: Sequence[str], powers: Sequence[int], factor: float, constant: float) -> str:
    if powers[-1] == -2 and factor == 10_000:
        return f"{names[0]} / ({names[1]} / 100) ** 2"
    text = names[0]
    for name, power in zip(names[1:], powers[1:], strict=True):
        text += f" {'*' if power > 0 else '/'} {name}" + (" ** 2" if abs(power) == 2 else "")
    if factor not in (1.0, -1.0):
        inverse = 1 / factor
        divides = abs(factor) < 1 and abs(inverse - round(inverse)) < 1e-9 * inverse
        text = f"{text} / {round(inverse)}" if divides else f"{shown(factor)} * {text}"
    elif factor == -1.0:
        return f"{shown(constant)} - {text}" if constant else f"-{text}"
    return f"{text} {'+' if constant > 0 else '-'} {shown(abs(constant))}" if constant else text


@dataclass(frozen=True)
class _Numbers:
    """The numeric columns of a table as floats, NaN where missing, and their decimals."""

    names: tuple[str, ...]
    values: Mapping[str, Values]
    decimals: Mapping[str, int | None]

    def tolerance(self, name: str) -> Values:
        """How far a computed value may be from the stored one, by row."""
        decimals = self.decimals[name]
        relative = 1e-9 * np.abs(self.values[name]) + 1e-12
        return relative if decimals is None else relative + 0.5 * 10.0**-decimals

    def exact(self, name: str) -> Values:
        return 1e-9 * np.abs(self.values[name]) + 1e-9


def find_identities(table: Table, names: Sequence[str]) -> list[Identity]:
    """Return the arithmetic identities among the named numeric columns, one per set of columns."""
    numbers = _numbers(table, names)
    found: dict[frozenset[str], Identity] = {}
    order = {name: i for i, name in enumerate(table)}
    for target in numbers.names:
        rows = _trial_rows(numbers.values[target])
        if len(rows) < LEAST_ROWS:
            continue
        for candidate in _candidates(numbers, target, rows):
            known = found.get(candidate.columns)
            if known is not None and _rank(known, numbers, order) >= _rank(
                candidate, numbers, order
            ):
                continue
            if any(other < candidate.columns for other in found):
                continue
            if _verify(candidate, numbers) is not None:
                found[candidate.columns] = candidate
    return [i for i in found.values() if not any(other < i.columns for other in found)]


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
    return (99 if decimals is None else decimals, total, order[identity.target])


def _trial_rows(target: Values) -> NDArray[np.int64]:
    rows = np.flatnonzero(np.isfinite(target) & (target != 0))
    return rows[np.linspace(0, len(rows) - 1, TRIAL_ROWS).astype(np.int64)] if len(rows) else rows


def _candidates(numbers: _Numbers, target: str, rows: NDArray[np.int64]) -> Iterator[Identity]:
    others = [name for name in numbers.names if name != target]
    y = numbers.values[target][rows]
    x = np.array([numbers.values[name][rows] for name in others]).reshape(len(others), len(rows))
    tolerance = numbers.tolerance(target)[rows]
    yield from _new_units(target, others, y, x, tolerance)
    yield from _sums(target, others, y, x, tolerance)
    yield from _products(target, others, y, x, tolerance)


def _fits(difference: Values, tolerance: Values) -> NDArray[np.bool_]:
    """Return which candidates (first axis) agree with the target on nearly all known rows."""
    known = np.isfinite(difference)
    agree = (np.abs(difference) <= tolerance) & known
    n = known.sum(axis=-1)
    return np.asarray((agree.sum(axis=-1) >= TRIAL_FIT * n) & (n >= TRIAL_ROWS // 4))


def _new_units(
    target: str, others: Sequence[str], y: Values, x: Values, tolerance: Values
) -> Iterator[Identity]:
    for name, values in zip(others, x, strict=True):
        known = np.isfinite(values)
        if known.sum() < TRIAL_ROWS // 4 or np.ptp(values[known]) == 0:
            continue
        # Median slope between rows half the list apart: a few exceptions do not matter.
        order = np.argsort(values[known])
        half = len(order) // 2
        low, high = order[:half], order[-half:]
        run = values[known][high] - values[known][low]
        rise = y[known][high] - y[known][low]
        if not np.any(run > 0):
            continue
        slope = float(np.median(rise[run > 0] / run[run > 0]))
        for factor in _nice(slope):
            constant = _round(float(np.median(y[known] - factor * values[known])))
            if factor and _fits((y - factor * values - constant)[None], tolerance)[0]:
                yield Identity(target, (name,), (1,), False, factor, constant)
                break


def _nice(factor: float) -> list[float]:
    """Return the factor, rounder versions first."""
    if not np.isfinite(factor) or factor == 0:
        return []
    rounded = [float(f"{factor:.{digits}g}") for digits in (1, 2, 3, 4, 6)]
    inverse = [1 / float(f"{1 / factor:.{digits}g}") for digits in (1, 2, 3)]
    return list(dict.fromkeys([*rounded[:3], *inverse, *rounded[3:], factor]))


def _round(constant: float) -> float:
    return float(f"{constant:.9g}") if abs(constant) > 1e-9 else 0.0


def _sums(
    target: str, others: Sequence[str], y: Values, x: Values, tolerance: Values
) -> Iterator[Identity]:
    first, second = np.triu_indices(len(others), 1)
    for signs in ((1, 1), (1, -1), (-1, 1)):
        differences = signs[0] * x[first] + signs[1] * x[second] - y
        for k in np.flatnonzero(_fits(differences, tolerance)):
            i, j = (first[k], second[k]) if signs[0] > 0 else (second[k], first[k])
            powers = (1, 1) if signs == (1, 1) else (1, -1)
            yield Identity(target, (others[i], others[j]), powers, True)
    if len(others) <= MAX_COLUMNS:
        yield from _triple_sums(target, others, y, x, tolerance)


def _triple_sums(
    target: str, others: Sequence[str], y: Values, x: Values, tolerance: Values
) -> Iterator[Identity]:
    first, second = np.triu_indices(len(others), 1)
    for third in range(2, len(others)):
        pairs = second < third
        i, j = first[pairs], second[pairs]
        rest = y - x[third]
        passed = np.zeros(len(i), dtype=bool)
        for look in _LOOKS:
            gap = np.abs(x[i][:, look] + x[j][:, look] - rest[look])
            passed |= np.all((gap <= tolerance[look]) | np.isnan(gap), axis=1)
        for k in np.flatnonzero(passed):
            if _fits((x[i[k]] + x[j[k]] - rest)[None], tolerance)[0]:
                yield Identity(target, (others[i[k]], others[j[k]], others[third]), (1, 1, 1), True)


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
    """Return the pairs whose ratio to the target hardly varies over two short looks."""
    known = np.isfinite(log_x)
    passed = np.zeros(len(a), dtype=bool)
    for look in _LOOKS:
        ratio = log_y[look] - powers[0] * log_x[a][:, look] - powers[1] * log_x[b][:, look]
        off = np.abs(ratio - ratio[:, :1]) > slack[look] + slack[look][0]
        passed |= ~off.any(axis=1)  # what is not known does not speak against it
    together = known.astype(np.float32) @ known.astype(np.float32).T
    return np.flatnonzero(passed & (together[a, b] >= TRIAL_ROWS // 4))


def _factor(
    y: Values, x: Values, tolerance: Values, powers: tuple[int, int], a: int, b: int
) -> float | None:
    """Return the constant factor by which the product fits the target, if there is one."""
    product = _product_of((x[a], x[b]), powers)
    ratio = y / np.where(product == 0, np.nan, product)
    middle = float(np.median(ratio[np.isfinite(ratio)]))
    fitting = (f for f in _nice(middle) if _fits((f * product - y)[None], tolerance)[0])
    return next(fitting, None)


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
    tolerance = numbers.tolerance(identity.target)
    low, high = np.quantile(y[known], [0.05, 0.95])
    if high - low < SPREAD * float(np.median(tolerance[known])):
        tolerance = numbers.exact(identity.target)
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
        f"apart from {plural(exceptions, 'row')}" if exceptions else "",
        _rows_note(inputs & ~target, "missing in", "although its inputs are known"),
        _rows_note(target & ~inputs, "known in", "although an input is missing"),
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
        {"formula": identity.formula(quote=True), "inputs": list(identity.inputs)},
    )


def _rows_note(flags: NDArray[np.bool_], before: str, after: str) -> str:
    which = np.flatnonzero(flags)
    if not len(which):
        return ""
    where = f" (row {listed([str(i + 1) for i in which], 3)})" if len(which) <= 3 else ""
    return f"{before} {plural(len(which), 'row')} {after}{where}"
