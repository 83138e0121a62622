"""Where a table is: in a file, on a sheet of a workbook, in a database.

Workbooks and databases hold several tables. Which is meant follows a ``#``: ``survey.xlsx#2025``,
``survey.duckdb#persons``, ``postgresql://host/survey#public.persons``; of a database also a query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

__all__ = [
    "SERVER",
    "SORTS",
    "Source",
    "file_of",
    "hide_password",
    "name_of",
    "seen_in",
    "shown",
    "source_of",
    "without_password",
]

SORTS = {
    ".xlsx": "excel",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".duckdb": "duckdb",
}
"""Files that hold several tables, by extension."""
SERVER = "postgresql://"

_URL = re.compile(r"(?is)postgres(?:ql)?:/+([^#]*)(?:#(.*))?")
_FILE = re.compile(rf"(?is)(.+?({'|'.join(map(re.escape, SORTS))}))(?:#(.*))?")
_QUERY = re.compile(r"(?is)\s*(select|with|values|from)\s")
_PASSWORD = re.compile(r"(?is)^(postgres(?:ql)?:/+[^/@?#:]*):([^/@?#]*)@")
_IN_QUERY = re.compile(r"(?i)([?&])password=([^&#]*)&?")

# Passwords of addresses that were given with one, by the address without it: no path, message or
# file that is made of an address holds its password.
_KNOWN: dict[str, str] = {}


@dataclass(frozen=True)
class Source:
    """A place that holds several tables, and which of them is meant.

    Parameters
    ----------
    sort
        excel, sqlite, duckdb or postgresql.
    place
        The file, or the address of the server without a password.
    part
        The sheet, the table or the query; "" if none is named.
    """

    sort: str
    place: str
    part: str = ""
    suffix: str = field(default=SERVER, compare=False)

    @property
    def is_database(self) -> bool:
        """Whether tables are written one by one, each in a transaction."""
        return self.sort != "excel"

    @property
    def is_file(self) -> bool:
        """Whether it lies on this machine."""
        return self.sort != "postgresql"

    @property
    def is_query(self) -> bool:
        """Whether the part is a query and no name."""
        return self.is_database and _QUERY.match(self.part) is not None

    @property
    def address(self) -> str:
        """Where to connect to, with the password if one was given."""
        password = _KNOWN.get(self.place)
        if password is None:
            return self.place
        mark = "&" if "?" in self.place else "?"
        return f"{self.place}{mark}password={quote(password, safe='')}"

    def with_part(self, part: str) -> str:
        """Return how another of its tables is spelled."""
        return f"{self.place}#{part}"


def source_of(path: str | Path) -> Source | None:
    """Return the workbook or database that a path is about; None if it is an ordinary file.

    Examples
    --------
    >>> source_of("survey.xlsx#2025")
    Source(sort='excel', place='survey.xlsx', part='2025', suffix='.xlsx')
    >>> source_of(Path("postgresql://ann@host/survey#select 1 as x")).is_query
    True
    >>> source_of("survey.csv") is None
    True
    """
    text = str(without_password(path))
    found = _URL.fullmatch(text)
    if found is not None:
        return Source("postgresql", _address(found[1]), found[2] or "")
    found = _FILE.fullmatch(text)
    if found is None:
        return None
    suffix = found[2].lower()
    return Source(SORTS[suffix], found[1], found[3] or "", suffix)


def _address(rest: str) -> str:
    """Return an address whose slashes a path has merged: one name alone is that of the database."""
    names, mark, options = rest.partition("?")
    server = names if "/" in names else f"/{names}"
    return f"{SERVER}{server}{mark}{options}"


def without_password(path: str | Path) -> Path:
    """Return a path whose password is remembered, and nowhere to be seen."""
    return Path(hide_password(str(path)))


def hide_password(text: str) -> str:
    """Return an address without its password, which is remembered; any other text as it is.

    Examples
    --------
    >>> hide_password("postgresql://ann:secret@host/survey#persons")
    'postgresql://ann@host/survey#persons'
    """
    if text[:8].lower() != "postgres":
        return text
    found = _PASSWORD.match(text)
    password = found[2] if found else ""
    text = text if found is None else f"{found[1]}@{text[found.end() :]}"
    address, sharp, part = text.partition("#")
    option = _IN_QUERY.search(address)
    if option is not None:
        password = option[2]
        address = _IN_QUERY.sub(r"\1", address).rstrip("?&")
    url = _URL.fullmatch(address)
    if password and url is not None:
        _KNOWN[_address(url[1])] = unquote(password)
    return f"{address}{sharp}{part}"


def file_of(path: str | Path) -> Path:
    """Return the file that a path is about: of a sheet or a table the one that holds it."""
    source = source_of(path)
    return without_password(path) if source is None or not source.is_file else Path(source.place)


def shown(path: str | Path) -> str:
    """Return a path as messages have it."""
    source = source_of(path)
    if source is None or source.is_file:
        return str(path)
    return f"{source.place}{'#' if source.part else ''}{source.part}"


def name_of(path: str | Path) -> str:
    """Return what a table is called by where it is: the file's name, or that of the sheet or table.

    Examples
    --------
    >>> name_of("data/persons.csv.gz"), name_of("survey.xlsx#2025"), name_of("a.duckdb#main.visits")
    ('persons', '2025', 'visits')
    """
    source = source_of(path)
    if source is None or not source.part or source.is_query:
        place = Path(path) if source is None else Path(source.place.partition("?")[0])
        return place.name.partition(".")[0]
    return source.part.rpartition(".")[2].strip('"') if source.is_database else source.part


def seen_in(folder: Path, name: str) -> Path:
    """Return a place that a specification in a folder names."""
    source = source_of(name)
    return Path(name) if source is not None and not source.is_file else folder / name
