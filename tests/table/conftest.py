"""A PostgreSQL of our own, for the tests of databases."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PLACES = ("/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt", "/usr/local/opt")


def _programs() -> Path | None:
    """Return the folder of the server's programs, the newest if there are several."""
    on_path = shutil.which("initdb")
    found = [Path(on_path).parent] if on_path else []
    for place in PLACES:
        found += sorted(Path(place).parent.glob(f"{Path(place).name}*/**/bin"), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists()), None)


def _as_server(folder: Path) -> list[str]:
    """Return what runs a program as another user than root, whom the server refuses."""
    if os.geteuid() != 0:
        return []
    try:
        owner = pwd.getpwnam("postgres")
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    os.chown(folder, owner.pw_uid, owner.pw_gid)
    return ["runuser", "-u", "postgres", "--"]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Give the address of an empty database, on a socket in a folder that goes with it."""
    pytest.importorskip("adbc_driver_postgresql")
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as name:  # sockets have short names
        folder = Path(name)
        folder.chmod(0o755)
        user = _as_server(folder)

        def run(program: str, *options: str) -> None:
            command = [*user, str(programs / program), "-D", f"{folder}/data", *options]
            done = subprocess.run(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            assert done.returncode == 0, program

        run("initdb", "-A", "trust", "-U", "keeper", "-E", "UTF8", "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql:///postgres?host={folder}&user=keeper"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
