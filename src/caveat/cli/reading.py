"""How the commands read tables: with the declarations and the file's own format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from caveat.errors import CaveatError
from caveat.table import Schema, Table, read
from caveat.table.schema import read_toml

__all__ = ["Reader", "column_numbers"]

Number = TypeVar("Number", int, float)

FORMAT = ("delimiter", "decimal", "encoding")


@dataclass(frozen=True)
class Reader:
    """What a specification says about the files.

    Parameters
    ----------
    schema
        The ``[columns]`` part.
    form
        Delimiter, decimal sign and encoding of text files: in the ``[data]`` part.
    synthesis
        The ``[synthesis]`` part.
    path
        The file that ``[data]`` names, seen from the specification's folder; None if it names none.
    """

    schema: Schema = field(default_factory=Schema)
    form: Mapping[str, str] = field(default_factory=dict)
    synthesis: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None

    @classmethod
    def of(cls, specification: Path | None, **form: str | None) -> Reader:
        """Read a specification, if there is one; what is given here comes before it."""
        content = {} if specification is None else read_toml(specification)
        data = content.get("data", {})
        unknown = [key for key in data if key not in (*FORMAT, "path")]
        if unknown:
            raise CaveatError(
                f"{unknown[0]!r} is no property of the data",
                where=f"{specification}, [data]",
                do=f"use path, {', '.join(FORMAT)}",
            )
        chosen = {key: form.get(key) or data.get(key) for key in FORMAT}
        return cls(
            Schema.from_mapping(content.get("columns", {})),
            {key: str(value) for key, value in chosen.items() if value},
            content.get("synthesis", {}),
            specification.parent / data["path"] if specification and "path" in data else None,
        )

    def original(self, path: Path) -> Table:
        """Read the confidential table; it has every declared column."""
        return self._read(path, partial=False)

    def release(self, path: Path) -> Table:
        """Read a release, which may lack columns."""
        return self._read(path, partial=True)

    def _read(self, path: Path, *, partial: bool) -> Table:
        return read(
            path,
            schema=self.schema,
            delimiter=self.form.get("delimiter"),
            decimal=self.form.get("decimal", "."),
            encoding=self.form.get("encoding", "utf-8"),
            partial=partial,
        )


def column_numbers(
    given: Sequence[str] | None, option: str, number: Callable[[str], Number]
) -> dict[str, Number]:
    """Read options of the form column=number."""
    out = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        try:
            out[name] = number(value)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise CaveatError(f"{text!r} is not of the form column=number", where=option)
    return out
