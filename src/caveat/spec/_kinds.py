"""Kinds of values that entries can have, the lines they stand on, and the table of entries."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, Protocol

from caveat.errors import FEW, hint

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


# -------------------------------------------------------------------------------------------------
# Kinds of values that an entry of a specification can have.
#
# Each kind can do three things: say what is wrong with a value, describe itself in words, and
# describe itself as JSON schema. The table of entries is made of them, so that validation,
# documentation and the schema for editors cannot say different things.


class Problem(NamedTuple):
    """What is wrong with an entry, what to do, and the code of the error."""

    entry: Entry
    what: str
    do: str | None
    code: str


class EntryKind(Protocol):
    """What an entry may hold."""

    @property
    def words(self) -> str:
        """What it is, to go on after "must be"."""

    def problems(self, value: Any, entry: Entry) -> list[Problem]:
        """Say all that is wrong with a value."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema."""


def frozen(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return entries that were read with their lists as tuples, for objects that do not change."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}


def dotted(entry: Entry) -> str:
    """Return the name of an entry without the positions in lists, which lines tell."""
    return ".".join(part for part in entry if isinstance(part, str))


TYPE, RANGE, EMPTY = "spec.entry.type", "spec.entry.range", "spec.entry.empty"


def _wrong(kind: EntryKind, entry: Entry, code: str) -> list[Problem]:
    last = entry[-1] if entry else ""
    item = f": item {last + 1}" if isinstance(last, int) else ""
    return [Problem(entry, f"{dotted(entry)}{item} must be {kind.words}", None, code)]


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Text:
    """Text; not empty if so said."""

    filled: bool = False

    @property
    def words(self) -> str:
        return "a text that is not empty" if self.filled else "a text"

    def problems(self, value: Any, entry: Entry) -> list[Problem]:
        good = isinstance(value, str) and (bool(value.strip()) or not self.filled)
        return [] if good else _wrong(self, entry, EMPTY if isinstance(value, str) else TYPE)

    def schema(self) -> dict[str, Any]:
        return {"type": "string"} | ({"minLength": 1} if self.filled else {})


@dataclass(frozen=True)
class Choice:
    """One of some words.

    Parameters
    ----------
    among
        The words.
    noun
        What they are: "method".
    see
        Where they are listed, if there are too many for a message.
    also
        Other words for some of them: taken, but not recommended.
    """

    among: tuple[str, ...]
    noun: str
    see: str = ""
    also: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        if len(self.among) > FEW and self.see:
            return f"a {self.noun} (see {self.see})"
        quoted = ", ".join(f'"{word}"' for word in self.among)
        return f"one of {quoted}" if len(self.among) > 1 else quoted

    def problems(self, value: Any, entry: Entry) -> list[Problem]:
        if isinstance(value, str) and value in (*self.among, *self.also):
            return []
        if not isinstance(value, str):
            return _wrong(self, entry, TYPE)
        what = f"{dotted(entry)}: there is no {self.noun} {value!r}"
        return [Problem(entry, what, hint(value, self.among, self.see), "spec.value.unknown")]

    def schema(self) -> dict[str, Any]:
        return {"enum": [*self.among, *self.also]}


@dataclass(frozen=True)
class Whole:
    """A whole number, not below the least."""

    least: int

    @property
    def words(self) -> str:
        return f"a whole number, {self.least} or more"

    def problems(self, value: Any, entry: Entry) -> list[Problem]:
        good = _is_whole(value) and value >= self.least
        return [] if good else _wrong(self, entry, RANGE if _is_whole(value) else TYPE)

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least}


@dataclass(frozen=True)
class Number:
    """A finite number: not below ``least``, or above it; or between 0 and 1, both excluded."""

    least: float | None = None
    share: bool = False
    above: bool = False

    @property
    def words(self) -> str:
        if self.share:
            return "a share between 0 and 1"
        if self.least is None:
            return "a number"
        return f"a number{' above' if self.above else ','} {self.least:g}" + (
            "" if self.above else " or more"
        )

    def problems(self, value: Any, entry: Entry) -> list[Problem]:
        is_number = isinstance(value, float) or _is_whole(value)
        good = is_number and abs(value) <= sys.float_info.max  # a whole number may be larger still
        if good and self.share:
            good = isinstance(value, float) and 0 < value < 1
        good = good and (self.least is None or value >= self.least)
        good = good and not (self.above and value == self.least)
        return [] if good else _wrong(self, entry, RANGE if is_number else TYPE)

    def schema(self) -> dict[str, Any]:
        if self.share:
            return {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
        word = "exclusiveMinimum" if self.above else "minimum"
        return {"type": "number"} | ({} if self.least is None else {word: self.least})


@dataclass(frozen=True)
class Flag:
    """True or false."""

    words = "true or false"

    def problems(self, value: Any, entry: Entry) -> list[Problem]:
        return [] if isinstance(value, bool) else _wrong(self, entry, TYPE)

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Plain:
    """A single value of the data: a number, a text, a truth value or a date."""

    words = "a single value"

    def problems(self, value: Any, entry: Entry) -> list[Problem]:
        return _wrong(self, entry, TYPE) if isinstance(value, list | tuple | dict) else []

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "number", "boolean"]}


@dataclass(frozen=True)
class Many:
    """A list; ``least`` items at least, or ``exactly`` so many."""

    item: EntryKind
    noun: str
    least: int = 0
    exactly: int | None = None

    @property
    def words(self) -> str:
        if self.exactly is not None:
            return f"a list of {self.exactly} {self.noun}"
        return f"a list of {self.noun}" + (" that is not empty" if self.least else "")

    def problems(self, value: Any, entry: Entry) -> list[Problem]:
        if not isinstance(value, list | tuple):
            return _wrong(self, entry, TYPE)
        if len(value) < self.least or self.exactly not in (None, len(value)):
            return _wrong(self, entry, RANGE if value else EMPTY)
        return [p for i, item in enumerate(value) for p in self.item.problems(item, (*entry, i))]

    def schema(self) -> dict[str, Any]:
        least, most = self.exactly or self.least, self.exactly
        return (
            {"type": "array", "items": self.item.schema()}
            | ({"minItems": least} if least else {})
            | ({} if most is None else {"maxItems": most})
        )


@dataclass(frozen=True)
class Named:
    """A table with the same kind of value for each name; some have a list of allowed names."""

    item: EntryKind
    noun: str
    names: Choice | None = None

    @property
    def words(self) -> str:
        return f"a table of {self.noun}"

    def problems(self, value: Any, entry: Entry) -> list[Problem]:
        if not isinstance(value, dict):
            return _wrong(self, entry, TYPE)
        found: list[Problem] = []
        for name, item in value.items():
            unknown = [] if self.names is None else self.names.problems(name, entry)
            code = "spec.entry.unknown"
            found += [one._replace(entry=(*entry, name), code=code) for one in unknown]
            found += [] if unknown else self.item.problems(item, (*entry, name))
        return found

    def schema(self) -> dict[str, Any]:
        names = {} if self.names is None else {"propertyNames": self.names.schema()}
        return {"type": "object", "additionalProperties": self.item.schema(), **names}


@dataclass(frozen=True)
class Either:
    """One of several kinds; the first one that has the right form says what is wrong."""

    kinds: tuple[EntryKind, ...]

    @property
    def words(self) -> str:
        return ", or ".join(kind.words for kind in self.kinds)

    def problems(self, value: Any, entry: Entry) -> list[Problem]:
        found = [kind.problems(value, entry) for kind in self.kinds]
        if [] in found:
            return []
        inside = [each for each in found if len(each[0].entry) > len(entry)]
        # A kind that fits but for its range says more than those that do not fit at all.
        codes = (each[0].code for each in found if each[0].code != TYPE)
        return inside[0] if inside else _wrong(self, entry, next(codes, TYPE))

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [kind.schema() for kind in self.kinds]}


@dataclass(frozen=True)
class Key:
    """One key of a table.

    Parameters
    ----------
    kind
        What it holds.
    says
        What it means, in one sentence.
    default
        What holds without it.
    otherwise
        The same in words, where it is no plain value.
    required
        Whether it must be there.
    only
        In a scenario: the attackers that have it; all if empty.
    """

    kind: EntryKind
    says: str
    default: Any = None
    otherwise: str = ""
    required: bool = False
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """A table with known keys; an open one has others too, which somebody else checks."""

    keys: Mapping[str, Key]
    open: bool = False
    rules: tuple[Mapping[str, Any], ...] = field(default=())

    def optional(self) -> Group:
        """Return the same table without keys that must be there."""
        return replace(self, keys={n: replace(k, required=False) for n, k in self.keys.items()})

    @property
    def words(self) -> str:
        shown = ", ".join(list(self.keys)[:3])
        more = " and others" if self.open or len(self.keys) > 3 else ""
        return f"a table with {shown}{more}" if shown else "a table"

    def problems(self, value: Any, entry: Entry) -> list[Problem]:
        if not isinstance(value, dict):
            return _wrong(self, entry, TYPE)
        place = f"[{dotted(entry)}]" if entry else "a specification"
        noun = "key" if entry else "section"
        found = [
            Problem(
                (*entry, name),
                f"there is no {noun} {name!r} in {place}",
                hint(name, tuple(self.keys)),
                "spec.entry.unknown",
            )
            for name in value
            if name not in self.keys and not self.open
        ]
        for name, key in self.keys.items():
            if name in value:
                found += key.kind.problems(value[name], (*entry, name))
            elif key.required:
                found.append(_lacking(name, key, entry))
        return found

    def schema(self) -> dict[str, Any]:
        needed = [name for name, key in self.keys.items() if key.required]
        content: dict[str, Any] = {
            "type": "object",
            "properties": {
                name: key.kind.schema() | {"description": key.says} | _default(key)
                for name, key in self.keys.items()
            },
        }
        if not self.open:
            content["additionalProperties"] = False
        if needed:
            content["required"] = needed
        if self.rules:
            content["allOf"] = list(self.rules)
        return content


def _lacking(name: str, key: Key, entry: Entry) -> Problem:
    code = "spec.entry.absent"
    if entry:
        what = f"{dotted((*entry, name))} is missing"
        return Problem(entry, what, f"it must be {key.kind.words}", code)
    section = f"[[{name}]]" if isinstance(key.kind, Many) else f"[{name}]"
    return Problem(entry, f"the section {section} is missing", f"add {section}", code)


def _default(key: Key) -> dict[str, Any]:
    if key.default is None:
        return {}
    return {"default": list(key.default) if isinstance(key.default, tuple) else key.default}


# -------------------------------------------------------------------------------------------------
# The table of entries as a file beside this one: it can be had without loading any room.
#
# The table itself (:mod:`caveat.spec.entries`) names every measure, method and attack, and loads
# them for that. To refuse a wrong key only its form is needed: ``entries.json`` holds it, written
# by ``docs/make_release_spec.py``, and a test sees to it that both are the same.


# What a key means and what holds without it does not matter to whether an entry is right.
WORDS = ("says", "default", "otherwise", "only", "rules")


def form_of(kind: Any) -> Any:
    """Return a table of entries, or a part of one, as plain values for a file."""
    if isinstance(kind, Mapping):
        return {name: form_of(part) for name, part in kind.items()}
    if isinstance(kind, tuple):
        return [form_of(part) for part in kind]
    if type(kind).__module__ != __name__:
        return kind
    held = {f.name: getattr(kind, f.name) for f in fields(kind) if f.name not in WORDS}
    usual = {f.name: f.default for f in fields(kind)}
    more = {name: form_of(value) for name, value in held.items() if value != usual[name]}
    return [type(kind).__name__, more]


def _made(form: Any) -> Any:
    """Return what `form_of` was given, without the words."""
    if isinstance(form, dict):
        return {name: _made(part) for name, part in form.items()}
    if not isinstance(form, list):
        return form
    if len(form) == 2 and isinstance(form[1], dict):
        words = {"says": ""} if form[0] == "Key" else {}
        return globals()[form[0]](**_made(form[1]), **words)
    return tuple(_made(part) for part in form)


@cache
def stored_table() -> Group:
    """Return the table of entries, without its words.

    Examples
    --------
    >>> list(stored_table().keys)[:2]
    ['release', 'data']
    """
    text = files("caveat.spec").joinpath("entries.json").read_text("utf-8")
    return Group(_made(json.loads(text)))
