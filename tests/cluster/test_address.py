"""What can be named as workers, and what is refused in one sentence."""

from __future__ import annotations

import pytest
from tests.refusals import refused

from caveat.cluster import processes, threads, workers_of
from caveat.cluster.scheduler import check_address
from caveat.cluster.workers import Processes


@pytest.mark.parametrize(
    "text", ["tcp://10.0.0.1:8786", "tls://head.example:8786", "head:8786", "[::1]:8786"]
)
def test_addresses(text: str) -> None:
    assert check_address(text) is None


@pytest.mark.parametrize("text", ["local:", "local:0", "local:-1", "local:two", "local:²",
                                  "local:99999"])  # fmt: skip
def test_a_number_of_processes_that_is_none(text: str) -> None:
    with refused("cluster.address.malformed", where="cluster"):
        check_address(text)


@pytest.mark.parametrize("text", ["", "here", "tcp://", "tcp://head", "head:", "a b:1", "head:x"])
def test_no_address(text: str) -> None:
    with refused("cluster.address.malformed", where="cluster"):
        check_address(text)


def test_workers_are_taken_as_they_are_and_processes_are_started() -> None:
    with workers_of(None) as nobody:
        assert nobody is None
    with threads(2) as mine, workers_of(mine) as same:
        assert same is mine
    with processes(1) as mine, workers_of(mine) as same:
        assert same is mine
    with workers_of("local:3") as started:
        assert isinstance(started, Processes)
        assert started.number == 3
        assert started.pids == []  # none before there is work


def test_what_does_no_work_is_refused() -> None:
    with refused("cluster.address.type", where="cluster"), workers_of({}):
        pass
