"""Marks on lines: what stands where, and that names are not squeezed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.charts.specs import marks, rows_of, spec_of, values

from caveat.charts import (
    ATTACKERS_KEY,
    CERTAINTY_KEY,
    FOREST_KEY,
    PROMISED_KEY,
    attackers,
    certainty,
    coefficients,
    promised,
)
from caveat.charts.style import COLOURS


def measure(label: str, value: float | None, **more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("low", "high", "baseline", "control", "limit"))
    texts = {f"{k}_text": "–" for k in ("value", "interval", "baseline", "control", "limit")}
    return {"label": label, "value": value, **empty, **texts, **more}


def test_every_attacker_has_a_line() -> None:
    rows = [measure("repU", 4.0, low=3.0, high=5.0), measure("DiSCO", 12.0, limit=5.0)]
    spec = spec_of(attackers(rows))
    assert rows_of(spec, "label") == [{"place": i, **row} for i, row in enumerate(rows)]
    assert spec["height"] == 96
    scales = {tuple(d) for d in values(spec, "domain")}
    assert scales == {(0, 100), (-0.62, 1.62)}
    # What there is not is not drawn at 0.
    assert values(spec, "filter") == [
        f"isValid(datum.{field})" for field in ("limit", "baseline", "low", "control", "value")
    ]
    assert [sign for sign, _, _ in ATTACKERS_KEY] == ["dot", "tick", "diamond", "bar"]


def test_certainty_is_drawn_before_and_after() -> None:
    row = {"label": "people", "before": 10.0, "after": 60.0, "limit": None, "text": "10 % → 60 %"}
    spec = spec_of(certainty([row, {**row, "limit": 5.0}]))
    assert marks(spec) == ["rule", "tick", "rule", "point", "circle", "text", "text"]
    assert [r["limit"] for r in rows_of(spec, "label")] == [None, 5.0]
    assert values(spec, "filter") == ["isValid(datum.limit)"]
    assert spec["height"] == 96
    assert [sign for sign, _, _ in CERTAINTY_KEY] == ["diamond", "dot", "bar"]


def term(name: str, gap: float, half: float) -> dict[str, Any]:
    ends = {"original_low": -2.0, "original_high": 2.0}
    ends |= {"synthetic_low": gap - half, "synthetic_high": gap + half}
    return {"term": name, "values": "1 → 2", "gap": gap, **ends}


@pytest.mark.parametrize(("gap", "reach"), [(0.5, 3.15), (4.0, 6.3)])
def test_coefficients_are_seen_from_the_original(gap: float, reach: float) -> None:
    spec = spec_of(coefficients([term("age", gap, 2.0), term("sex[T.male]", 0.0, 1.0)]))
    assert marks(spec) == ["rule", "rule", "point", "text", "text"]
    rows = rows_of(spec, "side")
    places = [(r["term"], r["side"], r["x"], r["low"], r["high"]) for r in rows]
    assert places == [
        ("age", "original", 0, -2, 2),
        ("age", "synthetic", gap, gap - 2, gap + 2),
        ("sex[T.male]", "original", 0, -2, 2),
        ("sex[T.male]", "synthetic", 0, -1, 1),
    ]
    # The two sides of a term do not hide each other.
    assert [r["place"] for r in rows] == [0, 0.16, 1, 1.16]
    assert spec["layer"][1]["encoding"]["x"]["scale"]["domain"] == [
        pytest.approx(-reach),
        pytest.approx(reach),
    ]
    assert rows_of(spec, "at") == [{"at": 0}]
    assert [colour for _, colour, _ in FOREST_KEY] == list(COLOURS)


def test_names_stand_above_their_lines_and_end_where_the_numbers_begin() -> None:
    spec = spec_of(coefficients([term("a very long name of a term" * 4, 0.5, 2.0)]))
    name, numbers = (layer for layer in spec["layer"] if layer["mark"]["type"] == "text")
    assert name["mark"]["limit"] == {"expr": "max(width - 130, 60)"}
    assert [(m["mark"]["baseline"], m["mark"]["dy"]) for m in (name, numbers)] == [
        ("bottom", -12)
    ] * 2
    assert (name["encoding"]["x"], numbers["encoding"]["x"]) == ({"value": 0}, {"value": "width"})


def test_a_promise_is_a_line_through_what_was_measured() -> None:
    rows = [
        {"label": "ε", "kind": "promise", "value": 1.0, "text": "1.00"},
        {"label": "largest", "kind": "measurement", "value": 0.4, "text": "0.400"},
    ]
    spec = spec_of(promised(rows))
    assert rows_of(spec, "label") == [{"place": i, **row} for i, row in enumerate(rows)]
    assert rows_of(spec, "at") == [{"at": 1.0}]
    assert [0, pytest.approx(1.15)] in [list(d) for d in values(spec, "domain")]
    # A promise and a measurement have signs of their own.
    assert values(spec, "filter") == ["datum.kind == 'promise'", "!(datum.kind == 'promise')"]
    assert [sign for sign, _, _ in PROMISED_KEY] == ["bar", "dot"]
