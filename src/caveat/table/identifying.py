"""The one judgement of which columns name people: identifiers, keys of groups, free text and more.

The look, the plan, the synthesis and the release all ask here. It is made on a whole table: a part
of it has gaps and fewer repetitions. The form of the values decides; the name of a column only adds
to it. Every criterion is a named constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.late import Late
from caveat.table._forms import (
    ADDRESS,
    HASH,
    MAIL,
    PAIR_OF_DEGREES,
    TELEPHONE,
    TIME_OF_DAY,
    days_first,
)
from caveat.table._numberings import (
    EVEN_GROUPS,
    SHORT,
    have_same_digits,
    is_dense,
    is_numbering,
    is_shared,
    rounded,
    stand_together,
    unevenness,
)
from caveat.table._person_names import FORM, share_of_names
from caveat.table._places import find_coordinates
from caveat.table._telling import (
    may_say_name,
    says_birth,
    says_birthday,
    says_id,
    says_name,
    says_number,
    says_person,
)
from caveat.table._values import GROUP_SHARE, HALF, LEAST_ROWS, LOOKED_AT, MANY, NEARLY_ALL, Values
from caveat.table.column import Column, Kind, Missing
from caveat.table.table import Table
from caveat.table.written import read_dates, read_numbers

if TYPE_CHECKING:
    import polars as pl
else:
    pl = Late("polars")

__all__ = ["CODES", "Judgement", "as_numbers", "judge", "judge_labels"]

CODES: Mapping[str, str] = {
    "identifier": "identifiers of single records",
    "group-key": "identifiers of groups such as households or firms",
    "free-text": "free text",
    "person-name": "names of people",
    "near-unique-text": "text that nearly every record has for itself",
    "coordinate": "coordinates of places",
    "birth-date": "dates of birth",
}
"""The codes of the judgement, with what they stand for."""

# … but texts that all differ are names from this many on.
LEAST_TEXTS = 10
# Names of people: so many levels; share of levels with a common name, where the name of the column
# may say names, and where nothing else speaks for it.
LEAST_NAMES, SOME_NAMES, COMMON_NAMES = 3, 0.15, 0.4
# Groups are so many if nothing but standing together speaks for them.
MANY_GROUPS = 100
# Records of one person in a panel, if nothing but their number speaks for it.
WAVES = 4
# Free text: words per level, distinct levels per row; or this share of rows with sentences of
# their own, and so many of them.
WORDS, TEXT_SHARE, SENTENCE_SHARE, SENTENCES = 4, 0.2, 0.05, 10
# Share of the texts with a form that leads to one person.
ADDRESSES = 0.1
# Days over more years than this are dates of birth if nearly every record has its own, and over a
# lifetime if they are more than a year has.
DECADES, LIFETIME, YEAR = 15 * 365, 50 * 365, 365
HOUR, DAY = 3600, 86_400
# Numbers of so many digits that few records have, each its own, are those of documents.
LONG = 10**7
# Longer numbers are names: a number keeps so many digits.
MOST_DIGITS = 15


@dataclass(frozen=True)
class Judgement:
    """Why a column must not leave without somebody's word.

    Parameters
    ----------
    code
        A key of ``CODES``.
    reason
        What was seen, in words and without a value.
    rows
        Number of records that have a value.
    """

    code: str
    reason: str
    rows: int


def judge(table: Table) -> dict[str, Judgement]:
    """Return the columns that name people, with the reason.

    Parameters
    ----------
    table
        The whole original table.

    Examples
    --------
    >>> table = Table.from_frame({"case": range(100, 150), "age": [20, 30, 31, 40, 52] * 10})
    >>> for name, judgement in judge(table).items():
    ...     print(name, judgement.code, judgement.reason, sep=": ")
    case: identifier: all 50 values are different and look like a numbering
    """
    values = {name: Values(column, name) for name, column in table.columns.items()}
    found = {
        name: Judgement("coordinate", reason, values[name].rows)
        for name, reason in find_coordinates(list(values.values())).items()
    }
    for name, of in values.items():
        judgement = None if name in found else _judge(of, table)
        if judgement is not None:
            found[name] = judgement
    found |= _beside_names(values, found)
    return {name: found[name] for name in table if name in found}


def _beside_names(
    values: Mapping[str, Values], found: Mapping[str, Judgement]
) -> dict[str, Judgement]:
    """Return columns of uncommon names, or of words that are names too, beside names of people."""
    if not any(judgement.code == "person-name" for judgement in found.values()):
        return {}
    beside = {}
    for name, of in values.items():
        if name in found or of.levels.dtype != object or not may_say_name(name):
            continue
        if len(of.levels) >= LEAST_TEXTS and _share(_stripped(of.some), FORM) >= NEARLY_ALL:
            more = "the name of the column may say so, and another column holds names of people"
            said = f"{len(of.levels):,} different texts, {more}"
            beside[name] = Judgement("person-name", said, of.rows)
    return beside


def judge_labels(labels: Iterable[str]) -> Judgement | None:
    """Judge the labels of a published table by their form alone; each stands for some people.

    Examples
    --------
    >>> judge_labels(["ann@example.org", "Total"]).code
    'identifier'
    >>> judge_labels(["North", "South", "Total"]) is None
    True
    """
    texts = np.array(sorted(set(labels)), object)
    if not len(texts):
        return None
    return _of_form(Values(Column(np.arange(len(texts)), texts, Kind.TEXT), ""))


def _said(of: Values, code: str, more: str) -> Judgement:
    return Judgement(code, f"{of.different}{more}", of.rows)


def _judge(of: Values, table: Table) -> Judgement | None:
    kind = of.column.kind
    if kind is Kind.ID:
        return _said(of, "identifier", " and the column is declared as an id")
    if kind is Kind.BOOLEAN:
        return None
    if of.levels.dtype == object:
        return _of_form(of) or (_of_text(of, table) if of.rows >= LEAST_TEXTS else None)
    moments = kind in (Kind.DATE, Kind.DATETIME)
    if of.rows < LEAST_ROWS <= table.n_rows and len(of.levels) == of.rows:
        return _of_few(of, moments)
    if of.rows < LEAST_TEXTS:
        return None
    if moments:
        return _of_moments(of, of.levels.astype("datetime64[s]").view(np.int64))
    if of.rows < LEAST_ROWS or of.n <= MANY * NEARLY_ALL or not _are_whole(of.levels):
        return None
    return _of_days_as_numbers(of, of.levels.astype(np.int64)) or _of_numbers(of, table)


def _of_few(of: Values, moments: bool) -> Judgement | None:
    """Judge values that differ in all of few rows: moments, and whole numbers with many digits."""
    if moments:
        odd = of.levels.astype("datetime64[s]").view(np.int64) % HOUR
    elif of.rows and _are_whole(of.levels) and np.abs(of.levels).min() >= LONG:
        odd = of.levels % 10
    else:
        return None
    if not of.rows or np.count_nonzero(odd) < HALF * of.rows:
        return None
    few = ": moments to the minute or second" if moments else ": numbers of many digits"
    return _said(of, "identifier", few)


def _are_whole(levels: NDArray[Any]) -> bool:
    """Whether all numbers are whole; a file with empty cells may have made them decimals."""
    if levels.dtype.kind in "iu":
        return True
    if levels.dtype.kind != "f" or np.any(np.mod(levels[:LOOKED_AT], 1)):
        return False
    return bool(np.abs(levels).max() < 2**62) and not np.any(np.mod(levels, 1))


def _of_numbers(of: Values, table: Table) -> Judgement | None:
    levels = of.levels[of.rest].astype(np.int64)
    if of.at_least(NEARLY_ALL):
        if says_id(of.name) or (says_number(of.name) and not rounded(of, levels)):
            return _said(of, "identifier", ", and the name says that they are a numbering")
        if is_numbering(of, levels):
            return _said(of, "identifier", " and look like a numbering")
        return None
    if len(levels) <= MANY:
        return None
    given = is_dense(levels) or have_same_digits(of, levels)
    even = given or unevenness(levels) < EVEN_GROUPS
    return _of_groups(of, table, given, even, says_id(of.name))


def _of_groups(of: Values, table: Table, given: bool, even: bool, named: bool) -> Judgement | None:
    """Judge values that come in groups.

    ``given`` if they look like numbers or codes given out, ``even`` if they may be such.
    """
    small = of.at_least(GROUP_SHARE)
    at_most = f", at most {int(of.counts[of.rest].max()):,} rows each"
    if named and small:
        return _said(of, "group-key", f"{at_most}, and the name says that they are keys")
    if small and given and of.n > MANY_GROUPS and stand_together(of.column):
        return _said(of, "group-key", f"{at_most}, which stand together")
    if ((small and even) or named) and is_shared(of, table):
        return _said(of, "group-key", f"{at_most}, which have the same values in another column")
    return None


def _of_days_as_numbers(of: Values, levels: NDArray[np.int64]) -> Judgement | None:
    """Judge numbers such as 19850412 and 12041985, and days that are counted from some day on."""
    if read_dates(levels) is not None:
        return _of_dates(of, _moments(pl.Series(levels).cast(pl.String), "%Y%m%d") // DAY)
    days = days_first(levels)
    if days is not None:
        return _of_dates(of, days)
    if says_birthday(of.name) and of.n > YEAR:
        return _said(of, "birth-date", ": more than a year has days, and the name says birth")
    return None


def _of_moments(of: Values, seconds: NDArray[np.int64]) -> Judgement | None:
    """Judge dates; moments to the minute or second that nearly all differ stand in other books."""
    exact = np.count_nonzero(seconds % HOUR) >= HALF * len(seconds)
    if exact and of.n > MANY and of.at_least(HALF):
        return _said(of, "identifier", ": moments to the minute or second")
    return _of_dates(of, seconds // DAY)


def _of_dates(of: Values, days: NDArray[np.int64]) -> Judgement | None:
    if of.n <= MANY * NEARLY_ALL:
        return None
    if says_birth(of.name):
        return _said(of, "birth-date", ": days, and the name says that they are of birth")
    span = days.max() - days.min()
    if (of.at_least(HALF) and span > DECADES) or (of.n > YEAR and span > LIFETIME):
        return _said(of, "birth-date", ": days over more years than one event has")
    return None


def _moments(text: pl.Series, form: str) -> NDArray[np.int64]:
    """Return the seconds since 1970 of texts in a format, without those that are no date."""
    moments = text.str.to_datetime(form, strict=False, time_unit="ms").drop_nulls()
    return moments.to_physical().to_numpy() // 1000


def _of_form(of: Values) -> Judgement | None:
    """Judge texts by a form that leads to a person or a place, however few or common they are."""
    text = _stripped(of.levels)
    if text.str.contains(MAIL).any() or _share(text, ADDRESS) >= ADDRESSES:
        return _said(of, "identifier", ": addresses, telephone numbers or codes given to one alone")
    if of.n > MANY and _share(text, PAIR_OF_DEGREES) >= HALF:
        return _said(of, "coordinate", ", which read as degrees of a place on earth")
    if len(text) > 2 and _share(text, TELEPHONE) >= HALF and read_dates(of.levels) is None:
        return _said(of, "near-unique-text", ": telephone numbers")
    if of.n > MANY and of.at_least(GROUP_SHARE) and _are_hashes(text):
        return _said(of, "identifier" if _nearly_unique(of) else "group-key", ": keys of a machine")
    return None


def _stripped(levels: NDArray[Any]) -> pl.Series:
    return pl.Series(levels.tolist(), dtype=pl.String).str.strip_chars()


def _share(text: pl.Series, pattern: str) -> float:
    return int(text.str.contains(pattern).sum()) / max(len(text), 1)


def _are_hashes(text: pl.Series) -> bool:
    mixed = text.filter(text.str.contains(r"\d") & text.str.contains("[A-Fa-f]"))
    return len(mixed) * _share(mixed, HASH) >= NEARLY_ALL * len(text)


def _of_text(of: Values, table: Table) -> Judgement | None:
    free = _free_text(of)
    if free is not None:
        return free
    names = _of_names(of)
    if names is not None:
        return names
    if of.n < LEAST_TEXTS or len(of.levels) <= HALF * MANY:
        return None
    text = _stripped(of.levels)
    if _share(text, TIME_OF_DAY) == 1:
        return None
    dates = read_dates(of.levels)
    if dates is not None:
        return _of_moments(of, _moments(text, dates.formats[0]))
    if _share(text, r"^\d{8}$") == 1:
        days = days_first(text.cast(pl.Int64).to_numpy())
        if days is not None:
            return _of_dates(of, days)
    numbers = as_numbers(of.column)
    if numbers is not None:
        return _judge(Values(numbers, of.name), table)
    some = _stripped(of.some)
    if _nearly_unique(of):
        code = "identifier" if says_id(of.name) or _are_codes(some) else "near-unique-text"
        return _said(of, code, "")
    if of.n <= MANY:
        return None
    if says_person(of.name):
        return _said(of, "near-unique-text", ", and the name says that they are of persons")
    codes = _are_codes(some)
    return _of_groups(of, table, codes, codes, says_id(of.name))


def _of_names(of: Values) -> Judgement | None:
    """Judge names of people: by the name of the column, by common names among them, or by both."""
    if len(of.levels) < LEAST_NAMES:
        return None
    some, many = _stripped(of.some), f"{len(of.levels):,} different texts"
    if says_name(of.name) and _share(some, FORM) >= NEARLY_ALL:
        return Judgement("person-name", f"{many}, and the name of the column says so", of.rows)
    share = share_of_names(some)
    if may_say_name(of.name) and share >= SOME_NAMES:
        more = "some of them common names, and the name of the column says so"
        return Judgement("person-name", f"{many}, {more}", of.rows)
    if share >= COMMON_NAMES and len(of.levels) >= LEAST_TEXTS:
        return Judgement("person-name", f"{many}, many of them common names", of.rows)
    return None


def as_numbers(column: Column) -> Column | None:
    """Return a column of numbers as such, also where they were read as text; None for others.

    Numbers with leading zeros, and longer ones than a number can hold, are names made of digits.
    """
    if column.kind in (Kind.NUMERIC, Kind.INTEGER):
        return column
    if column.levels.dtype != object or column.kind not in (Kind.CATEGORY, Kind.TEXT):
        return None
    reading = read_numbers(column.levels)
    if reading is None or reading.style == "padded" or max(map(len, column.levels)) > MOST_DIGITS:
        return None
    numbers, codes = np.unique(reading.numbers[~np.isnan(reading.numbers)], return_inverse=True)
    whole = not np.any(np.mod(numbers, 1))
    lookup = np.full(column.n_levels, len(numbers))
    lookup[np.flatnonzero(~np.isnan(reading.numbers))] = codes
    levels = numbers.astype(np.int64) if whole else numbers
    kind = Kind.INTEGER if whole else Kind.NUMERIC
    return Column(lookup[column.codes], levels, kind, (Missing(),))


def _nearly_unique(of: Values) -> bool:
    """Whether texts are half as many as records, or nearly all that are not common have one only.

    Many texts of which none has more than a few records are those of a panel: each person has one.
    """
    whole = len(of.levels) >= HALF * of.rows and len(of.levels) >= SHORT
    waves = len(of.levels) >= MANY_GROUPS and int(of.counts.max()) <= WAVES
    return (
        whole
        or waves
        or (of.at_least(NEARLY_ALL) and (of.n > MANY or of.n >= NEARLY_ALL * of.rows))
    )


def _are_codes(some: pl.Series) -> bool:
    """Whether texts look like numbers that were given: one length, digits in nearly all of them."""
    lengths = set(some.str.len_chars())
    digits = int((some.str.contains(r"\d") & ~some.str.contains(r"\s\S*\s")).sum())
    return digits >= NEARLY_ALL * len(some) and len(lengths) == 1 and max(lengths) >= 4


def _free_text(of: Values) -> Judgement | None:
    if len(of.levels) < SENTENCES:
        return None
    step = max(1, len(of.levels) // LOOKED_AT)
    words = pl.Series(of.some.tolist(), dtype=pl.String).str.count_matches(r"\S+").to_numpy()
    sentences = words >= WORDS
    alone = step * int((sentences & (of.counts[::step] == 1)).sum())
    many = len(of.levels) > MANY and len(of.levels) >= TEXT_SHARE * of.rows
    if (many and words.mean() >= WORDS) or (
        alone >= max(SENTENCES, SENTENCE_SHARE * of.rows) and sentences.mean() >= HALF
    ):
        return _said(of, "free-text", f", {words.mean():.0f} words on average")
    return None
