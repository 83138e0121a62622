"""Change single entries of a specification, and leave the rest as people have written it."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from difflib import unified_diff
from itertools import pairwise
from typing import Any

from caveat.errors import CaveatError
from caveat.spec.lines import Entry, Places, places_of
from caveat.spec.toml import toml_key, toml_value
from caveat.table.toml import loads

__all__ = ["content_of", "differing", "edited", "entry_in"]


def content_of(text: str) -> dict[str, Any] | None:
    """Return what a specification says; None if it is no TOML."""
    try:
        return loads(text)
    except tomllib.TOMLDecodeError:
        return None


def entry_in(content: Any, entry: Entry, default: Any = None) -> Any:
    """Return what an entry says, or what holds where it is not there."""
    for key in entry:
        try:
            content = content[key]
        except (KeyError, IndexError, TypeError):
            return default
    return content


def differing(now: str, then: str) -> list[str]:
    r"""Return the lines in which two texts differ: old ones with a minus, new ones with a plus.

    Examples
    --------
    >>> differing("a = 1\nb = 2\n", "a = 3\nb = 2\n")
    ['-a = 1', '+a = 3']
    """
    lines = [*unified_diff(now.splitlines(), then.splitlines(), lineterm="", n=0)][2:]
    return [line for line in lines if not line.startswith("@@")]


def edited(text: str, changes: Mapping[Entry, Any]) -> str:
    r"""Return a specification with other entries.

    Comments, order and layout of everything else stay.

    Parameters
    ----------
    text
        The specification; valid TOML.
    changes
        New values by entry; None removes an entry, and the first entry behind the last table of
        an array adds one.

    Examples
    --------
    >>> text = '[release]\ntitle = "A"  # on the report\n\n[data]\npath = "x.csv"\n'
    >>> print(edited(text, {("release", "title"): "B", ("release", "copies"): 2}))
    [release]
    title = "B"  # on the report
    copies = 2
    <BLANKLINE>
    [data]
    path = "x.csv"
    <BLANKLINE>
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for entry, value in changes.items():
        content = content_of(text)
        if content is None:
            raise CaveatError(
                "release.toml is no valid TOML",
                do="mend it as text first",
                code="spec.file.malformed",
            )
        if entry_in(content, entry) == value and type(entry_in(content, entry)) is type(value):
            continue
        try:
            new = _changed(text, content, entry, value)
            right = _bare(loads(new)) == _bare(_with(content, entry, value))
        except (AttributeError, IndexError, TypeError, tomllib.TOMLDecodeError):
            right = False  # a value stands where a table is asked for
        if not right:
            name = ".".join(map(str, entry))
            raise CaveatError(
                f"{name} cannot be changed by a form",
                do="edit release.toml itself",
                code="app.entry.unsupported",
            )
        text = new
    return text


def _changed(text: str, content: Mapping[str, Any], entry: Entry, value: Any) -> str:
    places = places_of(text)
    inline = _inline_above(places, entry)
    if inline:  # what stands in { } is written anew as a whole
        whole = entry_in(_with(content, entry, value), inline)
        _, begin, end = places.pairs[inline]
        return f"{text[:begin]}{_written(whole)}{text[end:]}"
    if value is None:
        return _without(text, places, entry)
    if entry in places.pairs:
        _, begin, end = places.pairs[entry]
        return f"{text[:begin]}{_written(value)}{text[end:]}"
    *above, key = entry
    parent: Entry = tuple(above)
    if parent in places.sections:
        return _inserted(text, places.sections[parent][1], f"{_key(key)} = {_written(value)}")
    section, dotted = _dotted(places, entry)
    if dotted:
        return _inserted(text, places.sections[section][1], f"{dotted} = {_written(value)}")
    many = isinstance(parent[-1], int)
    name = ".".join(_key(part) for part in parent if isinstance(part, str))
    heading = f"[[{name}]]" if many else f"[{name}]"
    return f"{text.rstrip()}\n\n{heading}\n{_key(key)} = {_written(value)}\n".lstrip("\n")


def _inline_above(places: Places, entry: Entry) -> Entry:
    """Return the outermost pair that holds an entry in its brackets; nothing if none does."""
    for length in range(1, len(entry)):
        if entry[:length] in places.pairs:
            return entry[:length]
    return ()


def _dotted(places: Places, entry: Entry) -> tuple[Entry, str]:
    """Return how an entry is named beside others of its table that are named with dots."""
    for length in range(len(entry) - 2, 0, -1):
        section, table = entry[:length], entry[:-1]
        beside = any(pair[: len(table)] == table for pair in places.pairs)
        inside = any(other[: len(table)] == table for other in places.sections)
        if section in places.sections and beside and not inside:
            return section, ".".join(_key(part) for part in entry[length:])
    return (), ""


def _without(text: str, places: Places, entry: Entry) -> str:
    """Return the text without a pair, or without a section and those inside of it."""
    if entry in places.pairs:
        begin, _, end = places.pairs[entry]
        return _cut(text, begin, end)
    inside = [place for name, place in places.sections.items() if name[: len(entry)] == entry]
    pairs = [place for name, place in places.pairs.items() if name[: len(entry)] == entry]
    for begin, end in sorted(inside, reverse=True):
        text = _cut(text, begin, end)
    if not inside:
        for begin, _, end in sorted(pairs, reverse=True):
            text = _cut(text, begin, end)
    return text


def _cut(text: str, begin: int, end: int) -> str:
    """Return the text without whole lines: from the beginning of one to the end of another."""
    start = text.rfind("\n", 0, begin) + 1
    stop = text.find("\n", end)
    return text[:start] + (text[stop + 1 :] if stop >= 0 else "")


def _inserted(text: str, place: int, line: str) -> str:
    """Return the text with a line behind the one that ends at a place."""
    stop = text.find("\n", place)
    if stop < 0:
        return f"{text}\n{line}\n"
    return f"{text[: stop + 1]}{line}\n{text[stop + 1 :]}"


def _with(content: Any, entry: Entry, value: Any) -> Any:
    """Return the content with another value."""
    content = copy.deepcopy(content)
    place = content
    for key, following in pairwise(entry):
        if isinstance(key, int):
            if key == len(place):
                place.append({})
            place = place[key]
        else:
            place = place.setdefault(key, [] if isinstance(following, int) else {})
    if value is not None:
        place[entry[-1]] = copy.deepcopy(value)
    elif isinstance(place, list):
        del place[entry[-1]]  # type: ignore[arg-type]
    else:
        place.pop(entry[-1], None)
    return content


def _bare(content: Any) -> Any:
    """Return the content without tables that hold nothing: they say nothing either."""
    if isinstance(content, Mapping):
        kept = {key: _bare(value) for key, value in content.items()}
        return {key: value for key, value in kept.items() if value != {} and value != []}
    if isinstance(content, list | tuple):
        return [_bare(value) for value in content]
    return content


def _key(part: str | int) -> str:
    return toml_key(str(part))


def _written(value: Any) -> str:
    """Return a value in TOML; a list that is long has a line for each."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_written(each)}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        items = [_written(each) for each in value]
        if sum(map(len, items)) > 80:
            return "[\n" + "".join(f"  {item},\n" for item in items) + "]"
        return f"[{', '.join(items)}]"
    return toml_value(value)
