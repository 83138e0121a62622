"""Kinds of values that an entry of a specification can have.

Each kind can do three things: say what is wrong with a value, describe itself in words, and
describe itself as JSON schema. The table of entries is made of them, so that validation,
documentation and the schema for editors cannot say different things.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from caveat.errors import FEW, hint
from caveat.spec.lines import Entry

__all__ = [
    "Choice",
    "Either",
    "EntryKind",
    "Flag",
    "Group",
    "Key",
    "Many",
    "Named",
    "Number",
    "Plain",
    "Problem",
    "Text",
    "Whole",
    "dotted",
    "frozen",
]


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
