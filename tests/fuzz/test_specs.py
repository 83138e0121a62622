"""Mutated specifications and expressions end in a CaveatError or are good; nothing else."""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path

import pytest
from tests.fuzz.specs import cases, expressions

from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.expressions import Expression, Formula
from caveat.release import ReleaseSpec
from caveat.synthesis import make_plan
from caveat.synthesis.options import parse_rule
from caveat.table import Table
from caveat.utility import EditRule, WeightedPair, check_rules, compare_model

FACTOR = int(os.environ.get("CAVEAT_FUZZ", "1"))
SLOW = 20.0


@pytest.fixture(scope="module")
def table() -> Table:
    return survey(rows=120, seed=3)


def load(path: Path, raw: bytes, table: Table) -> None:
    """Read a specification, hold it against the data and make the plan."""
    path.write_bytes(raw)
    spec = ReleaseSpec.from_toml(path)
    spec.check(table)
    make_plan(table, spec.synthesis)


def use(text: str, table: Table, pair: WeightedPair) -> None:
    """Give a text to all who read one; each may refuse it."""
    for act in (
        lambda: Expression(text).evaluate(table.columns),
        lambda: Expression(text).holds(table.columns),
        lambda: parse_rule(text).contradictions(table),
        lambda: check_rules(pair, {"r": EditRule(text)}),
        lambda: Formula.parse(text),
        lambda: compare_model(pair, text),
    ):
        try:
            act()
        except CaveatError as error:
            said = str(error)
            assert "\n" not in said, said


def wrong(act, cause: object) -> str | None:
    """Return what went wrong, if anything but a CaveatError did."""
    start = time.process_time()
    try:
        act()
    except CaveatError as error:
        every = (error, *error.others)  # each mistake is one line
        if len(str(error).splitlines()) != len(every):
            return f"{cause!r:.200}: a mistake of several lines: {error!s:.300}"
    except BaseException:
        return f"{cause!r:.200}: {traceback.format_exc()[-700:]}"
    took = time.process_time() - start
    return f"{cause!r:.200}: {took:.0f} s" if took > SLOW else None


def test_mutated_specifications(tmp_path: Path, table: Table) -> None:
    path = tmp_path / "release.toml"
    found = [wrong(lambda: load(path, raw, table), raw) for raw in cases(18, 200 * FACTOR)]  # noqa: B023
    assert [entry for entry in found if entry] == []


def test_mutated_expressions(table: Table) -> None:
    pair = WeightedPair.of(table, table)
    texts = expressions(18, 200 * FACTOR)
    found = [wrong(lambda: use(text, table, pair), text) for text in texts]  # noqa: B023
    assert [entry for entry in found if entry] == []


def test_cases_are_the_same_each_time() -> None:
    assert list(cases(5, 20)) == list(cases(5, 20))
    assert list(expressions(5, 20)) == list(expressions(5, 20))
    assert len(set(cases(5, 20))) == 20
