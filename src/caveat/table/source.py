"""Where a table is: in a file, on a sheet of a workbook, in a database.

Workbooks and databases hold several tables. Which is meant follows a ``#``: ``survey.xlsx#2025``,
``survey.duckdb#persons``, ``postgresql://host/survey#public.persons``; of a database also a query.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

from caveat.errors import CaveatError

__all__ = [
    "SERVER",
    "SORTS",
    "Source",
    "entries_in",
    "file_of",
    "has_password",
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
_ADDRESS = re.compile(r"(?is)\s*([a-z][a-z0-9+.-]+)(:/+)(.*)")  # of one letter it is a drive
_HOSTS = re.compile(r"(?:(?:\[[^\[\]@/?#]*\]|[^\[\]:@/?#,\s]*)(?::\d*)?(?:,|$))*")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_SETTINGS = re.compile(r"\s*\w+\s*=")  # host=… user=…
_SETTING_SECRET = re.compile(r"(?i)(?:^|\s)\w*password\s*=")

# Options with the passwords of addresses that were given with one, by the address without it: no
# path, message or file that is made of an address holds its password.
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
        secret = _KNOWN.get(self.place)
        if secret is None:
            return self.place
        mark = "&" if "?" in self.place else "?"
        return f"{self.place}{mark}{secret}"

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

    An address that cannot be read, and one of another sort that holds a password, is refused, and
    the message repeats no part of it that may be secret.

    Examples
    --------
    >>> hide_password("postgresql://ann:secret@host/survey#persons")
    'postgresql://ann@host/survey#persons'
    """
    if _SETTINGS.match(text) and _SETTING_SECRET.search(text):
        raise _refused("settings with a password are no address")
    found = _ADDRESS.match(text)
    if found is None:
        return text
    if found[1].lower() not in ("postgres", "postgresql"):
        if "@" in found[3] or any(map(_is_secret, _options(found[3]))):
            raise _refused("an address of this sort, with a password or a user, is not read")
        return text
    address, sharp, part = found[3].partition("#")
    names, _, given = address.partition("?")
    server, slash, path = names.partition("/")
    userinfo, at, hosts = server.rpartition("@")
    options = given.split("&") if given else []
    user, _, password = userinfo.partition(":")
    if (
        not _HOSTS.fullmatch(hosts)
        or "@" in path
        or ("@" in _QUOTED.sub("", part) and not _QUERY.match(part))
        or any(not _is_option(option) for option in options if option)
        or (":" in hosts and not slash)
    ):
        raise _refused("it cannot be read")
    secret = [option for option in options if _is_secret(option)]
    if not password and not secret:
        return text.lstrip()
    if password:
        secret.append(f"password={quote(unquote(password), safe='')}")
    options = [option for option in options if option and not _is_secret(option)]
    kept = f"{user}{at}{hosts}{slash}{path}{'?' if options else ''}{'&'.join(options)}"
    _KNOWN[_address(kept)] = "&".join(secret)
    return f"{found[1]}{found[2]}{kept}{sharp}{part}"


def has_password(text: str) -> bool:
    """Whether a text is an address with a password, or one that may hold one."""
    try:
        return hide_password(text) != text.lstrip()
    except CaveatError:
        return True


def _refused(what: str) -> CaveatError:
    return CaveatError(
        what,
        where="the address",
        do="write postgresql://USER@HOST/DATABASE#TABLE, with the password in PGPASSWORD or "
        "~/.pgpass, or its signs / @ # ? : % as %2F %40 %23 %3F %3A %25",
        code="database.address.malformed",
    )


def _options(address: str) -> list[str]:
    return address.partition("?")[2].partition("#")[0].split("&")


def _is_option(option: str) -> bool:
    name, equals, value = option.partition("=")
    return bool(equals) and (_is_secret(option) or "@" not in value or name == "user")


def _is_secret(option: str) -> bool:
    name = unquote(option.partition("=")[0]).lower()
    return "password" in name or "secret" in name


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


def entries_in(folder: Path) -> list[Path]:
    """Return what is in a folder by name, without what is hidden or has a name that is no text."""
    found = []
    for path in folder.iterdir():
        with suppress(UnicodeEncodeError):
            path.name.encode()
            found += [] if path.name.startswith(".") else [path]
    return sorted(found, key=lambda path: path.name.casefold())
