"""The report as a whole: what it counts, how it is printed, and the starter specification."""

from __future__ import annotations

import json
import re
import tomllib

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.findings import CATALOGUE, TOPICS, look
from caveat.spec.document import toml_key, toml_value
from caveat.spec.starter import starter
from caveat.table import Schema, Table

RNG = np.random.default_rng(24)
N = 600
NAMES = st.lists(
    st.text(min_size=1, max_size=8).filter(lambda s: s.strip()), min_size=3, max_size=3, unique=True
)


def survey(age="age", group="agegr", income="income"):
    ages = RNG.integers(16, 90, N)
    return {
        age: ages,
        group: np.where(ages < 45, "young", "old").astype(object),
        income: np.where(RNG.random(N) < 0.1, -8, RNG.integers(500, 9000, N)),
    }


def test_columns_are_counted_as_they_were_read():
    frame = pl.DataFrame({"x": [3, None, 1, 3, -8], "s": ["b", "a", "b", "", None]})
    x, s = look(frame).columns
    assert (x.kind, x.rows, x.distinct, dict(x.missing), x.low, x.high) == (
        "integer",
        5,
        3,
        {"empty": 1},
        -8,
        3,
    )
    assert x.top[0] == (3, 2)
    assert dict(s.missing) == {"empty": 1, "empty text": 1}
    assert (s.distinct, s.n_missing, s.low, s.top) == (2, 2, None, (("b", 2), ("a", 1)))


def test_a_declared_code_is_not_found_again():
    table = Schema.from_mapping({"income": {"missing": [-8]}}).apply(Table.from_frame(survey()))
    assert look(table).about("missing-code") == ()


@pytest.mark.parametrize("data", [{}, {"a": []}, {"a": [1]}, {"a": [None, None]}])
def test_hardly_any_data(data):
    profile = look(data)
    assert profile.rows == (len(data["a"]) if data else 0)
    tomllib.loads(starter(profile, "x.csv"))


def test_findings_come_in_the_order_of_the_decisions():
    topics = [TOPICS.index(f.topic) for f in look(survey()).findings]
    assert topics == sorted(topics)
    assert {entry.topic for entry in CATALOGUE.values()} == set(TOPICS)
    assert all(e.title and e.action.endswith(".") for e in CATALOGUE.values())


def test_the_report_is_json():
    content = json.loads(json.dumps(look(survey()).to_dict()))
    assert content["rows"] == N
    code = next(f for f in content["findings"] if f["code"] == "missing-code")
    assert (code["columns"], code["suggestion"]) == (["income"], {"missing": [-8]})


def test_the_order_of_the_rows_does_not_matter():
    data = pl.DataFrame(survey())
    shuffled = data.sample(fraction=1, shuffle=True, seed=5)
    assert [f.to_dict() for f in look(shuffled).findings] == [
        f.to_dict() for f in look(data).findings
    ]


def test_the_starter_takes_the_findings_up(tmp_path):
    data = {
        **survey(),
        "id": np.arange(N),
        "kg": RNG.normal(70, 9, N).round(),
        "cm": RNG.normal(170, 9, N).round(),
    }
    data["bmi"] = data["kg"] / (data["cm"] / 100) ** 2
    path = tmp_path / "release.toml"
    path.write_text(starter(look(data), "survey.csv"), encoding="utf-8")
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    assert content["data"] == {"path": "survey.csv"}
    assert content["columns"] == {"income": {"missing": [-8]}}
    assert content["synthesis"]["replace"] == {"id": "id"}
    assert content["synthesis"]["order"] == ["age", "income", "kg", "cm", "agegr"]
    assert content["synthesis"]["derived"] == {
        "agegr": {"lookup": "age"},
        "bmi": "kg / (cm / 100) ** 2",
    }
    applied = Schema.from_toml(path).apply(Table.from_frame(data))
    assert [str(m) for m in applied["income"].missing] == ["-8"]


def test_the_starter_holds_no_extreme_value():
    data = survey()
    data["bmi"] = RNG.normal(26, 4, N)
    data["bmi"][5] = 449.975
    assert look(data).about("outlier", "bmi")
    assert "449" not in starter(look(data), "survey.csv")


def test_two_columns_do_not_follow_from_each_other():
    x = RNG.integers(0, 9, N)
    content = tomllib.loads(starter(look({"a": x, "b": [f"l{v}" for v in x], "c": x * 3})))
    assert content["synthesis"]["derived"] == {"b": {"lookup": "a"}, "c": "3 * a"}
    assert content["synthesis"]["order"] == ["a", "b"]


def test_what_follows_from_a_looked_up_column_comes_after_it():
    ages = RNG.integers(16, 90, N)
    group = np.searchsorted([24, 34, 44, 59, 64], ages)
    names = np.array(list("abcdef"), dtype=object)
    data = {"half": np.where(group < 3, "young", "old").astype(object), "agegr": names[group]}
    content = tomllib.loads(starter(look({**data, "name": names[::-1][group], "age": ages})))
    derived, order = content["synthesis"]["derived"], content["synthesis"]["order"]
    assert {n: d["lookup"] for n, d in derived.items()} == {"agegr": "age", "name": "agegr"}
    assert order == ["half", "age", "agegr", "name"]


def test_nothing_is_looked_up_by_a_column_that_is_computed():
    kg, cm = RNG.normal(70, 9, N).round(), RNG.normal(170, 9, N).round()
    bmi = kg / (cm / 100) ** 2
    group = np.where(bmi < 25, "low", "high").astype(object)
    text = starter(look({"kg": kg, "cm": cm, "bmi": bmi, "bmigr": group}))
    content = tomllib.loads(text)["synthesis"]
    assert content["derived"] == {"bmi": "kg / (cm / 100) ** 2"}
    assert content["order"] == ["kg", "cm", "bmigr"]
    assert '# bmigr = { lookup = "bmi" }' in text


def test_rules_stand_in_the_part_they_belong_to_and_follow_the_order():
    smoke = RNG.choice(["yes", "no"], N).astype(object)
    cigarettes = np.where(smoke == "yes", RNG.integers(1, 41, N), -8)
    for data, rule in (
        ({"smoke": smoke, "n": cigarettes}, "if smoke == 'no' then n = -8"),
        ({"n": cigarettes, "smoke": smoke}, "if n == -8 then smoke = 'no'"),
    ):
        text = starter(look({**data, **survey()}))
        assert "rules" not in tomllib.loads(text)["synthesis"]
        in_force = re.sub("^# (rules|  |])", r"\1", text, flags=re.MULTILINE)
        assert tomllib.loads(in_force)["synthesis"]["rules"] == [rule]


def test_a_rule_against_the_order_is_counted_and_left_out():
    low = RNG.integers(0, 1000, N)
    text = starter(look({"high": low + RNG.integers(0, 500, N), "low": low}))
    assert "# rules" not in text
    assert "# 1 finding of the report cannot be stated as a rule with this order" in text


def test_words_among_numbers_are_declared_with_the_kind():
    values = [str(v) for v in RNG.integers(0, 90, N)]
    values[:5] = ["refused"] * 5
    content = tomllib.loads(starter(look({"x": values, "y": RNG.integers(0, 2, N)})))
    assert content["columns"]["x"] == {"missing": ["refused"], "kind": "integer"}
    table = Schema.from_mapping(content["columns"]).apply(Table.from_frame({"x": values}))
    assert int(table["x"].is_missing.sum()) == 5


@settings(max_examples=25, deadline=None)
@given(NAMES)
def test_odd_names_give_valid_toml(names):
    content = tomllib.loads(starter(look(survey(*names)), 'a\\b "c".csv'))
    assert set(content["columns"]) == {names[2]}
    assert content["synthesis"]["order"] == [names[0], names[2], names[1]]
    assert set(content["synthesis"]["derived"]) == {names[1]}
    Schema.from_mapping(content["columns"])


@given(
    st.text(),
    st.one_of(
        st.text(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
)
def test_keys_and_values_come_back(key, value):
    assert tomllib.loads(f"{toml_key(key)} = {toml_value(value)}") == {key: value}


CELLS = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-9, 99)), min_size=40, max_size=40),
    st.lists(
        st.one_of(
            st.none(),
            st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda x: x == 0 or abs(x) > 1e-75),
        ),
        min_size=40,
        max_size=40,
    ),
    st.lists(st.one_of(st.none(), st.text(max_size=4)), min_size=40, max_size=40),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=40, max_size=40),
    st.lists(st.one_of(st.none(), st.dates()), min_size=40, max_size=40),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=4))
def test_any_table_can_be_looked_at(columns):
    frame = pl.DataFrame({f"c{i}": pl.Series(c, strict=False) for i, c in enumerate(columns)})
    profile = look(frame)
    json.dumps(profile.to_dict())
    content = tomllib.loads(starter(profile, "x.csv"))
    Schema.from_mapping(content.get("columns", {})).apply(Table.from_frame(frame))
    assert all(f.message.endswith(".") or f.message.endswith("?") for f in profile.findings)
