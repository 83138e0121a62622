"""Charts: what is drawn, in which colours, and that files are whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caveat.errors import CaveatError
from caveat.table import Table
from caveat.utility import (
    Comparison,
    all_tables,
    associations,
    charts,
    compare_model,
    histogram,
    propensity,
)


@pytest.fixture(scope="module")
def pair(people: Table) -> Comparison:
    rng = np.random.default_rng(3)
    return Comparison(people, people.take(rng.integers(0, len(people), len(people))))


def values(spec: object, key: str) -> list[object]:
    """All values of a key, wherever it stands."""
    if isinstance(spec, dict):
        here = [spec[key]] if key in spec else []
        return here + [v for part in spec.values() for v in values(part, key)]
    if isinstance(spec, list):
        return [v for part in spec for v in values(part, key)]
    return []


def rows_of(spec: dict) -> list[dict]:
    """All rows of data that are drawn."""
    return [row for data in spec["datasets"].values() for row in data]


def test_distributions_hold_every_row(pair: Comparison) -> None:
    spec = charts.distributions(pair).to_dict()
    titles = [t.get("text") if isinstance(t, dict) else t for t in values(spec, "title")]
    for name in pair.names:
        assert any(str(title).startswith(name) for title in titles), name
    rows = rows_of(spec)
    drawn = sum(r["percent"] for r in rows if r.get("side") == "original" and "percent" in r)
    assert drawn == pytest.approx(100 * len(pair.names))
    labels = {r.get("bar") for r in rows}
    assert {"empty", "-8"} <= labels


def test_many_categories_are_put_together() -> None:
    rng = np.random.default_rng(1)
    names = np.array([f"level {i:02d}" for i in range(30)])
    data = {"x": rng.choice(names, 2000)}
    spec = charts.distributions(Comparison.of(data, data)).to_dict()
    rows = [r for r in rows_of(spec) if "bar" in r]
    assert "19 others" in {r["bar"] for r in rows}
    assert sum(r["percent"] for r in rows if r["side"] == "synthetic") == pytest.approx(100)


def test_the_two_way_map_holds_every_table(pair: Comparison) -> None:
    pairs, singles = all_tables(pair, 2), all_tables(pair, 1)
    spec = charts.two_way(pairs, singles).to_dict()
    rows = rows_of(spec)
    found = {(r["a"], r["b"]): r["value"] for r in rows}
    for row in pairs.rows():
        assert found[row["variables"]] == pytest.approx(row["S_pMSE"])
    assert found["age", "age"] == pytest.approx(dict(singles.ranked())["age",])


def test_the_association_map_shows_differences(pair: Comparison) -> None:
    found = associations(pair)
    spec = charts.correlation_difference(found).to_dict()
    rows = rows_of(spec)
    assert len(rows) == 6 * 5 // 2
    for row in rows:
        i, j = found.names.index(row["a"]), found.names.index(row["b"])
        assert row["value"] == pytest.approx(found.difference[i, j])


def test_scores_and_coefficients(pair: Comparison) -> None:
    spec = charts.propensity_scores(propensity(pair, "logit")).to_dict()
    rows = rows_of(spec)
    for side in ("original", "synthetic"):
        assert sum(r.get("percent", 0) for r in rows if r.get("side") == side) == pytest.approx(100)
    model = compare_model(pair, "height ~ age + sex")
    spec = charts.coefficient_forest(model).to_dict()
    rows = [r for r in rows_of(spec) if "side" in r]
    for i, term in enumerate(model.coefficients.terms):
        (row,) = (r for r in rows if r["term"] == term and r["side"] == "synthetic")
        assert row["x"] == pytest.approx(model.coefficients.standardised[i])


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


# Linear RGB as dichromats see it (Viénot, Brettel, Mollon 1999; tritan after Brettel 1997).
SEEN = {
    "protan": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deutan": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    "tritan": [[1, 0.14461, -0.14461], [0, 0.85924, 0.14076], [0, 0.85924, 0.14076]],
}


def test_colours_survive_grey_and_colour_blindness() -> None:
    ours, theirs = (linear(colour) for colour in charts.COLOURS)
    weights = np.array([0.2126, 0.7152, 0.0722])
    dark, light = sorted(float(weights @ c) for c in (ours, theirs))
    assert (light + 0.05) / (dark + 0.05) > 3  # the contrast that WCAG asks of graphics
    for matrix in SEEN.values():
        a, b = (np.clip(np.array(matrix) @ c, 0, 1) for c in (ours, theirs))
        lights = sorted(float(weights @ c) for c in (a, b))
        assert (lights[1] + 0.05) / (lights[0] + 0.05) > 2.5


@pytest.mark.parametrize("kind", charts.FORMATS)
def test_files(kind: str, pair: Comparison, tmp_path: Path) -> None:
    chart = charts.distributions(pair, ["sex", "pay"])
    path = tmp_path / f"chart.{kind}"
    charts.save(chart, path)
    content = path.read_bytes()
    start = {"html": b"<!DOCTYPE html>", "svg": b"<svg", "png": b"\x89PNG"}[kind]
    assert start in content[:200]
    if kind == "html":  # nothing is fetched when it is opened
        assert b'src="http' not in content
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with pytest.raises(CaveatError, match="exists already"):
        charts.save(chart, path)


def test_other_formats_are_refused(pair: Comparison, tmp_path: Path) -> None:
    with pytest.raises(CaveatError, match="cannot be saved"):
        charts.save(charts.distributions(pair, ["sex"]), tmp_path / "chart.gif")


def test_histogram_of_few_numbers_is_drawn_as_categories() -> None:
    data = {"x": [1, 2, 3, 3, 2, 1]}
    assert histogram(Comparison.of(data, data), "x").limits is None
