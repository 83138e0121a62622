"""The plane of risk and utility: dots, ticks, the line that joins the best, labels."""

from __future__ import annotations

from typing import Any

from tests.charts.specs import marks, rows_of, spec_of, values

from caveat.charts import MAP_KEY, map_key, risk_utility
from caveat.charts.style import COLOURS, GREY, INK, PALE


def point(setting: str, risk: float, utility: float, **more: Any) -> dict[str, Any]:
    worst = {"risk_mean": risk, "risk_worst": risk + 1, "utility_mean": utility}
    return {"setting": setting, **worst, "pareto": True, "chosen": False, **more}


def labels(*points: dict[str, Any]) -> dict[str, str]:
    rows = rows_of(spec_of(risk_utility(points, "DiSCO", "pMSE")), "setting")
    return {row["setting"]: row["label"] for row in rows}


def test_a_dot_is_the_mean_and_a_tick_the_worst() -> None:
    points = [
        point("a", 3.0, 0.1),
        point("b", 2.0, 0.2, chosen=True),
        point("c", 9.0, 0.2, pareto=False),
    ]
    spec = spec_of(risk_utility(points, "DiSCO in %", "pMSE", 5.0))
    rows = {row["setting"]: row for row in rows_of(spec, "setting")}
    # What matters more is drawn later, over what comes out the same.
    sorts = [("c", "beaten"), ("a", "not beaten"), ("b", "this release")]
    assert [(name, row["sort"]) for name, row in rows.items()] == sorts
    assert (rows["a"]["risk_mean"], rows["a"]["risk_worst"]) == (3.0, 4.0)
    assert marks(spec) == ["rule", "line", "rule", "tick", "circle", "text", "text"]
    assert rows_of(spec, "limit") == [{"limit": 5.0}]
    dots = spec["layer"][4]["encoding"]
    assert [dots[axis]["field"] for axis in "xy"] == ["utility_mean", "risk_mean"]
    assert (dots["x"]["title"], dots["y"]["title"]) == ("pMSE", "DiSCO in %")
    scale = dots["color"]["scale"]
    assert list(zip(scale["domain"], scale["range"], strict=True)) == [
        ("this release", COLOURS[1]), ("not beaten", COLOURS[0]), ("beaten", PALE),
    ]  # fmt: skip
    assert [colour for _, colour, _ in MAP_KEY] == scale["range"]
    assert spec["layer"][1]["transform"] == [{"filter": "datum.pareto"}]


def test_without_a_limit_there_is_no_dashed_line() -> None:
    spec = spec_of(risk_utility([point("a", 3.0, 0.1)], "DiSCO", "pMSE"))
    assert values(spec, "strokeDash") == []


def test_settings_that_come_out_the_same_share_a_label() -> None:
    found = labels(point("a", 3.0, 0.1), point("b", 3.001, 0.1), point("c", 8.0, 0.01))
    assert found == {"a": "a and 1 more", "b": "", "c": "c"}


def test_the_release_is_the_one_that_is_named() -> None:
    beaten = point("b", 3.0, 0.1, chosen=True, pareto=False)
    assert labels(point("a", 3.0, 0.1), beaten) == {"a": "", "b": "b and 1 more"}


def test_beaten_settings_have_no_label_and_long_ones_are_cut() -> None:
    long = "minbucket 20, remove replicated uniques, label"
    found = labels(point(long, 3.0, 0.1), point("b", 9.0, 0.2, pareto=False))
    assert found == {long: "minbucket 20, remove replicated…", "b": ""}


def test_labels_on_the_right_end_at_their_dots() -> None:
    points = [point(str(x), 9.0 - x, x) for x in (0, 2, 3)]
    rows = rows_of(spec_of(risk_utility(points, "DiSCO", "pMSE")), "setting")
    assert [row["inwards"] for row in rows] == [False, False, True]
    outwards, inwards = spec_of(risk_utility(points, "DiSCO", "pMSE"))["layer"][-2:]
    assert (outwards["mark"]["align"], inwards["mark"]["align"]) == ("left", "right")
    assert inwards["transform"] == [{"filter": "datum.label && datum.inwards"}]


def test_no_setting_at_all_is_an_empty_plane() -> None:
    assert rows_of(spec_of(risk_utility([], "DiSCO", "pMSE")), "setting") == []


def test_methods_are_curves_in_the_order_of_the_dial() -> None:
    plain, guarded = {"method": "cart", "line": 0}, {"method": "guarded", "line": 1}
    points = [
        point("cart, minbucket 20", 90.0, 1.1, **plain),
        point("cart, minbucket 5", 91.0, 1.0, **plain),
        point("guarded, guard light", 30.0, 1.2, **guarded),
        point("guarded, guard strong", 31.0, 1.9, pareto=False, chosen=True, **guarded),
    ]
    spec = spec_of(risk_utility(points, "membership", "pMSE", 5.0))
    assert marks(spec) == ["rule", "line", "rule", "tick", "point", "text", "text"]
    line, dots = spec["layer"][1]["encoding"], spec["layer"][4]["encoding"]
    assert (line["detail"]["field"], line["order"]["field"]) == ("line", "place")
    assert [line[axis]["field"] for axis in "xy"] == ["utility_mean", "risk_mean"]
    assert dots["fill"]["scale"] == {"domain": ["cart", "guarded"], "range": list(COLOURS)}
    assert dots["shape"]["scale"]["range"] == ["circle", "diamond"]
    assert dots["stroke"]["condition"] == {"test": "datum.chosen", "value": INK}
    assert spec["layer"][0]["mark"]["color"] == GREY  # the limit is no curve
    rows = {row["setting"]: row for row in rows_of(spec, "setting")}
    assert [rows[one["setting"]]["place"] for one in points] == [0, 1, 2, 3]
    # All are named, without the method; a name that would lie on another stands below its dot.
    named = [rows[one["setting"]] for one in points]
    assert [(row["label"], row["inwards"]) for row in named] == [
        ("minbucket 20", True), ("minbucket 5", False), ("guard light", False),
        ("guard strong", True),
    ]  # fmt: skip
    assert [words for _, _, words in map_key(points)] == [
        "plain trees", "guarded trees", "pale: beaten, another setting is better in both",
        "black edge: this release",
    ]  # fmt: skip
    assert map_key([point("a", 3.0, 0.1)]) == MAP_KEY[1:]


def test_names_on_the_axis_stand_above_their_dots() -> None:
    curve = {"method": "cart", "line": 0}
    points = [point("a", 80.0, 1.0, **curve), point("b", 0.0, 2.0, **curve)]
    spec = spec_of(risk_utility(points, "membership", "pMSE"))
    rows = {row["setting"]: row for row in rows_of(spec, "setting")}
    assert [(rows[name]["low"], rows[name]["inwards"]) for name in "ab"] == [
        (False, False), (True, False),
    ]  # fmt: skip
    outwards, above = spec["layer"][-2:]
    assert outwards["transform"] == [{"filter": "datum.label && !datum.inwards && !datum.low"}]
    assert (above["mark"]["align"], above["mark"]["dy"]) == ("right", -14)


def test_shares_are_drawn_in_per_cent() -> None:
    points = [{**point("a", 0.0, 0.25), "risk_mean": 0.07, "risk_worst": 0.08}]
    spec = spec_of(risk_utility(points, "DiSCO in %", "PO50 in %", 0.05, ("share", "share")))
    (row,) = rows_of(spec, "setting")
    assert (row["risk_mean"], row["risk_worst"], row["utility_mean"]) == (7.0, 8.0, 25.0)
    assert rows_of(spec, "limit") == [{"limit": 5.0}]
