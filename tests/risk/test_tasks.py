"""Audits on workers: every number, note and record as in one process."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caveat.cluster import processes, running_on, threads
from caveat.datasets import survey
from caveat.risk import Scenario, audit, auditing
from caveat.risk.auditing import Found, Task
from caveat.table import Table

KEYS = ["sex", "age", "region", "education"]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    assert auditing._SIDES.kept == {}


def asked(**more: Any) -> dict[str, Any]:
    people = Table.from_frame(survey(rows=900, seed=1)).drop(["person"])
    copies = [people.take(np.arange(start, start + 400)) for start in (0, 250)]
    return {"original": people.take(np.arange(500)), "synthetic": copies, "keys": KEYS,
            "control": people.take(np.arange(500, 900)), **more}  # fmt: skip


CASES = {
    "all": {"measures": ["all"], "targets": ["income", "marital"]},
    "subsets": {"subsets": 2, "groups": {"age": 5}, "targets": ["income"]},
    "tolerance": {"measures": ["all"], "tolerance": {"age": 2}, "targets": ["satisfied"],
                  "exclude_levels": {"satisfied": ["rather"]}, "exclude_missing": ("income",),
                  "unit": "household"},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_audit_is_the_same_on_workers(name: str, tmp_path: Path) -> None:
    given = asked(**CASES[name])
    alone = audit(**given)
    with threads(2, tmp_path) as workers, running_on(workers):
        shared = audit(**given)
    assert shared.to_json() == alone.to_json()
    assert shared.rows == alone.rows
    assert shared.checks == alone.checks
    assert shared.records().equals(alone.records())
    assert list(tmp_path.iterdir()) == []


def test_an_audit_is_the_same_on_processes(tmp_path: Path) -> None:
    given = asked(control=None)
    with processes(2, tmp_path) as workers, running_on(workers):
        shared = audit(**given)
    assert shared.to_json() == audit(**given).to_json()


def test_what_comes_back_holds_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Found, list[bool]]] = []

    def heard(item: tuple[str, Task]) -> tuple[Found, list[bool]]:
        sent.append(tasks_one(item))
        return sent[-1]

    tasks_one = auditing.one_task
    monkeypatch.setattr(auditing, "one_task", heard)
    with threads(1, tmp_path) as workers, running_on(workers):
        audit(**asked())
    assert any(any(traced) for _, traced in sent)
    assert all(len(pickle.dumps(found)) < 20_000 for found, _ in sent)


def test_a_scenario_travels_whole() -> None:
    one = Scenario(("a", "b"), "c", groups={"a": 3}, exclude_levels={"c": ["x"]}, limit=7)
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert repr(again) == repr(one)
