"""The strong attacker on workers: the same numbers as in one process."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cluster.clusters import loopback

from caveat import Synthesizer, Table, attributes, membership
from caveat.attack import adjacent
from caveat.attack.adjacent import with_each_value, without_each
from caveat.attack.worlds import Worlds
from caveat.cluster import running_on, threads
from caveat.cluster.scheduler import DaskWorkers
from caveat.datasets import buyer_beware, survey
from caveat.errors import CaveatError

distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []
    assert adjacent._WORLDS.kept == {}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=3, dashboard_address=None,
        set_as_default=False,
    ) as client:  # fmt: skip
        yield client


@pytest.mark.filterwarnings("ignore::caveat.CaveatWarning")
@pytest.mark.parametrize("method", ["guarded", "cart"])
def test_every_number_is_the_same_for_any_number_of_workers(method: str, client: Any) -> None:
    table = Table.from_frame(survey()).take(slice(0, 400))
    table = table.select(["sex", "region", "education"])
    model = Synthesizer(seed=1, method=method).fit(table)
    releases = model.tables(None, 2)
    records = list(range(0, 400, 30))

    def attacked() -> tuple[Any, ...]:
        found = attributes(table, releases, "education", generator=model, records=records)
        members = membership(table, releases, generator=model, records=records)
        return found.log_likelihood, found.prior, members.log_ratio

    alone = attacked()
    with threads(1) as one, threads(2) as two:
        for workers in (one, two, DaskWorkers(client)):
            with running_on(workers):
                for mine, theirs in zip(attacked(), alone, strict=True):
                    np.testing.assert_array_equal(mine, theirs)


def test_fits_from_scratch_are_the_same_and_progress_shows() -> None:
    table = Table.from_frame(buyer_beware()).take(slice(900, 1000))
    plan = Synthesizer(seed=1, method="sample").plan(table)
    release = Synthesizer(seed=1, method="sample").fit(table).tables()
    worlds, records = Worlds(table, plan, release), np.arange(7)
    heard: list[float] = []
    with threads(2) as workers, running_on(workers):
        logs = adjacent.each_value(worlds, "var4", records, None, heard.append)
        base, without = adjacent.each_without(worlds, records, None, heard.append)
    np.testing.assert_array_equal(logs, with_each_value(worlds, "var4", records, 1))
    alone = without_each(worlds, records, 1)
    assert base == alone[0]
    np.testing.assert_array_equal(without, alone[1])
    assert len(heard) == 14
    assert sum(heard) == pytest.approx(2)


def test_a_release_that_is_impossible_is_refused_as_in_one_process() -> None:
    table = Table.from_frame({"a": ["x", "y"] * 30, "b": ["u", "u", "v", "v"] * 15})
    release = Table.from_frame({"a": ["x", "z"], "b": ["u", "v"]})

    def said(attack: Any) -> str:
        with pytest.raises(CaveatError) as error:
            attack()
        return str(error.value)

    for attack in (
        lambda: membership(table, release, generator={"method": "cart"}),
        lambda: attributes(table, release, "b", generator={"method": "cart"}),
    ):
        alone = said(attack)
        assert "the generator cannot have made this release" in alone
        with threads(2) as workers, running_on(workers):
            assert said(attack) == alone


def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    table = Table.from_frame(buyer_beware())
    model = Synthesizer(seed=1).fit(table)
    release = model.tables()
    alone = membership(table, release, generator=model)
    with loopback(tmp_path, 2) as cluster:
        client = distributed.Client(cluster.address, set_as_default=False)
        with client, running_on(DaskWorkers(client, tmp_path)):
            found = membership(
                table, release, generator=model, done=lambda share: cluster.workers[0].kill()
            )
        assert [process.poll() is None for process in cluster.workers] == [False, True]
    np.testing.assert_array_equal(found.log_ratio, alone.log_ratio)
