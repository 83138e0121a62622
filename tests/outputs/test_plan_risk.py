"""Publication plans: utility and risk of each table."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from tests.refusals import refused

from caveat.outputs.plan_risk import correlation, plan_risk, planned_tables
from caveat.table import Table

RNG = np.random.default_rng(5)


def people(n=150):
    return Table.from_frame(
        {
            "town": RNG.choice(list("pq"), n),
            "sex": RNG.choice(list("fm"), n),
            "age": RNG.integers(20, 60, n),
            "job": RNG.choice(list("abcd"), n, p=[0.6, 0.2, 0.15, 0.05]),
            "ill": RNG.choice(list("yn"), n, p=[0.2, 0.8]),
        }
    )


ORIGINAL, RELEASE = people(), people()


def disclosive(table, keys, target):
    """Return the combinations of keys with one target, and that target, by going through rows."""
    seen: dict[tuple, set] = {}
    for row in range(table.n_rows):
        key = tuple(table[name].values[row] for name in keys)
        seen.setdefault(key, set()).add(table[target].values[row])
    return {(key, *values) for key, values in seen.items() if len(values) == 1}


def test_every_table_against_going_through_the_rows():
    plan = planned_tables(["sex", "age"], ["job", "ill"], largest=3)
    found = plan_risk(ORIGINAL, RELEASE, plan, ["job", "ill"], levels=[(), ("town",)])
    assert {(one.level, one.columns) for one in found.tables} == set(product([(), ("town",)], plan))
    for one in found.tables:
        keys = [*one.level, *(name for name in one.columns if name != one.target)]
        ours = disclosive(ORIGINAL, keys, one.target)
        theirs = disclosive(RELEASE, keys, one.target)
        assert (one.original, one.synthetic) == (len(ours), len(theirs))
        assert one.common == len(ours & theirs)
        assert one.risk == (one.common / one.synthetic if one.synthetic else None)
        assert one.recall == (one.common / one.original if one.original else None)
    for target, ratio in found.tcap_ratio.items():
        keys = [n for n in ("sex", "age", "job", "ill", "town") if n != target]
        ours, theirs = (disclosive(t, keys, target) for t in (ORIGINAL, RELEASE))
        assert ratio.value == pytest.approx(len(ours & theirs) / len(theirs))


def test_hellinger_by_hand_and_at_its_ends():
    a = Table.from_frame({"x": list("aabb"), "y": list("ccdd")})
    b = Table.from_frame({"x": list("aaab"), "y": list("cccd")})
    (one,) = plan_risk(a, b, [["x", "y"]], ["y"]).tables
    expected = (math.sqrt(0.5) - math.sqrt(0.75)) ** 2 + (math.sqrt(0.5) - math.sqrt(0.25)) ** 2
    assert one.hellinger == pytest.approx(math.sqrt(expected / 2))
    assert plan_risk(a, a, [["x", "y"]], ["y"]).tables[0].hellinger == 0
    far = Table.from_frame({"x": list("aabb"), "y": list("ddcc")})
    assert plan_risk(a, far, [["x", "y"]], ["y"]).tables[0].hellinger == pytest.approx(1)
    assert plan_risk(a, far, [["x", "y"]], ["y"]).tables[0].common == 0


def test_what_everybody_guesses_does_not_count():
    table = Table.from_frame({"x": list("abcdefghij"), "y": list("nnnnnnnnny")})
    found = plan_risk(table, table, [["x", "y"]], ["y"])
    assert (found.tables[0].synthetic, found.tables[0].common) == (1, 1)
    assert found.tcap_ratio["y"].details["disclosive"] == 10  # this one has no such rule


def test_numbers_are_cut_into_groups():
    fine = plan_risk(ORIGINAL, RELEASE, [["age", "ill"]], ["ill"])
    coarse = plan_risk(ORIGINAL, RELEASE, [["age", "ill"]], ["ill"], groups={"age": 3})
    assert coarse.tables[0].original < fine.tables[0].original
    assert coarse.tables[0].hellinger < fine.tables[0].hellinger


def test_summary_and_worst():
    plan = planned_tables(["sex", "age"], ["job", "ill"], largest=3)
    found = plan_risk(ORIGINAL, RELEASE, plan, ["job", "ill"])
    pairs, triples = found.summary()[(), 2], found.summary()[(), 3]
    assert (pairs[0], triples[0]) == (5, 4)
    assert pairs[1] < triples[1]  # more cells, larger distance
    assert triples[4] == sum(one.common for one in found.tables if len(one.columns) == 3)
    worst = found.worst(2)
    assert [one.common for one in worst] == sorted((o.common for o in found.tables), reverse=True)[
        :2
    ]


def test_nothing_disclosive_is_undefined():
    table = Table.from_frame({"x": list("aabb"), "y": list("cdcd")})
    found = plan_risk(table, table, [["x", "y"]], ["y"])
    assert found.tables[0].risk is None
    assert found.tables[0].recall is None
    assert found.tcap_ratio["y"].value is None


@pytest.mark.parametrize(
    ("tables", "levels", "message"),
    [
        ([["sex", "age"]], [()], "outputs.target.absent"),
        ([["ill"]], [()], "outputs.column.too-few"),
        ([["ill", "sex", "sex"]], [()], "data.column.duplicate"),
        ([["ill", "sex"]], [("sex",)], "outputs.column.conflict"),
        ([["ill", "height"]], [()], "data.column.unknown"),
    ],
)
def test_plans_that_are_refused(tables, levels, message):
    with refused(message):
        plan_risk(ORIGINAL, RELEASE, tables, ["ill"], levels=levels)


def test_correlation():
    found = correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
    assert found.value == pytest.approx(0.8)
    reach = 1.959964 / math.sqrt(2)
    assert found.interval == pytest.approx(
        (math.tanh(math.atanh(0.8) - reach), math.tanh(math.atanh(0.8) + reach))
    )
    assert correlation([1, 1, 1, 1], [1, 2, 3, 4]).value is None
    assert correlation([1, None, 3], [1, 2, 3]).n == 2
    assert correlation([1, 2, 3], [1, 2, 4]).interval is None
