"""Where a table is and in which format, and which servers and packages may be asked for it."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from caveat.errors import CaveatError
from caveat.registry import Registry
from caveat.stopping import is_memory_short

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


# -------------------------------------------------------------------------------------------------
# The database servers that this user has named: only they are connected to.
#
# A connection hands over credentials: PGPASSWORD, a password file, a service file. A server that
# is named by a file which somebody else may have written is therefore not connected to before the
# user has allowed its host: by naming it on the command line or in Python, by the variable
# CAVEAT_DATABASE_HOSTS, or by an answer to a question. This machine itself needs no permission.


VARIABLE = "CAVEAT_DATABASE_HOSTS"
"""The variable with the names of allowed hosts, separated by commas; child processes inherit it."""

# From the weakest to the strictest.
SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
# What an address may say to the driver. Others name files that would be read or written.
_OPTIONS = """
    host hostaddr port dbname user password passfile service connect_timeout client_encoding options
    application_name fallback_application_name keepalives keepalives_idle keepalives_interval
    keepalives_count tcp_user_timeout target_session_attrs load_balance_hosts sslmode ssl sslcert
    sslkey sslpassword sslrootcert sslcrl sslsni sslnegotiation ssl_min_protocol_version
    ssl_max_protocol_version requirepeer gssencmode krbsrvname channel_binding require_auth
"""
OPTIONS = frozenset(_OPTIONS.split())
_HOST = re.compile(r"[\w.:%-]+", re.ASCII)


def allow_host(*hosts: str) -> None:
    """Allow connections to database servers, for this process and those that it starts.

    Parameters
    ----------
    hosts
        Names or addresses, without ports.
    """
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise CaveatError(
                "this is no name of a host",
                where=host,
                do="give a name without port, such as db1",
                code="database.host.malformed",
            )
    os.environ[VARIABLE] = ",".join(sorted(_allowed() | {_plain(host) for host in hosts}))


def allow_source(path: str | Path) -> None:
    """Allow the server of a table that the user has named directly; other paths need nothing."""
    source = source_of(path)
    if source is not None and not source.is_file:
        allow_host(*hosts_to_allow(source))


def _allowed() -> set[str]:
    return {_plain(host) for host in os.environ.get(VARIABLE, "").split(",") if host.strip()}


def _plain(host: str) -> str:
    return host.strip().strip("[]").rstrip(".").casefold()


def _is_local(host: str) -> bool:
    """Whether a host is this machine: a loopback address, or a socket in the file system."""
    if host.startswith(("/", "@")) or _plain(host) == "localhost":
        return True
    try:
        return ip_address(_plain(host)).is_loopback
    except ValueError:
        return False


def _parts(source: Source) -> tuple[list[str], dict[str, str]]:
    """Return all hosts that an address names, and its options as the driver understands them."""
    names, _, told = source.place.removeprefix(SERVER).partition("?")
    pairs = [option.partition("=") for option in told.split("&") if option]
    options = {unquote(name): unquote(value) for name, _, value in pairs}
    server = names.partition("/")[0].rpartition("@")[2]
    # A port stands behind a colon; an address with colons stands in brackets.
    named = [re.sub(r":\d*$", "", host) for host in server.split(",")]
    named += [value for name, _, value in pairs if unquote(name) in ("host", "hostaddr")]
    # The driver splits what was quoted once more.
    hosts = [host.strip().strip("[]") for text in named for host in unquote(text).split(",")]
    return [host for host in hosts if host], options


def hosts_to_allow(source: Source) -> list[str]:
    """Return the hosts that a source names and that are not allowed yet.

    Examples
    --------
    >>> hosts_to_allow(source_of("postgresql://ann@db.example/survey#persons"))
    ['db.example']
    >>> hosts_to_allow(source_of("postgresql://127.0.0.1:5433/survey"))
    []
    """
    if source.is_file:
        return []
    hosts, _ = _parts(source)
    allowed = _allowed()
    found = [host for host in hosts if not _is_local(host) and _plain(host) not in allowed]
    return list(dict.fromkeys(found))


def check_hosts(source: Source) -> None:
    """Refuse a server that the user has not named; nothing is sent before."""
    for host in hosts_to_allow(source):
        raise CaveatError(
            f"a file names the database server {host}, which you have not",
            where=source.place,
            do=f"if your credentials may go there, use --allow-host {host} or the variable "
            f"{VARIABLE} (in Python caveat.table.allow_host)",
            code="database.host.refused",
        )


def connection_address(source: Source) -> str:
    """Return where to connect to, with the password if one was given.

    Off this machine the connection is encrypted, unless the variable PGSSLMODE says otherwise; an
    address can ask for more than that and not for less.
    """
    check_hosts(source)
    hosts, options = _parts(source)
    odd = sorted(set(options) - OPTIONS)
    if odd:
        raise CaveatError(
            f"the address has an option that is not accepted: {odd[0]}",
            where=source.place.partition("?")[0],
            do="leave it out, or set it in the environment",
            code="database.option.refused",
        )
    address = source.address
    used = hosts or [os.environ.get("PGHOSTADDR") or os.environ.get("PGHOST") or "/"]
    if all(map(_is_local, used)):
        return address
    least = os.environ.get("PGSSLMODE", "require")
    modes = [mode for mode in (least, options.get("sslmode", "")) if mode in SSL_MODES]
    mode = max(modes, key=SSL_MODES.index, default="require")
    # The driver takes the last of several.
    return f"{address}{'&' if '?' in address else '?'}sslmode={mode}"


# -------------------------------------------------------------------------------------------------
# The formats of tables by extension, and which of them a path is about.


TEXT = (".csv", ".tsv", ".txt")
OTHER_SHEETS = (".xls", ".xlsm", ".xlsb", ".ods")
PACKED = tuple(f"{suffix}{packed}" for suffix in TEXT for packed in (".gz", ".zst"))


class Format(NamedTuple):
    """A format beside delimited text, by the places of its functions: large libraries wait.

    Attributes
    ----------
    read
        Takes the path, the extension and the columns that are asked for (None for all), and
        returns a Table.
    prepare
        Takes a table and the extension, refuses what the format cannot hold, and returns what
        writes it to a path; empty if the format is only read.
    labels
        Takes the path and the extension, and returns labels and missing codes of the header; empty
        if the format has none.
    by_column
        Whether `read` takes one more: what is done with the name and the content of each column as
        soon as it is there, before the next one is read.
    """

    read: str
    prepare: str = ""
    labels: str = ""
    by_column: bool = False


_COLUMNAR = Format(
    "caveat.table._columnar:read_columnar",
    "caveat.table._columnar:prepare_columnar",
    by_column=True,
)
_LABELLED = Format(
    "caveat.table._labelled:read_labelled",
    "caveat.table._labelled:prepare_labelled",
    "caveat.table._labelled:read_value_labels",
)
DATABASE = Format(
    "caveat.table.database:read_database",
    "caveat.table.database:prepare_database",
    by_column=True,
)
FORMATS = Registry(
    {
        **dict.fromkeys((".parquet", ".feather", ".arrow"), _COLUMNAR),
        **dict.fromkeys((".sav", ".zsav", ".dta"), _LABELLED),
        **dict.fromkeys((".sas7bdat", ".xpt"), _LABELLED._replace(prepare="")),
        ".xlsx": Format("caveat.table._excel:read_excel", "caveat.table._excel:prepare_excel"),
        **dict.fromkeys((s for s, sort in SORTS.items() if sort != "excel"), DATABASE),
    }
)
"""The formats beside delimited text, by extension."""


def readable() -> tuple[str, ...]:
    """Return the extensions of files that can be read."""
    return (*TEXT, *PACKED, *FORMATS)


def writable() -> tuple[str, ...]:
    """Return the extensions of files that can be written."""
    return (*TEXT, *PACKED, *(suffix for suffix, how in FORMATS.items() if how.prepare))


def is_text(path: str | Path) -> bool:
    """Whether a file is delimited text, whose cells have no types of their own."""
    return suffix_of(Path(path), readable()) in (*TEXT, *PACKED)


def has_labels(path: str | Path) -> bool:
    """Whether a file is of a format that has value labels."""
    suffix = suffix_of(Path(path), readable())
    return suffix in FORMATS and bool(FORMATS[suffix].labels)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name that is too long: who opens it will say so
        return False


def suffix_of(path: Path, known: tuple[str, ...]) -> str:
    """Return the extension that decides the format: the longest one that is known.

    That of a table on a server is the beginning of its address.
    """
    source = source_of(path)
    if source is not None:
        return source.suffix
    if ".parquet" in known and _is_folder(path):  # the parts of one table
        return ".parquet"
    name = path.name.lower()
    for suffix in sorted(known, key=len, reverse=True):
        if name.endswith(suffix) and name != suffix:
            return suffix
    if name.endswith(OTHER_SHEETS):
        raise CaveatError(
            "only workbooks of the format .xlsx are read and written",
            where=str(path),
            do="save it as .xlsx in Excel or LibreOffice",
            code="data.format.unsupported",
        )
    one_way = name.endswith(tuple(suffix for suffix in readable() if suffix not in known))
    raise CaveatError(
        "this format can be read but not written" if one_way else "the extension is not known",
        where=shown(path),
        do=f"use one of {', '.join((*known, SERVER))}",
        code="data.format.unsupported" if one_way else "data.format.unknown",
    )


def files_in(folder: Path) -> list[tuple[str, int]]:
    """Return the data files of a folder with their sizes; links that lead out are not there."""
    found = []
    for path in entries_in(folder):
        with suppress(OSError):  # what cannot be opened cannot be read either
            inside = path.is_file() and path.resolve().parent == folder.resolve()
            if inside and path.name.lower().endswith(readable()):
                found.append((path.name, path.stat().st_size))
    return found


# -------------------------------------------------------------------------------------------------
# Packages that only some users need: loaded when they are asked for, or one sentence instead.


def load_extra(module: str, package: str, extra: str, purpose: str) -> Any:
    """Return a module of an optional package; say how to install it if it is not there.

    Parameters
    ----------
    module, package
        What is imported, and what it is called where packages are installed from.
    extra
        The extra of Caveat that brings it.
    purpose
        What needs it, as the beginning of a sentence.

    Examples
    --------
    >>> load_extra("math", "math", "sums", "a sum").sqrt(4)
    2.0
    """
    try:
        return import_module(module)
    except ImportError as error:
        if is_memory_short(error):
            raise MemoryError from None
        raise CaveatError(
            f"{purpose} needs the package {package}, which is not installed",
            do=f"run: pip install 'caveat[{extra}]'",
            code="command.package.not-installed",
        ) from None
