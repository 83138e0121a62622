"""Threads and processes: results in order, and a process that ends costs only its tasks."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests.cluster.tasks import (
    double,
    end_always,
    end_once,
    fail,
    process_of,
    refuse_two,
    slow_first,
)
from tests.refusals import refused

from caveat.cluster import processes, threads


@pytest.mark.parametrize("number", [1, 2, 3])
def test_threads_give_results_in_order(number: int) -> None:
    with threads(number) as workers:
        assert list(workers.map(slow_first, range(20))) == list(range(20))
        assert list(workers.map(double, [])) == []


def test_threads_pass_errors_on() -> None:
    with threads(2) as workers:
        with refused("test.thing.failed", column="x", row=3, where="here"):
            list(workers.map(refuse_two, range(9)))
        with pytest.raises(ZeroDivisionError):
            list(workers.map(fail, [1]))


def test_processes_do_tasks_in_order_pass_errors_on_and_are_gone_afterwards() -> None:
    with processes(2) as workers:
        assert list(workers.map(slow_first, range(20))) == list(range(20))
        used = set(workers.map(process_of, range(20)))
        assert len(used) == 2
        assert used == set(workers.pids)
        with refused("test.thing.failed", column="x", row=3, where="here"):
            list(workers.map(refuse_two, range(9)))
        assert workers.pids == []
        with pytest.raises(ZeroDivisionError):
            list(workers.map(fail, [1]))
        assert list(workers.map(double, [4, 5])) == [8, 10]
        used |= set(workers.pids)
    assert not any(psutil.pid_exists(pid) for pid in used)


def test_a_process_that_is_killed_costs_its_tasks_and_not_the_work(tmp_path: Path) -> None:
    with processes(2) as workers:
        items = [(str(tmp_path), number) for number in range(12)]
        assert list(workers.map(end_once, items)) == list(range(12))
    assert (tmp_path / "ended").exists()


def test_a_task_that_ends_every_worker_is_given_up() -> None:
    with (
        processes(1) as workers,
        refused("cluster.worker.failed", where="cluster"),
    ):
        list(workers.map(end_always, [1]))


def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    program = (
        "import sys; sys.path[:0] = eval(sys.argv[2])\n"
        "from caveat.cluster import processes\n"
        "from tests.cluster.tasks import wait_for\n"
        "if __name__ == '__main__':\n"
        "    with processes(1) as workers:\n"
        "        for _ in workers.map(wait_for, [(sys.argv[1], 0)]): pass\n"
    )
    script = tmp_path / "script.py"
    script.write_text(program)
    begun = tmp_path / "begun-0"
    parent = subprocess.Popen([sys.executable, script, tmp_path, repr(sys.path)])
    try:
        deadline = time.monotonic() + 300
        while not begun.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        children = psutil.Process(parent.pid).children(recursive=True)
        assert children
    finally:
        parent.kill()
        parent.wait()
    _, alive = psutil.wait_procs(children, timeout=300)
    for child in alive:
        child.kill()
    assert alive == []
