"""Each column as its owner would read it: codes, numbers, dates, weights and sampling units."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.findings.profile import (
    Finding,
    Strength,
    listed,
    marked,
    percent,
    plain,
    plural,
    shown,
    shown_level,
)
from caveat.table.files import ColumnSchema, Schema
from caveat.table.table import Column, Kind, Table
from caveat.table.written import (
    LOCAL_DATES,
    LONGEST_SIGN,
    MISSING_SIGNS,
    MISSING_WORDS,
    NumberReading,
    number_form,
    plain_words,
    read_dates,
    read_numbers,
)

# Shorter tables say nothing about weights.
FEWEST_ROWS = 20
# Share of records without weight.
MOST_ZEROS = 0.2
# No weight is larger than so many times the mean.
MOST_TIMES_MEAN = 100.0
# Weights that are scaled have this mean, up to this share.
NORMAL_MEAN, NORMAL_SHARE = 1.0, 0.01
# Measured weights are written with at most so many decimals.
SCALE_DECIMALS = 2

# Names that stand for survey weights and for nothing else: those of EU-SILC, the ACS, IPUMS, the
# CPS, the ESS, PISA, the SOEP, and what offices call them in several languages.
_KNOWN = re.compile(
    r"(fnl|per|hh|earn|ann|anal|analysis|pop|design|sample|sampling|survey|house|household|person"
    r"|indiv|ind|cross|psp|rep|repl|d|p|h|s)_?(wgt|wght|weights?|wts?)(p|per|hh)?\d*"
    r"|wgtp\d*|w_fst\w*|weighting(_?factor)?|pweights?"
    r"|rb05\d|rb06\d|db080|db09[05]|pb0[4-8]0|rl070"
    r"|gewichtung(sfaktor)?|hochrechnung(sfaktor)?|[ph]?hrf\w?|pond(eration)?|coef_?pond"
    r"|fac(tor)?_?exp(ansion)?|(expansion|raising)_?factor"
)
# Names that can also be those of what a scale shows.
_MAYBE = re.compile(
    r"((final|base|post|raw)_?)?(weights?|wgt|wght|wts?)(_?\d+)?|gew(icht)?|poids|peso|w"
)
# A column that only a table about bodies has.
_BODY = re.compile(r"(?<![a-z])(height|bmi|stature|body|birth|groesse|größe|taille)")
_TOLD = re.compile(
    r"(sampl\w*|survey|design|person|household|final|expansion|cross.?sectional)\s+weight"
    r"|weighting factor|hochrechnungsfaktor|gewichtungsfaktor|pond[ée]ration",
    re.IGNORECASE,
)


# Names of clusters and strata of a sample, with those of NHANES and HRS.
_UNIT = re.compile(
    r"(.*_)?(psu|ssu|usu|fsu|secu|vpsu|sdmvpsu|sdmvstra|vstrat|clust|cluster|klumpen|grappe|"
    r"strat|strata|stratum|schicht|strate)(_?(id|no|nr|num|number|code|var))?\d*"
)


def says_sampling_unit(name: str) -> bool:
    """Whether a name says that the column holds clusters or strata of a sample.

    Examples
    --------
    >>> [says_sampling_unit(name) for name in ("psu", "Cluster_ID", "SDMVSTRA", "strategy")]
    [True, True, True, False]
    """
    return bool(_UNIT.fullmatch(name.lower().strip()))


def find_weights(table: Table) -> list[Finding]:
    """Return the columns that are survey weights.

    Examples
    --------
    >>> people = {"age": [31, 47] * 20, "fnlwgt": [120.5, 388.25] * 20}
    >>> [f.columns for f in find_weights(Table.from_frame(people))]
    [('fnlwgt',)]
    """
    sampled = any(says_sampling_unit(name) for name in table)
    bodies = not sampled and any(_BODY.search(name.lower()) for name in table)
    return [
        _finding(table[name], name)
        for name in table
        if _has_shape(table[name])
        and (_is_named(table[name], name) or (_may_be(name, bodies) and _is_no_body(table[name])))
    ]


def chosen_weights(findings: Iterable[Finding]) -> str | None:
    """Return the column to use where several are weights: that which tells most records apart."""
    found = [f for f in findings if f.code == "survey-weights"]
    best = max((f.suggestion["distinct"] for f in found), default=0)
    names = [f.columns[0] for f in found if f.suggestion["distinct"] == best]
    return names[-1] if names else None  # those of persons come after those of households


def _is_named(column: Column, name: str) -> bool:
    return bool(_KNOWN.fullmatch(name.lower().strip()) or _TOLD.search(column.label))


def _may_be(name: str, bodies: bool) -> bool:
    return not bodies and bool(_MAYBE.fullmatch(name.lower().strip()))


def _has_shape(column: Column) -> bool:
    """Whether every record has a number of zero or more, none of which is out of all proportion."""
    if column.kind not in (Kind.NUMERIC, Kind.INTEGER) or len(column) < FEWEST_ROWS:
        return False
    if column.is_missing.any() or len(column.levels) < 2:
        return False
    levels, counts = column.numbers, column.counts[: len(column.levels)]
    mean = float(levels @ counts / counts.sum())
    zeros = float(counts[levels == 0].sum() / counts.sum())
    return levels[0] >= 0 and zeros <= MOST_ZEROS and levels[-1] <= MOST_TIMES_MEAN * mean


def _is_no_body(column: Column) -> bool:
    """Whether the numbers are scaled to a mean of 1, or computed rather than read off a scale."""
    levels, counts = column.numbers, column.counts[: len(column.levels)]
    mean = float(levels @ counts / counts.sum())
    scaled = abs(mean - NORMAL_MEAN) <= NORMAL_SHARE
    computed = not np.allclose(levels, np.round(levels, SCALE_DECIMALS), rtol=0, atol=1e-9)
    return scaled or computed


def _finding(column: Column, name: str) -> Finding:
    mean = float(column.cell_numbers.mean())
    message = f"mean {mean:,.4g}, sum {column.cell_numbers.sum():,.0f}: probably survey weights."
    return Finding(
        "survey-weights",
        (name,),
        message,
        Strength.LIKELY,
        len(column),
        1.0,
        {"weights": name, "distinct": len(column.levels)},
    )


# -------------------------------------------------------------------------------------------------
# Numbers that seem to stand for missing: -8 among amounts, 999 among ages, 0 among weights.
#
# Three patterns are looked for: negative codes in a column without other negative values, nines
# apart from the rest at an end of the range, and a zero apart from all other values. The data
# alone never make a code certain; the strength says how clear the pattern is.


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


# -------------------------------------------------------------------------------------------------
# Read each column as its owner would: codes out of the way, numbers as numbers, dates as dates.


# A factor with more levels than this is long, and more numbers than this are hardly mere names.
LONG_FACTOR = 20
# Letters that stand alone among numbers are codes if they are no longer than this.
SHORT_TOKEN = 3
# More numbers than this among words are no codes.
MOST_CODES = 3
_NUMBER = re.compile(r"-?\d{1,6}")


def find_codes_and_kinds(table: Table) -> tuple[list[Finding], Table]:
    """Find codes and kinds; return the findings, and the table as it reads if they are true.

    Codes that are only possible are taken out of that table too: a 99999 that turns out
    to be a top code must not spoil the ranges and the identities that are looked for next. Zero
    stays: it does no harm there, and a sum may need it.
    """
    known = frozenset(_clear_negative_codes(table))
    findings: list[Finding] = []
    schema: dict[str, ColumnSchema] = {}
    for name in table:
        found = _look_at(table[name], name, known)
        findings += found
        kind = next((f.suggestion["kind"] for f in found if "kind" in f.suggestion), None)
        form = next((f.suggestion["format"] for f in found if "format" in f.suggestion), "")
        # A word for "no answer" may be an answer; only among dates and numbers it cannot be one.
        codes = [f for f in found if kind or f.code == "missing-code"]
        missing = [code for f in codes for code in f.suggestion.get("missing", ()) if code != 0]
        if kind or missing:
            schema[name] = ColumnSchema(
                kind=Kind(kind) if kind else None,
                missing=dict.fromkeys(missing, ""),
                date_format=form,
            )
    return findings, _apply(table, schema)


def _apply(table: Table, schema: Mapping[str, ColumnSchema]) -> Table:
    """Apply what can be applied; the rest stays as it was read."""
    for name, entry in schema.items():
        try:
            table = Schema({name: entry}).apply(table)
        except CaveatError:
            continue
    return table


def _clear_negative_codes(table: Table) -> list[float]:
    codes = []
    for name in table:
        column = table[name]
        if column.kind in (Kind.NUMERIC, Kind.INTEGER):
            found = find_codes(column.numbers, column.counts[: len(column.levels)])
            values = [float(column.numbers[c.position]) for c in found if c.strength == "likely"]
            codes += [value for value in values if value < 0]
    return codes


def _look_at(column: Column, name: str, known: frozenset[float]) -> list[Finding]:
    if not len(column.levels):
        if not len(column):
            return []
        return [
            Finding("all-missing", (name,), "every cell is missing.", rows=len(column), share=1)
        ]
    local = _local_form(column, name)
    if column.kind in (Kind.NUMERIC, Kind.INTEGER):
        return [*local, *_numeric(column, name, known)]
    if local:
        return local
    if column.levels.dtype != object or column.kind is Kind.ORDERED:
        return []
    return _text(column, name, known)


def _local_form(column: Column, name: str) -> list[Finding]:
    """Report numbers and dates in a local format."""
    style = column.storage.removeprefix("text:")
    rows = int((~column.is_missing).sum())
    form = number_form(column.storage)
    if form is not None:
        mark = repr(form.thousands) if form.thousands in (".", ",", "'") else "a blank"
        sign = "a decimal comma" if form.decimal == "," else "a decimal point"
        between = f"{mark} between thousands and " if form.thousands else ""
        message = f"numbers with {between}{sign}."
    elif style in LOCAL_DATES:
        message = f"dates in the format {style}."
    else:
        return []
    return [Finding("local-form", (name,), message, rows=rows, share=rows / len(column))]


def _numeric(column: Column, name: str, known: frozenset[float]) -> list[Finding]:
    if column.kind is Kind.INTEGER and len(column.levels) > 1 and says_sampling_unit(name):
        message = (
            f"{len(column.levels):,} clusters or strata of the sample, coded as whole numbers."
        )
        kind = {"kind": str(Kind.CATEGORY)}
        rows = int((~column.is_missing).sum())
        share = rows / len(column)
        return [Finding("sampling-unit", (name,), message, Strength.LIKELY, rows, share, kind)]
    dates = read_dates(column.levels) if column.kind is Kind.INTEGER else None
    if dates is not None:
        message = "all whole numbers are dates of the form year, month, day (%Y%m%d)."
        return [_date_finding(column, name, message, dates.formats)]
    counts = column.counts[: len(column.levels)]
    return _code_findings(column, name, find_codes(column.numbers, counts, known))


def _code_findings(column: Column, name: str, candidates: Sequence[CodeCandidate]) -> list[Finding]:
    found = []
    for candidate in candidates:
        rows = int(column.counts[candidate.position])
        share = rows / len(column)
        message = (
            f"{shown_level(column, candidate.position)} occurs in {plural(rows, 'row')} "
            f"({percent(share)}); {candidate.why}."
        )
        found.append(
            Finding(
                "missing-code",
                (name,),
                message,
                candidate.strength,
                rows,
                share,
                {"missing": [plain(column, candidate.position)]},
                _code_action(column, candidate),
            )
        )
    return found


def _code_action(column: Column, candidate: CodeCandidate) -> str:
    if candidate.strength is Strength.LIKELY:
        return ""
    if candidate.position > 0 and candidate.position >= len(column.levels) - 5:
        return "Declare the code as missing; keep it if it is a top code or a level."
    return "Declare the code as missing; keep it if it is an ordinary value."


def _text(column: Column, name: str, known: frozenset[float]) -> list[Finding]:
    found = [*_signs(column, name), *_spellings(column, name)]
    reading = read_numbers(column.levels)
    if reading is not None and reading.style != "padded":
        return _numbers_as_text(column, name, reading, found, known)
    dates = read_dates(column.levels)
    if dates is not None:
        if len(dates.formats) == 1:
            message = f"every value is a {dates.kind} in the format {dates.formats[0]}."
        else:
            formats = " and in the format ".join(dates.formats)
            message = (
                f"every value is a {dates.kind} in the format {formats}: day or month may come "
                "first."
            )
        found.append(_date_finding(column, name, message, dates.formats, dates.kind))
    elif reading is None:
        found += _numbers_among_words(column, name)
    return found


def _numbers_among_words(column: Column, name: str) -> list[Finding]:
    """Find a 999 or a -8 among words."""
    positions = [i for i, level in enumerate(column.levels.tolist()) if _NUMBER.fullmatch(level)]
    words = len(column.levels) - len(positions)
    if not positions or words < 2 or len(positions) > min(MOST_CODES, words):
        return []
    values = [float(column.levels[i]) for i in positions]
    if not all(is_code_like(abs(v)) and (v < 0 or abs(v) >= 77) for v in values):
        return []
    why = "; all other levels are words"
    return [_token_finding("missing-code", column, name, positions, Strength.POSSIBLE, why)]


def _spellings(column: Column, name: str) -> list[Finding]:
    """Find levels that differ only in case or blanks."""
    if column.kind not in (Kind.CATEGORY, Kind.ORDERED):
        return []
    alike: dict[str, list[int]] = {}
    for i, level in enumerate(column.levels.tolist()):
        alike.setdefault(" ".join(level.split()).casefold(), []).append(i)
    found = []
    for positions in alike.values():
        if len(positions) == 1:
            continue
        # The commonest spelling is what is meant, of those without blanks around them.
        padded = {i: str(column.levels[i]) != str(column.levels[i]).strip() for i in positions}
        best = max(positions, key=lambda i: (not padded[i], column.counts[i]))
        rows = int(column.counts[positions].sum())
        recode = {column.levels[i]: column.levels[best] for i in positions if i != best}
        what = listed([shown_level(column, i, quoted=True) for i in positions])
        texts = {i: marked(toml_text(column.levels[i]), int(column.counts[i])) for i in positions}
        line = ", ".join(f"{texts[i]} = {texts[best]}" for i in positions if i != best)
        message = (
            f"{what} differ only in case or blanks ({plural(rows, 'row')}): recode = {{ {line} }}."
        )
        share = rows / len(column)
        found.append(
            Finding("spellings", (name,), message, Strength.LIKELY, rows, share, {"recode": recode})
        )
    return found


def toml_text(text: str) -> str:
    """Return a text as TOML has it."""
    return json.dumps(text, ensure_ascii=False)


def _date_finding(
    column: Column, name: str, message: str, formats: Sequence[str], kind: str = "date"
) -> Finding:
    certain = len(formats) == 1
    suggestion = {"kind": kind, "format": formats[0]} if certain else {"formats": list(formats)}
    strength = Strength.LIKELY if certain else Strength.POSSIBLE
    rows = int((~column.is_missing).sum())
    return Finding("date-as-text", (name,), message, strength, rows, rows / len(column), suggestion)


def _signs(column: Column, name: str) -> list[Finding]:
    """Find levels that say "no answer", as a sign or in words."""
    found = []
    for code, family, strength in (
        ("missing-code", MISSING_SIGNS, Strength.LIKELY),
        ("missing-word", MISSING_WORDS, Strength.POSSIBLE),
    ):
        positions = [
            i
            for i, level in enumerate(column.levels.tolist())
            if len(level) < LONGEST_SIGN and plain_words(level) in family
        ]
        if positions and len(positions) < len(column.levels):
            found.append(_token_finding(code, column, name, positions, strength))
    return found


def _token_finding(
    code: str,
    column: Column,
    name: str,
    positions: Sequence[int],
    strength: Strength,
    why: str = "",
) -> Finding:
    rows = int(column.counts[list(positions)].sum())
    tokens = [column.levels[i] for i in positions]
    what = listed([shown_level(column, i, quoted=True) for i in positions])
    occur = "occurs" if len(tokens) == 1 else "occur"
    share = rows / len(column)
    message = f"{what} {occur} in {plural(rows, 'row')} ({percent(share)}){why}."
    return Finding(code, (name,), message, strength, rows, share, {"missing": tokens})


def _numbers_as_text(
    column: Column, name: str, reading: NumberReading, signs: list[Finding], known: frozenset[float]
) -> list[Finding]:
    """Report the numbers, and whatever else stands between them as codes for missing."""
    found = [f for f in signs if f.code == "missing-code"]
    named = {token for f in found for token in f.suggestion["missing"]}
    others = [i for i in reading.tokens if column.levels[i] not in named]
    if any(any(ch.isdigit() for ch in column.levels[i]) for i in others):
        return signs  # "3+" and "5 or more" are numbers of another sort: the column is a factor
    for i in others:
        short = len(column.levels[i].strip()) <= SHORT_TOKEN
        strength = Strength.LIKELY if short else Strength.POSSIBLE
        why = "; all other levels are numbers"
        found.append(_token_finding("missing-code", column, name, [i], strength, why))
    is_number = ~np.isnan(reading.numbers)
    order = np.flatnonzero(is_number)[np.argsort(reading.numbers[is_number], kind="stable")]
    numbers, counts = reading.numbers[order], column.counts[: len(column.levels)][order]
    if len(np.unique(numbers)) == len(numbers):
        codes = [
            CodeCandidate(int(order[c.position]), c.strength, c.why)
            for c in find_codes(numbers, counts, known)
        ]
        found += _code_findings(column, name, codes)
    few = int(is_number.sum()) <= LONG_FACTOR
    if few and reading.tokens and not reading.style:
        return found  # codes of groups and a letter for missing: nothing to convert
    return [*found, _number_finding(column, name, reading, int(is_number.sum()))]


def _number_finding(column: Column, name: str, reading: NumberReading, n: int) -> Finding:
    if reading.style:
        comma = reading.style == "decimal comma"
        form = "a decimal comma" if comma else "commas between thousands"
        message = f"{n} of {len(column.levels)} levels are numbers written with {form}."
        action = (
            'Read the file with a decimal comma: --decimal , or decimal = "," in [data].'
            if comma
            else "Remove the commas before reading."
        )
        return Finding("number-as-text", (name,), message, Strength.LIKELY, action=action)
    many = n > LONG_FACTOR
    numbers = reading.numbers[~np.isnan(reading.numbers)]
    whole = bool(np.all(np.rint(numbers) == numbers))
    suggestion: dict[str, Any] = {"kind": "integer" if whole else "numeric"} if many else {}
    levels = (
        "all levels are" if n == len(column.levels) else f"{n} of {len(column.levels)} levels are"
    )
    message = f"{levels} numbers{'' if many else ', but so few that they may be codes'}."
    strength = Strength.LIKELY if many else Strength.POSSIBLE
    rows = int(column.counts[: len(column.levels)][~np.isnan(reading.numbers)].sum())
    return Finding(
        "number-as-text", (name,), message, strength, rows, rows / len(column), suggestion
    )
