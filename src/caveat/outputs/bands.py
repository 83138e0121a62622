"""Bands of numbers, such as ages, that two tables cut differently, or one table twice.

Two tables with the bands 0-19 and 0-18 give the number of those who are 19. More generally, each
table gives the persons below each of its cuts, and so the two together give those between any two
neighbouring cuts of either.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

__all__ = ["band_of", "between", "within"]

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
