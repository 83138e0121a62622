"""Clusters of processes on this machine, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass
class Loopback:
    """A scheduler and workers, each a process of its own."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]


def _started(folder: Path, name: str, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **more}
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            stdout=log, stderr=log, cwd=folder, env=environment,
        )  # fmt: skip


@contextmanager
def loopback(folder: Path, n_workers: int = 2, **more: str) -> Iterator[Loopback]:
    """Give a cluster on loopback: one scheduler, workers with one thread and no nanny."""
    told = folder / "scheduler.json"
    scheduler = _started(
        folder, "scheduler", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
        "--scheduler-file", str(told),
    )  # fmt: skip
    workers: list[subprocess.Popen[bytes]] = []
    try:
        address = _address(told)
        how = ["--no-nanny", "--nthreads", "1", "--memory-limit", "0", "--no-dashboard"]
        where = ["--scheduler-file", str(told), "--host", "127.0.0.1"]
        workers += (
            _started(folder, f"worker-{number}", "worker", *where, *how, **more)
            for number in range(n_workers)
        )
        if n_workers:
            _wait_for(address, n_workers)
        yield Loopback(address, scheduler, workers)
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def _address(told: Path) -> str:
    """Return the address that the scheduler writes down, once it has written all of it."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with suppress(OSError, ValueError):
            return str(json.loads(told.read_text())["address"])
        time.sleep(0.05)
    raise TimeoutError("the scheduler does not say where it is")


def _wait_for(address: str, n_workers: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(n_workers, timeout=300)
