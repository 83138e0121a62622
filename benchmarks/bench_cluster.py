"""One process against workers: the same bytes, and how much sooner.

``python benchmarks/bench_cluster.py --rows 1000000 --method guarded cart``. A survey in Parquet
parts is synthesised into Parquet parts: by one process with one thread, by 1, 2 and 3 processes
(``local:N``), and with ``--dask`` by as many workers of a Dask cluster on loopback. Each case has
the table cut into another number of parts. Ends with an error if bytes differ.

Wall time needs a machine with nothing else to do; the load before each case is told. The path is
what no machine can be faster than: CPU seconds of the command itself and of its busiest worker.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pyarrow.parquet as pq
from bench_size import SPEC, run, write_survey
from rich.console import Console
from rich.table import Table as Grid


def cut(source: Path, folder: Path, parts: int) -> Path:
    """Cut a Parquet file into so many parts."""
    folder.mkdir()
    whole = pq.read_table(source)
    size = -(-whole.num_rows // parts)
    for number in range(parts):
        pq.write_table(whole.slice(number * size, size), folder / f"part.{number}.parquet")
    return folder


def digest(folder: Path) -> str:
    """Return one checksum of all files of a folder."""
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        found.update(path.name.encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


@contextmanager
def cluster(kind: str, number: int) -> Iterator[list[str]]:
    """Give the options for a number of workers."""
    if kind != "dask":
        yield [] if kind == "alone" else ["--cluster", f"local:{number}"]
        return
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=number, threads_per_worker=1, dashboard_address=None, memory_limit=0
    ) as started:
        yield ["--cluster", started.scheduler_address]


class Watch(threading.Thread):
    """Looks at the CPU time of the processes below this one while a case runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.seen: dict[int, tuple[int, float]] = {}

    def run(self) -> None:
        while not self.ended.wait(0.1):
            with suppress(psutil.Error):
                for process in psutil.Process().children(recursive=True):
                    times = process.cpu_times()
                    self.seen[process.pid] = process.ppid(), times.user + times.system

    @property
    def path(self) -> float:
        """CPU seconds of the command and of the busiest of its workers."""
        self.ended.set()
        self.join()
        here = os.getpid()
        command = max((cpu for ppid, cpu in self.seen.values() if ppid == here), default=0.0)
        return command + max((cpu for p, cpu in self.seen.values() if p != here), default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--method", nargs="+", default=["guarded"])
    parser.add_argument("--folder", default=None, help="where the temporary folder is made")
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2, 3], help="0: alone")
    parser.add_argument("--dask", action="store_true", help="also workers of a Dask cluster")
    chosen = parser.parse_args()
    os.environ.update(NUMBA_NUM_THREADS="1", OMP_NUM_THREADS="1")
    kinds = ["local", *(["dask"] if chosen.dask else [])]
    cases = [(kind, n) for kind in kinds for n in chosen.workers if n]
    cases = [*([("alone", 1)] if 0 in chosen.workers else []), *cases]
    grid = Grid("method", "who", "parts", "wall s", "x", "path s", "x", "CPU s", "load", "SHA-256")
    differing = False
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        source, spec = folder / "survey.parquet", folder / "spec.toml"
        write_survey(source, chosen.rows)
        sources = [cut(source, folder / f"parts-{n}", n) for n in (1, 4, 7, 16)]
        for method in chosen.method:
            spec.write_text(SPEC.format(method=method))
            known, first = "", {}
            for place, (kind, number) in enumerate(cases):
                parts = sources[place % len(sources)]
                target = folder / "synthetic"
                load = os.getloadavg()[0]
                with cluster(kind, number) as options:
                    options += ["--threads", "1", "--work", str(folder)]
                    watch = Watch()
                    watch.start()
                    found = run(parts, f"{target}/", spec, options)
                    path = watch.path
                same = digest(target)
                known = known or same
                differing |= same != known
                wall, shortest = first.setdefault(kind, (found["wall"], path))
                grid.add_row(
                    method, kind if kind == "alone" else f"{kind}, {number}",
                    parts.name.removeprefix("parts-"), f"{found['wall']:.1f}",
                    f"{wall / found['wall']:.2f}",
                    *(("-",) * 3 if kind == "dask" else (
                        f"{path:.1f}", f"{shortest / path:.2f}", f"{found['cpu']:.1f}")),
                    f"{load:.1f}", same,
                )  # fmt: skip
                print(f"{method} {kind} {number}: {found['wall']:.1f} s", flush=True)
    Console(width=100).print(grid)
    if differing:
        raise SystemExit("the bytes differ")


if __name__ == "__main__":
    main()
