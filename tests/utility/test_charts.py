"""Results as charts: that they hold every row, table, score and coefficient."""

from __future__ import annotations

import numpy as np
import pytest
from tests.charts.specs import rows_of, spec_of, values

from caveat.notes import Z95
from caveat.table import Table
from caveat.utility import (
    WeightedPair,
    all_tables,
    associations,
    charts,
    compare_model,
    histogram,
    propensity,
)


@pytest.fixture(scope="module")
def pair(people: Table) -> WeightedPair:
    rng = np.random.default_rng(3)
    return WeightedPair(people, people.take(rng.integers(0, len(people), len(people))))


def test_distributions_hold_every_row(pair: WeightedPair) -> None:
    spec = spec_of(charts.distributions(pair))
    titles = [title for title in values(spec, "text") if isinstance(title, str)]
    for name in pair.names:
        assert any(title.startswith(name) for title in titles), name
    for side in ("original", "synthetic"):
        drawn = [r["percent"] for r in rows_of(spec, "percent") if r["side"] == side]
        assert sum(drawn) == pytest.approx(100 * len(pair.names))
    assert {"empty", "-8"} <= {r["group"] for r in rows_of(spec, "group")}


def test_many_categories_are_put_together() -> None:
    rng = np.random.default_rng(1)
    names = np.array([f"level {i:02d}" for i in range(30)])
    data = {"x": rng.choice(names, 2000)}
    rows = rows_of(spec_of(charts.distributions(WeightedPair.of(data, data))), "group")
    assert "19 others" in {r["group"] for r in rows}
    assert sum(r["percent"] for r in rows if r["side"] == "synthetic") == pytest.approx(100)


def test_the_two_way_map_holds_every_table(pair: WeightedPair) -> None:
    pairs, singles = all_tables(pair, 2), all_tables(pair, 1)
    spec = spec_of(charts.two_way(pairs, singles))
    found = {(r["a"], r["b"]): r["value"] for r in rows_of(spec, "shade")}
    for row in pairs.rows():
        assert found[row["variables"]] == pytest.approx(row["S_pMSE"])
    assert found["age", "age"] == pytest.approx(dict(singles.ranked())["age",])


def test_the_association_map_shows_differences(pair: WeightedPair) -> None:
    found = associations(pair)
    rows = rows_of(spec_of(charts.correlation_difference(found)), "a")
    assert len(rows) == 6 * 5 // 2
    for row in rows:
        i, j = found.names.index(row["a"]), found.names.index(row["b"])
        assert i < j
        assert row["value"] == pytest.approx(found.difference[i, j])


def test_propensity_scores_are_shares_of_each_table(pair: WeightedPair) -> None:
    found = propensity(pair, "logit")
    spec = spec_of(charts.propensity_scores(found))
    rows = rows_of(spec, "percent")
    for side, mask in (("original", ~found.is_synthetic), ("synthetic", found.is_synthetic)):
        shares = [r["percent"] for r in rows if r["side"] == side]
        counts, _ = np.histogram(found.scores[mask], np.linspace(0, 1, 21))
        assert shares == pytest.approx(100 * counts / mask.sum())
    assert spec["title"]["subtitle"].startswith(f"logistic regression; pMSE {found.pMSE:.5f}")
    assert rows_of(spec, "at") == [{"at": pytest.approx(found.share)}]


def test_coefficients_are_in_standard_errors_of_the_original(pair: WeightedPair) -> None:
    model = compare_model(pair, "height ~ age + sex")
    terms = model.coefficients
    spec = spec_of(charts.coefficient_forest(model))
    assert spec["title"]["text"] == "height ~ age + sex"
    rows = {(r["term"], r["side"]): r for r in rows_of(spec, "side")}
    assert len(rows) == 2 * len(terms.terms)
    for i, term in enumerate(terms.terms):
        ours, theirs = rows[term, "original"], rows[term, "synthetic"]
        assert (ours["x"], ours["low"], ours["high"]) == (0, -Z95, Z95)
        assert theirs["x"] == pytest.approx(terms.standardised[i])
        half = Z95 * terms.synthetic_se[i] / terms.original_se[i]
        assert theirs["high"] - theirs["x"] == pytest.approx(half)
        assert theirs["x"] - theirs["low"] == pytest.approx(half)


def test_histogram_of_few_numbers_is_drawn_as_categories() -> None:
    data = {"x": [1, 2, 3, 3, 2, 1]}
    assert histogram(WeightedPair.of(data, data), "x").limits is None
