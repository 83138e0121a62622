"""Trying a generator: what is wrong with it is said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tests.generators.stub import stub

from caveat.generators import generator_of
from caveat.generators.registry import Trial, try_generator
from caveat.table import Table


def test_a_good_one(tmp_path: Path) -> None:
    assert try_generator(generator_of("copy")) == Trial((), True)
    found = try_generator(stub(tmp_path))
    assert (found.problems, found.is_seeded) == ((), True)
    assert found.cpu_seconds is not None


@dataclass(frozen=True)
class Bad:
    table: Table | None = None
    name: str = "bad"
    is_seeded: bool = True

    def fit(self, table: Table, seed: int) -> Bad:
        return replace(self, table=table)

    def sample(self, rows: int | None = None, copies: int = 1) -> list[Table]:
        assert self.table is not None
        other = self.table.with_columns({"sex": self.table["age"]})
        return [other] * copies


def test_a_bad_one() -> None:
    assert try_generator(Bad()).problems == (
        "column sex: another kind",
        "column sex: a level that the original has not",
        "one row was asked for, 200 came",
        "two copies are the same table",
    )
