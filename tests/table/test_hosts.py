"""Whom a connection may go to: no server that only a file has named, and never in clear text."""

from __future__ import annotations

import ast
import os
import socket
import threading
from pathlib import Path

import pytest
from tests.refusals import refused

import caveat
from caveat.errors import CaveatError
from caveat.release import ReleaseSpec
from caveat.table import allow_host, read
from caveat.table.source import (
    VARIABLE,
    Source,
    allow_source,
    connection_address,
    hosts_to_allow,
    source_of,
)

FAR = "postgresql://ann@203.0.113.9/survey#persons"
SOURCE = Path(caveat.__file__).parent


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    for name in ("PGHOST", "PGHOSTADDR", "PGSSLMODE"):
        monkeypatch.delenv(name, raising=False)


def source(text: str) -> Source:
    found = source_of(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("address", "hosts"),
    [
        ("postgresql:///survey", []),
        ("postgresql://localhost:5433/survey", []),
        ("postgresql://127.8.1.2,[::1]:5432/survey", []),
        ("postgresql:///survey?host=/var/run/postgresql", []),
        ("postgresql://db1:5432,db2/survey", ["db1", "db2"]),
        ("postgresql://[2001:db8::1]:5432/survey", ["2001:db8::1"]),
        ("postgresql://localhost/survey?host=evil.example", ["evil.example"]),
        ("postgresql://localhost/survey?ho%73t=e%76il", ["evil"]),
        ("postgresql://localhost/survey?hostaddr=203.0.113.9", ["203.0.113.9"]),
        ("postgresql://localhost%2Cevil/survey", ["evil"]),
        ("postgresql://localhost/survey?host=evil&host=localhost", ["evil"]),
        ("postgresql://127.0.0.1.evil.example/survey", ["127.0.0.1.evil.example"]),
    ],
)
def test_every_host_of_an_address_is_seen(address: str, hosts: list[str]) -> None:
    assert hosts_to_allow(source(address)) == hosts


def test_a_host_is_allowed_by_name_and_for_child_processes() -> None:
    allow_host("DB1.example.", "db2")
    assert hosts_to_allow(source("postgresql://db1.EXAMPLE,db2,db3/x")) == ["db3"]
    assert os.environ[VARIABLE] == "db1.example,db2"
    with pytest.raises(CaveatError):
        allow_host("a,b")


def test_off_this_machine_the_connection_is_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_host("db1")
    assert connection_address(source("postgresql:///x")) == "postgresql:///x"
    assert connection_address(source("postgresql://localhost/x")) == "postgresql://localhost/x"
    for told, mode in {"": "require", "?sslmode=verify-full": "verify-full",
                       "?sslmode=disable": "require", "?sslmode=x": "require"}.items():  # fmt: skip
        assert connection_address(source(f"postgresql://db1/x{told}")).endswith(f"sslmode={mode}")
    monkeypatch.setenv("PGSSLMODE", "prefer")  # the user's own word
    assert connection_address(source("postgresql://db1/x")).endswith("?sslmode=prefer")
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    weaker = "postgresql://db1/x?sslmode=require"
    assert connection_address(source(weaker)).endswith("&sslmode=verify-full")
    monkeypatch.setenv("PGHOST", "db2")
    assert connection_address(source("postgresql:///x")).endswith("?sslmode=verify-full")


def test_options_that_name_other_files_are_refused() -> None:
    for option in ("servicefile=/tmp/x", "sslkeylogfile=/tmp/x"):
        with refused("database.option.refused"):
            connection_address(source(f"postgresql:///x?{option}"))


def test_a_received_specification_reaches_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("adbc_driver_postgresql")
    path = tmp_path / "release.toml"
    path.write_text(f'[data]\npath = "{FAR}"\n[[scenario]]\nname = "a"\nkeys = ["x"]\n')
    spec = ReleaseSpec.from_toml(path)
    with refused("database.host.refused", where="release.toml, line 2"):
        spec.read_data()
    # Nothing is sent: the driver is not even called.
    monkeypatch.setattr("sys.executable", "")  # without an interpreter it is read in this process
    monkeypatch.setattr("adbc_driver_postgresql.dbapi.connect", lambda _: pytest.fail("called"))
    with refused("database.host.refused", where="release.toml, line 2"):
        spec.read_data()


def test_no_password_is_sent_in_clear_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that offers no encryption sees the question for it and nothing else."""
    pytest.importorskip("adbc_driver_postgresql")
    monkeypatch.setenv("PGPASSWORD", "secret")
    monkeypatch.setattr("caveat.table.source._is_local", lambda _: False)
    monkeypatch.setattr("sys.executable", "")  # without an interpreter it is read in this process
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                seen.append(connection.recv(1000))
                connection.sendall(b"N")
                seen.append(connection.recv(1000))

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with refused("database.server.failed"):
            read(f"postgresql://ann@127.0.0.1:{server.getsockname()[1]}/x#t")
        thread.join(30)
    assert len(seen[0]) == 8  # the request for encryption
    assert seen[1:] == [b""]


def test_a_source_that_the_user_names_is_allowed() -> None:
    allow_source("postgresql://db1,db2:5433/x#t")
    assert hosts_to_allow(source("postgresql://db2/y")) == []
    allow_source("survey.csv")
    assert os.environ[VARIABLE] == "db1,db2"


def test_what_specifications_name_is_never_taken_for_named_by_the_user() -> None:
    """`read` allows the server it is called with: rooms that read documents call `read_into`."""
    for room in ("spec", "release", "benchmark", "tuning", "app"):
        for path in sorted((SOURCE / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module in (
                    "caveat", "caveat.table", "caveat.table.files"
                ):  # fmt: skip
                    assert "read" not in [name.name for name in node.names], path
