"""A specification as it stands in its file: the content, and on which line each entry stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from caveat.errors import CaveatError, Mistakes
from caveat.spec._kinds import Group, Problem, dotted
from caveat.spec.lines import Entry, lines_of
from caveat.spec.toml_file import read_toml

__all__ = ["PARTS", "Document"]

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
