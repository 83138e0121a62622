"""Dask: in this process, and as processes on loopback of which some are killed."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.clusters import Loopback, loopback
from tests.cluster.tasks import (
    double,
    end_always,
    end_once,
    fail,
    process_of,
    refuse_two,
    slow_first,
    wait_for,
)
from tests.refusals import refused

import caveat
from caveat.cluster import scheduler, workers_of
from caveat.cluster.scheduler import DaskWorkers, is_client
from caveat.errors import CaveatError

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None,
        set_as_default=False,
    ) as client:  # fmt: skip
        yield client


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    with loopback(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def begun(folder: Path, number: int) -> None:
    deadline = time.monotonic() + 300
    while not (folder / f"begun-{number}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)


def test_a_client_in_this_process(client: Any) -> None:
    assert is_client(client)
    assert not is_client("tcp://here:1")
    with workers_of(client) as workers:
        assert workers is not None
        assert workers.number == 2
        assert list(workers.map(slow_first, range(20))) == list(range(20))
        assert list(workers.map(slow_first, range(20))) == list(range(20))
        assert list(workers.map(double, [])) == []
        with refused("test.thing.failed", column="x", row=3, where="here"):
            list(workers.map(refuse_two, range(9)))
        with pytest.raises(ZeroDivisionError):
            list(workers.map(fail, [1]))
    assert client.status == "running"  # it is the user's


def test_two_worker_processes(two: Loopback) -> None:
    with workers_of(two.address) as workers:
        assert workers is not None
        assert workers.number == 2
        assert list(workers.map(slow_first, range(20))) == list(range(20))
        found = set(workers.map(process_of, range(20)))
        assert found == {process.pid for process in two.workers}


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "PATIENCE", 0.5)
    with (
        refused("cluster.scheduler.absent"),
        workers_of("tcp://127.0.0.1:9"),
    ):
        pass


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(scheduler, "import_module", missing)
    with (
        refused("command.package.not-installed", where="cluster"),
        workers_of("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_worker_with_another_version_is_named(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(self: Any, what: Any, name: str) -> dict[str, Any]:
        return {"tcp://10.0.0.7:41": what(name), "tcp://10.0.0.8:42": theirs[name]}

    monkeypatch.setattr(DaskWorkers, "_on_each", said)
    theirs: dict[str, Any] = {"caveat:__version__": "0.0.1"}
    pattern = (
        rf"tcp://10.0.0.8:42 has caveat 0.0.1, and this process has {caveat.__version__}; inst"
    )
    with pytest.raises(CaveatError, match=pattern):
        DaskWorkers(client)
    theirs = {"caveat:__version__": ModuleNotFoundError("No module named 'caveat'")}
    with refused("cluster.version.mismatch"):
        DaskWorkers(client)
    theirs = {"caveat:__version__": caveat.__version__, "numpy:__version__": "1.0"}
    with refused("cluster.version.mismatch"):
        DaskWorkers(client)


def test_a_cluster_without_workers_is_refused(tmp_path: Path) -> None:
    with (
        loopback(tmp_path, 0) as cluster,
        refused("cluster.worker.absent"),
        workers_of(cluster.address),
    ):
        pass


def test_a_real_worker_without_caveat_is_refused(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "caveat.py").write_text("raise ModuleNotFoundError('no', name='caveat')\n")
    with (
        loopback(tmp_path, 1, PYTHONPATH=str(hidden)) as cluster,
        refused("cluster.version.mismatch"),
        workers_of(cluster.address),
    ):
        pass


def test_a_folder_that_a_worker_does_not_see(client: Any, tmp_path: Path) -> None:
    workers = DaskWorkers(client)
    workers.check(tmp_path)
    with refused("cluster.folder.unreadable"):
        workers.check(tmp_path / "elsewhere")


def test_a_lost_worker_costs_its_tasks_and_a_lost_scheduler_the_work(tmp_path: Path) -> None:
    with loopback(tmp_path, 3) as cluster:
        with workers_of(cluster.address) as workers:
            assert workers is not None
            items = [(str(tmp_path), number) for number in range(12)]
            assert list(workers.map(end_once, items)) == list(range(12))
            assert sum(process.poll() is not None for process in cluster.workers) == 1
        with workers_of(cluster.address) as workers:
            assert workers is not None
            assert workers.number == 2
            results = workers.map(wait_for, items)
            killer = threading.Thread(target=_end, args=(cluster, tmp_path))
            killer.start()
            start = time.monotonic()
            with refused("cluster.scheduler.interrupted"):
                list(results)
            assert time.monotonic() - start < 300
            killer.join()


def _end(cluster: Loopback, folder: Path) -> None:
    begun(folder, 0)
    cluster.scheduler.send_signal(signal.SIGKILL)
    (folder / "go").touch()


def test_a_task_that_ends_every_worker_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "ALONE", 3.0)
    with (
        loopback(tmp_path, 2) as cluster,
        workers_of(cluster.address) as workers,
    ):
        assert workers is not None
        results = workers.map(end_always, [1])
        with refused("cluster.worker.absent"):
            list(results)
