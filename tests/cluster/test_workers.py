"""What all workers share: order, mistakes that come back, and where work runs now."""

from __future__ import annotations

import pytest
from tests.cluster.tasks import double, fail, refuse_two
from tests.refusals import refused

import caveat
from caveat.cluster import running_on, threads, workers_now
from caveat.cluster.workers import Refused, answer, call, in_order


def test_no_more_is_handed_out_than_is_ahead() -> None:
    out: list[int] = []
    most = 0

    def submit(item: int) -> int:
        nonlocal most
        out.append(item)
        most = max(most, len(out))
        return item

    results = in_order(submit, lambda waiting: out.remove(waiting[0]) or waiting[0], range(20), 3)
    assert list(results) == list(range(20))
    assert most == 3


def test_a_mistake_of_the_users_comes_back_with_all_its_parts() -> None:
    sent = call(caveat.__version__, refuse_two, 2)
    assert isinstance(sent, Refused)
    with refused("test.thing.failed", column="x", row=3, where="here"):
        answer(sent)
    assert answer(call(caveat.__version__, refuse_two, 1)) == 1


def test_another_error_is_no_mistake_of_the_users() -> None:
    with pytest.raises(ZeroDivisionError):
        call(caveat.__version__, fail, 1)


def test_a_task_of_another_version_is_refused() -> None:
    sent = call("0.0.0", double, 2)
    assert isinstance(sent, Refused)
    assert sent.parts["code"] == "cluster.version.mismatch"


def test_work_runs_where_it_is_told_to_and_nowhere_else_afterwards() -> None:
    assert workers_now() is None
    with threads(2) as two, threads(3) as three, running_on(two):
        assert workers_now() is two
        with running_on(three):
            assert workers_now() is three
        with running_on(None):
            assert workers_now() is None
        assert workers_now() is two
    assert workers_now() is None
