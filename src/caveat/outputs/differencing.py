"""Differencing: what two tables of the same data tell together that neither tells alone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import combinations, pairwise
from typing import Any, TypeVar

import numpy as np
import scipy

from caveat.errors import CaveatError
from caveat.outputs.cell_numbers import SMALLEST_BASE, base_of, rounded_to
from caveat.outputs.output_table import OutputTable
from caveat.outputs.statbarns import Finding, Rules, Verdict, named_in_words
from caveat.showing import without_values

NUMBER = r"-?\d+(?:\.\d+)?"
CLOSED = re.compile(rf"({NUMBER})\s*(?:-|–|—|to)\s*({NUMBER})")
ABOVE = re.compile(rf"({NUMBER})\s*(?:\+|and over|and above|or more)")
BELOW = re.compile(rf"(?:<|under|below|less than|unter)\s*({NUMBER})")
UP_TO = re.compile(rf"(?:<=|≤|up to|at most|bis)\s*({NUMBER})")
CUMULATIVE = re.compile(
    r".*\b(?:below|under|less than|up to|at most|cumulative|cumulated|unter|bis)\b.*", re.IGNORECASE
)
"""Names of columns whose numbers are ends: everybody below is counted in each row."""


def band_of(label: str) -> tuple[float, float] | None:
    """Return the first number of a band and the first beyond it; None if the label is no band.

    Bands are of whole numbers: 0-19 ends before 20. A single number is a band of itself.

    Examples
    --------
    >>> band_of("0-19"), band_of("65+"), band_of("under 20"), band_of("north")
    ((0.0, 20.0), (65.0, inf), (-inf, 20.0), None)
    """
    text = label.strip().lower()
    if found := CLOSED.fullmatch(text):
        return float(found[1]), float(found[2]) + 1
    if found := ABOVE.fullmatch(text):
        return float(found[1]), math.inf
    if found := BELOW.fullmatch(text):
        return -math.inf, float(found[1])
    if found := UP_TO.fullmatch(text):
        return -math.inf, float(found[1]) + 1
    if re.fullmatch(NUMBER, text):
        return float(text), float(text) + 1
    return None


def between(one: Mapping[str, float], other: Mapping[str, float], threshold: int) -> list[str]:
    """Return the bands with few persons that two tables tell together and neither does alone.

    Parameters
    ----------
    one, other
        The counts by their labels. Tables that are not about the same persons, or whose labels are
        no bands without gaps, tell nothing.
    threshold
        The fewest persons that may be told about.

    Examples
    --------
    >>> between({"0-19": 50, "20-39": 60}, {"0-18": 47, "19-39": 63}, 10)
    ['19 to below 20']
    """
    first, second = _below(one), _below(other)
    if not first or not second or min(first) != min(second):
        return []
    merged = dict(sorted((first | second).items()))
    # Where both have a cut they say the same of the same persons.
    if any(first[cut] != second[cut] for cut in first.keys() & second.keys()):
        return []
    found = []
    for (low, under), (high, upto) in pairwise(merged.items()):
        if upto < under:
            return []
        alone = any(low in cuts and high in cuts for cuts in (first, second))
        if 0 < upto - under < threshold and not alone:
            found.append(f"{low:g} to below {high:g}")
    return found


def within(counts: Mapping[str, float], threshold: int, name: str = "") -> list[str]:
    """Return the bands with few persons that overlapping bands of one table tell.

    Each band is the difference of how many persons are below its two ends; so the persons between
    any two ends that a chain of bands connects are known.

    Parameters
    ----------
    counts
        The counts by their labels, NaN for hidden ones; labels that are no bands tell nothing.
    threshold
        The fewest persons that may be told about.
    name
        What the column is called: of "age below" single numbers are ends.

    Examples
    --------
    >>> within({"0-19": 50, "0-18": 47, "20-39": 100}, 10)
    ['19 to below 20']
    >>> within({"under 20": 50, "under 21": 53}, 10), within({"0-19": 50, "20-39": 53}, 10)
    (['20 to below 21'], [])
    """
    bands: dict[tuple[float, float], float] = {}
    for label, count in counts.items():
        ends = band_of(label)
        if (
            ends is not None
            and ends[1] == ends[0] + 1
            and CUMULATIVE.fullmatch(name.replace("_", " "))
        ):
            ends = -math.inf, ends[0]
        if ends is not None and not math.isnan(count):
            bands[ends] = count
    found: list[str] = []
    for cuts in _connected(bands):
        if cuts is None:
            return []  # about other persons
        for (low, under), (high, upto) in pairwise(sorted(cuts.items())):
            if upto < under:
                return []
            if 0 < upto - under < threshold and (low, high) not in bands:
                found.append(f"{low:g} to below {high:g}")
    return found


def _connected(
    bands: Mapping[tuple[float, float], float],
) -> Iterator[dict[float, float] | None]:
    """Return the cuts that chains of bands connect, with persons below each but for a constant.

    None where two chains do not say the same.
    """
    beside: dict[float, list[tuple[float, float]]] = {}
    for (low, high), count in bands.items():
        beside.setdefault(low, []).append((high, count))
        beside.setdefault(high, []).append((low, -count))
    done: set[float] = set()
    for start in beside:
        if start in done:
            continue
        cuts, open_ = {start: 0.0}, [start]
        while open_:
            cut = open_.pop()
            for other, count in beside[cut]:
                if other not in cuts:
                    cuts[other] = cuts[cut] + count
                    open_.append(other)
                elif abs(cuts[other] - cuts[cut] - count) > 1e-6:
                    yield None
        done.update(cuts)
        yield cuts


def _below(counts: Mapping[str, float]) -> dict[float, float]:
    """Return how many persons are below each cut; empty if the bands have gaps or are none."""
    bands = {label: band_of(label) for label in counts}
    if any(band is None for band in bands.values()):
        return {}
    chain = sorted((band, counts[label]) for label, band in bands.items() if band is not None)
    if not chain or any(a[0][1] != b[0][0] for a, b in pairwise(chain)):
        return {}
    cuts, total = {chain[0][0][0]: 0.0}, 0.0
    for (_, high), count in chain:
        if math.isnan(count):
            break
        total += count
        cuts[high] = total
    return cuts


# -------------------------------------------------------------------------------------------------
# Differencing: what two tables of the same data tell together that neither tells alone.
#
# Counts over common columns are compared. Where one table is about some of the persons of the
# other, each difference is a count of the rest of them: a table that nobody has checked.


Cells = Mapping[tuple[str, ...], float | None]
Some = TypeVar("Some")
Margin = dict[tuple[str, ...], tuple[float, int]]

MOST_CELLS = 20_000
"""Of a larger table the ledger keeps the total only."""

CHANCE, SURE = 0.05, 0.001
"""How rarely tables of different persons agree in so many cells: to be looked at, to be refused."""
ODD = 10  # of so many counts that differ one may go the other way in nearly nested tables
MANY = 6  # common columns up to which all margins are compared
REMEDY = "publish one of the two, or make the difference larger: merge categories, or round both"


@dataclass(frozen=True)
class Counts:
    """The counts that a table publishes.

    Parameters
    ----------
    name
        What the table is called.
    keys
        The columns that say which cell a count is of.
    cells
        The count of each cell without those of totals, None for a hidden one.
    totals
        The published totals, by the cell with "" for what was summed over.
    sha256
        The checksum of the file; empty if there is none.
    rounded
        The base that counts are said to be rounded to, 1 if they are not; None if nothing is said.
    """

    name: str
    keys: tuple[str, ...]
    cells: Cells
    totals: Cells
    sha256: str = ""
    rounded: int | None = None

    __repr__ = without_values

    @classmethod
    def of(cls, name: str, table: OutputTable, rules: Rules, checksum: str = "") -> Counts | None:
        """Take the counts from a table; None if it has none."""
        if table.counts is None:
            return None
        inner: dict[tuple[str, ...], float | None] = {}
        totals: dict[tuple[str, ...], float | None] = {}
        for cell, count in zip(table.cells, table.counts.tolist(), strict=True):
            plain = tuple("" if value.lower() in rules.totals else value for value in cell)
            into = inner if plain == cell else totals
            into[plain] = None if math.isnan(count) else count
        return cls(name, table.keys, inner, totals, checksum, table.rounded)

    @property
    def base(self) -> int:
        """What the counts are rounded to, as it is said or else guessed; 0 if they are not."""
        shown = [*self.cells.values(), *self.totals.values()]
        counts = np.array([np.nan if count is None else count for count in shown])
        return base_of(self.rounded, counts)

    def margin(self, names: Sequence[str]) -> Margin:
        """Return counts over some of the keys: the sum of visible cells, and how many are hidden.

        A published total is taken where cells are hidden.
        """
        places = [self.keys.index(name) for name in names]
        found: Margin = {}
        for cell, count in self.cells.items():
            key = tuple(cell[place] for place in places)
            before, hidden = found.get(key, (0.0, 0))
            found[key] = (before + (count or 0.0), hidden + (count is None))
        for cell, count in self.totals.items():
            key = tuple(cell[place] for place in places)
            rest = [value for place, value in enumerate(cell) if place not in places]
            if not any(rest) and all(key) and count is not None and found.get(key, (0, 1))[1]:
                found[key] = (count, 0)
        return found

    def entry(self) -> dict[str, Any]:
        """Return what the ledger keeps: nothing that the table does not publish."""
        listed = [[*cell, count] for cell, count in sorted(self.cells.items())]
        totals = [[*cell, count] for cell, count in sorted(self.totals.items())]
        text = json.dumps([self.keys, listed, totals], ensure_ascii=False)
        sums = self.margin(())
        total, hidden = sums.get((), (0.0, 0))
        small = len(listed) + len(totals) <= MOST_CELLS
        return {
            "what": self.name[:200],
            "sha256": self.sha256,
            "columns": list(self.keys),
            "digest": sha256(text.encode()).hexdigest(),
            "total": None if hidden else total,
            "cells": listed if small else None,
            "totals": totals if small else None,
            "rounded": self.rounded,
        }

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any]) -> Counts:
        """Read what the ledger keeps."""
        try:
            name, keys = str(entry["what"]), tuple(str(key) for key in entry["columns"])
            rounded = entry.get("rounded")
            if rounded is not None and (not isinstance(rounded, int) or rounded < 1):
                raise ValueError
            if entry["cells"] is None:
                total: Cells = {(): _count(entry["total"])}
                return cls(name, (), total, {}, str(entry["sha256"]), rounded)
            cells, totals = (
                {tuple(str(one) for one in cell): _count(count) for *cell, count in entry[part]}
                for part in ("cells", "totals")
            )
            if any(len(cell) != len(keys) for cell in (*cells, *totals)):
                raise ValueError
            return cls(name, keys, cells, totals, str(entry["sha256"]), rounded)
        except (KeyError, TypeError, ValueError):
            raise CaveatError(
                "the entry of a published table is damaged",
                where="ledger",
                do="take the file from a backup: without the entry differences are not seen",
                code="privacy.ledger.damaged",
            ) from None


def _count(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError
    return float(value)


@dataclass(frozen=True)
class Difference:
    """A count that two tables tell together.

    Parameters
    ----------
    cell
        The values of the common columns.
    hidden
        Whether it is that of a cell that one of the tables hides.
    sure
        Whether the tables are about the same persons, or some of them, as far as counts can tell.
    """

    cell: Mapping[str, str]
    hidden: bool
    sure: bool = True


def compare_counts(one: Counts, other: Counts, threshold: int) -> list[Difference]:
    """Return what two tables of the same data tell together about fewer persons than allowed.

    Parameters
    ----------
    one, other
        The two tables.
    threshold
        The fewest persons that may be told about.

    Examples
    --------
    >>> all_ages = Counts("all", ("sex",), {("f",): 120, ("m",): 110}, {})
    >>> adults = Counts("adults", ("sex",), {("f",): 117, ("m",): 90}, {})
    >>> [found.cell for found in compare_counts(all_ages, adults, 10)]
    [{'sex': 'f'}]
    """
    common = tuple(name for name in one.keys if name in other.keys)
    # Rounding is a remedy: differences are not exact.
    if one.base and other.base and math.gcd(one.base, other.base) >= SMALLEST_BASE:
        return []
    related = _related(one, other, common, threshold)
    if related is Verdict.SAFE:
        return []
    found: list[Difference] = []
    within: set[tuple[tuple[str, str], ...]] = set()  # what a finer cell has said already
    pairs = [(names, one.margin(names), other.margin(names)) for names in _subsets(common)]
    same = not any(_signs(first, second) for _, first, second in pairs)
    for names, first, second in pairs:
        for cell in (cell for cell in first if cell in second):
            (a, gaps_a), (b, gaps_b) = first[cell], second[cell]
            told = _told(a, gaps_a, b, gaps_b, threshold)
            if told is not None and (same or not told):
                named = tuple(zip(names, cell, strict=True))
                if named not in within:
                    found.append(Difference(dict(named), told, related is Verdict.REFUSE))
                    within.update(_subsets(named))
    return [*found, *_of_bands(one, other, common, threshold)]


def _related(one: Counts, other: Counts, common: tuple[str, ...], threshold: int) -> Verdict:
    """Say by the counts of common cells whether two tables are about the same persons.

    One of them is about some of the other's persons if no count goes the other way. With counts
    that go both ways there are three cases left in which a small difference is one of few persons.

    Most counts are equal: tables of different persons agree in a cell with the probability that
    coin tosses divide its persons evenly, at most, and so in a number of cells that is at most
    Poisson. All but one in ten of the differences go one way, and those that do not are small:
    nearly nested. All are small and the totals are equal: persons moved between cells.
    """
    first, second = one.margin(common), other.margin(common)
    pairs = [
        (first[cell][0], second[cell][0])
        for cell in first.keys() & second.keys()
        if not first[cell][1] and not second[cell][1] and first[cell][0] + second[cell][0] > 0
    ]
    differ = [a - b for a, b in pairs if a != b]
    up = sum(left > 0 for left in differ)
    if up in (0, len(differ)):
        return Verdict.REFUSE
    said = one.rounded is not None and other.rounded is not None
    if one.base or other.base or (not said and rounded_to(np.array(pairs).ravel())):
        return Verdict.SAFE
    equal = len(pairs) - len(differ)
    if equal >= max(2, len(differ)):
        chance = float(scipy.special.gammainc(equal, sum(_evenly(a + b) for a, b in pairs)))
        if chance <= CHANCE:
            return Verdict.REFUSE if chance <= SURE else Verdict.REVIEW
    fewer = min(up, len(differ) - up)
    odd = [left for left in differ if (left > 0) == (2 * up < len(differ))]
    if fewer * ODD <= len(differ) and max(map(abs, odd)) < threshold:
        return Verdict.REVIEW
    small = max(map(abs, differ)) < threshold
    whole = first.keys() == second.keys() and _evenly(2 * sum(a for a, _ in pairs)) <= CHANCE
    return Verdict.REVIEW if small and whole and sum(differ) == 0 else Verdict.SAFE


def _evenly(persons: float) -> float:
    """Return the probability that coin tosses divide persons into two equal halves."""
    half = persons / 2
    return math.exp(math.lgamma(persons + 1) - 2 * math.lgamma(half + 1) - persons * math.log(2))


def _of_bands(
    one: Counts, other: Counts, common: tuple[str, ...], threshold: int
) -> Iterator[Difference]:
    """Compare intervals that are cut differently: alone, and within each other common column."""
    for name in common:
        for names in ((name,), *((name, more) for more in common if more != name)):
            first, second = _by_band(one.margin(names)), _by_band(other.margin(names))
            for rest in first.keys() & second.keys():
                for band in between(first[rest], second[rest], threshold):
                    cell = dict(zip(names, (band, *rest), strict=True))
                    yield Difference(cell, hidden=False)


def _by_band(
    margin: Margin,
) -> dict[tuple[str, ...], dict[str, float]]:
    """Return counts by their first value, for each combination of the others; without hidden."""
    found: dict[tuple[str, ...], dict[str, float]] = {}
    for (band, *rest), (count, gaps) in margin.items():
        found.setdefault(tuple(rest), {})[band] = math.nan if gaps else count
    return found


def _told(a: float, gaps_a: int, b: float, gaps_b: int, threshold: int) -> bool | None:
    """Say what two counts tell: True of a hidden cell, False of a few persons, None of nobody."""
    if gaps_a and gaps_b:
        return None
    if not gaps_a and not gaps_b:
        return False if 0 < abs(a - b) < threshold else None
    left = (b - a) if gaps_a else (a - b)
    gaps = gaps_a or gaps_b
    if left < 0:
        return None  # about other persons
    return True if gaps == 1 or left < threshold else None


def _signs(one: Margin, other: Margin) -> set[bool]:
    """Return in which directions counts differ: in none if they are of the same persons.

    If one table is about some of the other's persons, no count goes the other way.
    """
    return {
        one[cell][0] > other[cell][0]
        for cell in one.keys() & other.keys()
        if not one[cell][1] and not other[cell][1] and one[cell][0] != other[cell][0]
    }


def _subsets(names: tuple[Some, ...]) -> Iterator[tuple[Some, ...]]:
    """Return the margins to compare, the finest first."""
    sizes = range(len(names), -1, -1) if len(names) <= MANY else (len(names), 2, 1, 0)
    for size in sizes:
        yield from combinations(names, size)


def differencing_findings(
    new: Counts, earlier: Sequence[Counts], rules: Rules
) -> Iterator[Finding]:
    """Compare a table with others that were published from the same data."""
    for other in earlier:
        if other.sha256 and other.sha256 == new.sha256:
            continue
        found = compare_counts(new, other, rules.threshold)
        if not found and None in (new.rounded, other.rounded):
            yield from _if_not_rounded(new, other, rules)
        hidden = [one for one in found if one.hidden]
        few = [one for one in found if not one.hidden and one.sure]
        perhaps = [one for one in found if not one.hidden and not one.sure]
        if hidden:
            yield Finding(
                "differencing",
                Verdict.REFUSE,
                f"with {other.name} hidden cells can be computed: "
                f"{named_in_words([one.cell for one in hidden])}",
                "hide the same cells in both tables",
            )
        if few:
            yield Finding(
                "differencing",
                Verdict.REFUSE,
                f"it differs from {other.name} by fewer than {rules.threshold} persons: "
                f"{named_in_words([one.cell for one in few])}",
                REMEDY,
            )
        if perhaps:
            yield Finding(
                "differencing",
                Verdict.REVIEW,
                f"it seems to be about the persons of {other.name}, and differs from it by fewer "
                f"than {rules.threshold}: {named_in_words([one.cell for one in perhaps])}",
                f"see whether both are of the same data; if so, {REMEDY}",
            )


def band_findings(table: Counts, rules: Rules) -> Iterator[Finding]:
    """Compare bands of one table that overlap: 0-19 and 0-18 in it give those who are 19."""
    if table.rounded is not None and table.base:
        return  # rounding is a remedy
    found: list[dict[str, str]] = []
    for i, name in enumerate(table.keys):
        lines: dict[tuple[str, ...], dict[str, float]] = {}
        for cell, count in (*table.cells.items(), *table.totals.items()):
            if cell[i]:
                rest = cell[:i] + cell[i + 1 :]
                lines.setdefault(rest, {})[cell[i]] = math.nan if count is None else count
        others = table.keys[:i] + table.keys[i + 1 :]
        for rest, counts in lines.items():
            beside = {other: value for other, value in zip(others, rest, strict=True) if value}
            found += [{name: band} | beside for band in within(counts, rules.threshold, name)]
    if found:
        base = table.base
        yield Finding(
            "differencing",
            Verdict.REVIEW if base else Verdict.REFUSE,
            f"bands of the table tell of fewer than {rules.threshold} persons together: "
            + named_in_words(found)
            + (f" (counts look rounded to {base}; if they are, say rounded = {base})" * bool(base)),
            "publish bands that do not overlap, or make the difference larger: merge, or round",
        )


def _if_not_rounded(new: Counts, other: Counts, rules: Rules) -> Iterator[Finding]:
    """Say what was passed over because tables only look rounded."""
    base = math.gcd(new.base, other.base)
    plain = [one if one.rounded else replace(one, rounded=1) for one in (new, other)]
    if new.base and other.base and compare_counts(plain[0], plain[1], rules.threshold):
        yield Finding(
            "differencing",
            Verdict.REVIEW,
            f"differences from {other.name} were passed over, as both look rounded to {base}",
            f"say rounded = {base} in [[output]] of the rules, or rounded = 1 if it is chance",
        )
