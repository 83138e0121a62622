"""The database servers that this user has named: only they are connected to.

A connection hands over credentials: PGPASSWORD, a password file, a service file. A server that is
named by a file which somebody else may have written is therefore not connected to before the user
has allowed its host: by naming it on the command line or in Python, by the variable
CAVEAT_DATABASE_HOSTS, or by an answer to a question. This machine itself needs no permission.
"""

from __future__ import annotations

import os
import re
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote

from caveat.errors import CaveatError
from caveat.table.source import SERVER, Source, source_of

__all__ = [
    "VARIABLE",
    "allow_host",
    "allow_source",
    "check_hosts",
    "connection_address",
    "hosts_to_allow",
]

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
