"""Rules that hold in every row, and those that say nothing."""

from __future__ import annotations

import numpy as np
import polars as pl

from caveat.findings import look

RNG = np.random.default_rng(23)
N = 2000
SMOKE = RNG.choice(["yes", "no"], N, p=[0.3, 0.7]).astype(object)
AGE = RNG.integers(0, 90, N)


def test_a_question_that_is_skipped():
    cigarettes = pl.Series(np.where(SMOKE == "yes", RNG.integers(1, 41, N), -8))
    (finding,) = look({"smoke": SMOKE, "cigarettes": cigarettes}).about("missing-when")
    rows = int((SMOKE == "no").sum())
    assert finding.message == f"cigarettes is missing exactly where smoke is no ({rows:,} rows)."
    assert finding.suggestion == {
        "rules": [
            "if smoke == 'no' then cigarettes = -8",
            "if cigarettes == -8 then smoke = 'no'",
        ],
        "between": [["smoke", "cigarettes"], ["cigarettes", "smoke"]],
    }


def test_a_rule_with_two_exceptions_says_so():
    values = np.where(SMOKE == "yes", RNG.integers(1, 41, N), -8)
    values[np.flatnonzero(SMOKE == "no")[:2]] = 20
    (finding,) = look({"smoke": SMOKE, "cigarettes": values}).about("missing-when")
    assert "2 exceptions" in finding.message
    assert finding.suggestion["rules"] == ["if smoke == 'no' then cigarettes = -8"]


def test_cells_that_are_missing_in_two_ways_have_no_single_value():
    values = np.where(SMOKE == "yes", RNG.integers(1, 41, N), -8).astype(object)
    values[np.flatnonzero(SMOKE == "no")[::2]] = None
    cigarettes = pl.Series(values.tolist())
    (finding,) = look({"smoke": SMOKE, "cigarettes": cigarettes}).about("missing-when")
    assert finding.suggestion["rules"] == []


def test_missing_together_and_below_an_age():
    wage = pl.Series(
        [None if a <= 15 else float(w) for a, w in zip(AGE, RNG.integers(500, 900, N), strict=True)]
    )
    job = pl.Series(
        [None if a <= 15 else j for a, j in zip(AGE, RNG.choice(["a", "b", "c"], N), strict=True)]
    )
    profile = look({"age": AGE, "wage": wage, "job": job})
    rows = int((AGE <= 15).sum())
    assert profile.about("missing-together")[0].columns == ("wage", "job")
    assert profile.about("missing-when")[0].message == (
        f"wage, job are missing exactly where age is at most 15 ({rows} rows)."
    )
    assert profile.about("missing-when")[0].suggestion["rules"] == [
        "if age <= 15 then wage = missing",
        "if age <= 15 then job = missing",
    ]


def test_order_of_numbers_and_dates():
    start = np.datetime64("2001-01-01") + RNG.integers(0, 3000, N)
    low = RNG.integers(0, 1000, N)
    data = {
        "start": start,
        "end": start + RNG.integers(1, 900, N),
        "low": low,
        "high": low + RNG.integers(0, 500, N),
    }
    found = look(data).about("order")
    assert {tuple(f.suggestion["rules"]) for f in found} == {("start <= end",), ("low <= high",)}
    assert {f.message.partition(" in ")[0] for f in found} == {"start < end", "low <= high"}


def test_an_order_of_the_scales_alone_is_no_rule():
    assert look({"age": AGE, "height": 100 + RNG.integers(0, 100, N)}).about("order") == ()


def test_orders_that_follow_from_others_are_left_out():
    low = RNG.integers(0, 1000, N)
    middle = low + RNG.integers(0, 500, N)
    data = {"low": low, "middle": middle, "high": middle + RNG.integers(0, 500, N)}
    assert {f.columns for f in look(data).about("order")} == {("low", "middle"), ("middle", "high")}


def test_a_level_that_fixes_another():
    relation = RNG.choice(["husband", "wife", "child"], N).astype(object)
    sex = np.where(
        relation == "husband", "m", np.where(relation == "wife", "f", RNG.choice(["m", "f"], N))
    )
    found = look({"relation": relation, "sex": sex.astype(object)}).about("implication")
    assert {tuple(f.suggestion["rules"]) for f in found} == {
        ("if relation == 'husband' then sex = 'm'",),
        ("if relation == 'wife' then sex = 'f'",),
    }
    assert found[0].message.startswith("if relation is ")


def test_an_implication_is_no_rule_where_the_consequence_is_often_missing():
    relation = RNG.choice(["husband", "child"], N).astype(object)
    sex = np.where(relation == "husband", "m", RNG.choice(["m", "f"], N)).astype(object)
    sex[::10] = None
    (found,) = look({"relation": relation, "sex": sex}).about("implication")
    assert found.message.startswith("if relation is husband, sex is m (all ")
    assert found.suggestion["rules"] == []


def test_an_equivalence_is_said_once():
    race = RNG.choice(["none", "a", "b"], N).astype(object)
    origin = np.where(race == "none", "none", RNG.choice(["x", "y"], N)).astype(object)
    (found,) = look({"race": race, "origin": origin}).about("implication")
    assert found.message.startswith("race is none exactly if origin is none (all ")
    assert found.suggestion["rules"] == [
        "if race == 'none' then origin = 'none'",
        "if origin == 'none' then race = 'none'",
    ]


def test_independent_columns_have_no_rules():
    data = {f"x{i}": RNG.integers(0, 4, N) for i in range(6)} | {"smoke": SMOKE}
    topics = {f.topic for f in look(data).findings}
    assert "Rules between columns" not in topics
    assert "Columns determined by others" not in topics


def test_many_rules_are_capped_and_the_rest_is_counted():
    base = RNG.integers(0, 1000, N)
    pairs = {}
    for i in range(8):
        other = RNG.permutation(base)
        pairs |= {f"low{i}": other, f"high{i}": other + RNG.integers(0, 200, N)}
    found = look(pairs).about("order")
    assert len(found) == 8
    group = RNG.integers(0, 3, N)
    data = {"g": group.astype(str)} | {
        f"x{i}": np.where(group == 0, "a", RNG.choice(["a", "b"], N)).astype(object)
        for i in range(14)
    }
    found = look(data).about("implication")
    assert len(found) == 13
    assert found[-1].message.endswith("further rules of this kind are not listed.")
