"""The statistics of a table of counts: by hand, by scipy, and their invariants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import jensenshannon

from caveat.utility import MEASURES, WeightedPair, all_tables, count_statistics, cross_table
from caveat.utility.tables import STATISTICS
from caveat.utility.variables import (
    aitchison,
    count_errors,
    hellinger,
    k_marginal_by_group,
    k_marginal_score,
)

counts = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=2, max_size=12
).filter(lambda cells: all(sum(c[i] for c in cells) > 0 for i in (0, 1)))


def split(cells: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(cells)
    return table[:, 0], table[:, 1]


@given(counts)
def test_against_scipy(cells: list[tuple[int, int]]) -> None:
    o, s = split(cells)
    found = count_statistics(o, s)
    p, q = o / o.sum(), s / s.sum()
    assert found["JSD"] == pytest.approx(jensenshannon(p, q, base=2) ** 2, abs=1e-9)
    n = o.sum() + s.sum()
    held = o + s > 0
    chi = stats.chi2_contingency(np.array([o[held], s[held]]), correction=False).statistic
    # VW takes the original as fixed and Pearson's χ² does not: VW (1 − c) = χ².
    assert found["VW"] * (o.sum() / n) == pytest.approx(chi, rel=1e-9, abs=1e-9)
    scores = s[held] / (o + s)[held]
    ours, theirs = np.repeat(scores, o[held]), np.repeat(scores, s[held])
    u = stats.mannwhitneyu(theirs, ours, method="asymptotic").statistic
    assert found["U"] == pytest.approx(u)
    assert found["SPECKS"] == pytest.approx(np.abs(p - q).sum() / 2)
    both = np.concatenate([ours, theirs])
    c = s.sum() / n
    assert found["pMSE"] == pytest.approx(((both - c) ** 2).mean(), abs=1e-12)


@given(counts, st.randoms(use_true_random=False))
def test_order_of_cells_and_empty_cells_do_not_matter(
    cells: list[tuple[int, int]], random: object
) -> None:
    mixed = [*cells, (0, 0), (0, 0)]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    first, second = count_statistics(*split(cells)), count_statistics(*split(mixed))
    for name, value in first.items():
        assert second[name] == pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True)


@given(counts)
def test_identical_tables(cells: list[tuple[int, int]]) -> None:
    o, _ = split(cells)
    found = count_statistics(o, o)
    for name in STATISTICS:
        best = o.sum() ** 2 / 2 if name == "U" else 0.0
        assert found[name] == pytest.approx(best, abs=1e-9)


@given(counts)
def test_limits(cells: list[tuple[int, int]]) -> None:
    found = count_statistics(*split(cells))
    for name in ("JSD", "SPECKS", "dBhatt"):
        assert -1e-12 <= found[name] <= 1 + 1e-12
    assert found["MabsDD"] == pytest.approx(2 * found["SPECKS"])
    assert found["dBhatt"] == pytest.approx(hellinger(*split(cells)), abs=1e-7)


def test_by_hand() -> None:
    found = count_statistics(np.array([30, 10]), np.array([20, 20]))
    assert found["VW"] == pytest.approx(100 / 25 + 100 / 15)
    assert found["FT"] == pytest.approx(
        4 * ((math.sqrt(20) - math.sqrt(30)) ** 2 + (math.sqrt(20) - math.sqrt(10)) ** 2)
    )
    assert found["G"] == pytest.approx(2 * (20 * math.log(2 / 3) + 20 * math.log(2)))
    assert found["PO50"] == pytest.approx(50 / 80 - 0.5)
    assert found["U"] == 20 * 30 + 20 * 30 / 2 + 20 * 10 / 2
    assert (found["df"], found["dfG"]) == (1, 1)


def test_one_cell_has_no_degrees_of_freedom() -> None:
    found = count_statistics(np.array([5]), np.array([7]))
    assert math.isnan(found["S_pMSE"])
    assert found["VW"] == pytest.approx(0, abs=1e-12)


def test_sizes_may_differ() -> None:
    """Equal shares are no difference, whatever the sizes; PO50 alone sees them."""
    found = count_statistics(np.array([10, 30]), np.array([20, 60]))
    for name in ("VW", "FT", "G", "JSD", "WMabsDD", "dBhatt", "pMSE"):
        assert found[name] == pytest.approx(0, abs=1e-12)
    assert found["PO50"] == pytest.approx(80 / 120 - 0.5)


def test_distances_by_hand() -> None:
    o, s = np.array([10.0, 20.0, 0.0]), np.array([12.0, 18.0, 0.0])
    assert count_errors(o, s) == pytest.approx({"MAE": 2.0, "RMSE": 2.0, "MAPE": 0.15})
    ratios = np.log(o[:2] / s[:2])
    assert aitchison(o, s) == pytest.approx(math.dist(ratios, [ratios.mean()] * 2))
    assert aitchison(np.array([4, 0]), np.array([4, 1])) > 0  # ½ is added to every cell
    assert count_errors(o, 3 * s) == pytest.approx(count_errors(o, s))


def test_toy_tables(golden: dict) -> None:
    """Six records: p = (1/3, 1/2, 1/6) of key 1 in both files, the target differs by two rows."""
    names = ("key1", "key2", "target")
    sides = [
        dict(zip(names, np.array(golden["toy"][side]).T.astype(str), strict=True))
        for side in ("original", "synthetic")
    ]
    pair = WeightedPair.of(*sides)
    assert cross_table(pair, ["key1"]).statistics["SPECKS"] == pytest.approx(0)
    found = cross_table(pair, ["key1", "target"])
    # Cells (1,3) 2|1, (1,5) 0|1, (4,4) 2|3, (4,9) 1|0, (5,10) 1|1.
    assert found.statistics["SPECKS"] == pytest.approx(2 / 6)
    assert found.statistics["VW"] == pytest.approx((1 / 3 + 1 + 1 / 5 + 1) / 0.5)
    assert found.statistics["df"] == 4
    assert found.statistics["dBhatt"] == pytest.approx(
        math.sqrt(((math.sqrt(2) - 1) ** 2 + 1 + (math.sqrt(2) - math.sqrt(3)) ** 2 + 1) / 12)
    )


def test_number_of_tables(golden: dict) -> None:
    """All tables of 6 variables without those of the 3 that were not synthesised."""
    rng = np.random.default_rng(1)
    data = {name: rng.integers(0, 2, 50).astype(str) for name in "abcdef"}
    pair = WeightedPair.of(data, data)
    found = []
    for ways in (2, 3, 4, 5):
        tables = all_tables(pair, ways).tables
        found.append(sum(any(name in "def" for name in table) for table in tables))
    assert found == golden["tables_of_six"]["counts"]


def test_a_fixed_variable_is_in_every_table() -> None:
    rng = np.random.default_rng(1)
    data = {name: rng.integers(0, 3, 80).astype(str) for name in "abcd"}
    other = {name: rng.integers(0, 3, 70).astype(str) for name in "abcd"}
    pair = WeightedPair.of(data, other)
    fixed = all_tables(pair, 3, by="c")
    every = {frozenset(row["variables"]): row["VW"] for row in all_tables(pair, 3).rows()}
    assert len(fixed) == 3
    for row in fixed.rows():
        assert row["variables"][0] == "c"
        assert row["VW"] == pytest.approx(every[frozenset(row["variables"])])


def test_k_marginal_ladder(shared, golden: dict) -> None:
    """Random subsamples of the NIST excerpt score as SDNist says, up to its other bins (± 3)."""
    from caveat.table import ColumnSchema, Kind, Schema, read

    numbers = {"PINCP": "N", "POVPIP": "N"}
    schema = Schema(
        {
            name: ColumnSchema(kind=Kind.NUMERIC, missing={code: ""})
            for name, code in numbers.items()
        }
    )
    table = read(shared / "data" / "nist_national2019.csv", schema=schema)
    ladder = dict(zip(golden["k_marginal_ladder"]["shares"], golden["k_marginal_ladder"]["scores"],
                      strict=True))  # fmt: skip
    rng = np.random.default_rng(4)
    for share in (0.4, 0.9):
        rows = rng.permutation(len(table))[: round(share * len(table))]
        pair = WeightedPair(table, table.take(rows))
        score = k_marginal_score(all_tables(pair, 3, groups=20, by="PUMA"))
        assert score == pytest.approx(ladder[share], abs=3.5), share


def test_k_marginal_in_each_group():
    """By hand: women equal; of the men the tables of job differ in a half, those of age in all."""
    people = {"sex": list("ffmm"), "job": list("abab"), "age": ["o", "y", "o", "o"]}
    release = {"sex": list("ffmm"), "job": list("abaa"), "age": ["o", "y", "y", "y"]}
    pair = WeightedPair.of(people, release)
    scores, rows = k_marginal_by_group(pair, "sex", 1)
    assert rows.tolist() == [2, 2]
    # Σ |p − q| is 0 for the women; for the men 1 (job) and 2 (age), mean 1.5.
    assert scores.tolist() == [1000.0, 250.0]
    assert k_marginal_by_group(pair, "sex", 2)[0].tolist() == [1000.0, 0.0]


def test_a_group_that_the_release_lacks_scores_nothing():
    people = {"sex": list("ffm"), "job": list("aba")}
    scores, rows = k_marginal_by_group(
        WeightedPair.of(people, {"sex": list("fff"), "job": list("abb")}), "sex", 1
    )
    assert rows.tolist() == [2, 1]
    assert scores.tolist() == [pytest.approx((2 - 1 / 3) * 500), 0.0]


def test_the_measure_is_the_worst_group():
    """The release turns the jobs of the 60 of 200 in the south around: their score is lowest."""
    rng = np.random.default_rng(6)
    town = np.array(["north"] * 140 + ["south"] * 60)
    job, sex = rng.choice(["a", "b"], 200, p=[0.8, 0.2]), rng.choice(["f", "m"], 200)
    other = np.where(town == "south", np.where(job == "a", "b", "a"), job)
    pair = WeightedPair.of(
        {"town": town, "job": job, "sex": sex}, {"town": town, "job": other, "sex": sex}
    )
    found = MEASURES["k-marginal by subgroup"](pair)
    scores, _ = k_marginal_by_group(pair, "town")
    assert found.value == scores.min() == scores[1] < 700
    assert scores[0] == 1000
    assert found.details["groups"] == 6
    assert found.notes[0] == "lowest in a group of town"
