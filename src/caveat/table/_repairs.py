"""What the reader of text files repairs where it can prove it, each with a note.

A repair is never silent, and what may mean two things is not repaired.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from caveat.errors import FEW
from caveat.notes import Note
from caveat.table._local import LOCAL_DATES, number_form
from caveat.table.column import NA_TOKENS, Column
from caveat.table.table import Table

__all__ = ["distinct", "encoding_in", "note_on_encoding", "notes_on", "notes_on_names"]

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
    words = {n: held for n in table if (held := _words(table[n]))}
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


def _words(column: Column) -> list[Any]:
    """Return the words that stand for missing cells among numbers or dates."""
    if column.levels.dtype == object:
        return []
    codes = (m.code for m in column.missing)
    return [code for code in codes if isinstance(code, str) and code not in ("", *NA_TOKENS)]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - FEW
    names = [" ".join(name.split())[:LONGEST] for name in names]  # in one line
    return ", ".join(names[:FEW]) + (f" and {more} more" if more > 0 else "")
