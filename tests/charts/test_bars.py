"""Paired bars: every share is drawn once, in the order given, on scales that hold all of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.charts.specs import marks, rows_of, spec_of

from caveat.charts import (
    distribution,
    distributions,
    histogram,
    missing_cells,
    propensity_scores,
    scores,
)
from caveat.charts.style import COLOURS


def groups(*labels: str) -> list[dict[str, Any]]:
    return [
        {"label": x, "original": (8 + i) / 64, "synthetic": 0.25 - i / 64}
        for i, x in enumerate(labels)
    ]


def bins(*shares: tuple[float, float], width: float = 10) -> list[dict[str, Any]]:
    return [
        {"low": i * width, "high": (i + 1) * width, "original": a, "synthetic": b}
        for i, (a, b) in enumerate(shares)
    ]


@pytest.mark.parametrize(
    ("n", "ordered", "along"), [(6, True, "y"), (7, True, "x"), (7, False, "y")]
)
def test_groups_stand_in_their_order(n: int, ordered: bool, along: str) -> None:
    given = groups(*"gfedcba"[:n])
    spec = spec_of(distribution(given, ordered))
    names, shares = spec["encoding"][along], spec["encoding"]["yx"["xy".index(along)]]
    assert (names["field"], names["sort"]) == ("group", [g["label"] for g in given])
    assert (shares["field"], shares["type"]) == ("percent", "quantitative")
    side = spec["encoding"][f"{along}Offset"]
    assert (side["field"], side["sort"]) == ("side", ["original", "synthetic"])
    assert spec["encoding"]["color"]["scale"]["range"] == list(COLOURS)
    drawn = {(r["group"], r["side"]): r["percent"] for r in rows_of(spec, "group")}
    assert drawn == {(g["label"], name): 100 * g[name] for g in given for name in side["sort"]}


def test_many_groups_get_a_higher_chart_and_are_not_squeezed() -> None:
    heights = [spec_of(distribution(groups(*"abcdefghij"[:n]), False))["height"] for n in (1, 10)]
    assert heights == [40, pytest.approx(252)]


def test_bins_lie_on_an_axis_of_numbers() -> None:
    spec = spec_of(histogram("pay", bins((0.3, 0.4), (0.5, 0.2))))
    assert spec["title"]["text"] == "pay"
    x, y = spec["encoding"]["x"], spec["encoding"]["y"]
    assert x["scale"]["domain"] == [0, 20]
    assert y["scale"]["domain"] == [0, pytest.approx(52.5)]
    found = [(r["side"], r["from"], r["to"], r["percent"]) for r in rows_of(spec, "from")]
    assert found == [
        ("original", 0.6, 5, 30),
        ("synthetic", 5, pytest.approx(9.4), 40),
        ("original", 10.6, 15, 50),
        ("synthetic", 15, pytest.approx(19.4), 20),
    ]


@pytest.mark.parametrize(("width", "form"), [(9_999, ".10~g"), (10_000, "~s")])
def test_long_numbers_are_shortened(width: float, form: str) -> None:
    spec = spec_of(histogram("pay", bins((1, 1), (1, 1), width=width)))
    assert spec["encoding"]["x"]["axis"]["format"] == form


def test_ways_to_be_missing_share_the_scale_of_the_numbers() -> None:
    spec = spec_of(histogram("pay", bins((0.3, 0.4)), groups("empty", "-8")))
    numbers, missing = spec["hconcat"]
    scales = [part["encoding"]["y"]["scale"] for part in (numbers, missing)]
    assert scales[0] == scales[1] == {"domain": [0, 42], "nice": False}
    assert missing["encoding"]["x"]["sort"] == ["empty", "-8"]
    # The panel is no wider than one without.
    alone = spec_of(histogram("pay", bins((0.3, 0.4))))["width"]
    assert numbers["width"] + spec["spacing"] + missing["width"] == alone


def test_a_grid_holds_the_numbers_first() -> None:
    panels = [histogram("pay", bins((0.3, 0.4))), histogram("age", bins((1, 2)), groups("empty"))]
    named = {name: distribution(groups("a", "b"), False) for name in ("sex", "region", "job")}
    spec = spec_of(distributions(panels, named, columns=2))
    numbers, categories = spec["concat"]
    assert [len(part["concat"]) for part in (numbers, categories)] == [2, 3]
    assert (numbers["columns"], categories["columns"], spec["columns"]) == (2, 2, 1)
    assert [part["title"]["text"] for part in categories["concat"]] == ["sex", "region", "job"]
    assert len(spec_of(distributions([], named))["concat"]) == 1


def test_propensity_scores_have_a_line_at_the_share_of_synthetic_rows() -> None:
    spec = spec_of(propensity_scores(bins((0.25, 0.75), (0.75, 0.25), width=0.5), 0.4))
    assert marks(spec) == ["bar", "rule"]
    assert rows_of(spec, "at") == [{"at": 0.4}]
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, 1]
    assert [r["percent"] for r in rows_of(spec, "from")] == [25, 75, 75, 25]


@pytest.mark.parametrize(("worst", "top"), [(3.0, 12.0), (40.0, 40.0)])
def test_scores_reach_beyond_what_is_poor(worst: float, top: float) -> None:
    rows = [{"name": "income", "value": worst}, {"name": "age", "value": 1.0}]
    spec = spec_of(scores(rows))
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, top]
    assert spec["layer"][0]["encoding"]["y"]["sort"] == ["income", "age"]
    assert rows_of(spec, "name") == rows
    assert rows_of(spec, "at") == [{"at": 1.0}, {"at": 10.0}]


def test_missing_cells_keep_the_order_of_all_columns() -> None:
    ways = [
        {"column": "b", "way": "empty", "share": 0.25},
        {"column": "b", "way": "-8", "share": 0.1},
    ]
    spec = missing_cells(ways, ["b", "a"]).to_dict()
    (rows,) = spec["datasets"].values()
    assert [row["percent"] for row in rows] == [25.0, 10.0]
    assert spec["encoding"]["y"]["scale"]["domain"] == ["b", "a"]
    assert spec["encoding"]["x"]["scale"]["domain"] == [0, 100]
