"""Cells of published tables as they are written: numbers, marks, and the notes below."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.outputs.statbarns import Finding, Verdict
from caveat.table import Column, Table

HIDDEN = frozenset((
    "", "-", "--", "–", "—", "−", "*", "**", "***", ".", "..", "...", "…", ":", "/", "#", "×", "•",
    "x", "c", "d", "s", "z", "na", "n/a", "n.a.", "k.a.", "suppressed", "hidden", "withheld",
    "confidential", "geheim", "[c]", "[x]", "[z]", "[low]", "(c)", "(d)", "(s)", "(x)", "(z)",
))  # fmt: skip
"""What stands in a cell that is hidden, in small letters; also a bound such as <10 or ≥ 5."""

_BOUND = re.compile(r"(?P<sign><=|=<|>=|=>|<|>|≤|≥|⩽|⩾|≦|≧|&lt;=?|&gt;=?|&le;|&ge;)(?P<rest>.*)")
SPACES = str.maketrans(dict.fromkeys("\u00a0\u2007\u2009\u202f", " ") | {"−": "-", "’": "'"})
_MONEY = r"(?:[€$£¥]|EUR|USD|GBP|CHF|JPY)"
# A footnote is a mark behind the number; a number in brackets is a doubtful one.
_AROUND = re.compile(
    rf"(?:~|≈|ca\.|c\.)?\s*{_MONEY}?\s*(?P<number>.*?)\s*(?:{_MONEY}|%|‰)?\s*[*†‡§¹²³⁴-⁹]*",
    re.IGNORECASE,
)
_FORMS = {
    decimal: re.compile(
        rf"[-+]?(?:[1-9]\d{{0,2}}(?:([{re.escape(other)} '])\d{{3}})(?:\1\d{{3}})*|\d+)?"
        rf"(?P<rest>{re.escape(decimal)}\d*)?(?:e[-+]?\d+)?",
        re.IGNORECASE,
    )
    for decimal, other in ((".", ","), (",", "."))
}


def number_of(text: str, decimal: str = ".") -> float | None:
    """Return a cell as a number, NaN for a hidden one, None for anything else.

    Parameters
    ----------
    text
        What is written in the cell.
    decimal
        The decimal sign, point or comma; the other one may stand between thousands.

    Examples
    --------
    >>> number_of("5,000"), number_of("€7,000"), number_of("3 %"), number_of("12*")
    (5000.0, 7000.0, 3.0, 12.0)
    >>> number_of("1.767,26"), number_of("1.767,26", ","), number_of("0-19")
    (None, 1767.26, None)
    >>> number_of("<10"), number_of("–"), number_of("<10 (3)")
    (nan, nan, None)
    """
    plain = text.translate(SPACES).strip()
    if plain.lower() in HIDDEN or bound_of(plain, decimal) is not None:
        return math.nan
    if plain[:1] + plain[-1:] in ("()", "[]"):
        plain = plain[1:-1].strip()
    sign = plain[:1] if plain[:1] in ("-", "+") else ""
    around = _AROUND.fullmatch(plain[len(sign) :])
    if around is None:
        return None
    digits = sign + around["number"]
    found = _FORMS[decimal].fullmatch(digits)
    if found is None or not any(sign.isdigit() for sign in digits):
        return None
    other = {".": ",", ",": "."}[decimal]
    whole = re.sub(rf"[{re.escape(other)} ']", "", digits).replace(decimal, ".")
    try:
        number = float(whole)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def bound_of(text: str, decimal: str = ".") -> tuple[str, float] | None:
    """Return a bound that stands in a cell, as its sign and its number; None for anything else.

    Only a sign and one number is a bound: what stands beside them may say more than it hides.

    Parameters
    ----------
    text, decimal
        As for :func:`number_of`.

    Examples
    --------
    >>> bound_of("<10"), bound_of("≥ 5"), bound_of(">2 and <4")
    (('<', 10.0), ('>=', 5.0), None)
    """
    found = _BOUND.fullmatch(text.translate(SPACES).strip())
    if found is None or _BOUND.match(found["rest"].strip()):
        return None
    read = (number_of(found["rest"], one) for one in (decimal, "." if decimal == "," else ","))
    number = next((one for one in read if one is not None), math.nan)
    if math.isnan(number):
        return None
    sign = found["sign"].replace("&lt;", "<").replace("&gt;", ">")
    strict = sign in ("<", ">")
    below = sign in ("<", "<=", "=<", "≤", "⩽", "≦", "&le;")
    return ("<" if below else ">") + ("" if strict else "="), number


def decimal_of(columns: Iterable[Iterable[str]]) -> str | None:
    """Return the decimal sign of a table; None if its columns do not tell, or do not agree.

    Parameters
    ----------
    columns
        The cells of each column that is text.

    Examples
    --------
    >>> decimal_of([["north", "south"], ["1.767,26", "2,5"]]), decimal_of([["5,000", "12*"]])
    (',', None)
    """
    found = set()
    for column in columns:
        cells = list(column)
        signs = [
            sign for sign in _FORMS
            if all(number_of(cell, sign) is not None for cell in cells)
        ]  # fmt: skip
        shown = any(not math.isnan(number_of(cell, signs[0]) or 0.0) for cell in cells if signs)
        if len(signs) == 1 and shown:
            found.add(signs[0])
    return found.pop() if len(found) == 1 else None


def cell_text(value: Any) -> str:
    """Return a value of a key as text: the same from all formats of files."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


# -------------------------------------------------------------------------------------------------
# Numbers of published tables: cells as numbers, and what the numbers are rounded to.


Floats = NDArray[np.float64]
Limits = tuple[Floats, Floats]
"""For each cell the least and the largest value that a bound in it leaves, infinite without one."""

# Fewer counts, or even ones, are multiples of a number by chance.
FEWEST_ROUNDED, SMALLEST_BASE = 6, 3
MOST_PLACES = 6


def _levels(column: Column) -> list[str]:
    """Return the different cells of a column of text."""
    return [str(level) for level in column.compact().levels.tolist()]


def written_decimal(table: Table) -> str | None:
    """Return the decimal sign of the numbers that a table writes as text; None if none tells."""
    columns = (table[name] for name in table.names)
    return decimal_of(_levels(column) for column in columns if not column.kind.is_number)


def _as_written(levels: list[str], decimal: str | None) -> list[float | None]:
    """Return cells as numbers, by the decimal sign that is given or else by the one that fits."""
    for sign in (decimal,) if decimal else (".", ","):
        found = [number_of(level, sign) for level in levels]
        if None not in found:
            return found
    return [number_of(level, decimal or ".") for level in levels]


def is_numeric(column: Column, decimal: str | None) -> bool:
    """Whether cells are numbers, but for signs of hidden ones."""
    return column.kind.is_number or None not in _as_written(_levels(column), decimal)


def mostly_numbers(column: Column, decimal: str | None = None) -> bool:
    """Whether most of the different cells are numbers, hidden ones left out."""
    if column.kind.is_number:
        return True
    found = [one for one in _as_written(_levels(column), decimal) if one is None or one == one]
    return 2 * found.count(None) < len(found)


def has_decimals(column: Column, decimal: str | None = None) -> bool:
    """Whether cells are numbers and some of them are not whole."""
    if not is_numeric(column, decimal):
        return False
    values = numbers(column, "", decimal)
    return bool(np.any(values[np.isfinite(values)] % 1 != 0))


def numbers(column: Column, name: str, decimal: str | None = None) -> Floats:
    """Return the cells as numbers, NaN where a cell is hidden or missing.

    Parameters
    ----------
    column
        The column, of numbers or of text.
    name
        Its name, for messages.
    decimal
        The decimal sign of numbers that are text; None to take the one that fits the column.
    """
    if column.kind.is_number:
        return column.cell_numbers
    found = _as_written([str(level) for level in column.levels.tolist()], decimal)
    for code, number in enumerate(found):
        rows = np.flatnonzero(column.codes == code)
        if number is None and len(rows):
            raise CaveatError(
                "a cell is neither a number nor hidden",
                column=name,
                row=int(rows[0]) + 1,
                code="outputs.cell.type",
            )
    of_level = [math.nan if number is None else number for number in found]
    return np.array([*of_level, *([math.nan] * len(column.missing))])[column.codes]


def limits(column: Column, decimal: str | None = None, *, whole: bool = True) -> Limits | None:
    """Return what bounds that are written in hidden cells leave for them; None if there are none.

    Parameters
    ----------
    column, decimal
        As for :func:`numbers`.
    whole
        Whether cells are counts: below 10 is then 9 at most.
    """
    if column.kind.is_number:
        return None
    levels = [str(level) for level in column.levels.tolist()]
    if decimal is None:
        fits = (sign for sign in (".", ",") if None not in (number_of(x, sign) for x in levels))
        decimal = next(fits, ".")
    ends = [_ends(bound_of(level, decimal), whole) for level in levels]
    low, high = np.array([*ends, *([(-math.inf, math.inf)] * len(column.missing))]).T
    found = low[column.codes], high[column.codes]
    return found if np.isfinite(found).any() else None


def _ends(bound: tuple[str, float] | None, whole: bool) -> tuple[float, float]:
    sign, number = bound or ("", 0.0)
    if sign[:1] == "<":
        return -math.inf, math.ceil(number) - 1 if whole and sign == "<" else number
    if sign[:1] == ">":
        return math.floor(number) + 1 if whole and sign == ">" else number, math.inf
    return -math.inf, math.inf


def base_of(declared: int | None, counts: Floats | None) -> int:
    """Return what counts are rounded to: what is said, or else a guess; 0 if they are not."""
    if declared is not None:
        return declared if declared > 1 else 0
    return 0 if counts is None else rounded_to(counts)


def rounded_to(counts: Floats) -> int:
    """Return the base that all counts are multiples of; 0 if they are not rounded.

    Examples
    --------
    >>> rounded_to(np.array([15, 20, 35, 5, 70, 45])), rounded_to(np.array([15, 20, 36, 5, 71, 45]))
    (5, 0)
    """
    whole = counts[np.isfinite(counts) & (counts != 0)]  # zero is a multiple of everything
    if len(whole) < FEWEST_ROUNDED or np.any(whole % 1 != 0):
        return 0
    base = reduce(math.gcd, whole.astype(np.int64).tolist(), 0)
    return base if base >= SMALLEST_BASE else 0


def last_place(values: Floats) -> float:
    """Return one unit of the last decimal place that values have; 0 for whole numbers.

    Examples
    --------
    >>> last_place(np.array([0.25, 3.5, np.nan])), last_place(np.array([3.0, 4.0]))
    (0.01, 0.0)
    """
    shown = values[np.isfinite(values)]
    for places in range(MOST_PLACES):
        if np.array_equal(np.round(shown, places), shown):
            return float(10.0**-places) if places else 0.0
    return 0.0


# -------------------------------------------------------------------------------------------------
# A column that says of cells whether they are hidden.


STATUS = ("status", "cell status", "flag", "flags", "obs_status", "conf_status")
BARE = frozenset({"hidden", "suppressed", "confidential", "withheld", "c", "geheim", "not shown"})
PRIMARY = re.compile(
    r"(hidden|suppressed|confidential|withheld|not shown|geheim|primary|secondary)\b.*"
)
SHOWN = frozenset({"shown", "published", "visible", "free", "f", "a", "ok", "rounded", "final",
                   "provisional", "p", "estimated", "e", "revised", "r"})  # fmt: skip
"""What a column says of its cells that is neither a key nor a statistic."""


@dataclass(frozen=True)
class Marks:
    """What a column of a table says about its cells.

    Parameters
    ----------
    column
        Its name.
    hidden
        The rows that are said to be hidden.
    reasons
        Whether it says more of a hidden cell than that it is one.
    """

    column: str
    hidden: frozenset[int]
    reasons: bool


def marks_of(table: Table, status: str | None = None, keys: tuple[str, ...] = ()) -> Marks | None:
    """Return what a column says about cells; a status of persons, such as employed, is a key."""
    for name in (status,) if status else table.names:
        if name in keys or table[name].kind.is_number:
            continue
        said = [cell_text(value).strip().lower() for value in table[name].values]
        hidden = frozenset(row for row, text in enumerate(said) if _says_hidden(text))
        known = all(row in hidden or not text or text in SHOWN for row, text in enumerate(said))
        if status or (name.lower() in STATUS and any(said) and known):
            return Marks(name, hidden, any(said[row] not in BARE for row in hidden))
    return None


def _says_hidden(text: str) -> bool:
    return text in BARE or PRIMARY.fullmatch(text) is not None


def unmarked(values: Floats, marks: Marks | None) -> Floats:
    """Return values, NaN for the 0 that stands where a cell is said to be hidden."""
    if marks is None or not marks.hidden:
        return values
    rows = np.isin(np.arange(len(values)), list(marks.hidden))
    return np.where(rows & (values == 0), np.nan, values)


# -------------------------------------------------------------------------------------------------
# Notes below a table: lines of the file that are no cells.
#
# A line with a source has text in its first column and nothing else. Taken for a cell it would be
# a hidden one, and what totals tell of the others would seem to be open.


NOTE = re.compile(
    r"(?:(?:sources?|notes?|footnotes?|legend|key|remarks?|quellen?|anmerkung(?:en)?|hinweise?|"
    r"fußnoten?|legende|stand)\s*[:.]|©|\(c\)\s|[*†‡§#]+\s?\w|\(?\d\)|\[\d\]|[a-z]\)|table\s\d|"
    r"suppressed|cells? )",
    re.IGNORECASE,
)
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def without_notes(
    table: Table, totals: frozenset[str] = frozenset({"total"})
) -> tuple[Table, list[Finding]]:
    """Return a table without the notes below it, and what a person has to look at.

    Parameters
    ----------
    table
        The table as it was read.
    totals
        What totals are called, in small letters: what stands alone below one is no cell.

    Examples
    --------
    >>> import pandas as pd
    >>> told = pd.DataFrame({"sex": ["f", "m", "Source: office"], "count": [20, 30, None]})
    >>> without_notes(Table.from_frame(told))[0].n_rows
    2
    """
    if len(table.names) < 2 or table.n_rows < 2 or table[table.names[0]].kind.is_number:
        return table, []
    first = [cell_text(value).strip() for value in table[table.names[0]].values]
    filled = np.zeros((len(table.names), table.n_rows), bool)
    for i, name in enumerate(table.names):
        filled[i] = [bool(cell_text(value).strip()) for value in table[name].values]
    end = table.n_rows
    while end > 1 and filled[0, end - 1] and not filled[1:, end - 1].any():
        end -= 1
    above = first[end - 1].lower() in totals
    # A key that all other rows have is no key of this one.
    keyed = end < table.n_rows and any(
        filled[i, :end].all() and not mostly_numbers(table[name])
        for i, name in enumerate(table.names[1:], 1)
    )
    clear = [
        (keyed and first[row] not in first[:end]) or NOTE.match(first[row]) is not None
        for row in range(end, table.n_rows)
    ]
    start = end if above or all(clear) else end + clear.index(True) if any(clear) else table.n_rows
    if start == table.n_rows:
        return table, []
    return table.take(slice(0, start)), list(_found(first, start, clear[start - end :]))


def _found(first: list[str], start: int, clear: list[bool]) -> Iterator[Finding]:
    """Say which notes may be cells, or tell more than words."""
    for row, is_note in enumerate(clear, start):
        if not is_note:
            yield Finding(
                "unknown", Verdict.REVIEW,
                f"row {row + 1:,} stands below a total with nothing but text: it was taken for a "
                "note",
                "write hidden cells above the total, with a sign",
            )  # fmt: skip
        elif re.search(r"\d", YEAR.sub("", re.sub(r"^\W*\d\W", "", first[row]))):
            yield Finding(
                "unknown", Verdict.REVIEW, f"row {row + 1:,} is a note with numbers",
                "see whether they tell anything of the cells",
            )  # fmt: skip
