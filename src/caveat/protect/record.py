"""What a protection gives back: the table, a record of what was done, and what it did to groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Z95, Note
from caveat.showing import without_values
from caveat.table import Column, Kind, Table
from caveat.table.cells import Ints


@dataclass(frozen=True)
class Step:
    """The record of one protection.

    Parameters
    ----------
    name
        Name of the protection.
    parameters
        What it was told.
    counts
        What it did, in numbers. No value of any record is in it.
    seed
        The seed, for protections that draw.
    reads_original
        Whether what it did depends on original records. Such a step gives something away by
        itself.
    notes
        What should be known about it.
    """

    name: str
    parameters: Mapping[str, Any]
    counts: Mapping[str, float]
    seed: int | None = None
    reads_original: bool = False
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def to_dict(self) -> dict[str, Any]:
        """Return the record, ready for JSON."""
        return {
            "name": self.name,
            "parameters": dict(self.parameters),
            "counts": dict(self.counts),
            "seed": self.seed,
            "reads_original": self.reads_original,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Protected:
    """A table after a protection.

    Parameters
    ----------
    table
        The protected table.
    step
        What was done.
    """

    table: Table
    step: Step = field(repr=False)

    __repr__ = without_values


# -------------------------------------------------------------------------------------------------
# Numbers in and out of columns of codes.


Floats = NDArray[np.float64]


def number_column(table: Table, name: str, what: str) -> Column:
    """Return a column of numbers, or say that the protection needs one."""
    column = table[name]
    if column.kind not in (Kind.NUMERIC, Kind.INTEGER):
        raise CaveatError(
            f"{what} needs numbers",
            column=name,
            do="leave it out or mend its kind",
            code="data.column.type",
        )
    return column


def numbers_of(column: Column) -> Floats:
    """Return the cells as numbers, NaN where they are missing."""
    return np.append(column.numbers, np.full(len(column.missing), np.nan))[column.codes]


def with_numbers(column: Column, numbers: Floats) -> Column:
    """Return a column with other numbers; cells that were missing stay missing as they are.

    Whole numbers stay whole: they are rounded, and the kind is kept.
    """
    ordinary = ~column.is_missing
    values = numbers[ordinary]
    if column.kind is Kind.INTEGER:
        values = np.round(values).astype(np.int64)
    declared = [m.code for m in column.missing if isinstance(m.code, int | float)]
    while (clash := np.isin(values, declared)).any():
        # A new number that equals a declared code would be read as missing.
        values[clash] = (
            values[clash] + 1 if values.dtype.kind == "i" else np.nextafter(values[clash], np.inf)
        )
    levels, codes = np.unique(values, return_inverse=True)
    out = column.codes.astype(np.int64) - len(column.levels) + len(levels)
    out[ordinary] = codes
    labels = {k: v for k, v in column.value_labels.items() if k in set(levels.tolist())}
    return replace(column, codes=out, levels=levels, value_labels=labels)


def complete_matrix(table: Table, names: Sequence[str], what: str) -> Floats:
    """Return columns of numbers as a matrix; a missing cell is an error."""
    if not names:
        raise CaveatError(
            f"{what} needs at least one column", do="name it", code="protection.column.absent"
        )
    columns = [number_column(table, name, what) for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.is_missing.any():
            row = int(np.argmax(column.is_missing)) + 1
            raise CaveatError(
                f"{what} needs complete numbers",
                column=name,
                row=row,
                do="leave the column out, or fill its missing cells first",
                code="data.value.absent",
            )
    return np.stack([numbers_of(column) for column in columns], axis=1)


# -------------------------------------------------------------------------------------------------
# What a protection does to each group: who is still seen, and what can still be said of them.
#
# For any protection, and for synthetic data: a mean over everybody does not show that one group
# pays.


@dataclass(frozen=True)
class OddsRatio:
    """The odds of an outcome in a group beside those in the reference group.

    Attributes
    ----------
    value
        The ratio; None where it cannot be estimated, because a group has nobody with the outcome,
        or nobody without it.
    interval
        95 %, from the normal distribution of its logarithm.
    n
        Records of the group whose outcome is known.
    """

    value: float | None
    interval: tuple[float, float] | None
    n: int


@dataclass(frozen=True)
class Burden:
    """What a protection did to one group.

    Attributes
    ----------
    group
        Its name before.
    before, after
        The odds ratio from the records that carry the name.
    """

    group: str
    before: OddsRatio
    after: OddsRatio

    __repr__ = without_values

    @property
    def lost(self) -> float:
        """Share of the group that can no longer be told to belong to it; below 0 for a gain."""
        return 1 - self.after.n / self.before.n if self.before.n else 0.0


def odds_ratios(
    table: Table, attribute: str, outcome: str, event: Any, *, reference: str = ""
) -> dict[str, OddsRatio]:
    """Return the odds ratio of an outcome for each group, from the records that carry its name.

    Parameters
    ----------
    table
        The records. Where the attribute or the outcome is missing or masked, they are left out.
    attribute
        The column that names the groups.
    outcome, event
        The column of the outcome, and the value of it that counts.
    reference
        The group the others are compared with; the largest one if it is not given.

    Examples
    --------
    >>> people = Table.from_frame({"group": list("aaaabbb"), "ill": list("ynnnyyn")})
    >>> {name: one.value for name, one in odds_ratios(people, "group", "ill", "y").items()}
    {'a': 1.0, 'b': 6.0}
    """
    column, told = table[attribute], table[outcome]
    names = [str(level) for level in column.levels.tolist()]
    codes = [i for i, level in enumerate(told.levels.tolist()) if str(level) == str(event)]
    if not codes:
        raise CaveatError(
            "nobody has this outcome",
            column=outcome,
            do="name a value that occurs",
            code="data.level.unknown",
        )
    known = ~column.is_missing & ~told.is_missing
    groups, hit = column.codes[known], np.isin(told.codes[known], codes)
    n = np.bincount(groups, minlength=len(names))
    with_it = np.bincount(groups, hit, len(names)).astype(np.int64)
    if reference and reference not in names:
        raise CaveatError(
            "the reference group does not occur",
            column=attribute,
            do="name another one",
            code="data.level.unknown",
        )
    if not n.any():
        raise CaveatError(
            "no group is left to compare", column=attribute, code="protection.group.empty"
        )
    base = names.index(reference) if reference else int(np.argmax(n))
    return {name: _ratio(with_it, n - with_it, i, base) for i, name in enumerate(names) if n[i]}


def _ratio(with_it: Ints, without: Ints, group: int, base: int) -> OddsRatio:
    n = int(with_it[group] + without[group])
    cells = [int(c[i]) for i in (group, base) for c in (with_it, without)]
    if not all(cells):
        return OddsRatio(None, None, n)
    value = cells[0] * cells[3] / (cells[1] * cells[2])
    if group == base:
        return OddsRatio(1.0, None, n)
    reach = Z95 * math.sqrt(sum(1 / cell for cell in cells))
    return OddsRatio(value, (value * math.exp(-reach), value * math.exp(reach)), n)


def burdens(
    before: Table, after: Table, attribute: str, outcome: str, event: Any, *,
    reference: str = "", merged: Mapping[str, str] | None = None,
) -> tuple[Burden, ...]:  # fmt: skip
    """Compare each group before and after a protection, smallest group first.

    Parameters
    ----------
    before, after
        The records before and after: the original and a release, or a release and what a protection
        made of it.
    attribute, outcome, event, reference
        As for :func:`odds_ratios`. The reference is the largest group before.
    merged
        The group that others became part of, by their names before. They get its odds ratio, and
        nobody is seen as one of them.
    """
    first = odds_ratios(before, attribute, outcome, event, reference=reference)
    base = reference or max(first, key=lambda name: first[name].n)
    into = dict(merged or {})
    second = odds_ratios(after, attribute, outcome, event, reference=into.get(base, base))
    found = []
    for name in sorted(first, key=lambda name: first[name].n):
        now = second.get(into.get(name, name), OddsRatio(None, None, 0))
        if name in into:
            now = OddsRatio(now.value, now.interval, 0)
        found.append(Burden(name, first[name], now))
    return tuple(found)
