"""Text that is something else: numbers, dates, words and signs for missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.late import Late

if TYPE_CHECKING:
    import polars as pl
else:
    pl = Late("polars")

__all__ = [
    "LONGEST_SIGN",
    "MISSING_SIGNS",
    "MISSING_WORDS",
    "DateReading",
    "NumberReading",
    "means_missing",
    "plain_words",
    "read_dates",
    "read_numbers",
]

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
