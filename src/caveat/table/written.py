"""Text that is something else: numbers and dates, also as people write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.registry import Late
from caveat.showing import without_values
from caveat.table.coding import EXACT_INTEGER, encode
from caveat.table.table import Column, Kind, Missing

if TYPE_CHECKING:
    import polars as pl
else:
    pl = Late("polars")


# Signs that nobody uses as an answer (lower case).
MISSING_SIGNS = frozenset(
    {
        "na",
        "n/a",
        "n.a.",
        "#n/a",
        "nan",
        "null",
        "nil",
        "nd",
        "k.a.",
        "n.d.",
        "s/d",
        "dk",
        "?",
        "??",
        "???",
        ".",
        "..",
        "-",
        "--",
        "*",
        "#",
    }
)
# Signs among them that may be a value after all: nothing, not detected, a footnote.
MAY_BE_VALUES = frozenset({"nil", "nd", "n.d.", "*", "#"})
# Wordings of "there is no answer" (lower case, without accents of the quotes).
MISSING_WORDS = frozenset(
    {
        "missing", "unknown", "not known", "undisclosed", "unspecified", "not specified",
        "not stated", "not available", "not applicable", "inapplicable", "not asked",
        "not answered", "no answer",
        "no response", "nonresponse", "non-response", "no data", "lack of data", "no information",
        "refused", "refusal", "don't know", "dont know", "do not know", "prefer not to say",
        "prefer not to answer", "keine angabe", "weiss nicht", "weiß nicht", "unbekannt",
        "nicht zutreffend", "trifft nicht zu", "ne sait pas", "non réponse", "sans réponse",
        "inconnu",
        "sin respuesta", "no sabe", "desconocido", "brak danych", "onbekend", "ukjent", "okänt",
        "keine angaben", "ohne angabe", "nicht erhoben", "nicht verfügbar", "fehlt", "fehlend",
        "manquant", "non renseigné", "non disponible", "sans objet", "sin dato", "sin datos",
        "no disponible", "no consta", "mancante", "non risponde", "brak", "nie dotyczy", "nie wiem",
        "geen antwoord", "saknas", "mangler",
    }
)  # fmt: skip
# Texts that may say so are shorter, and signs of letters and points such as k. A. are.
LONGEST_SIGN, SHORT_SIGN = 30, 8
# A column is a column of numbers if so few of its levels are not (and they may be missing codes).
MAX_TOKENS = 3
# Levels looked at when there are very many.
MANY_LEVELS = 20_000

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DECIMAL_COMMA = r"^[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+$|^[+-]?\d+$"
_THOUSANDS = r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$|^[+-]?\d{1,3}(\.\d+)?$"
# 007 and 0151 are names made of digits, not numbers.
_PADDED = r"^[+-]?0\d"

DATE_FORMATS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y",
    "%m-%d-%Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%d %b %Y", "%d-%b-%Y", "%d%b%Y",
    "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%y",
)  # fmt: skip
DATETIME_FORMATS = (
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M",
    "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f",
)  # fmt: skip
# Numbers such as 19870412 are dates only if every year lies between these.
YEARS = (1850, 2150)


@dataclass(frozen=True, slots=True)
class NumberReading:
    """The levels of a text column read as numbers.

    Parameters
    ----------
    numbers
        The numbers, NaN where a level is none.
    tokens
        The positions of the levels that are not numbers.
    style
        "" for plain numbers, "decimal comma", "thousands" or "padded" (leading zeros).
    """

    numbers: NDArray[np.float64]
    tokens: tuple[int, ...]
    style: str = ""

    __repr__ = without_values


@dataclass(frozen=True, slots=True)
class DateReading:
    """The format, or the formats, by which every level of a text column is a date."""

    kind: str
    formats: tuple[str, ...]


def means_missing(text: str) -> bool:
    """Whether a text says that there is no answer, as a sign or in words of several languages.

    Examples
    --------
    >>> [means_missing(text) for text in ("k. A.", "Not_Applicable", "-", "none", "n.d.")]
    [True, True, True, False, False]
    """
    plain = plain_words(text) if len(text) < LONGEST_SIGN else ""
    return (plain in MISSING_SIGNS or plain in MISSING_WORDS) and plain not in MAY_BE_VALUES


def plain_words(text: str) -> str:
    """Return a text as it is looked up: lower case, Not_Applicable as not applicable."""
    text = " ".join(text.lower().replace("’", "'").replace("_", " ").split())
    return text.replace(". ", ".") if len(text) < SHORT_SIGN else text


def _series(levels: NDArray[Any]) -> pl.Series:
    return pl.Series(levels.tolist(), dtype=pl.String).str.strip_chars()


def read_numbers(levels: NDArray[Any]) -> NumberReading | None:
    """Read the levels of a text column as numbers, if all but a few of them are numbers."""
    text = _series(levels)
    plain = _matches(text, _NUMBER)
    if plain is not None:
        padded = text.filter(~_mask(plain, len(text))).str.contains(_PADDED).any()
        numbers = text.cast(pl.Float64, strict=False).to_numpy().copy()
        numbers[list(plain)] = np.nan
        return NumberReading(numbers, plain, "padded" if padded else "")
    for style, pattern, drop, point in (
        ("thousands", _THOUSANDS, ",", "."),
        ("decimal comma", _DECIMAL_COMMA, ".", ","),
    ):
        tokens = _matches(text, pattern)
        if tokens is not None:
            clean = text.str.replace_all(drop, "", literal=True)
            clean = clean.str.replace(point, ".", literal=True)
            return NumberReading(clean.cast(pl.Float64, strict=False).to_numpy(), tokens, style)
    return None


def _matches(text: pl.Series, pattern: str) -> tuple[int, ...] | None:
    """Return the positions that do not match, or None if they are too many."""
    if len(text) > MANY_LEVELS and not _mostly(text.head(100), pattern):
        return None
    others = (~text.str.contains(pattern)).arg_true().to_list()
    numbers = len(text) - len(others)
    return tuple(others) if len(others) <= MAX_TOKENS and numbers >= 2 else None


def _mostly(text: pl.Series, pattern: str) -> bool:
    return int((~text.str.contains(pattern)).sum()) <= MAX_TOKENS


def _mask(positions: Sequence[int], n: int) -> pl.Series:
    mask = np.zeros(n, dtype=bool)
    mask[list(positions)] = True
    return pl.Series(mask)


def read_dates(levels: NDArray[Any]) -> DateReading | None:
    """Find the formats by which every level is a date; signs and words for missing are passed over.

    Several formats are returned only if they disagree on some level (3/12/1990).
    """
    if levels.dtype.kind in "iu":
        if len(levels) < 2 or not YEARS[0] * 10_000 < levels[0] <= levels[-1] < YEARS[1] * 10_000:
            return None
        return _fitting(pl.Series(levels).cast(pl.String), "date", ("%Y%m%d",))
    text = _series(levels)
    text = text.filter(~text.str.to_lowercase().is_in(MISSING_SIGNS | MISSING_WORDS))
    if len(text) < 2 or not text.head(20).str.contains(r"\d").all():
        return None
    dates = _fitting(text, "date", DATE_FORMATS)
    return dates or _fitting(text, "datetime", DATETIME_FORMATS)


def _fitting(text: pl.Series, kind: str, formats: Sequence[str]) -> DateReading | None:
    readings: dict[str, pl.Series] = {}
    for form in formats:
        # A short look first: nearly all formats fail on the first levels.
        if _parsed(text.head(20), form, kind) is None:
            continue
        parsed = _parsed(text, form, kind)
        if parsed is not None and not any(parsed.equals(other) for other in readings.values()):
            readings[form] = parsed
    return DateReading(kind, tuple(readings)) if readings else None


def _parsed(text: pl.Series, form: str, kind: str) -> pl.Series | None:
    """Return the dates, or None if some level is none in this format."""
    parsed = (
        text.str.to_date(form, strict=False)
        if kind == "date"
        else text.str.to_datetime(form, strict=False, time_unit="us")
    )
    plausible = not parsed.null_count() and parsed.dt.year().is_between(*YEARS).all()
    return parsed if plausible else None


# -------------------------------------------------------------------------------------------------
# Numbers and dates as people write them: 1.767,26 and 31.01.1990.
#
# Only what can mean one thing is read so. 1,234 may be a number with thousands or one with three
# decimals, and 3/12/1990 may be in March or in December: such columns stay text until they are
# declared. What one column proves holds for the whole file: beside 1.767,26 the point in 47.955
# stands between thousands, and 1,2 is a number. Words for missing, such as "k.A.", are apart
# where everything else is a number or a date.


LOCAL_DATES = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y %H:%M:%S",
)  # fmt: skip
"""The forms of dates that are read without being declared, beside ISO 8601."""
FEW = 100  # levels that are looked at before all are
ISO_DATE = "%Y-%m-%d"
MOST_DIGITS = 15  # with the point and the sign, of numbers among words
_PLAIN = r"^-?(?:0|[1-9]\d*)(?:\.\d+)?$"  # 007 and +48 are names
_COMMA = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:,\d+)?")
_BLANKS = " \u00a0\u202f"
_STYLE = re.compile(rf"(?:decimals=(\d+)|point)?;([.,'{_BLANKS}]?)([.,])")


@dataclass(frozen=True)
class NumberForm:
    """How a number is written: what stands between thousands, and the decimal sign."""

    thousands: str
    decimal: str

    @property
    def pattern(self) -> str:
        """A pattern that every such number has."""
        between, point = re.escape(self.thousands), re.escape(self.decimal)
        if not between:
            return rf"^[+-]?(?:0|[1-9]\d*)(?:{point}\d+)?$"
        return rf"^[+-]?\d{{1,3}}(?:{between}\d{{3}})*(?:{point}\d+)?$"

    @property
    def sure(self) -> str:
        """A pattern that only such numbers have."""
        between, point = re.escape(self.thousands), re.escape(self.decimal)
        if not between:  # 1,2 may be two answers to one question
            return rf"{point}(?:\d{{2}}|\d{{4,}})$"
        if self.thousands in ".,":
            return (
                rf"^[+-]?[1-9]\d{{0,2}}(?:{between}\d{{3}})+{point}\d+$|(?:{between}\d{{3}}){{2,}}"
            )
        return rf"^[+-]?[1-9]\d{{0,2}}(?:{between}\d{{3}})+(?:{point}\d+)?$"

    @property
    def grouped(self) -> str:
        """A pattern of numbers with at least one sign between thousands."""
        if not self.thousands:
            return re.escape(self.decimal)
        return rf"^[+-]?[1-9]\d{{0,2}}(?:{re.escape(self.thousands)}\d{{3}})+"

    def written(self, text: str) -> str:
        """Return a plain number in this form."""
        sign = text[: len(text) - len(text.lstrip("+-"))]
        whole, point, rest = text[len(sign) :].partition(".")
        if not whole.isdigit() or (point and not rest.isdigit()):
            return text.replace(".", self.decimal)  # an exponent
        grouped = f"{int(whole):,}".replace(",", self.thousands) if self.thousands else whole
        return f"{sign}{grouped}{self.decimal if point else ''}{rest}"


FORMS = (
    NumberForm(".", ","),
    NumberForm(",", "."),
    *(NumberForm(mark, point) for mark in f"{_BLANKS}'" for point in ",."),
    NumberForm("", ","),
)


def number_form(storage: str) -> NumberForm | None:
    """Return the form of numbers that a column came with, if it has one."""
    found = _STYLE.fullmatch(storage.removeprefix("text:"))
    return None if found is None else NumberForm(found[2], found[3])


def read_local(
    column: Column, decimal: str, declared: Kind | None, separator: str, *, said_text: bool = False
) -> Column:
    """Return a column of text as the numbers or dates that it is, or as it was.

    Parameters
    ----------
    column
        The text.
    decimal
        The decimal sign of the file: where it is a comma, 1.234 has a thousand.
    declared
        The kind that was declared, if it was: a number is then read where it could be one.
    separator
        The delimiter, which quotation marks must keep apart from the numbers; "" if they say text.
    said_text
        Whether quotation marks say that numbers are text.
    """
    every = (str(level) for level in column.levels.tolist())
    first = next((level for level in every if not means_missing(level)), "")
    if not first or first.strip(" \t")[:1].isalpha():  # a word: most columns of text end here
        return column
    words = [str(level) for level in column.levels.tolist() if not means_missing(level)]
    text = pl.Series(words, dtype=pl.String).str.strip_chars(" \t")
    apart = len(words) < len(column.levels) and not said_text  # words for missing among values
    if apart and decimal == "." and text.str.contains(_PLAIN).all():
        return _plain_numbers(column, text)
    for form in FORMS:
        if not text.head(FEW).str.contains(form.pattern).all():
            continue
        if not form.thousands and separator == form.decimal:
            continue
        known = declared in (Kind.NUMERIC, Kind.INTEGER) or decimal == ","
        sign = form.grouped if known and form.decimal == decimal else form.sure
        if separator == "" or not text.str.contains(sign).any():
            continue
        if text.str.contains(form.pattern).all():
            return _numbers(column, text, form)
    if declared not in (None, Kind.DATE, Kind.DATETIME):
        return column
    dates = read_dates(np.array(words, dtype=object)) if _may_be_dates(text) else None
    allowed = (*LOCAL_DATES, ISO_DATE) if apart else LOCAL_DATES
    if dates is None or len(dates.formats) > 1 or dates.formats[0] not in allowed:
        return column
    parsed = (
        text.str.to_date(dates.formats[0])
        if dates.kind == "date"
        else text.str.to_datetime(dates.formats[0], time_unit="us")
    )
    storage = "" if dates.formats[0] == ISO_DATE else f"text:{dates.formats[0]}"
    return _exchanged(column, parsed, storage)


def may_have_decimal_comma(column: Column) -> bool:
    """Return whether text is numbers with decimal commas if another column proves such commas."""
    if column.levels.dtype != object or not len(column.levels):
        return False
    words = [str(level) for level in column.levels.tolist() if not means_missing(level)]
    return bool(words) and all(_COMMA.fullmatch(word.strip(" \t")) for word in words)


def _plain_numbers(column: Column, text: pl.Series) -> Column:
    """Return numbers among which words for missing stand, as the words let them be."""
    if text.n_unique() < 2 or int(text.str.len_chars().max() or 0) > MOST_DIGITS:  # type: ignore[arg-type]
        return column
    digits = text.str.extract(r"\.(\d+)$").fill_null("").str.len_chars()
    fewest, most = int(digits.min() or 0), int(digits.max() or 0)  # type: ignore[arg-type]
    if not most:
        return _exchanged(column, text.cast(pl.Int64), "")
    storage = f"text:decimals={most}" if fewest == most else "text:point" if fewest else ""
    return _exchanged(column, text.cast(pl.Float64), storage)


def has_decimal_comma(column: Column) -> bool:
    """Return whether a column proves that the file has decimal commas, or points in thousands."""
    form = number_form(column.storage)
    if form is None or form.decimal != ",":
        return False
    style = column.storage.removeprefix("text:").partition(";")[0]
    return form.thousands == "." or bool(style) or bool((column.levels % 1 != 0).any())


def read_thousands(column: Column) -> Column | None:
    """Return text as whole numbers with points between thousands, None if a cell is none."""
    words = [str(level) for level in column.levels.tolist() if not means_missing(level)]
    text = pl.Series(words, dtype=pl.String).str.strip_chars(" \t")
    whole = r"^[+-]?(?:\d{1,3}|[1-9]\d{0,2}(?:\.\d{3})+)$"
    return _numbers(column, text, FORMS[0]) if text.str.contains(whole).all() else None


def _may_be_dates(text: pl.Series) -> bool:
    form = r"^(\d{1,2}[./]\d{1,2}[./]\d{4}( |$)|\d{4}-\d\d-\d\d$)"
    return bool(text.head(FEW).str.contains(form).all())


def _numbers(column: Column, text: pl.Series, form: NumberForm) -> Column:
    plain = text.str.replace_all(form.thousands, "", literal=True) if form.thousands else text
    plain = plain.str.replace(form.decimal, ".", literal=True)
    digits = plain.str.extract(r"\.(\d+)$").fill_null("").str.len_chars()
    fewest, most = int(digits.min() or 0), int(digits.max() or 0)  # type: ignore[arg-type]
    numbers = plain.cast(pl.Float64)
    if (numbers.abs() > EXACT_INTEGER).any():
        return column
    style = f"decimals={most}" if fewest == most and most else "point" if fewest else ""
    return _exchanged(column, numbers, f"text:{style};{form.thousands}{form.decimal}")


def _exchanged(column: Column, levels: pl.Series, storage: str) -> Column:
    """Return the column with other levels; words for missing stay, each a way of its own."""
    found = encode(levels, "")
    lookup = np.empty(column.n_levels, np.int64)
    words: list[Missing] = []
    ordinary = iter(found.codes.tolist())
    empty = len(column.missing)
    for place, level in enumerate(column.levels.tolist()):
        if means_missing(str(level)):
            lookup[place] = len(found.levels) + empty + len(words)
            words.append(Missing(level))
        else:
            lookup[place] = next(ordinary)
    lookup[len(column.levels) :] = len(found.levels) + np.arange(empty)
    values: Any = found.levels
    missing = (*column.missing, *words)
    return replace(
        column,
        codes=lookup[column.codes],
        levels=values,
        kind=found.kind,
        missing=missing,
        storage=storage,
    )
