"""From tables to models: the joint distribution that is drawn is the one that the tables say."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.synthesis import Synthesizer, load, save
from caveat.synthesis.margins.models import agreeing_shares

pytestmark = pytest.mark.filterwarnings("ignore:the table has:caveat.errors.CaveatWarning")

NAMES = ("a", "b", "c")


def records(seed: int = 0, n: int = 400) -> pd.DataFrame:
    """Return three columns: a class, a number with ways to be missing and a heap, a class."""
    rng = np.random.default_rng(seed)
    a = rng.choice(["x", "y", "z"], n, p=[0.5, 0.3, 0.2])
    b = rng.integers(0, 8, n) * (a == "x") + rng.integers(3, 6, n) * (a != "x")
    b = np.where(rng.random(n) < 0.1, np.nan, np.where(rng.random(n) < 0.1, -8, b))
    c = np.where(rng.random(n) < 0.7, np.where(b > 4, "hi", "lo"), "mid")
    return pd.DataFrame({"a": a, "b": b, "c": c})


def fitted(frame: pd.DataFrame, **options):
    columns = {"b": {"special": [-8], "range": [0, 7, 1], "bins": 4}}
    return Synthesizer(seed=1, method="margins", columns=columns, **options).fit(frame)


def every_cell() -> pd.DataFrame:
    """Return every record that there can be."""
    b = [*range(8), -8, None]
    return pd.DataFrame(list(product("xyz", b, ["hi", "lo", "mid"])), columns=list(NAMES)).astype(
        {"b": float}
    )


def in_bins(frame: pd.DataFrame) -> pd.Series:
    """Return the cell of the number of each row: two numbers each, or what it is."""
    return frame["b"].map(lambda v: "none" if pd.isna(v) else "-8" if v < 0 else f"{v // 2}")


@pytest.mark.parametrize("weighted", [False, True])
def test_a_chain_has_the_closed_form(weighted):
    frame = records()
    weights = np.random.default_rng(3).integers(1, 5, len(frame)).astype(float)
    options = {}
    if weighted:
        frame, options = frame.assign(w=weights), {"weights": "w"}
    else:
        weights = np.ones(len(frame))
    model = fitted(frame, margins=[["b", "a"], ["b", "c"]], **options)
    cells = every_cell()
    logs = model.log_prob(cells)
    assert not logs.unknown
    p = np.exp(logs.rows)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    ours, theirs = in_bins(frame), in_bins(cells)
    total = weights.sum()
    for row in range(0, len(cells), 7):
        a, c = cells["a"][row], cells["c"][row]
        here = ours == theirs[row]
        both = weights[here & (frame["a"] == a)].sum() * weights[here & (frame["c"] == c)].sum()
        points = 1 if theirs[row] in ("none", "-8") else 2
        assert p[row] == pytest.approx(both / weights[here].sum() / total / points, abs=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"margins": [["a", "b"], ["c"]]},
        {"margins": [["a", "b"], ["b", "c"], ["a", "c"]]},
        {"margins": [["a", "b", "c"]]},
        {"clearing": {"threshold": 5, "multiple": 5}},
        {"clearing": {"threshold": 5}, "margins": [["a", "b"], ["b", "c"], ["a", "c"]]},
    ],
)
def test_draws_follow_the_probabilities(options):
    frame = records(2)
    model = fitted(frame, **options)
    cells = every_cell()
    p = np.exp(model.log_prob(cells).rows)
    assert p.sum() == pytest.approx(1, abs=1e-9)
    drawn = model.sample(rows=100_000)
    counted = drawn.fillna({"b": 99.0}).value_counts()
    keys = [tuple(row) for row in cells.fillna({"b": 99.0}).itertuples(index=False)]
    seen = np.array([counted.get(key, 0) for key in keys])
    assert seen.sum() == 100_000
    assert (seen[p == 0] == 0).all()
    expected = 100_000 * p
    large = expected >= 5
    deviation = (seen[large] - expected[large]) / np.sqrt(expected[large])
    assert np.abs(deviation).max() < 5


def test_a_clique_of_everything_is_the_table_itself():
    frame = records(4)
    model = fitted(frame, margins=[list(NAMES)])
    p = np.exp(model.log_prob(every_cell()).rows)
    shares = frame.assign(b=in_bins(frame)).value_counts(normalize=True)
    binned = every_cell().assign(b=in_bins(every_cell())).assign(p=p)
    found = binned.groupby(list(NAMES))["p"].sum()
    for key, share in shares.items():
        assert found[key] == pytest.approx(share, abs=1e-9)


def test_parents_that_nobody_has_get_the_shares_of_the_whole_column():
    frame = records(5)
    frame = frame[~frame["b"].between(0, 1)]
    shares = fitted(frame, margins=[["a", "b"], ["b", "c"]]).columns["c"].values.shares
    overall = frame["c"].value_counts(normalize=True)[["hi", "lo", "mid"]].to_numpy()
    assert shares[0] == pytest.approx(overall)


def test_cleared_margins_know_nothing_but_their_tables(tmp_path):
    rng = np.random.default_rng(6)
    n = 600
    frame = pd.DataFrame(
        {
            "job": np.where(np.arange(n) == 17, "astronaut", rng.choice(["baker", "smith"], n)),
            "income": np.where(np.arange(n) == 17, 987_654, rng.integers(10, 99, n) * 100),
            "sex": rng.choice(["f", "m"], n),
            "secret": [f"s{i % 40}" for i in range(n)],
            "double": 0.0,
        }
    ).assign(double=lambda f: f["income"] * 2.0)
    options = {"clearing": {"threshold": 10, "multiple": 5}, "drop": ["secret"]}
    columns = {"income": {"range": [0, 1_000_000, 1], "scale": "geometric"}}
    model = Synthesizer(
        seed=1, method="margins", columns=columns, derived={"double": "income * 2"}, **options
    ).fit(frame)
    path = tmp_path / "model.caveat"
    save(model, path)
    for known in (model, load(path)):
        assert known.columns["job"].coding.column.levels.tolist() == ["baker", "smith"]
        assert known.columns["income"].coding.column.levels.tolist() == [0, 1_000_000]
        assert len(known.columns["secret"].coding.column.levels) == 0
        assert len(known.columns["double"].coding.column.levels) == 0
        assert all(not m.counts.sum() for m in known.columns.values())
        assert all(len(m.coding.column) == 0 for m in known.columns.values())
        drawn = known.sample(rows=20_000)
        assert set(drawn["job"]) == {"baker", "smith"}
        assert (drawn["double"] == 2 * drawn["income"]).all()
    assert model.cleared == load(path).cleared
    assert not any("astronaut" in cell for table in model.cleared for cell in table.cells)
    logs = model.log_prob(frame)
    assert np.isneginf(logs.columns["job"]).sum() == 1
    assert np.isfinite(logs.columns["job"][:17]).all()
    # Another record in the place of the one that is suppressed gives the same model.
    other = frame.copy()
    other.loc[17, ["job", "income"]] = ["pilot", 987_000]
    other["double"] = other["income"] * 2.0
    again = Synthesizer(
        seed=1, method="margins", columns=columns, derived={"double": "income * 2"}, **options
    ).fit(other)
    save(again, tmp_path / "again.caveat")
    assert path.read_bytes() == (tmp_path / "again.caveat").read_bytes()


def test_a_way_to_be_missing_that_is_suppressed_is_impossible():
    frame = records(8)
    frame["b"] = frame["b"].where(frame["b"].notna(), 3.0)
    frame.loc[5, "b"] = np.nan
    model = fitted(frame, clearing={"threshold": 5}, margins=[["a", "b"], ["b", "c"]])
    assert model.columns["b"].coding.column.missing == ()
    logs = model.log_prob(frame).columns["b"]
    assert np.isneginf(logs[5])
    assert np.isfinite(np.delete(logs, 5)).all()
    assert model.sample(rows=5000)["b"].notna().all()


def test_where_clearing_leaves_nothing_of_a_table_it_says_so():
    with refused("synthesis.table.empty", where="synthesis, clearing"):
        fitted(records(0, 60), clearing={"threshold": 50}, margins=[["a", "b"], ["b", "c"]])


def test_a_rule_holds_in_every_record():
    frame = records(9)
    rules = ["if a == 'x' then c = 'mid'"]
    with pytest.warns(match="they are counted in the tables all the same"):
        model = fitted(frame, margins=[["a", "b"], ["b", "c"]], rules=rules)
    drawn = model.sample(rows=3000)
    assert (drawn["c"][drawn["a"] == "x"] == "mid").all()
    assert np.exp(model.log_prob(every_cell()).rows).sum() == pytest.approx(1)


def test_a_block_beside_trees_is_drawn_and_saved(tmp_path):
    frame = records(10).assign(d=np.arange(400) % 7)
    columns = {"a": {"method": "margins"}, "b": {"method": "margins", "bins": 4}}
    for method in ("cart", "guarded"):
        model = Synthesizer(seed=1, method=method, columns=columns).fit(frame)
        path = tmp_path / f"{method}.caveat"
        save(model, path)
        assert load(path).tables(500)[0] == model.tables(500)[0]
        assert np.isfinite(model.log_prob(model.tables(500)[0]).total)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 9999))
def test_tables_of_the_same_records_agree_as_they_are(seed):
    rng = np.random.default_rng(seed)
    joint = rng.integers(0, 5, (2, 3, 2)) + (rng.random() < 0.5)
    tables = {("a", "b"): joint.sum(2), ("b", "c"): joint.sum(0)}
    found = agreeing_shares(tables, {"a": 2, "b": 3, "c": 2}, exact=True)
    if joint.sum():
        assert found["a", "b"].sum(axis=0) == pytest.approx(found["b", "c"].sum(axis=1))
        assert found["a", "b"].sum() == pytest.approx(1)
