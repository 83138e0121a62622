"""How a text file is written: the usual way, or as another file came in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from caveat.errors import CaveatError
from caveat.table.formats import is_text
from caveat.table.schema import Schema
from caveat.table.source import shown

__all__ = ["TextForm", "form_of"]


@dataclass(frozen=True)
class TextForm:
    """The form of a text file.

    Parameters
    ----------
    delimiter, decimal, encoding
        Between the fields, within numbers, and of the letters.
    dates
        How the dates of columns are written that were declared with a format.
    as_read
        Whether numbers and dates have the form that they came with: thousands, the order of day and
        month.
    """

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    dates: Mapping[str, str] = field(default_factory=dict)
    as_read: bool = False


def form_of(
    path: str | Path,
    schema: Schema | None = None,
    *,
    delimiter: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
) -> TextForm:
    """Return the form of a text file, so that another one can be written in it.

    Parameters
    ----------
    path
        The file.
    schema
        What is declared about its columns: formats of dates.
    delimiter, decimal, encoding
        What is known of it, as for :func:`caveat.table.read`.
    """
    path = Path(path)
    if not is_text(path):
        raise CaveatError(
            "only delimited text has a form that can be kept",
            where=shown(path),
            do="leave --as-read (as_read) out",
            code="data.format.unsupported",
        )
    from caveat.table._text import form_in

    seen, encoding = form_in(path, decimal, encoding)
    found = delimiter or ("\t" if ".tsv" in path.name.lower() else "")
    columns = {} if schema is None else schema.columns
    return TextForm(
        found or seen,
        decimal,
        encoding,
        {name: entry.date_format for name, entry in columns.items() if entry.date_format},
        as_read=True,
    )
