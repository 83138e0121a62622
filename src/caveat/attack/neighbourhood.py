"""What a release looks like around one record: the numbers in which its presence can show.

A generator that can only be run has no likelihood that could be computed, and a release as a whole
is too much to compare. What a single record changes lies close to it: how often its values occur
together, how near the nearest synthetic rows are, how dense they lie. The attacker knows all other
records, and so what each of these numbers would be if the release were they.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caveat.attack.ordinary.density import Kernels
from caveat.nearest import Mixed
from caveat.showing import without_values
from caveat.table import Column, Table
from caveat.table.align import recode_to

__all__ = ["Neighbourhood", "Seen", "log_densities"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

WINDOW = 0.1
"""A number is near the record's if no more than this share of the other records is nearer."""
RANKS = (1, 5, 25, 125)
"""Radii: as far as the record's first, fifth, … nearest other record."""
NEAREST = 10
MOST_TRIPLES = 24
"""With more columns than this no three are counted together."""
OFF = (0, 1, 2, 3)
"""In how many columns a synthetic row may differ from the record."""


@dataclass(frozen=True, eq=False)
class Seen:
    """A table as arrays in the codes and the units of the original.

    Parameters
    ----------
    codes
        Row by column; values that the original has not get a code of their own.
    numbers
        In units of the range of the original; NaN for categories and missing values.
    is_number
        Which columns of the original are numbers, whatever is missing here.
    """

    codes: NDArray[np.int64]
    numbers: Floats
    is_number: Flags

    __repr__ = without_values

    @classmethod
    def of(cls, table: Table, original: Table) -> Seen:
        """Return a table as arrays, with the columns of the original in their order."""
        codes = [recode_to(table[name], original[name]) for name in original]
        numbers = [_in_ranges(table[name], original[name]) for name in original]
        is_number = np.array([_has_range(original[name]) for name in original])
        return cls(np.stack(codes, axis=1), np.stack(numbers, axis=1), is_number)

    def take(self, rows: NDArray[np.int64]) -> Seen:
        """Return some of the rows."""
        return Seen(self.codes[rows], self.numbers[rows], self.is_number)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @cached_property
    def mixed(self) -> Mixed:
        """The same for densities: a number that is missing lies far from all others."""
        filled = np.where(np.isnan(self.numbers), 10.0 + 2.0 * self.codes, self.numbers)
        return Mixed(
            np.ascontiguousarray(filled[:, self.is_number]),
            np.ascontiguousarray(self.codes[:, ~self.is_number].astype(np.int32)),
        )

    @cached_property
    def kernels(self) -> Kernels:
        """Scott's widths for densities of this table; of a number, from the cells that have it.

        The records that are attacked lie where the data are thin: with the tenth of it by which the
        ordinary attacker tells people apart, no release has a row within reach of them.
        """
        columns = self.numbers[:, self.is_number].T
        there = (column[~np.isnan(column)] for column in columns)
        spread = np.array([column.std() if len(column) else 0.0 for column in there])
        return Kernels.of(self.mixed, spread, part=1.0)


def _has_range(column: Column) -> bool:
    return bool(column.kind.is_number and len(column.levels))


def _in_ranges(column: Column, original: Column) -> Floats:
    if not (_has_range(original) and column.kind.is_number):
        return np.full(len(column.codes), np.nan)
    span = float(np.ptp(original.numbers)) or 1.0
    return np.asarray((column.cell_numbers - original.numbers.min()) / span)


def log_densities(people: Seen, release: Seen, kernels: Kernels) -> Floats:
    """Return the log of the density of a release at each of some people, away from zero."""
    floor = kernels.peak - np.log(release.n)
    return np.asarray(np.logaddexp(kernels.log_mean(people.mixed, release.mixed), floor))


class Neighbourhood:
    """Takes the measure of releases around one record.

    Parameters
    ----------
    record
        The record, as a table of one row.
    others
        All other records.
    kernels
        Widths of the kernels of densities.
    """

    def __init__(self, record: Seen, others: Seen, kernels: Kernels) -> None:
        self.record, self.kernels = record, kernels
        apart = np.abs(others.numbers - record.numbers[0])
        known = ~np.isnan(apart)
        self.reach = np.array([
            np.quantile(column[there], WINDOW) if there.any() else 0.0
            for column, there in zip(apart.T, known.T, strict=True)
        ])  # fmt: skip
        equal, near, distance = self._compare(others)
        ordered = np.sort(distance)
        self.radii = ordered[[min(rank, len(ordered)) - 1 for rank in RANKS]]
        self.expected = self._together(equal, near)
        self.n = others.n

    __repr__ = without_values

    def _compare(self, table: Seen) -> tuple[Flags, Flags, Floats]:
        """Return which cells equal the record's, which are near, and how far rows are (Gower)."""
        equal = table.codes == self.record.codes[0]
        apart = np.abs(table.numbers - self.record.numbers[0])
        known = ~np.isnan(apart)
        near = equal | (known & (apart <= self.reach))
        gap = np.where(known, np.minimum(apart, 1.0), ~equal)
        return equal, near, gap.mean(axis=1)

    @staticmethod
    def _together(equal: Flags, near: Flags) -> Floats:
        """Return how often a cell equals the record's where one or two others are near."""
        width = equal.shape[1]
        three = width <= MOST_TRIPLES
        counts = np.zeros((width, width, width) if three else (width, width, 1))
        for column in range(width):
            rows = near[equal[:, column]].astype(np.float32)
            counts[column] = rows.T @ rows if three else rows.sum(axis=0)[:, None]
        return counts

    def features(self, release: Seen) -> Floats:
        """Return the numbers: the density first, then counts and distances.

        Counts are of rows that differ in few columns, of rows within the radii, and of values that
        come together, all as if the release had as many rows as there are other records; their
        roots are taken, whose spread hardly depends on their size.
        """
        equal, near, distance = self._compare(release)
        scale = self.n / release.n
        off, off_near = (same.shape[1] - same.sum(axis=1) for same in (equal, near))
        few = min(NEAREST, release.n)
        nearest = np.sort(np.partition(distance, few - 1)[:few])
        counts = [
            *((off <= most).sum() for most in OFF),
            *((off_near <= most).sum() for most in OFF),
            *((distance <= radius).sum() for radius in self.radii),
        ]
        return np.concatenate([
            log_densities(self.record, release, self.kernels),
            np.sqrt(np.array(counts) * scale),
            [nearest[0], nearest[: max(few // 3, 1)].mean(), nearest.mean()],
            self._surprise(self._together(equal, near) * scale),
        ])  # fmt: skip

    def _surprise(self, found: Floats) -> Floats:
        """Return by column how much more often than among the others its values come together.

        Each count is compared with the other records' as a Poisson count whose rate is one higher
        with the record. Counts of the same rows are not independent: the sum is no likelihood.
        """
        terms = (found - self.expected) * np.log((self.expected + 1.5) / (self.expected + 0.5))
        alone = np.arange(len(terms))
        sums = [terms[alone, alone, np.minimum(alone, terms.shape[2] - 1)], terms.mean(axis=(1, 2))]
        both = np.concatenate([*sums, [terms.mean()]])
        return np.asarray(np.sign(both) * np.sqrt(np.abs(both)))
