"""The synthesiser from a table to synthetic tables."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from tests.refusals import refused

from caveat.datasets import buyer_beware, survey
from caveat.errors import CaveatWarning
from caveat.synthesis import Model, Synthesizer
from caveat.synthesis.model import BLOCK
from caveat.table import Kind, Missing, Schema, Table

# What is tested here does not depend on the number of records.
pytestmark = pytest.mark.filterwarnings("ignore:the table has:caveat.errors.CaveatWarning")

SURVEY = survey(rows=600).drop(["person"])


def unique_counts(model: Model, copies: int) -> np.ndarray:
    """How often the record 1111 occurs in each of many releases."""
    tables = model.tables(copies=copies)
    ones = [np.all([t[name].codes == 1 for name in t], axis=0).sum() for t in tables]
    return np.array(ones)


def test_the_unique_record_reappears_as_its_leaf_says() -> None:
    # Numbers give saturated regression trees: 1111 has probability 1/1000 in each of 1000 rows.
    model = Synthesizer(seed=7, method="cart").fit(buyer_beware())
    probability = np.exp(model.log_prob(buyer_beware()).rows[-1])
    assert probability == pytest.approx(0.001, rel=1e-12)
    counts = np.bincount(np.minimum(unique_counts(model, 1000), 4), minlength=5)
    cells = stats.binom.pmf(range(4), 1000, 0.001)
    assert cells[:4].round(2).tolist() == [0.37, 0.37, 0.18, 0.06]
    expected = 1000 * np.append(cells, 1 - cells.sum())
    assert stats.chisquare(counts, expected).pvalue > 1e-4


def test_factors_are_pruned_and_do_not_single_the_record_out() -> None:
    table = Schema.from_mapping(
        {f"var{j}": {"kind": "category"} for j in range(1, 5)}
    ).apply(buyer_beware())  # fmt: skip
    model = Synthesizer(seed=7, method="cart").fit(table)
    probability = np.exp(model.log_prob(table).rows[-1])
    assert probability > 0.01  # ten times the share of the record itself
    counts = unique_counts(model, 500)
    # the mean of 500 binomial counts, five standard errors either side
    spread = np.sqrt(1000 * probability * (1 - probability) / 500)
    assert abs(counts.mean() - 1000 * probability) < 5 * spread


def test_log_prob_of_a_row_is_the_product_of_leaf_shares_by_hand() -> None:
    # var1 has 463 ones; 203 of them have var2 = 1; 67 of these var3 = 1; one of these var4 = 1.
    result = Synthesizer(seed=1, method="cart").fit(buyer_beware()).log_prob(buyer_beware())
    shares = np.exp([result.columns[f"var{j}"][-1] for j in range(1, 5)])
    np.testing.assert_allclose(shares, [463 / 1000, 203 / 463, 67 / 203, 1 / 67], rtol=1e-12)
    assert result.unknown == {}
    assert result.total == pytest.approx(float(result.rows.sum()))


def test_impossible_values_have_probability_zero() -> None:
    model = Synthesizer(seed=1).fit(buyer_beware())
    frame = buyer_beware().to_frame()
    frame["var4"] = np.where(np.arange(1000) == 0, 7, frame["var4"])
    rows = model.log_prob(frame).rows
    assert rows[0] == -np.inf
    assert np.isfinite(rows[1:]).all()


def test_same_seed_same_bytes_whatever_the_threads() -> None:
    one = Synthesizer(seed=3, threads=1).fit(SURVEY)
    two = Synthesizer(seed=3, threads=2).fit(SURVEY)
    rows = BLOCK + 1000
    first = one.tables(rows=rows, copies=2, threads=1)
    assert first == two.tables(rows=rows, copies=2, threads=2)
    assert first[0] != first[1]
    whole = pd.concat([block.to_frame() for block in one.blocks(rows=rows)], ignore_index=True)
    pd.testing.assert_frame_equal(
        whole.astype(str), one.sample(rows=rows).astype(str), check_categorical=False
    )
    # A longer table begins with the same rows: the last block does not change the first.
    longer = one.tables(rows=2 * BLOCK)[0].take(slice(0, BLOCK))
    assert longer.compact() == first[0].take(slice(0, BLOCK)).compact()


def test_another_seed_gives_other_data_and_none_is_recorded() -> None:
    a, b = (Synthesizer(seed=s).fit(SURVEY).tables()[0] for s in (1, 2))
    assert a != b
    model = Synthesizer().fit(SURVEY)
    assert Synthesizer(seed=model.seed).fit(SURVEY).tables()[0] == model.tables()[0]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_frame_that_came_in_goes_out(backend: str) -> None:
    frame = SURVEY.to_frame(backend)
    out = Synthesizer(seed=1).fit(frame).sample()
    assert type(out) is type(frame)
    if backend == "pandas":
        for name in frame:
            if not isinstance(frame[name].dtype, pd.CategoricalDtype):
                assert out[name].dtype == frame[name].dtype
        assert out["education"].cat.ordered
        assert list(out.columns) == list(frame.columns)
    else:
        names = frame.columns if backend == "polars" else frame.column_names
        assert (out.columns if backend == "polars" else out.column_names) == names


def test_every_value_exists_in_the_original_and_missing_kinds_are_kept() -> None:
    schema = Schema.from_mapping({"income": {"missing": [-8]}, "friends": {"missing": [-8]}})
    table = schema.apply(SURVEY)
    synthetic = Synthesizer(seed=5, method="cart", rare_below=1).fit(table).tables()[0]
    for name in table:
        assert set(synthetic[name].values) <= set(table[name].values)
        assert synthetic[name].has_same_levels(table[name])
    # -8 and empty stay two things; their shares agree within five standard errors
    for way in (0, 1):
        code = len(table["income"].levels) + way
        share = table["income"].counts[code] / 600
        got = synthetic["income"].counts[code] / 600
        assert abs(got - share) < 5 * np.sqrt(2 * share * (1 - share) / 600)
        assert got > 0


def test_levels_that_were_not_drawn_do_not_leave() -> None:
    table = Table.from_frame(pd.DataFrame({"x": pd.Categorical(["a"] * 400 + ["rare"])}))
    model = Synthesizer(seed=1).fit(table)
    for frame in model.sample(rows=50, copies=20):
        assert set(frame["x"].cat.categories) == set(frame["x"])


def test_rules_hold_in_every_synthetic_record() -> None:
    options = {
        "rules": ["if age < 18 then marital = 'single'", "if age < 18 then income = -8"],
        "seed": 11,
    }
    frame = Synthesizer(**options).fit(SURVEY).sample(rows=20_000)
    young = frame["age"] < 18
    assert young.sum() > 50
    assert (frame.loc[young, "marital"] == "single").all()
    assert (frame.loc[young, "income"] == -8).all()
    assert (frame.loc[~young, "income"] != -8).all()


def test_a_rule_has_probability_one_where_it_holds() -> None:
    model = Synthesizer(seed=1, rules=["if age < 18 then marital = 'single'"]).fit(SURVEY)
    young = SURVEY["age"].numbers[SURVEY["age"].codes] < 18
    values = model.log_prob(SURVEY).columns["marital"]
    assert (values[young] == 0.0).all()
    assert (values[~young] < 0.0).any()


def test_a_rule_that_the_data_contradict_is_said_and_nothing_is_dropped() -> None:
    table = Table.from_frame({"a": [1, 1, 2, 2] * 10, "b": ["x", "x", "x", "y"] * 10})
    rule = "if a == 2 then b = 'x'"
    with pytest.warns(CaveatWarning, match="does not hold for 10 of 40 original records"):
        model = Synthesizer(seed=1, rules=[rule]).fit(table)
    frame = model.sample(rows=500)
    assert (frame["b"][frame["a"] == 2] == "x").all()
    assert len(frame["a"]) == 500


def test_order_of_dates_is_kept() -> None:
    rng = np.random.default_rng(0)
    start = rng.integers(0, 1000, 400)
    gap = rng.integers(0, 30, 400)
    day = np.datetime64("2020-01-01")
    frame = pl.DataFrame({"start": day + start, "end": day + start + gap, "n": start % 3})
    free = Synthesizer(seed=2, method="cart", minbucket=50).fit(frame).sample(rows=3000)
    assert (free["start"] > free["end"]).sum() > 0
    options = {"method": "cart", "minbucket": 50, "rules": ["start <= end"]}
    kept = Synthesizer(seed=2, **options).fit(frame)
    out = kept.sample(rows=3000)
    assert (out["start"] > out["end"]).sum() == 0
    assert out["end"].dtype == pl.Date
    assert "end" in kept.log_prob(frame).unknown


def test_derived_columns_follow_exactly() -> None:
    formula = "round(weight / (height / 100) ** 2, 1)"
    frame = Synthesizer(seed=4, derived={"bmi": formula}).fit(SURVEY).sample(rows=2000)
    expected = (frame["weight"] / (frame["height"] / 100) ** 2).astype(float).round(1)
    np.testing.assert_allclose(frame["bmi"].astype(float), expected, atol=1e-9)
    assert frame["bmi"].isna().sum() == frame["weight"].isna().sum() > 0


def test_lookup_gives_the_group_that_belongs_to_a_number() -> None:
    age = np.arange(400) % 80
    frame = pd.DataFrame({"age": age, "group": np.where(age < 18, "child", "adult")})
    options = {"columns": {"group": {"method": "lookup", "predictors": ["age"]}}}
    out = Synthesizer(seed=1, **options).fit(frame).sample(rows=1000)
    assert ((out["age"] < 18) == (out["group"] == "child")).all()


def test_special_values_are_modelled_apart() -> None:
    # Half zeros, the rest 1000 to 1999: without a two-step model smoothing would smear the spike.
    rng = np.random.default_rng(1)
    amount = np.where(rng.random(1000) < 0.5, 0, rng.integers(1000, 2000, 1000))
    smoothed = {"method": "cart", "smoothing": "kernel"}
    options = {"special": {"amount": [0]}, "columns": {"amount": smoothed}}
    frame = Synthesizer(seed=1, **options).fit({"amount": amount}).sample(rows=4000)
    drawn = frame["amount"]
    share = (amount == 0).mean()
    assert abs((drawn == 0).mean() - share) < 5 * np.sqrt(share * (1 - share) / 4000)
    assert drawn[drawn != 0].min() >= 1000
    assert len(set(drawn) - set(amount)) > 0


@pytest.mark.parametrize("smoothing", ["kernel", "density", "spline"])
def test_smoothing_makes_new_values_with_the_same_distribution(smoothing: str) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": np.round(rng.normal(50, 10, 800), 1)})
    settings = {"method": "cart", "smoothing": smoothing}
    model = Synthesizer(seed=2, columns={"x": settings}).fit(frame)
    drawn = model.sample(rows=8000)["x"]
    assert not set(drawn) <= set(frame["x"])
    assert np.allclose(drawn, drawn.round(1))
    assert drawn.min() >= frame["x"].min()
    assert drawn.max() <= frame["x"].max()
    # Kolmogorov's distance to the original: sampling error of both plus the bandwidth's smear
    assert stats.ks_2samp(drawn, frame["x"]).statistic < 1.95 * np.sqrt(1 / 800 + 1 / 8000)
    assert "density" in model.log_prob(frame).unknown["x"]


@pytest.mark.parametrize("strata", ["", "side"])
def test_density_smooths_each_leaf_with_its_own_bandwidth(strata: str) -> None:
    # Two leaves: numbers around 0 with deviation 1, and around 1000 with deviation 100.
    rng = np.random.default_rng(4)
    side = np.repeat([0, 1], 400)
    x = np.where(side == 0, rng.normal(0, 1, 800), rng.normal(1000, 100, 800)).round(6)
    frame = pd.DataFrame({"side": side, "x": x})
    settings = {"smoothing": "density", "minbucket": 200, "cp": 0.1}
    options = {"method": "cart", "strata": strata, "columns": {"x": settings}}
    model = Synthesizer(seed=5, **options).fit(frame)
    out = model.sample(rows=4000)
    moved = {}
    for leaf in (0, 1):
        here = np.sort(x[side == leaf])
        drawn = out["x"].to_numpy()[out["side"] == leaf]
        low, high = np.quantile(here, [0.25, 0.75])
        width = 0.9 * min(here.std(ddof=1), (high - low) / 1.34) * 400**-0.2
        # A draw has the variance of the donors and of the kernel; the end of the column's range
        # reflects only the outermost values of the second leaf.
        expected = np.sqrt(here.var() + width**2)
        assert drawn.std() == pytest.approx(expected, rel=4 / np.sqrt(2 * len(drawn)) + 0.02)
        moved[leaf] = np.abs(drawn[:, None] - here).min(axis=1).mean()
        assert np.isin(drawn, here).mean() < 0.005  # six decimals: some meet by chance
    assert moved[0] < 0.2  # the bandwidth of the whole column would be about 100


def test_minsplit_is_the_smallest_node_that_is_split() -> None:
    frame = pd.DataFrame({"a": np.repeat([0, 1], 50), "b": np.repeat([0.0, 9.0], 50)})
    for minsplit, is_split in ((100, True), (101, False)):
        model = Synthesizer(seed=1, method="cart", minbucket=33, minsplit=minsplit).fit(frame)
        tree = model.columns["b"].values.tree
        assert (tree.n_leaves == 2) is is_split
    plan = Synthesizer(method="cart", minbucket=33).plan(frame)
    assert plan.columns["b"].settings.minsplit is None


def test_without_pruning_each_group_keeps_its_own_shares() -> None:
    # "no" has the majority on both sides: the split misclassifies nobody less, and rpart cuts it.
    groups, answers = np.repeat(["a", "b"], 60), np.repeat(["no", "yes"] * 2, [50, 10, 31, 29])
    frame = pd.DataFrame({"group": groups, "answer": answers})
    for method in ("cart", "forest"):
        kept = Synthesizer(seed=1, method=method, trees=1, prune=False).fit(frame)
        cut = Synthesizer(seed=1, method=method, trees=1).fit(frame)
        shares = [np.exp(model.log_prob(frame).columns["answer"]) for model in (kept, cut)]
        assert len(set(shares[0].round(12))) == 4
        assert len(set(shares[1].round(12))) == 2
        if method == "cart":
            first = [0, 50, 60, 91]  # the first record of each group and answer
            own = [50 / 60, 10 / 60, 31 / 60, 29 / 60]
            np.testing.assert_allclose(shares[0][first], own, rtol=1e-12)
            mixed = [81 / 120, 39 / 120] * 2
            np.testing.assert_allclose(shares[1][first], mixed, rtol=1e-12)


def test_one_column_can_be_left_unpruned_and_cp_plays_no_part_there() -> None:
    table = Schema.from_mapping(
        {f"var{j}": {"kind": "category"} for j in range(1, 5)}
    ).apply(buyer_beware())  # fmt: skip
    all_pruned = {"method": "cart"}
    one = {**all_pruned, "columns": {"var4": {"prune": False}}}
    models = [Synthesizer(seed=1, **o).fit(table) for o in (all_pruned, one, {**one, "cp": 0.9})]
    leaves = [[m.columns[n].values.tree.n_leaves for n in ("var3", "var4")] for m in models]
    assert leaves == [[2, 6], [2, 8], [1, 8]]
    # 67 records have 1, 1, 1 before, one of them has 1 again
    share = np.exp(models[1].log_prob(table).columns["var4"][-1])
    assert share == pytest.approx(1 / 67, rel=1e-12)


def test_strata_are_modelled_apart() -> None:
    # In stratum a the second column copies the first, in b it is its opposite.
    rng = np.random.default_rng(0)
    stratum = rng.choice(["a", "b"], 400)
    x = rng.integers(0, 2, 400)
    frame = pd.DataFrame({"x": x, "y": np.where(stratum == "a", x, 1 - x), "s": stratum})
    out = Synthesizer(seed=1, method="cart", strata="s").fit(frame).sample(rows=1000)
    assert list(out.columns) == ["x", "y", "s"]
    assert (out["y"] == np.where(out["s"] == "a", out["x"], 1 - out["x"])).all()


def test_weights_make_a_self_weighting_sample() -> None:
    # 100 records of kind a count 9 times each, 900 of kind b once: half and half in the population.
    frame = pd.DataFrame({"kind": ["a"] * 100 + ["b"] * 900, "w": [9.0] * 100 + [1.0] * 900})
    out = Synthesizer(seed=1, weights="w").fit(frame).sample(rows=4000)
    assert list(out.columns) == ["kind"]
    assert abs((out["kind"] == "a").mean() - 0.5) < 5 * np.sqrt(0.25 / 4000)


def test_records_of_weight_zero_take_no_part() -> None:
    frame = pd.DataFrame({"x": ["a"] * 50 + ["b"] * 50, "w": [1.0] * 50 + [0.0] * 50})
    out = Synthesizer(seed=1, weights="w").fit(frame).sample(rows=200)
    assert set(out["x"]) == {"a"}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0, 2.0], "data.weights.range"),
        ([1.0, None, 2.0], "data.weights.absent"),
        ([0.0, 0.0, 0.0], "data.weights.range"),
        (["a", "b", "c"], "data.weights.type"),
    ],
)
def test_bad_weights_are_refused(weights: list[object], message: str) -> None:
    with refused(message):
        Synthesizer(weights="w", anyway=True).fit(pl.DataFrame({"x": [1, 2, 3], "w": weights}))


def test_an_id_is_left_out_with_a_warning() -> None:
    table = survey(rows=100)
    with pytest.warns(CaveatWarning, match="person is left out: it looks like identifiers"):
        frame = Synthesizer(seed=1).fit(table).sample()
    assert "person" not in frame


def test_copying_is_said_to_be_unprotected_and_needs_all_rows() -> None:
    options = {"columns": {"age": {"method": "copy"}}}
    with pytest.warns(CaveatWarning, match="age is copied from the original: it is not protected"):
        model = Synthesizer(seed=1, **options).fit(SURVEY)
    first, second = (table["age"].codes for table in model.tables(copies=2))
    own = SURVEY["age"].codes
    # Every value once more, each copy in an order of its own.
    for one, other in ((first, own), (second, own), (first, second)):
        assert np.array_equal(np.sort(one), np.sort(other))
        assert not np.array_equal(one, other)
    with refused("synthesis.setting.conflict", column="age"):
        model.sample(rows=10)


def test_who_knows_the_seed_cannot_put_copied_rows_back_in_order() -> None:
    frame = pl.DataFrame({"a": np.arange(80) % 7, "b": np.arange(80) % 3, "c": [0, 1] * 40})
    other = frame.sample(fraction=1, shuffle=True, seed=9)
    options = {"columns": {n: {"method": "copy"} for n in "ab"}}
    with pytest.warns(CaveatWarning, match="is copied from the original"):
        one, two = (Synthesizer(seed=1, **options).fit(f).sample() for f in (frame, other))
    # The order of the release follows from the seed and from what the rows hold: from nothing else.
    assert one.select("a", "b").equals(two.select("a", "b"))


def test_copied_rows_stay_together_and_have_the_probability_of_their_order() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"a": rng.integers(0, 4, 90), "c": rng.integers(0, 2, 90)})
    frame = frame.with_columns(b=10 * pl.col("a"))
    options = {"columns": {n: {"method": "copy"} for n in "ab"}}
    with pytest.warns(CaveatWarning, match="is copied from the original"):
        model = Synthesizer(seed=1, **options).fit(frame)
    out = model.sample()
    assert (out["b"] == 10 * out["a"]).all()
    # All orders of the rows are equally probable; equal rows may be exchanged.
    ways = sum(math.lgamma(n + 1) for n in frame["a"].value_counts()["count"])
    logs = model.log_prob(out).columns
    assert math.isclose(logs["a"].sum() + logs["b"].sum(), ways - math.lgamma(91))
    other = out.with_columns(a=pl.Series([3, *out["a"][1:]]), b=pl.Series([0, *out["b"][1:]]))
    assert model.log_prob(other).columns["a"].min() == -np.inf
    blocks = pl.concat([block.to_frame() for block in model.blocks()])
    assert blocks.equals(out)


@pytest.mark.parametrize(("rows", "too_few"), [(1, True), (9, True), (10, False), (49, False)])
def test_small_tables_are_refused_or_remarked_on(rows: int, too_few: bool) -> None:
    frame = pl.DataFrame({"x": [i % 3 for i in range(rows)]})
    if too_few:
        with refused("data.record.too-few"):
            Synthesizer(seed=1, method="cart").fit(frame)
        with refused("data.record.too-few"):
            Synthesizer(seed=1).fit(frame)
    with pytest.warns(CaveatWarning, match=f"the table has {rows} rows: in so small a table"):
        Synthesizer(seed=1, anyway=too_few).fit(frame)


def test_proper_synthesis_fits_each_copy_anew() -> None:
    # A bootstrap of 20 rows loses each of them with probability (1 - 1/20)^20: copies of one fit
    # would all lack the same values, copies of their own fits do not.
    frame = {"x": [float(i) ** 2 for i in range(20)]}
    once = Synthesizer(seed=1, method="cart").fit(frame)
    proper = Synthesizer(seed=1, method="cart", proper=True).fit(frame)
    seen = [set(t["x"].codes.tolist()) for t in proper.tables(rows=2000, copies=10)]
    assert all(len(codes) < 20 for codes in seen)
    assert len(set().union(*seen)) == 20
    assert len(set(once.tables(rows=2000)[0]["x"].codes.tolist())) == 20
    again = Synthesizer(seed=1, method="cart", proper=True).fit(frame)
    assert proper.tables(copies=3) == again.tables(copies=3)


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"x": [1]}),
        pl.DataFrame({"x": [1, 2], "y": ["a", None]}),
        pl.DataFrame(
            {"x": [None, None, None], "y": [1, 2, 3]}, schema={"x": pl.Float64, "y": pl.Int8}
        ),
        pl.DataFrame({"x": [5] * 30, "y": [None, 1.5] * 15}),
        pl.DataFrame(
            {
                "t": [dt.datetime(2020, 1, d) for d in range(1, 25)] * 2,
                "y": [i % 9 for i in range(48)],
            }
        ),
    ],
)
def test_small_and_odd_tables_work(frame: pl.DataFrame) -> None:
    options = {"method": "cart", "rare_below": 1}
    out = Synthesizer(seed=1, columns={}, anyway=True, **options).fit(frame).sample(rows=7)
    for name in out.columns:
        assert out[name].dtype == frame[name].dtype
        assert set(out[name]) <= set(frame[name])
    assert out.height == 7


def test_no_rows_in_and_no_rows_out() -> None:
    with refused("data.table.empty"):
        Synthesizer().fit(pl.DataFrame({"x": []}, schema={"x": pl.Int64}))
    out = Synthesizer(seed=1, anyway=True).fit(pl.DataFrame({"x": [1, 2, 2]})).sample(rows=0)
    assert out.schema == {"x": pl.Int64}
    assert out.height == 0


def test_a_factor_with_a_hundred_thousand_levels_is_synthesised() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"sex": rng.choice(["f", "m"], 150_000), "code": rng.integers(0, 100_000, 150_000)}
    ).with_columns(pl.col("code").cast(pl.String).cast(pl.Categorical), late=pl.col("sex"))
    with pytest.warns(CaveatWarning) as caught:
        out = Synthesizer(seed=1, rare_below=1).fit(frame).sample(rows=100)
    assert "code has 77,700 levels, too many for a tree" in str(caught[0].message)
    assert str(caught[1].message).startswith("late is drawn without code")
    assert set(out["code"]) <= set(frame["code"].to_list())
    assert out["late"].to_list() == out["sex"].to_list()


def test_kinds_survive() -> None:
    table = SURVEY.with_columns({"friends": SURVEY["friends"].declare_missing([Missing(-8, "n")])})
    synthetic = Synthesizer(seed=1).fit(table).tables(rows=50)[0]
    assert [synthetic[n].kind for n in table] == [table[n].kind for n in table]
    assert synthetic["interviewed"].kind is Kind.DATE
    assert synthetic["friends"].missing[0].label == "n"


def test_derived_columns_follow_their_formula_in_every_block():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 1000, 200)})
    frame = frame.assign(double=2 * frame["a"], positive=True, day=frame["a"].astype("M8[D]"))
    frame["day"] = frame["a"].to_numpy().astype("M8[D]").astype("M8[us]")
    formulas = {"double": "a * 2", "positive": "a > 500", "day": "a * 86400000000"}
    options = {"derived": formulas, "columns": {"a": {"method": "normal"}}}
    drawn = Synthesizer(seed=1, **options).fit(frame).sample(rows=70_000)
    assert (drawn["double"] == 2 * drawn["a"]).all()
    assert (drawn["positive"] == (drawn["a"] > 500)).all()
    assert (drawn["day"] == drawn["a"].to_numpy().astype("M8[D]")).all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"rows": 2.5}, "synthesis.setting.type"),
        ({"rows": "all"}, "synthesis.setting.type"),
        ({"rows": -1}, "synthesis.setting.range"),
        ({"copies": 1.5}, "synthesis.setting.type"),
    ],
)
def test_wrong_numbers_are_one_sentence(arguments, says):
    model = Synthesizer(seed=1, anyway=True).fit({"a": [1, 2] * 20})
    assert len(model.sample(rows=np.int64(3))["a"]) == 3
    with refused(says):
        model.sample(**arguments)


def test_no_synthetic_row_of_a_hospital_has_the_names_of_a_patient() -> None:
    rng = np.random.default_rng(39)
    given = ["Anna", "Bernd", "Carla", "David", "Elena", "Frank", "Greta", "Hans", "Ines", "Jakob"]
    family = [f"{a}{b}" for a in ("Brunn", "Kolm", "Rieth", "Zandt") for b in ("er", "mann", "s")]
    patients = {
        "pat_vorname": rng.choice(given, 4_000),
        "pat_nachname": rng.choice(family, 4_000),
        "mother_lname": rng.choice(family, 4_000),
        "ward": rng.choice(["A", "B", "C"], 4_000),
        "nights": rng.poisson(5, 4_000),
    }
    with pytest.warns(CaveatWarning, match="names of people"):
        model = Synthesizer(seed=1).fit(Table.from_frame(patients))
    assert list(next(iter(model.tables(copies=1)))) == ["ward", "nights"]
