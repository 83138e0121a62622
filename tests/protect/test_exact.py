"""Protections with values that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.errors import CaveatError
from caveat.protect import (
    code_extremes,
    group_rare_levels,
    label,
    mdav,
    microaggregate,
    remove_replicated_uniques,
    round_numbers,
    smooth,
    stochastic_round,
)
from caveat.risk import audit
from caveat.synthesis.smoothing import SMOOTHINGS
from caveat.table import ColumnSchema, Schema, Table, concat


def values(protected, name):
    return protected.table[name].values.tolist()


PEOPLE = Table.from_frame({"sex": list("ffmmm"), "age": [31, 47, 31, 52, 52], "x": range(5)})
RELEASE = Table.from_frame({"sex": list("ffffmm"), "age": [31, 47, 47, 52, 52, 31], "x": range(6)})


def test_replicated_uniques():
    # Release: f31 unique (also in the original), f52 unique (not there), m52 unique, twice there,
    # m31 unique in both.
    found = remove_replicated_uniques(PEOPLE, RELEASE, ["sex", "age"])
    assert values(found, "x") == [1, 2, 3, 4]
    assert found.step.counts == {"rows": 6, "removed": 2}
    assert audit(PEOPLE, found.table, keys=["sex", "age"], measures=["repU"])["repU"].value == 0
    found = remove_replicated_uniques(PEOPLE, RELEASE, ["sex", "age"], existing=True)
    assert values(found, "x") == [1, 2, 3]


def test_nothing_would_remain():
    with pytest.raises(CaveatError, match="nothing would remain"):
        remove_replicated_uniques(RELEASE, RELEASE, ["x"])


def test_extremes():
    table = Table.from_frame({"income": [-50.0, 100.0, None, 9000.5]})
    found = code_extremes(table, top={"income": 5000}, bottom={"income": 0})
    assert values(found, "income") == [0.0, 100.0, None, 5000.0]
    assert found.step.counts == {"income: at the top": 1, "income: at the bottom": 1}
    with pytest.raises(CaveatError, match="column income: the bottom is not below the top"):
        code_extremes(table, top={"income": 1}, bottom={"income": 2})


def test_a_protected_number_never_becomes_a_declared_code():
    table = Table.from_frame({"income": [-12, -8, 40, -9]})
    table = Schema({"income": ColumnSchema(missing={-8: "not asked"})}).apply(table)
    found = round_numbers(table, {"income": 8})
    # -12 rounds to -16 (even multiple), -9 to -8, which would read as "not asked"
    assert values(found, "income") == [-16, -8, 40, -7]
    assert found.table["income"].is_missing.tolist() == [False, True, False, False]


def test_rounding_goes_to_the_even_multiple():
    table = Table.from_frame({"x": [14, 15, 25, 26]})
    found = round_numbers(table, {"x": 10})
    assert values(found, "x") == [10, 20, 20, 30]
    assert found.step.counts == {"x: changed": 4}


def test_rare_levels():
    jobs = ["clerk"] * 6 + ["baker"] * 5 + ["smith", "smith", "judge"]
    found = group_rare_levels(Table.from_frame({"job": jobs}), ["job"], fewest=3)
    column = found.table["job"]
    assert dict(zip(column.levels, column.counts, strict=True)) == {
        "baker": 5, "clerk": 6, "other": 3,
    }  # fmt: skip
    assert found.step.counts == {"job: levels grouped": 2, "job: records": 3}


def test_a_single_rare_level_takes_another_with_it():
    jobs = ["clerk"] * 6 + ["baker"] * 5 + ["judge"]
    column = group_rare_levels(Table.from_frame({"job": jobs}), ["job"]).table["job"]
    assert dict(zip(column.levels, column.counts, strict=True)) == {"clerk": 6, "other": 6}


def test_label():
    assert values(label(PEOPLE), "synthetic") == ["synthetic"] * 5
    with pytest.raises(CaveatError, match="column sex: there is such a column already"):
        label(PEOPLE, column="sex")


@pytest.mark.parametrize("name", ["kernel", "spline"])
def test_smoothing_hides_values_and_keeps_groups(name):
    rng = np.random.default_rng(1)
    sex = rng.integers(0, 2, 2000)
    table = Table.from_frame({"sex": sex, "x": np.round(100 * sex + rng.normal(size=2000), 2)})
    found = smooth(table, ["x"], SMOOTHINGS[name], by=["sex"], seed=3)
    x = np.array(values(found, "x"))
    assert (x[sex == 1] > 50).all()
    assert (x[sex == 0] < 50).all()
    assert x[sex == 0].mean() == pytest.approx(0, abs=4 / np.sqrt((sex == 0).sum()) * 1.2)
    assert np.isin(x, table["x"].levels).mean() < 0.05
    assert found.table == smooth(table, ["x"], SMOOTHINGS[name], by=["sex"], seed=3).table


@pytest.mark.parametrize(("n", "k", "cells"), [
    (79, 2, 1872), (79, 4, 912), (79, 30, 96), (983, 4, 11760), (1493, 20, 3552),
])  # fmt: skip
def test_mdav_has_the_number_of_cells_that_is_printed(n, k, cells):
    # 48 half-hours times the number of groups, floor(n / k)
    rng = np.random.default_rng(n)
    table = Table.from_frame({f"t{j}": rng.lognormal(size=n) for j in range(48)})
    found = microaggregate(table, table.names, k=k)
    assert found.step.counts["cells"] == cells == 48 * (n // k)
    assert found.step.counts["smallest"] >= k
    assert found.step.counts["largest"] <= 2 * k - 1
    rows = np.stack([found.table[name].values.astype(float) for name in table], axis=1)
    _, counts = np.unique(rows.round(9), axis=0, return_counts=True)
    assert counts.min() >= k
    means = [table[name].values.astype(float).mean() for name in table]
    assert rows.mean(axis=0) == pytest.approx(means)


def test_mdav_by_hand():
    # The centre is 3.0; 9 is farthest, with 8; from it 0 is farthest, with 1; 3 and 4 remain.
    points = np.array([[0.0], [1.0], [3.0], [4.0], [8.0], [9.0]])
    assert mdav(points, 2).tolist() == [0, 0, 1, 1, 2, 2]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 99))
def test_mdav_groups(n, k, seed):
    points = np.random.default_rng(seed).integers(0, 5, (n, 2)).astype(float)
    if k > n:
        with pytest.raises(CaveatError, match="the size of the groups does not fit"):
            mdav(points, k)
        return
    sizes = np.bincount(mdav(points, k))
    assert len(sizes) == n // k
    assert k <= sizes.min()
    assert sizes.max() <= max(2 * k - 1, k)


def test_missing_numbers_are_refused_by_row():
    table = Table.from_frame({"x": [1.0, None, 3.0]})
    with pytest.raises(CaveatError, match="column x, row 2: microaggregation needs complete"):
        microaggregate(table, ["x"], k=2)


@pytest.mark.parametrize(("z", "k"), [(1, 3), (2, 3), (3, 10), (7, 10)])
def test_stochastic_rounding_has_mean_z_and_variance_z_times_k_minus_z(z, k):
    n = 40_000
    rounded = stochastic_round(np.full(n, z), k, seed=z + k)
    assert set(rounded.tolist()) == {0, k}
    variance = z * (k - z)
    assert rounded.mean() == pytest.approx(z, abs=4 * np.sqrt(variance / n))
    p = z / k
    fourth = k**4 * p * (1 - p) * ((1 - p) ** 3 + p**3)
    assert rounded.var() == pytest.approx(
        variance, abs=4 * np.sqrt((fourth - variance**2) / n + 1e-9)
    )


def test_large_and_empty_counts_stay():
    counts = np.array([[0, 3], [5, 1000]])
    assert np.array_equal(stochastic_round(counts, 3), counts)
    with pytest.raises(CaveatError, match="whole numbers, 0 or more"):
        stochastic_round(np.array([-1, 2]))


def test_tables_can_be_stacked_after_protection():
    found = code_extremes(RELEASE, top={"age": 50})
    assert concat([RELEASE, found.table]).n_rows == 12
