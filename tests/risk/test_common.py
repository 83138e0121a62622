"""What holds for every measure: one test per invariant over the whole table of measures."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.risk import ENTRIES, MEASURES, Measure, Scenario, audit, pair, register
from caveat.risk.measure import Measurement

RISK = list(ENTRIES)
NAMES = [m.name for m in RISK]
SCENARIO = Scenario(("sex", "age", "town"), "job", tolerance={"age": 0})


def people(seed: int, n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, n)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n).tolist(),
            "age": age,
            "town": [(None, "north", "south")[i] for i in rng.integers(0, 3, n)],
            "job": np.where(age > 50, "none", rng.choice(["baker", "clerk", "smith"], n)).tolist(),
            "pay": rng.normal(2000, 400, n).round(-1),
        }
    )


@pytest.fixture(scope="module")
def tables():
    return people(1), people(2)


def values(original, synthetic, scenario=SCENARIO):
    found = pair(original, synthetic, scenario)
    return {name: MEASURES[name](found).value for name in NAMES}


@pytest.mark.parametrize("measure", RISK, ids=NAMES)
def test_entries_are_complete(measure):
    assert measure.says
    assert measure.attacker
    assert measure.formula
    assert measure.source
    assert measure.blind_spot.endswith(".")
    assert len(measure.blind) <= 75
    assert measure.needs
    assert measure.unit in ("share", "ratio")


@pytest.mark.parametrize("name", NAMES)
def test_a_measurement_is_a_finite_number_with_a_baseline_if_the_entry_names_one(name, tables):
    found = MEASURES[name](pair(*tables, SCENARIO))
    assert found.value is not None
    assert math.isfinite(found.value)
    low, high = found.interval
    assert low <= found.value <= high
    assert (found.baseline is not None) == bool(MEASURES[name].baseline)
    assert found.n > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_original_released_gives_the_reference(name, tables):
    """Identical data give what the measure calls its value for the original itself."""
    original, _ = tables
    found = MEASURES[name](pair(original, original, SCENARIO))
    if found.reference is not None:
        assert found.value == pytest.approx(found.reference)
    release = MEASURES[name](pair(*tables, SCENARIO))
    if release.reference is not None:
        assert release.reference == pytest.approx(found.value)


def test_row_order_does_not_matter(tables):
    original, synthetic = tables
    mixed = original.sample(fraction=1, shuffle=True, seed=3), synthetic.reverse()
    assert values(*mixed) == pytest.approx(values(*tables))


def test_names_of_levels_do_not_matter(tables):
    """Towns and jobs get other names, in another alphabetical order."""
    rename = {"north": "z", "south": "a", "none": "b", "baker": "y", "clerk": "x", "smith": "c"}
    other = [t.with_columns(pl.col("town", "job").replace(rename)) for t in tables]
    assert values(*other) == pytest.approx(values(*tables))


def test_order_of_keys_and_columns_does_not_matter(tables):
    turned = Scenario(("town", "age", "sex"), "job", tolerance={"age": 0})
    other = [t.select(reversed(t.columns)) for t in tables]
    assert values(*other, turned) == pytest.approx(values(*tables))


def test_one_copy_equals_a_list_of_one_copy(tables):
    original, synthetic = tables
    one = audit(original, synthetic, SCENARIO, measures=["all"]).to_dict()
    assert audit(original, [synthetic], SCENARIO, measures=["all"]).to_dict() == one


def test_two_equal_copies_have_the_values_of_one(tables):
    original, synthetic = tables
    found = audit(original, [synthetic, synthetic], SCENARIO, measures=["all"])
    for name in NAMES:
        target = "job" if "target" in MEASURES[name].needs else None
        first, second = found.each(name, target)
        assert first == second
        assert found.mean(name, target) == pytest.approx(first.value)


@pytest.mark.parametrize("name", NAMES)
def test_records_add_up_to_the_value(name, tables):
    """A measure that is a share of the original records is the mean of what they carry."""
    found = MEASURES[name](pair(*tables, SCENARIO))
    if found.trace is None:
        return
    carried = found.per_record
    assert carried.shape == (300,)
    assert carried.min() >= 0
    assert carried.max() <= 1
    if (
        found.n == 300
        and MEASURES[name].family != "isolation"
        and name not in ("scaledDCAP", "exactMatch")
    ):
        assert carried.mean() == pytest.approx(found.value)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 25))
def test_tiny_tables_give_a_number_or_a_reason(seed, n, m):
    found = pair(people(seed, n), people(seed + 1, m), SCENARIO)
    for name in NAMES:
        result = MEASURES[name](found)
        assert result.value is not None or result.notes
        if result.value is not None and MEASURES[name].unit == "share" and "scaled" not in name:
            assert -1e-9 <= result.value <= 1 + 1e-9 or name == "PI"


def test_zero_tolerance_is_equality(tables):
    """With all tolerances 0 the near measures are DCAP and DiSCO."""
    got = values(*tables)
    assert got["nearDCAP"] == pytest.approx(got["DCAP"])
    assert got["nearDiSCO"] == pytest.approx(got["DiSCO"])


def test_wider_tolerances_find_more(tables):
    shares = [
        MEASURES["nearDCAP"](
            pair(*tables, Scenario(("age",), "pay", tolerance={"age": 2, "pay": w}))
        )
        for w in (0, 100, 400, 1e6)
    ]
    assert [r.value for r in shares] == sorted(r.value for r in shares)
    assert shares[-1].value == 1


def test_a_name_is_taken_once():
    entry = MEASURES["repU"]
    register(entry)
    with pytest.raises(ValueError, match="two measures called repU"):
        register(Measure(**{**entry.__dict__, "says": "another"}))
    assert MEASURES["repU"] is entry


def test_an_unknown_measure_is_an_error_with_a_hint():
    with refused("measure.name.unknown"):
        MEASURES["disco"]
    with refused("measure.name.unknown"):
        MEASURES["nonsense"]
    assert MEASURES.get("nonsense") is None


def test_a_measurement_without_value_needs_a_reason():
    with pytest.raises(ValueError, match="must say why"):
        Measurement(None)
    with pytest.raises(ValueError, match="finite"):
        Measurement(float("nan"))
