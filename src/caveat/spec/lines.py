"""On which line of a TOML file each entry stands.

``tomllib`` gives values without positions. This scanner gives positions without values: it walks
over text that ``tomllib`` has accepted, so it need not find mistakes, only keys.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Entry", "Places", "lines_of", "places_of"]

Entry = tuple[str | int, ...]
"""Where an entry is: keys of tables and positions in arrays, from 0."""

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\]|\\.)*"')
_LITERAL = re.compile(r"'[^']*'")
# Up to two quotation marks may stand right before the closing three.
_LONG_BASIC = re.compile(r'"""(?:[^\\]|\\.)*?"""(?:""?(?!"))?', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''.*?'''(?:''?(?!'))?", re.DOTALL)
# Numbers, truth values, dates and times; a date and a time may have a space between them.
_PLAIN = re.compile(r"[^,\]}#\n]+")


def lines_of(text: str) -> dict[Entry, int]:
    r"""Return the line of every entry of a valid TOML text, counted from 1.

    Examples
    --------
    >>> lines = lines_of('title = "x"\n[[scenario]]\nkeys = [\n  "age",\n]')
    >>> lines["scenario", 0], lines["scenario", 0, "keys"], lines["scenario", 0, "keys", 0]
    (2, 3, 4)
    """
    return _Scanner(text.replace("\r\n", "\n")).scan()


@dataclass
class Places:
    """Where the parts of a text stand, as positions in it.

    Parameters
    ----------
    pairs
        Of each ``key = value``: where the key begins, where the value does, where that ends.
    sections
        Of each ``[section]``: where its heading begins, and where its last entry ends.
    inline
        Entries inside of ``{ }``.
    """

    pairs: dict[Entry, tuple[int, int, int]] = field(default_factory=dict)
    sections: dict[Entry, tuple[int, int]] = field(default_factory=dict)
    inline: set[Entry] = field(default_factory=set)


def places_of(text: str) -> Places:
    r"""Return where the entries of a valid TOML text stand; line breaks are single characters.

    Examples
    --------
    >>> text = '[data]\npath = "x"  # a file\n'
    >>> places_of(text).pairs["data", "path"], places_of(text).sections
    ((7, 14, 17), {('data',): (0, 17)})
    """
    scanner = _Scanner(text)
    scanner.scan()
    return scanner.places


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.lines: dict[Entry, int] = {}
        self.sizes: dict[Entry, int] = {}  # of arrays of tables
        self.places = Places()
        self.depth = 0  # of brackets around

    def scan(self) -> dict[Entry, int]:
        table: Entry = ()
        self._pass(_BLANK)
        while self.place < len(self.text):
            begin = self.place
            if self.text.startswith("[", self.place):
                table = self._header()
                self.places.sections[table] = begin, self.place
            else:
                self._pair(table)
                if table:
                    self.places.sections[table] = self.places.sections[table][0], self.place
            self._pass(_BLANK)
        return self.lines

    def _header(self) -> Entry:
        """Read ``[a.b]`` or ``[[a.b]]`` and return the table that the next keys belong to."""
        many = self.text.startswith("[[", self.place)
        self.place += 2 if many else 1
        *above, last = self._key()
        self.place += 2 if many else 1
        table: Entry = ()
        for key in above:
            table = self._current((*table, key))
        self._note((*table, last))
        if not many:
            return self._current((*table, last))
        table = (*table, last)
        self.sizes[table] = self.sizes.get(table, 0) + 1
        return self._current(table)

    def _current(self, table: Entry) -> Entry:
        """Note a table; of an array of tables its last one is meant."""
        self._note(table)
        if table in self.sizes:
            table = (*table, self.sizes[table] - 1)
            self._note(table)
        return table

    def _pair(self, table: Entry) -> None:
        begin = self.place
        for key in self._key():
            table = (*table, key)
            self._note(table)
        self.place += 1  # the sign of equality
        self._pass(_SPACE)
        value = self.place
        self._value(table)
        end = value + len(self.text[value : self.place].rstrip(" \t"))
        self.places.pairs[table] = begin, value, end
        if self.depth:
            self.places.inline.add(table)

    def _key(self) -> list[str]:
        parts = []
        while True:
            self._pass(_SPACE)
            mark = self.text[self.place]
            raw = self._pass({'"': _BASIC, "'": _LITERAL}.get(mark, _BARE_KEY))
            parts.append(tomllib.loads(f"key = {raw}")["key"] if mark in "\"'" else raw)
            self._pass(_SPACE)
            if not self.text.startswith(".", self.place):
                return parts
            self.place += 1

    def _value(self, entry: Entry) -> None:
        opening = self.text[self.place]
        if opening == "[":
            self._several("]", lambda i: self._item((*entry, i)))
        elif opening == "{":
            self._several("}", lambda _: self._pair(entry))
        else:
            self._pass(self._scalar(opening))

    def _scalar(self, opening: str) -> re.Pattern[str]:
        if opening == '"':
            return _LONG_BASIC if self.text.startswith('"""', self.place) else _BASIC
        if opening == "'":
            return _LONG_LITERAL if self.text.startswith("'''", self.place) else _LITERAL
        return _PLAIN

    def _several(self, closing: str, read: Callable[[int], None]) -> None:
        """Read what stands between brackets, with commas."""
        self.place += 1
        self.depth += 1
        number = 0
        self._pass(_BLANK)
        while not self.text.startswith(closing, self.place):
            read(number)
            number += 1
            self._pass(_BLANK)
            if self.text.startswith(",", self.place):
                self.place += 1
                self._pass(_BLANK)
        self.place += 1
        self.depth -= 1

    def _item(self, entry: Entry) -> None:
        self._note(entry)
        self._value(entry)

    def _note(self, entry: Entry) -> None:
        self.lines.setdefault(entry, bisect_right(self.starts, self.place))

    def _pass(self, pattern: re.Pattern[str]) -> str:
        """Go behind what matches here, and return it."""
        found = pattern.match(self.text, self.place)
        if found is None:
            raise ValueError(f"text is not valid TOML at character {self.place}")
        self.place = found.end()
        return found[0]
