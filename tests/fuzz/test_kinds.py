"""Of every kind of identifying column: whether it leaves, is pooled or is held back, and no value.

`make test` tries the smallest tables; with CAVEAT_FUZZ above 1 all sizes are tried.
"""

from __future__ import annotations

import warnings

import pytest
from tests.fuzz.harness import FACTOR
from tests.fuzz.kinds import KINDS, SIZES, confidential, table_of

from caveat.errors import CaveatWarning
from caveat.synthesis import Synthesizer
from caveat.table import Table
from caveat.table.identifying import K

# What is not held back. Written occupations that many different people have are text that nearly
# every record has for itself, if there are enough of them.
RELEASED = {"region"}
POOLED = {"employer", "village", "diagnosis", "rare answer in three rows", "points"}
SMALL = {"occupation, written"}


def expected(kind: str, rows: int) -> str:
    if kind in RELEASED:
        return "released"
    return "pooled" if kind in POOLED or (kind in SMALL and rows < 1000) else "held back"


def outcome(name: str, original: Table, released: Table) -> str:
    if name not in released:
        return "held back"
    column = original[name]
    before = {str(v) for v in column.levels.tolist()}
    after = {str(v) for v in released[name].levels.tolist()}
    return "released" if before == after else "pooled"


def test_there_are_at_least_thirty_kinds() -> None:
    assert len(set(KINDS) - RELEASED) >= 30


@pytest.mark.parametrize("rows", SIZES if FACTOR > 1 else SIZES[:1])
@pytest.mark.parametrize("kind", KINDS)
def test_what_happens_to_each_kind_is_stated(kind: str, rows: int) -> None:
    name, table = table_of(kind, rows)
    secret = confidential(table, name, K)
    for method in ("guarded", "cart"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CaveatWarning)
            model = Synthesizer(seed=1, threads=1, method=method).fit(table)
            released = model.tables()[0]
        found = outcome(name, table, released)
        assert (kind, rows, method, found) == (kind, rows, method, expected(kind, rows))
        said = [remark for remark in model.plan.remarks if remark.startswith(name)]
        assert bool(said) == (found != "released")
        words = {word.strip('":;,()') for remark in said for word in remark.split()}
        assert not {value for value in secret if len(value) > 4} & words
        if name in released:
            used = released[name].counts[: len(released[name].levels)] > 0
            assert not secret & {str(v) for v in released[name].levels[used].tolist()}
