"""What a delimited text file holds: one pass over its bytes, its types, and what is repaired."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import inner, kernel
from caveat.errors import FEW, CaveatError
from caveat.notes import Note
from caveat.registry import Late
from caveat.showing import without_values
from caveat.table.files import ColumnSchema
from caveat.table.table import NA_TOKENS, Column, Kind, Table
from caveat.table.written import LOCAL_DATES, number_form

if TYPE_CHECKING:
    import polars as pl
else:
    pl = Late("polars")


_TRUTH = ("true", "false")
_INFINITE = ("inf", "-inf", "+inf", "infinity", "-infinity", "+infinity")


class Look(IntEnum):
    """What a field looks like."""

    EMPTY = 0
    INTEGER = 1
    BIG_INTEGER = 2  # fits into 64 bits but not into a floating-point number
    DECIMAL = 3
    NA_TOKEN = 4
    TRUTH = 5
    DATE = 6
    DATETIME = 7
    INFINITE = 8
    TEXT = 9


class Fault(IntEnum):
    """Why a scan stopped."""

    NONE = 0
    RAGGED = 1
    UNCLOSED = 2  # a quotation mark without its partner
    AFTER_QUOTE = 3  # text between a closing quotation mark and the delimiter
    BLANK = 4  # an empty line that is not at the end


@dataclass(frozen=True)
class Scan:
    """What one pass over the file found; arrays have one entry per column.

    Parameters
    ----------
    n_rows
        Number of records.
    looks
        How many fields look like what (columns × :class:`Look`).
    quoted
        How many fields that are not empty stand in quotation marks.
    padded
        Whether a number has blanks around it.
    decimals
        Smallest and largest number of decimals among numbers without exponent (columns × 2).
    first_infinite
        Row of the first infinite value, from 1; 0 if there is none.
    times
        Smallest and largest length of datetimes and a set of separators (columns × 3).
    truth
        Position in the bytes of the first truth value, -1 if there is none.
    fault, line, n_fields
        Why, at which line of the file and with how many fields the scan stopped.
    stray
        Line of the first quotation mark inside an unquoted field; 0 if there is none.
    """

    n_rows: int
    looks: NDArray[np.int64]
    quoted: NDArray[np.int64]
    padded: NDArray[np.bool_]
    decimals: NDArray[np.int64]
    first_infinite: NDArray[np.int64]
    times: NDArray[np.int64]
    truth: NDArray[np.int64]
    fault: Fault
    line: int
    n_fields: int
    stray: int

    __repr__ = without_values


def scan(data: NDArray[np.uint8], start: int, n_columns: int, delimiter: str, decimal: str) -> Scan:
    """Look at every field of the records from byte ``start`` on."""
    tally = np.zeros((n_columns, _N_TALLIES), np.int64)
    tally[:, [_FEWEST, _SHORTEST]] = _MANY
    tally[:, [_MOST, _LONGEST, _TRUTH_AT]] = -1
    line = int(np.count_nonzero(data[:start] == _NEWLINE)) + 1
    n_rows, fault, line, n_fields, stray = _scan(
        data, start, line, ord(delimiter), ord(decimal), tally
    )
    return Scan(
        n_rows=n_rows,
        looks=tally[:, : len(Look)],
        quoted=tally[:, _QUOTED],
        padded=tally[:, _PADDED] > 0,
        decimals=tally[:, [_FEWEST, _MOST]],
        first_infinite=tally[:, _FIRST_INFINITE],
        times=tally[:, [_SHORTEST, _LONGEST, _SEPARATORS]],
        truth=tally[:, _TRUTH_AT],
        fault=Fault(fault),
        line=line,
        n_fields=n_fields,
        stray=stray,
    )


def look_of(text: str) -> Look:
    """Return what a text looks like to the reader.

    Examples
    --------
    >>> look_of("007").name, look_of("-8").name, look_of("2.50").name, look_of("2024-02-30").name
    ('TEXT', 'INTEGER', 'DECIMAL', 'TEXT')
    """
    data = np.frombuffer(text.encode(), np.uint8)
    return Look(_look_alone(data, 0, len(data), ord(".")))


# One array holds all counts of a column: handing a second one to the field's function costs more
# than looking at the field. The first places are the looks.
_QUOTED, _PADDED, _FEWEST, _MOST, _FIRST_INFINITE = 10, 11, 12, 13, 14
_SHORTEST, _LONGEST, _SEPARATORS, _TRUTH_AT, _N_TALLIES = 15, 16, 17, 18, 19
_MANY = 1 << 40
_NEWLINE, _RETURN, _QUOTE, _BLANK, _TAB = 10, 13, 34, 32, 9
_ZERO, _NINE, _MINUS, _PLUS, _POINT, _COLON = 48, 57, 45, 43, 46, 58
_UPPER_E, _LOWER_E, _UPPER_T = 69, 101, 84
_LARGEST = np.frombuffer(b"9223372036854775807", np.uint8)
_DAYS = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def _words() -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    groups = [(NA_TOKENS, Look.NA_TOKEN), (_TRUTH, Look.TRUTH), (_INFINITE, Look.INFINITE)]
    entries = [(word, look) for words, look in groups for word in words]
    table = np.zeros((len(entries), 9), np.uint8)
    for i, (word, _) in enumerate(entries):
        table[i, : len(word)] = list(word.encode())
    lengths = np.array([len(word) for word, _ in entries])
    looks = np.array([int(look) for _, look in entries])
    return table, lengths, looks, looks != Look.NA_TOKEN


_WORDS, _LENGTHS, _WORD_LOOKS, _ANY_CASE = _words()
_STARTS_WORD = np.isin(np.arange(256), [ord(byte) for byte in "Nn.TtFfIi-+"])
_EMPTY_LOOK, _INTEGER_LOOK, _BIG_LOOK, _DECIMAL_LOOK = 0, 1, 2, 3
_DATE_LOOK, _DATETIME_LOOK, _INFINITE_LOOK, _TRUTH_LOOK, _TEXT_LOOK = 6, 7, 8, 5, 9


@inner
def _is_digit(byte):  # type: ignore[no-untyped-def]
    return _ZERO <= byte <= _NINE


@inner
def _number(data, i):  # type: ignore[no-untyped-def]
    """Return the number in data[i : i + 2], or -1."""
    if _is_digit(data[i]) and _is_digit(data[i + 1]):
        return (data[i] - _ZERO) * 10 + data[i + 1] - _ZERO
    return -1


@inner
def _word(data, s, e):  # type: ignore[no-untyped-def]
    if e - s > 9 or not _STARTS_WORD[data[s]]:
        return _TEXT_LOOK
    for w in range(len(_LENGTHS)):
        if _LENGTHS[w] != e - s:
            continue
        same = True
        for k in range(e - s):
            byte = data[s + k]
            if _ANY_CASE[w] and 65 <= byte <= 90:
                byte += 32
            if byte != _WORDS[w, k]:
                same = False
                break
        if same:
            return _WORD_LOOKS[w]
    return _TEXT_LOOK


@inner
def _time(data, s, e):  # type: ignore[no-untyped-def]
    """Tell dates and datetimes of ISO 8601 from other text."""
    century, year = _number(data, s), _number(data, s + 2)
    month, day = _number(data, s + 5), _number(data, s + 8)
    if century < 0 or year < 0 or data[s + 7] != _MINUS or not 1 <= month <= 12:
        return _TEXT_LOOK
    whole = century * 100 + year
    leap = whole % 4 == 0 and (whole % 100 != 0 or whole % 400 == 0)
    if not 1 <= day <= _DAYS[month - 1] or (month == 2 and day == 29 and not leap) or whole == 0:
        return _TEXT_LOOK
    if e - s == 10:
        return _DATE_LOOK
    if e - s < 16 or (data[s + 10] != _UPPER_T and data[s + 10] != _BLANK):
        return _TEXT_LOOK
    hour, minute = _number(data, s + 11), _number(data, s + 14)
    if not 0 <= hour < 24 or data[s + 13] != _COLON or not 0 <= minute < 60:
        return _TEXT_LOOK
    if e - s == 16:
        return _DATETIME_LOOK
    if e - s < 19 or data[s + 16] != _COLON or not 0 <= _number(data, s + 17) < 60:
        return _TEXT_LOOK
    if e - s == 19:
        return _DATETIME_LOOK
    if data[s + 19] != _POINT or not 20 < e - s <= 29:
        return _TEXT_LOOK
    for i in range(s + 20, e):
        if not _is_digit(data[i]):
            return _TEXT_LOOK
    return _DATETIME_LOOK


@inner
def _integer(data, start, n, negative):  # type: ignore[no-untyped-def]
    """Tell by its n digits whether a whole number is exact as float, fits 64 bits, or neither."""
    if n < 16:
        return _INTEGER_LOOK
    if n > 19:
        return _TEXT_LOOK
    if n == 19:
        for k in range(19):
            limit = _LARGEST[k] + (1 if negative and k == 18 else 0)
            if data[start + k] != limit:
                return _BIG_LOOK if data[start + k] < limit else _TEXT_LOOK
    return _BIG_LOOK


@inner
def _look(data, s, e, decimal):  # type: ignore[no-untyped-def]  # noqa: C901
    """Return the look of data[s:e] and its number of decimals (-1 with an exponent)."""
    if e == s:
        return _EMPTY_LOOK, 0
    first = data[s]
    if not _is_digit(first) and first != _MINUS and first != decimal:
        return _word(data, s, e), 0
    if e - s >= 10 and data[s + 4] == _MINUS:
        return _time(data, s, e), 0
    i = s + 1 if first == _MINUS else s
    start = i
    while i < e and _is_digit(data[i]):
        i += 1
    n = i - start
    if n > 1 and data[start] == _ZERO:  # 007 is no number
        return _TEXT_LOOK, 0
    if i == e and n > 0:
        return _integer(data, start, n, first == _MINUS), 0
    decimals = 0
    if i < e and data[i] == decimal:
        i += 1
        while i < e and _is_digit(data[i]):
            i += 1
            decimals += 1
    if n + decimals == 0:
        return _word(data, s, e), 0
    if i < e and (data[i] == _UPPER_E or data[i] == _LOWER_E):
        i += 1
        if i < e and (data[i] == _MINUS or data[i] == _PLUS):
            i += 1
        if i == e:
            return _TEXT_LOOK, 0
        while i < e and _is_digit(data[i]):
            i += 1
        decimals = -1
    return (_DECIMAL_LOOK if i == e else _TEXT_LOOK), decimals


@kernel
def _look_alone(data, s, e, decimal):  # type: ignore[no-untyped-def]
    return _look(data, s, e, decimal)[0]


@inner
def _note(data, s, e, row, c, decimal, tally):  # type: ignore[no-untyped-def]
    """Count one field for its column."""
    look, places = _look(data, s, e, decimal)
    if look == _TEXT_LOOK and (data[s] == _BLANK or data[e - 1] == _BLANK):
        while s < e and (data[s] == _BLANK or data[s] == _TAB):
            s += 1
        while s < e and (data[e - 1] == _BLANK or data[e - 1] == _TAB):
            e -= 1
        inner, places = _look(data, s, e, decimal)
        if _INTEGER_LOOK <= inner <= _DECIMAL_LOOK:
            look = inner
            tally[c, _PADDED] = 1
    tally[c, look] += 1
    if _INTEGER_LOOK <= look <= _DECIMAL_LOOK:
        if places >= 0:
            tally[c, _FEWEST] = min(tally[c, _FEWEST], places)
            tally[c, _MOST] = max(tally[c, _MOST], places)
    elif look == _INFINITE_LOOK and tally[c, _FIRST_INFINITE] == 0:
        tally[c, _FIRST_INFINITE] = row
    elif look == _DATETIME_LOOK:
        tally[c, _SHORTEST] = min(tally[c, _SHORTEST], e - s)
        tally[c, _LONGEST] = max(tally[c, _LONGEST], e - s)
        tally[c, _SEPARATORS] |= 1 if data[s + 10] == _UPPER_T else 2
    elif look == _TRUTH_LOOK and tally[c, _TRUTH_AT] < 0:
        tally[c, _TRUTH_AT] = s


@kernel
def _scan(data, pos, line, delimiter, decimal, tally):  # type: ignore[no-untyped-def]  # noqa: C901
    n, n_columns = len(data), len(tally)
    rows, stray, blank = 0, 0, 0
    while pos < n:
        column, at = np.int64(0), line  # a plain 0 would be compiled for once more
        while True:
            in_quotes = pos < n and data[pos] == _QUOTE
            if in_quotes:
                pos += 1
                s = pos
                while pos < n:
                    if data[pos] == _NEWLINE:
                        line += 1
                    elif data[pos] == _QUOTE:
                        if pos + 1 == n or data[pos + 1] != _QUOTE:
                            break
                        pos += 1
                    pos += 1
                if pos >= n:
                    return rows, 2, at, 0, stray
                e = pos
                pos += 1
                if pos < n and data[pos] == _RETURN:
                    pos += 1
                if pos < n and data[pos] != delimiter and data[pos] != _NEWLINE:
                    return rows, 3, line, 0, stray
            else:
                s = pos
                while pos < n and data[pos] != delimiter and data[pos] != _NEWLINE:
                    if data[pos] == _QUOTE and stray == 0:
                        stray = line
                    pos += 1
                e = pos
                ends = pos == n or data[pos] == _NEWLINE
                if ends and e > s and data[e - 1] == _RETURN:
                    e -= 1
            ends = pos >= n or data[pos] == _NEWLINE
            if ends and column == 0 and e == s and not in_quotes and n_columns > 1:
                column = np.int64(-1)
                break
            if column < n_columns:
                if in_quotes and e > s:
                    tally[column, _QUOTED] += 1
                _note(data, s, e, rows + 1, column, decimal, tally)
            column += 1
            if ends:
                break
            pos += 1
        pos += 1
        line += 1
        if column == -1:
            blank = at if blank == 0 else blank
            continue
        if column != n_columns:
            return rows, 1, at, column, stray
        if blank > 0:
            return rows, 4, blank, 0, stray
        rows += 1
    return rows, 0, 0, 0, stray


# -------------------------------------------------------------------------------------------------
# What a column of a text file is, by the looks of all its cells and by what is declared.


# Quotation marks around this share of a column's cells are meant for the whole column.
QUOTED_SHARE = 0.95


@dataclass(frozen=True)
class Parsing:
    """How a column is parsed: its kind, the parser's type and how it is written back.

    Text may be numbers or dates in a local form, unless it was declared to be text.
    """

    kind: Kind
    dtype: Any = pl.String
    storage: str = ""
    empty_is_missing: bool = False
    infinite_row: int = 0
    local: bool = False
    said_text: bool = False


AS_TEXT = Parsing(Kind.CATEGORY, empty_is_missing=True)
"""Cells that look like numbers as the text that they are."""


def quotes_speak_in(found: Scan) -> bool:
    """Return whether quotation marks say "text": some column's cells must be without them."""
    filled = found.looks.sum(axis=1) - found.looks[:, Look.EMPTY]
    return bool(((filled > 0) & (found.quoted < (1 - QUOTED_SHARE) * filled)).any())


def shape_of(found: Scan, c: int, data: bytes, quotes_speak: bool) -> Parsing:
    """Return what a column is by the looks of all its cells."""
    looks = found.looks[c]
    filled = int(looks.sum() - looks[Look.EMPTY])
    numbers = int(looks[[Look.INTEGER, Look.BIG_INTEGER, Look.DECIMAL]].sum())
    said_text = quotes_speak and found.quoted[c] >= QUOTED_SHARE * filled
    text = Parsing(
        Kind.CATEGORY, empty_is_missing=not quotes_speak, local=True, said_text=bool(said_text)
    )
    if not filled:
        return text
    if looks[Look.TRUTH] == filled:
        word = data[found.truth[c] :][:4].decode()
        style = "lower" if word.islower() else "upper" if word.isupper() else "title"
        return Parsing(Kind.BOOLEAN, storage=f"text:{style}")
    if looks[Look.DATE] == filled:
        return Parsing(Kind.DATE)
    if looks[Look.DATETIME] == filled:
        return _time_plan(found.times[c]) or text
    tokens = int(looks[Look.NA_TOKEN])
    if not numbers or numbers + tokens + looks[Look.INFINITE] < filled or said_text:
        return text
    if looks[Look.DECIMAL] and looks[Look.BIG_INTEGER]:
        return text  # a floating-point number cannot hold them all
    raw = bool(tokens or found.padded[c] or looks[Look.INFINITE])
    if not looks[Look.DECIMAL]:
        plan = Parsing(Kind.INTEGER, pl.String if raw else pl.Int64)
    else:
        storage = _decimals(*found.decimals[c])
        plan = Parsing(Kind.NUMERIC, pl.String if raw else pl.Float64, storage)
    return replace(plan, infinite_row=int(found.first_infinite[c]))


def may_group(found: Scan, c: int) -> bool:
    """Return whether the points of a column may stand between thousands: three digits follow."""
    fewest, most = found.decimals[c].tolist()
    return most == 3 and fewest in (0, 3)


def _decimals(fewest: int, most: int) -> str:
    if fewest == most:
        return f"text:decimals={most}"
    return "text:point" if fewest > 0 and most > 0 else ""


def _time_plan(times: NDArray[np.int64]) -> Parsing | None:
    """Return the plan for datetimes, if all are written in one way."""
    shortest, longest, separators = times.tolist()
    if separators == 3 or (shortest == 16) != (longest == 16):
        return None
    form = "%Y-%m-%dT%H:%M" if separators == 1 else "%Y-%m-%d %H:%M"
    form += "" if longest == 16 else ":%S" if longest == 19 else f":%S.{longest - 20}"
    return Parsing(Kind.DATETIME, storage=f"text:{form}")


def declared(shape: Parsing, entry: ColumnSchema | None, name: str, path: Path) -> Parsing:
    """Return how to parse the column, given what the user declares about it."""
    categorical = (Kind.CATEGORY, Kind.ORDERED, Kind.TEXT, Kind.ID)
    if (
        entry
        and entry.kind in categorical
        and (
            # Whole numbers say the same as text and as numbers, but sort better as numbers.
            shape.kind is not Kind.INTEGER or entry.kind is Kind.TEXT
        )
    ):
        return Parsing(Kind.CATEGORY, empty_is_missing=shape.empty_is_missing)
    if entry and entry.date_format:
        return Parsing(Kind.CATEGORY, empty_is_missing=True)
    if shape.infinite_row:
        raise CaveatError(
            "a value is infinite",
            where=str(path),
            column=name,
            row=shape.infinite_row,
            do="replace it by a number or leave the cell empty",
            code="data.value.infinite",
        )
    return shape


# -------------------------------------------------------------------------------------------------
# What the reader of text files repairs where it can prove it, each with a note.
#
# A repair is never silent, and what may mean two things is not repaired.


LONGEST = 100  # characters of a name in a note
PIECE = 1 << 20  # bytes that are decoded at once
# Marks at the beginning of a file say its encoding; the longer one comes first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LETTER = rb"[A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\xff]"
_SIGN = rb"[\x80\x82-\x87\x89\x8b\x93-\x95\x97\x9b\xa1-\xac\xae-\xb6\xb8-\xbf\xd7\xf7]"
# What no text in Windows-1252 has, or none in a western language.
_NOT_WESTERN = (
    re.compile(rb"[\x81\x8a\x8d-\x90\x9a\x9d-\x9f\x00]"),  # no letters, or eastern ones
    re.compile(_LETTER + _SIGN + _LETTER),  # a sign within a word
    re.compile(rb"[\xc0-\xd6\xd8-\xf6\xf8-\xff]{3}"),  # Cyrillic, Greek
    re.compile(rb"\xf5(?![eE])"),  # õ before e is Portuguese, elsewhere ő is Hungarian
)
# Letters that no western language has beside each other: Czech and Turkish in Windows-1252.
_CLASHES = (
    (rb"[\xd8\xf8]", rb"[\xcc\xec\xd2\xf2\xd9\xf9]"),
    (rb"[\xdd-\xde\xf0\xfd\xfe]", rb"[\xc7\xdc\xe7\xfc]"),
)


def encoding_in(data: bytes) -> str:
    """Return the encoding of a text: by its mark, UTF-8 if it can be that, or Windows-1252.

    Only a text in which all bytes above 127 are letters and signs of western Europe, where such can
    stand, is Windows-1252; of all others UTF-8 is returned, and reading them says what is wrong.

    Examples
    --------
    >>> [encoding_in("größe".encode(name)) for name in ("utf-8", "cp1252", "utf-16", "cp850")]
    ['utf-8', 'cp1252', 'utf-16', 'utf-8']
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    clashes = (all(re.search(sign, data) for sign in signs) for signs in _CLASHES)
    if _is_utf8(data) or any(sign.search(data) for sign in _NOT_WESTERN) or any(clashes):
        return "utf-8"
    return "cp1252"


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), PIECE):
            decoder.decode(data[start : start + PIECE], final=start + PIECE >= len(data))
    except UnicodeDecodeError:
        return False
    return True


def note_on_encoding(encoding: str) -> Note:
    """Return the note on an encoding that was not named."""
    if encoding != "cp1252":
        says = "read as {encoding}, as the mark at the beginning of the file says"
    else:
        says = (
            "read as {encoding} (Windows-1252, western Europe): it is no UTF-8; if letters are "
            'wrong, name another with --encoding, or encoding = "…" in [data]'
        )
    return Note("encoding-found", says, encoding=encoding)


def distinct(names: Sequence[str]) -> list[str]:
    """Return names of which none occurs twice: later ones get a number.

    Examples
    --------
    >>> distinct(["x", "y", "x", "x_2", "x"])
    ['x', 'y', 'x_3', 'x_2', 'x_4']
    """
    counts = Counter(names)
    taken, seen, found = set(names), Counter[str](), []
    for name in names:
        seen[name] += 1
        number, new = seen[name], name
        while name.strip() and counts[name] > 1 and seen[name] > 1 and new in taken:
            new = f"{name}_{number}"
            number += 1
        taken.add(new)
        found.append(new)
    return found


def notes_on_names(given: Sequence[str], names: Sequence[str]) -> tuple[Note, ...]:
    """Return the note on columns that were renamed, all at once."""
    changed = [(old, new) for old, new in zip(given, names, strict=True) if old != new]
    if not changed:
        return ()
    told = _listed([f"{new} (the header says {old})" for old, new in changed])
    says = "columns of one name were renamed: {columns}"
    return (Note("columns-renamed", says, columns=told),)


def notes_on(table: Table) -> tuple[Note, ...]:
    """Return the notes on columns that were read in a local form, or beside words for missing."""
    numbers = [n for n in table if number_form(table[n].storage) is not None]
    dates = [n for n in table if table[n].storage.removeprefix("text:") in LOCAL_DATES]
    words = {n: held for n in table if (held := _words_repairs(table[n]))}
    notes = []
    if numbers:
        says = (
            "numbers with a decimal comma or signs between thousands were read as such: {columns}"
        )
        notes.append(Note("local-numbers", says, columns=_listed(numbers)))
    if dates:
        says = "dates with the day or the month first were read as such: {columns}"
        notes.append(Note("local-dates", says, columns=_listed(dates)))
    if words:
        told = list(dict.fromkeys(word for held in words.values() for word in held))
        says = "{words} among numbers or dates were read as missing: {columns}"
        quoted = _listed([f'"{word}"' for word in told])
        notes.append(Note("words-as-missing", says, words=quoted, columns=_listed(list(words))))
    return tuple(notes)


def _words_repairs(column: Column) -> list[Any]:
    """Return the words that stand for missing cells among numbers or dates."""
    if column.levels.dtype == object:
        return []
    codes = (m.code for m in column.missing)
    return [code for code in codes if isinstance(code, str) and code not in ("", *NA_TOKENS)]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - FEW
    names = [" ".join(name.split())[:LONGEST] for name in names]  # in one line
    return ", ".join(names[:FEW]) + (f" and {more} more" if more > 0 else "")
