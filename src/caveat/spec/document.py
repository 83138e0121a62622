"""A specification as it stands in its file: the content, and on which line each entry stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from caveat.errors import CaveatError
from caveat.spec._kinds import Group, Problem, dotted
from caveat.spec.entries import SPECIFICATION, WITHOUT_DATA
from caveat.spec.lines import Entry, lines_of
from caveat.table.atomic import status
from caveat.table.toml import loads

__all__ = ["Document"]


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
        status(path)  # refuses what cannot be a name
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            raise CaveatError(
                "there is no such file", where=str(path), do="check the name"
            ) from None
        except OSError as error:
            raise CaveatError(
                f"it cannot be read ({error.strerror})", where=str(path), do="check the name"
            ) from None
        try:
            text = raw.decode("utf-8-sig")
            content = loads(text)
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise CaveatError(
                "this is not UTF-8", where=f"{path.name}, line {line}", do="save it as UTF-8"
            ) from None
        except tomllib.TOMLDecodeError as error:
            raise _syntax(error, path.name, text) from None
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

    def fail(self, entry: Entry, what: str, do: str | None = None) -> NoReturn:
        """Raise an error about an entry."""
        raise CaveatError(what, where=self.where(*entry), do=do)

    def check(self, sections: Iterable[str] | None = None) -> None:
        """Hold the content against the table: all, or some sections that need not be whole."""
        if sections is None:
            whole = SPECIFICATION if "tables" not in self.content else WITHOUT_DATA
            self.refuse(whole.problem(self.content, ()))
            return
        for name in sections:
            if name in self.content:
                kind = SPECIFICATION.keys[name].kind
                if isinstance(kind, Group) and name != "groups":
                    kind = kind.optional()
                self.refuse(kind.problem(self.content[name], (name,)))

    def refuse(self, problem: Problem | None) -> None:
        """Raise an error about a problem, if there is one."""
        if problem is not None:
            self.fail(problem.entry, problem.what, problem.do)

    @contextmanager
    def at(self, *entry: str | int) -> Iterator[None]:
        """Say of errors that are raised inside to which entry and line they belong.

        Other rooms know nothing of files and lines; where they name a part of the entry, its own
        line is found.
        """
        try:
            yield
        except CaveatError as error:
            raise self._located(self._part(entry, error), error) from error

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
            raise CaveatError(what, where=self.where(*entry), do=error.do) from error

    def _located(self, place: Entry, error: CaveatError) -> CaveatError:
        name = dotted(place)
        if error.column and error.column not in place:
            name += f", column {error.column}"
        if error.row:
            name += f", row {error.row:,}"
        what = error.what if error.what.startswith(name) else f"{name}: {error.what}"
        return CaveatError(what, where=self.where(*place), do=error.do)

    def _part(self, entry: Entry, error: CaveatError) -> Entry:
        """Return the part of an entry that an error is about, as far as it names one."""
        named = error.entry or (error.column or "",)
        inside = [part for part in self.lines if part[: len(entry)] == entry and part != entry]
        fitting = (part for part in inside if part[-len(named) :] == named)
        return min(fitting, key=len, default=entry)


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
    )
