"""Which columns name people, which levels are rare, and what may leave the building."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.registry import Late
from caveat.table._signs import (
    ADDRESS,
    EVEN_GROUPS,
    FORM,
    GROUP_SHARE,
    HALF,
    HASH,
    LEAST_ROWS,
    LOOKED_AT,
    MAIL,
    MANY,
    NEARLY_ALL,
    PAIR_OF_DEGREES,
    SHORT,
    TELEPHONE,
    TIME_OF_DAY,
    Values,
    days_first,
    find_coordinates,
    have_same_digits,
    is_dense,
    is_numbering,
    is_shared,
    may_say_name,
    rounded,
    says_birth,
    says_birthday,
    says_id,
    says_name,
    says_number,
    says_person,
    share_of_names,
    stand_together,
    unevenness,
)
from caveat.table.table import Column, Kind, Missing, Table
from caveat.table.written import read_dates, read_numbers

if TYPE_CHECKING:
    import polars as pl
else:
    pl = Late("polars")


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


# -------------------------------------------------------------------------------------------------
# Rare levels: values of a column that few people have and that nobody declared as public.


K = 5
"""Units that must have a level before it may leave, unless it is declared."""


MOST = 0.5
"""Share of the records with a value from which on a column with rare levels is left out."""


def units_of_levels(column: Column, units: NDArray[Any] | None = None) -> NDArray[np.int64]:
    """Return how many units have each ordinary level of a column.

    Parameters
    ----------
    column
        Any column.
    units
        The unit of each row, such as the key of a household; every row is one by default.

    Examples
    --------
    >>> column = Column(np.array([0, 0, 1, 1]), np.array(["a", "b"], object), Kind.CATEGORY)
    >>> units_of_levels(column, np.array([1, 1, 1, 2])).tolist()
    [1, 2]
    """
    n = len(column.levels)
    if units is None:
        return column.counts[:n]
    _, owners = np.unique(np.asarray(units), return_inverse=True)
    owners = owners.reshape(-1).astype(np.int64)
    pairs = np.unique(owners * column.n_levels + column.codes)
    return np.bincount(pairs % column.n_levels, minlength=column.n_levels)[:n]


def has_open_vocabulary(column: Column) -> bool:
    """Whether a level of a column is a text that somebody wrote.

    Numbers and dates have a range, and yes or no needs no declaration.
    """
    return not column.kind.is_number and column.kind is not Kind.BOOLEAN


def rare_levels(
    column: Column,
    units: NDArray[Any] | None = None,
    k: int = K,
    declared: Collection[Any] = (),
) -> NDArray[np.bool_]:
    """Return which levels of a column fewer than k units have, and nobody declared.

    Levels that no row has are not rare: they are nobody's. Ways to be missing are no levels. Of a
    column whose levels were declared in a schema none is rare.

    Parameters
    ----------
    column
        Any column.
    units
        The unit of each row, such as the key of a household; every row is one by default.
    k
        The smallest number of units that may share a level; 1 for any.
    declared
        Levels that are public.

    Examples
    --------
    >>> column = Column(np.array([0] * 6 + [1, 2]), np.array(["a", "b", "c"], object), Kind.TEXT)
    >>> rare_levels(column, declared=["c"]).tolist()
    [False, True, False]
    """
    if column.closed:
        return np.zeros(len(column.levels), bool)
    counts = units_of_levels(column, units)
    rare = (counts > 0) & (counts < k)
    if len(declared):
        rare &= ~np.isin(level_texts(column), [str(value) for value in declared])
    return np.asarray(rare)


def is_mostly_rare(column: Column, units: NDArray[Any] | None = None, k: int = K) -> bool:
    """Whether most records with a value have a rare level, so that pooling would leave little.

    Examples
    --------
    >>> texts = np.array([f"t{i}" for i in range(9)], object)
    >>> is_mostly_rare(Column(np.arange(9), texts, Kind.TEXT))
    True
    """
    if not has_open_vocabulary(column):
        return False
    counts = column.counts[: len(column.levels)]
    return bool(counts[rare_levels(column, units, k)].sum() > MOST * counts.sum())


def level_texts(column: Column) -> NDArray[Any]:
    """Return the levels of a column as texts, by which levels of any type are compared."""
    if column.levels.dtype.kind == "M":
        return column.levels.astype(str).astype(object)
    return np.array([str(level) for level in column.levels.tolist()], object)


# -------------------------------------------------------------------------------------------------
# Where the columns of an output come from, and whether the output may leave the building.
#
# Every command that writes something describes it as an :class:`Output` and has :func:`clear`
# decide. The name of a file decides nothing.


MOST_NAMES = 6
"""Columns that a reason lists by name."""
UNKNOWN = "the origin of its contents is not declared"


class Origin(StrEnum):
    """Where the values of a column of an output come from.

    Drawn values come from a fitted model or from noise. Looked-up values follow from other columns
    by a table of codes, computed ones by a formula or by counting. Copied values are those of
    original records, cell by cell. Identifying values belong to single people or groups. Invented
    ones stand in their place, and come from no record.
    """

    DRAWN = "drawn"
    COPIED = "copied"
    LOOKED_UP = "looked up"
    COMPUTED = "computed"
    IDENTIFYING = "identifying"
    INVENTED = "invented"

    @property
    def may_leave(self) -> bool:
        """Whether a column of this origin may leave without a declaration of the data holder."""
        return self not in (Origin.COPIED, Origin.IDENTIFYING)


@dataclass(frozen=True)
class Output:
    """What is about to be written.

    Parameters
    ----------
    name
        What it is called in messages.
    columns
        The origin of each column; none of a page or a document.
    public
        Columns that the data holder has declared as public: copies of them may leave.
    judged
        Why columns are identifying.
    rare
        For columns the number of values that few people have and nobody declared.
    inside
        Why the output is for the inside by its nature, as evidence is; "" if it is not.
    outside
        Why a document without columns may leave; one without a reason may not.
    """

    name: str
    columns: Mapping[str, Origin] = field(default_factory=dict)
    public: Collection[str] = ()
    judged: Mapping[str, Judgement] = field(default_factory=dict)
    rare: Mapping[str, int] = field(default_factory=dict)
    inside: str = ""
    outside: str = ""


@dataclass(frozen=True)
class Clearance:
    """The verdict on an output.

    Parameters
    ----------
    confidential
        Whether it must stay inside.
    reasons
        Why, one sentence each; none if it may leave.
    notes
        What the data holder should know all the same.
    """

    confidential: bool
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def clear(output: Output) -> Clearance:
    """Decide from the origin of its columns whether an output may leave.

    Examples
    --------
    >>> clear(Output("synthetic.csv", {"age": Origin.DRAWN, "sex": Origin.LOOKED_UP})).confidential
    False
    >>> found = clear(Output("moved.csv", {"x": Origin.DRAWN, "age": Origin.COPIED}))
    >>> found.confidential, found.reasons
    (True, ('age: copied from the original records',))
    >>> clear(Output("moved.csv", {"age": Origin.COPIED}, public=["age"])).confidential
    False
    >>> clear(Output("notes.html")).confidential
    True
    """
    held = {
        name: origin
        for name, origin in output.columns.items()
        if not origin.may_leave and name not in output.public
    }
    reasons = [output.inside] if output.inside else []
    if not output.columns and not output.inside and not output.outside:
        reasons.append(UNKNOWN)
    for name, origin in held.items():
        if origin is Origin.IDENTIFYING:
            reasons.append(f"{name}: {_looks_like(output.judged.get(name))}")
    copied = [name for name, origin in held.items() if origin is Origin.COPIED]
    if copied:
        reasons.append(f"{_listed(copied)}: copied from the original records")
    reasons += [
        f"{name}: {n:,} {'value' if n == 1 else 'values'} of fewer than {K} people, not declared"
        for name, n in output.rare.items()
        if n and name not in output.public
    ]
    declared = [n for n, o in output.columns.items() if not o.may_leave and n in output.public]
    notes = [f"{_listed(declared)}: original values, declared public"] if declared else []
    return Clearance(bool(reasons), tuple(reasons), tuple(notes))


def _looks_like(judged: Judgement | None) -> str:
    if judged is None:
        return "values that identify people"
    return f"looks like {CODES[judged.code]} ({judged.reason})"


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def joined(name: str, outputs: Iterable[Output]) -> Output:
    """Return one output for several tables, as those of a workbook.

    Examples
    --------
    >>> two = [Output("a", {"x": Origin.DRAWN}), Output("b", {"x": Origin.COPIED})]
    >>> clear(joined("book.xlsx", two)).confidential
    True
    """
    parts = list(outputs)
    columns: dict[str, Origin] = {}
    judged: dict[str, Judgement] = {}
    held: set[str] = set()
    rare: dict[str, int] = {}
    for part in parts:
        judged |= part.judged
        rare |= {column: n for column, n in part.rare.items() if column not in part.public}
        for column, origin in part.columns.items():
            stays = not origin.may_leave and column not in part.public
            held |= {column} if stays else set()
            if stays or column not in columns:
                columns[column] = origin
    public = {column for part in parts for column in part.public} - held - {*rare}
    inside = next((part.inside for part in parts if part.inside), "")
    return Output(name, columns, public, judged, rare, inside)


def copied_records(
    names: Iterable[str],
    judged: Collection[str],
    others: Mapping[str, Origin] | None = None,
) -> dict[str, Origin]:
    """Return the origins of the columns of original records, some of them changed.

    Parameters
    ----------
    names
        The columns of the output.
    judged
        Columns that identify people.
    others
        The origins of columns that are not copied.

    Examples
    --------
    >>> found = copied_records(["pid", "x", "age"], ["pid", "x"], {"x": Origin.DRAWN})
    >>> [str(origin) for origin in found.values()]
    ['identifying', 'drawn', 'copied']
    """
    known = others or {}
    return {
        name: known.get(name, Origin.IDENTIFYING if name in judged else Origin.COPIED)
        for name in names
    }
