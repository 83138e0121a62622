"""Near values: box queries against all pairs, GTCAP by hand, new rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.risk import MEASURES, Scenario, pair
from caveat.risk.cap import gtcap_uniques
from caveat.risk.isolation import new_rows

number = st.one_of(st.none(), st.integers(-6, 6))


@st.composite
def mixed(draw):
    def table(n):
        return pl.DataFrame(
            {
                "c": draw(st.lists(st.sampled_from("ab"), min_size=n, max_size=n)),
                "x": draw(st.lists(number, min_size=n, max_size=n)),
                "y": draw(st.lists(number, min_size=n, max_size=n)),
                "t": draw(st.lists(number, min_size=n, max_size=n)),
            },
            schema={"c": pl.String, "x": pl.Float64, "y": pl.Float64, "t": pl.Float64},
        )

    return table(draw(st.integers(1, 10))), table(draw(st.integers(1, 10)))


def close(a, b, width):
    return a == b if a is None or b is None else abs(a - b) <= width


@settings(max_examples=80, deadline=None)
@given(mixed(), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_box_queries_equal_all_pairs(tables, x, y, t):
    original, synthetic = tables
    if any(frame[name].drop_nulls().is_empty() for frame in tables for name in ("x", "y", "t")):
        return  # a column of nothing has no numbers: see the test below
    scenario = Scenario(("c", "x", "y"), "t", tolerance={"x": x, "y": y, "t": t})
    expected = []
    for c, a, b, value in original.rows():
        near = [
            r[3] for r in synthetic.rows() if r[0] == c and close(r[1], a, x) and close(r[2], b, y)
        ]
        expected.append([close(v, value, t) for v in near])
    found = pair(original, synthetic, scenario)
    shares = [np.mean(hits) if hits else 0 for hits in expected]
    np.testing.assert_allclose(MEASURES["nearDCAP"](found).per_record, shares)
    sure = [float(bool(hits) and all(hits)) for hits in expected]
    assert MEASURES["nearDiSCO"](found).per_record.tolist() == sure


def test_a_tolerance_needs_numbers():
    frame = pl.DataFrame({"k": ["a", "b"], "t": [1, 2]})
    with refused("attack.tolerance.unsupported", column="k"):
        MEASURES["GTCAP"](pair(frame, frame, Scenario(("k",), "t", tolerance={"k": 1})))


def test_gtcap_by_hand():
    """Four people aged 30, 31, 40, 60 with incomes 10, 12, 20, 50; radii 1 year and 2 of income.

    Person 30: near in the original 30 and 31, incomes 10 and 12 both near 10: P_o = 1. In the
    release ages 30 and 31 with incomes 10 and 50: P_s = 1/2. Incomes near 10 are 10 and 12 of four:
    P_m = 1/2. Score 0. Person 40: P_o = 1, release age 41 with 21: P_s = 1, P_m = 1/4, score 1.
    Person 60: nobody near, P_s = P_m: 0. Means: P_s 9/16, P_m 6/16, P_o 1; 3/16 of 10/16 is 30 %.
    """
    original = pl.DataFrame({"age": [30, 31, 40, 60], "income": [10, 12, 20, 50]})
    synthetic = pl.DataFrame({"age": [30, 31, 41], "income": [10, 50, 21]})
    scenario = Scenario(("age",), "income", tolerance={"age": 1, "income": 2})
    found = gtcap_uniques(pair(original, synthetic, scenario))
    assert found.original.tolist() == [1, 1, 1, 1]
    assert found.synthetic.tolist() == [0.5, 0.5, 1, 0.25]
    assert found.marginal.tolist() == [0.5, 0.5, 0.25, 0.25]
    assert found.score.tolist() == [0, 0, 1, 0]
    assert found.found.tolist() == [2, 2, 1, 0]
    result = MEASURES["GTCAP"](pair(original, synthetic, scenario))
    assert result.value == pytest.approx(0.3)
    # gains 0 0 3/4 0, room 1/2 1/2 3/4 3/4: residuals -.15 -.15 .525 -.225
    error = (0.37125 / 4) ** 0.5 / 2 / 0.625
    assert result.interval == pytest.approx((0, 0.3 + 1.959964 * error))
    assert result.details["without a near record"] == 1


def test_gtcap_of_a_release_that_tells_nothing_is_0_and_of_the_original_100():
    rng = np.random.default_rng(11)
    n = 1500
    age = rng.integers(18, 80, n)
    original = pl.DataFrame({"age": age, "town": rng.integers(0, 30, n),
                             "job": (age // 16 + rng.integers(0, 2, n)) % 4})  # fmt: skip
    scenario = Scenario(("age", "town"), "job", tolerance={"age": 1})
    shuffled = original.with_columns(job=pl.Series(rng.permutation(original["job"].to_numpy())))
    found = pair(original, shuffled, scenario)
    nothing = MEASURES["GTCAP"](found)
    # Uniques share synthetic neighbours, so the simple error is widened by a factor of 2.
    spread = nothing.interval[1] - nothing.value
    assert abs(nothing.details["before it is kept within 0 and 1"]) < 2 * spread
    assert spread < 4
    assert 100 * gtcap_uniques(found).score.mean() > 15  # the mean of single scores is far from 0
    assert MEASURES["GTCAP"](pair(original, original, scenario)).value == pytest.approx(1)


def test_gtcap_without_uniques_is_undefined():
    frame = pl.DataFrame({"k": [1, 1], "t": [1, 2]})
    found = MEASURES["GTCAP"](pair(frame, frame, Scenario(("k",), "t")))
    assert found.value is None
    assert "unique" in found.notes[0]


def test_new_rows_by_hand():
    """Numbers within a relative tolerance of the synthetic value; the rest must agree."""
    original = pl.DataFrame({"c": ["a", "a", "b"], "x": [100.0, None, 0.0]})
    synthetic = pl.DataFrame({"c": ["a", "a", "b", "b", "a"], "x": [101.0, 102.0, 0.0, 0.01, None]})
    found = pair(original, synthetic, Scenario(("c",)))
    # 101: |100 - 101| <= 1.01; 102: 2 > 1.02; 0 met exactly; 0.01 is not near 0; missing = missing.
    assert new_rows(found, 0.01).value == pytest.approx(0.4)
    assert new_rows(found, 0.0).value == pytest.approx(0.6)
    assert new_rows(found, 1.0).value == 0


@settings(max_examples=50, deadline=None)
@given(mixed(), st.sampled_from([0.0, 0.01, 0.3, 1.0]))
def test_new_rows_equal_all_pairs(tables, tolerance):
    original, synthetic = tables
    if any(frame[name].drop_nulls().is_empty() for frame in tables for name in ("x", "y", "t")):
        return
    new = 0
    for row in synthetic.rows():
        widths = [tolerance * abs(v) if v is not None else 0 for v in row[1:]]
        new += not any(
            r[0] == row[0]
            and all(close(a, b, w) for a, b, w in zip(r[1:], row[1:], widths, strict=True))
            for r in original.rows()
        )
    found = new_rows(pair(original, synthetic, Scenario(("c",))), tolerance)
    assert found.value == pytest.approx(new / synthetic.height)


def test_copies_by_hand():
    original = pl.DataFrame({"a": [1, 1, 2, 3], "b": [1, 1, 2, 3]})
    synthetic = pl.DataFrame({"a": [1, 2, 2, 4], "b": [1, 2, 9, 4]})
    found = pair(original, synthetic, Scenario(("a",)))
    assert MEASURES["exactMatch"](found).value == 0.5
    assert MEASURES["exactMatch"](found).per_record.tolist() == [1, 1, 1, 0]
    assert MEASURES["fullMatch"](found).value == 0.25
    assert MEASURES["fullMatch"](found).reference == 0.5
