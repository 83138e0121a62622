"""A specification as it stands in its file: read, with its lines, and changed entry by entry."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import unified_diff
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from caveat.errors import CaveatError, Mistakes
from caveat.spec._kinds import Entry, Group, Places, Problem, dotted, lines_of, places_of
from caveat.table.drafts import status
from caveat.table.files import loads


def toml_key(name: str) -> str:
    """Return a column name as a TOML key, quoted where needed."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: Any) -> str:
    """Return a plain value or a list of them in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    # A JSON string is a TOML string but for one character.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def comment(text: str) -> str:
    """Return a comment line; line breaks and other control characters become spaces."""
    return "# " + re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]+", " ", text)


# -------------------------------------------------------------------------------------------------
# TOML files as they are given: there, readable and in order, before anything else is loaded.


def read_toml(path: Path) -> tuple[bytes, str, dict[str, Any]]:
    """Return the bytes, the text and the content of a file; what is no TOML is an error."""
    status(path)  # refuses what cannot be a name
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise CaveatError(
            "there is no such file", where=str(path), do="check the name", code="spec.file.absent"
        ) from None
    except OSError as error:
        raise CaveatError(
            f"it cannot be read ({error.strerror})",
            where=str(path),
            do="check the name",
            code="spec.file.unreadable",
        ) from None
    try:
        text = raw.decode("utf-8-sig")
        content = loads(text)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise CaveatError(
            "this is not UTF-8",
            where=f"{path.name}, line {line}",
            do="save it as UTF-8",
            code="spec.encoding.malformed",
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise _syntax(error, path.name, text) from None
    return raw, text, content


def _syntax(error: tomllib.TOMLDecodeError, name: str, text: str) -> CaveatError:
    message = str(error)
    found = re.search(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$", message)
    line = int(found[1]) if found and found[1] else text.count("\n") + (not text.endswith("\n"))
    what = re.sub(r"\('(.*)',?\)", r"\1", message[: found.start()] if found else message)
    twice = what.startswith(("Cannot overwrite", "Cannot declare"))
    return CaveatError(
        f"this is not valid TOML ({what[:1].lower()}{what[1:]})",
        where=f"{name}, line {max(line, 1)}",
        do="it stands there twice: remove one"
        if twice
        else "text stands in quotation marks, lists stand in [ ]",
        code="spec.entry.duplicate" if twice else "spec.file.malformed",
    )


# -------------------------------------------------------------------------------------------------
# A specification as it stands in its file: the content, and on which line each entry stands.


PARTS = ("data", "columns", "groups", "tables", "synthesis", "privacy")
"""What every command takes from a specification, whatever else stands there."""


@dataclass(frozen=True)
class Document:
    """The content of a TOML file, with lines.

    Parameters
    ----------
    path
        The file.
    text
        The exact bytes that were read.
    content
        What they say.
    lines
        The line of each entry.
    """

    path: Path
    text: bytes
    content: Mapping[str, Any]
    lines: Mapping[Entry, int]

    @classmethod
    def read(cls, path: str | Path) -> Document:
        """Read a file; what is no TOML is an error with its line."""
        path = Path(path)
        raw, text, content = read_toml(path)
        return cls(path, raw, content, lines_of(text))

    def line(self, *entry: str | int) -> int:
        """Return the line of an entry, or of the nearest one around it; 1 if there is none.

        Positions in arrays count from 0: ``line("scenario", 1, "keys")``.
        """
        while entry and entry not in self.lines:
            entry = entry[:-1]
        return self.lines.get(entry, 1)

    def where(self, *entry: str | int) -> str:
        """Return file and line of an entry, as errors name them."""
        return f"{self.path.name}, line {self.line(*entry)}"

    def fail(self, entry: Entry, what: str, do: str | None = None, *, code: str) -> NoReturn:
        """Raise an error about an entry."""
        raise CaveatError(what, where=self.where(*entry), do=do, code=code)

    def check(self, sections: Iterable[str] | None = None, table: Group | None = None) -> None:
        """Hold the content against the table: all, or some sections that need not be whole.

        Parameters
        ----------
        sections
            Which; without it all, and those that must be there are missed.
        table
            The table of entries, if it is not the one that knows every room.
        """
        table = _table() if table is None else table
        if sections is None:
            whole = table if "tables" not in self.content else _without_data(table)
            self.refuse(whole.problems(self.content, ()))
            return
        found: list[Problem] = []
        for name in sections:
            if name in self.content:
                kind = table.keys[name].kind
                if isinstance(kind, Group) and name != "groups":
                    kind = kind.optional()
                found += kind.problems(self.content[name], (name,))
        self.refuse(found)

    def refuse(self, problems: Sequence[Problem]) -> None:
        """Raise one error about all problems, if there are any; in the order of their lines."""
        with Mistakes() as mistakes:
            for problem in sorted(problems, key=lambda p: self.line(*p.entry)):
                with mistakes.caught():
                    self.fail(problem.entry, problem.what, problem.do, code=problem.code)

    @contextmanager
    def at(self, *entry: str | int) -> Iterator[None]:
        """Say of errors that are raised inside to which entry and line they belong.

        Other rooms know nothing of files and lines; where they name a part of the entry, its own
        line is found.
        """
        try:
            yield
        except CaveatError as error:
            located = self._located(self._part(entry, error), error)
            located.others = tuple(
                self._located(self._part(entry, other), other)
                if other.column or other.entry
                else other
                for other in error.others
            )
            raise located from error

    @contextmanager
    def reading(self, path: Path, entry: Entry = ()) -> Iterator[None]:
        """Say of errors about a file which column is declared wrongly, or which entry names it."""
        try:
            yield
        except CaveatError as error:
            declared: Entry = ("columns", error.column or "")
            if declared in self.lines:
                raise self._located(declared, error) from error
            if not entry:
                raise
            place = (error.place or path.name).replace(str(path), path.name)
            what = f"{dotted(entry)}: {place}: {error.what}"
            raise CaveatError(
                what, where=self.where(*entry), do=error.do, code=error.code
            ) from error

    def _located(self, place: Entry, error: CaveatError) -> CaveatError:
        name = dotted(place)
        if error.column and error.column not in place:
            name += f", column {error.column}"
        if error.row:
            name += f", row {error.row:,}"
        what = error.what if error.what.startswith(name) else f"{name}: {error.what}"
        return CaveatError(what, where=self.where(*place), do=error.do, code=error.code)

    def _part(self, entry: Entry, error: CaveatError) -> Entry:
        """Return the part of an entry that an error is about, as far as it names one."""
        named = error.entry or (error.column or "",)
        inside = [part for part in self.lines if part[: len(entry)] == entry and part != entry]
        fitting = (part for part in inside if part[-len(named) :] == named)
        return min(fitting, key=len, default=entry)


def _table() -> Group:
    """Return the table of entries; it knows, and loads, every room."""
    from caveat.spec.entries import SPECIFICATION

    return SPECIFICATION


def _without_data(table: Group) -> Group:
    """Return the table of entries where ``[tables]`` names the files."""
    data = table.keys["data"]
    assert isinstance(data.kind, Group)
    optional = replace(data, kind=data.kind.optional(), required=False)
    return replace(table, keys={**table.keys, "data": optional})


# -------------------------------------------------------------------------------------------------
# Change single entries of a specification, and leave the rest as people have written it.


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
