"""Numbers that seem to stand for missing: -8 among amounts, 999 among ages, 0 among weights.

Three patterns are looked for: negative codes in a column without other negative values, nines apart
from the rest at an end of the range, and a zero apart from all other values. The data alone never
make a code certain; the strength says how clear the pattern is.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.findings.profile import Strength, marked, shown

__all__ = ["CodeCandidate", "find_codes", "is_code_like"]

# More distinct negative values than this are ordinary values.
MAX_NEGATIVE_CODES = 6
# At most this many codes stand together at an end of the range (97, 98, 99).
MAX_END_CODES = 5
# A code is beyond doubt if its distance to the rest is this many times the range of the rest.
CLEAR_GAP = 10.0
# A pile at the end needs at least these rows, and a hole this many times wider than others near it.
PILE_ROWS = 5
HOLE = 5.0
# Nines next to other values are codes only if they stand in this share of the rows, and so many
# times more often than the three values before them together.
PILE_SHARE = 0.005
PILE_TIMES = 10
# Zero lies apart if no other value is below this share of the median of the others …
ZERO_APART = 0.25
# … it is not the usual case …
ZERO_MOST = 0.5
# … and the hole is this many times wider than the usual step between the values above it …
ZERO_HOLE = 5.0
# … in a column with at least this many other values.
ZERO_LEVELS = 20


@dataclass(frozen=True, slots=True)
class CodeCandidate:
    """A level that may stand for missing, and why."""

    position: int
    strength: Strength
    why: str


Numbers = NDArray[np.float64]
Counts = NDArray[np.int64]


def find_codes(
    levels: Numbers, counts: Counts, known: Set[float] = frozenset()
) -> list[CodeCandidate]:
    """Return the levels of a numeric column that may stand for missing.

    Parameters
    ----------
    levels
        The distinct values in ascending order.
    counts
        How often each occurs.
    known
        Codes that other columns of the table clearly have: a file uses its codes throughout.

    Examples
    --------
    >>> import numpy as np
    >>> [c.position for c in find_codes(np.array([-8.0, 0, 1, 2, 5]), np.array([40, 9, 8, 7, 3]))]
    [0]
    """
    found = _negative_codes(levels, counts, known)
    if not found:
        found = _end_codes(-levels[::-1], counts[::-1])
        found = [CodeCandidate(len(levels) - 1 - c.position, c.strength, c.why) for c in found]
    low = len(found)
    rest = slice(low, None)
    end = _end_codes(levels[rest], counts[rest])
    found += [CodeCandidate(low + c.position, c.strength, c.why) for c in end]
    return found or _zero_code(levels, counts)


def _negative_codes(levels: Numbers, counts: Counts, known: Set[float]) -> list[CodeCandidate]:
    n = int((levels < 0).sum())
    ordinary = levels[n:]
    if not 0 < n <= MAX_NEGATIVE_CODES or len(ordinary) < 2:
        return []
    if not all(is_code_like(-value) for value in levels[:n]):
        return []
    strength = _negative_strength(levels, counts, n)
    if strength is None and set(levels[:n].tolist()) <= known:
        strength = Strength.POSSIBLE
    if strength is None:
        return []
    why = "it is the only negative value" if n == 1 else f"it is one of {n} negative values"
    return [
        CodeCandidate(i, strength if counts[i] > 1 else Strength.POSSIBLE, why) for i in range(n)
    ]


def _negative_strength(levels: Numbers, counts: Counts, n: int) -> Strength | None:
    """Judge negative code-like values: codes lie apart, the ordinary tail of a scale does not."""
    ordinary, high = levels[n:], levels[-1]
    if np.array_equal(levels, -levels[::-1]):
        return None  # -1, 0, 1 is a scale
    joins_on = ordinary[0] == 0 and ordinary[1] == 1
    if not joins_on or not np.array_equal(levels[:n], np.arange(-n, 0)):
        return Strength.LIKELY
    if n >= 3:
        thins_out = bool(np.all(np.diff(counts[: n + 1]) >= 0))
        return None if thins_out or high < 3 * n - 1 else Strength.LIKELY
    return Strength.POSSIBLE if high >= 3 * n - 1 else None


def is_code_like(value: float) -> bool:
    """Whether a positive number is one that people choose as a code: 8, 77, 99, 998, 9999."""
    if value in range(1, 10):
        return True
    digits = shown(value).replace(".", "")
    if len(digits) < 2 or not digits.isdigit():
        return False
    if len(set(digits)) == 1:
        return digits[0] in "6789"
    return set(digits[:-1]) == {"9"} and digits[-1] in "45678"


def _end_codes(levels: Numbers, counts: Counts) -> list[CodeCandidate]:
    """Find codes at the upper end; the caller mirrors the levels for the lower end."""
    for n in range(1, min(MAX_END_CODES, len(levels) - 2) + 1):
        first = len(levels) - n
        if levels[first] <= 0 or not is_code_like(float(levels[first])):
            return []
        if set(shown(float(levels[-1])).replace(".", "")) - set("789") or not _has_nines(
            levels[-n:]
        ):
            continue
        strength = _end_strength(levels[:first], levels[first:], counts[first:])
        why = "it lies beyond a wide gap at the end of the range"
        if strength is None and n == 1 and _is_pile(levels, counts):
            strength, why = (
                Strength.POSSIBLE,
                "it is many times more frequent than the values before it",
            )
        if strength is not None:
            return [
                CodeCandidate(i, strength if counts[i] > 1 else Strength.POSSIBLE, why)
                for i in range(first, len(levels))
            ]
    return []


def _has_nines(codes: Numbers) -> bool:
    """Whether the largest code consists of nines, or of eights or sevens of two digits and more."""
    digits = shown(float(codes[-1])).replace(".", "")
    return len(set(digits)) == 1 and (digits[0] == "9" or (digits[0] in "78" and len(digits) > 1))


def _end_strength(ordinary: Numbers, codes: Numbers, code_counts: Counts) -> Strength | None:
    gap, spread = codes[0] - ordinary[-1], ordinary[-1] - ordinary[0]
    largest = max(abs(float(ordinary[-1])), abs(float(ordinary[0])))
    if codes[-1] < 10:
        whole = ordinary[0] >= 0 and bool(np.all(np.mod(ordinary, 1) == 0))
        apart = whole and gap >= max(3, spread) and code_counts.min() > 1
        return Strength.POSSIBLE if apart else None
    if gap >= spread:
        longer = len(str(int(codes[0]))) > len(str(int(largest)))
        return Strength.LIKELY if longer or gap >= CLEAR_GAP * spread else Strength.POSSIBLE
    if len(ordinary) < 10 or code_counts.sum() < PILE_ROWS:
        return None
    near = np.diff(ordinary[-max(10, len(ordinary) // 4) :])
    return Strength.POSSIBLE if gap >= HOLE * near.max() else None


def _is_pile(levels: Numbers, counts: Counts) -> bool:
    """Whether nines of two digits and more are far too common for the end of a range."""
    enough = len(levels) > ZERO_LEVELS and levels[-1] >= 10
    common = counts[-1] >= max(PILE_ROWS, PILE_SHARE * counts.sum())
    nines = set(shown(float(levels[-1]))) == {"9"}
    return bool(enough and nines and common and counts[-1] >= PILE_TIMES * counts[-4:-1].sum())


def _zero_code(levels: Numbers, counts: Counts) -> list[CodeCandidate]:
    if len(levels) <= ZERO_LEVELS or levels[0] != 0:
        return []
    if not PILE_ROWS <= counts[0] <= ZERO_MOST * counts.sum():
        return []
    cumulative = np.cumsum(counts[1:])
    median = levels[1:][np.searchsorted(cumulative, cumulative[-1] / 2)]
    step = float(np.median(np.diff(levels[1 : ZERO_LEVELS + 1])))
    if levels[1] < max(ZERO_APART * median, ZERO_HOLE * step):
        return []
    why = f"no other value is below {marked(shown(levels[1]), int(counts[1]))}"
    return [CodeCandidate(0, Strength.POSSIBLE, why)]
