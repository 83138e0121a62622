"""Generators held against each other, on numbers that can be checked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from caveat.report.benchmark import (
    beyond_control,
    contradictions,
    pareto,
    risk_axis,
    summaries,
)

RISKY = {"direction": "higher is riskier", "unit": "share", "kind": "risk"}
MEASURES = {
    "repU": RISKY,
    "DiSCO": RISKY,
    "membershipShare": RISKY,
    "inference": RISKY,
    "DCR": {"direction": "lower is riskier", "unit": "score", "kind": "risk"},
    "UiO": {"direction": "reference", "unit": "share", "kind": "risk"},
    "S_pMSE": {"direction": "lower is better", "unit": "ratio", "kind": "utility"},
}


def value(measure: str, number: float | None, **more: Any) -> dict[str, Any]:
    blank = {"scenario": None, "label": "", "target": None, "copy": 1, "interval": None,
             "baseline": None, "control": None, "why": []}  # fmt: skip
    return {**blank, "measure": measure, "value": number, **more}


def content(**generators: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return a benchmark: for each generator its trials, for each trial its values."""
    return {
        "measures": MEASURES,
        "risk": None,
        "utility": "S_pMSE",
        "scenarios": [{"name": "tries", "attacker": "ordinary", "keys": []}],
        "generators": [
            {"label": label, "trials": [{"values": values} for values in trials]}
            for label, trials in generators.items()
        ],
    }


def test_a_summary_is_the_mean_over_releases_of_the_target_that_is_worst_off() -> None:
    found = summaries(
        content(
            a=[
                [value("DiSCO", 0.1, target="age"), value("DiSCO", 0.3, target="job")],
                [value("DiSCO", 0.2, target="age"), value("DiSCO", 0.5, target="job")],
            ]
        )
    )["DiSCO"]["a"]
    assert (found.mean, found.low, found.high, found.n, found.about) == (0.4, 0.3, 0.5, 2, "job")
    assert found.worst(1) == 0.5


def test_where_less_is_riskier_the_lowest_target_is_the_worst() -> None:
    found = summaries(content(a=[[value("DCR", 0.2, target="x"), value("DCR", 0.7, target="y")]]))
    assert (found["DCR"]["a"].mean, found["DCR"]["a"].about) == (0.2, "x")
    alone = summaries(content(a=[[value("DCR", 0.2, target="x")]]))["DCR"]["a"]
    assert alone.about == ""


def test_what_describes_the_original_alone_is_no_comparison() -> None:
    assert summaries(content(a=[[value("UiO", 0.5)]])) == {}


def test_a_measure_without_a_value_says_why() -> None:
    found = summaries(content(a=[[value("repU", None, why=["no key is unique"])]]))["repU"]["a"]
    assert found.mean is None
    assert found.why == "no key is unique"


def test_the_axis_is_the_strongest_attacker_that_is_known_for_most() -> None:
    both = [[value("membershipShare", 0.9), value("DiSCO", 0.1)]]
    one = [[value("membershipShare", None), value("DiSCO", 0.2)]]
    every = content(a=both, b=both)
    assert risk_axis(every, summaries(every)) == "membershipShare"
    some = content(a=both, b=one, c=one)
    assert risk_axis(some, summaries(some)) == "DiSCO"
    named = {**some, "risk": "membershipShare"}
    assert risk_axis(named, summaries(named)) == "membershipShare"
    nothing = content(a=[[value("S_pMSE", 1.0)]])
    assert risk_axis(nothing, summaries(nothing)) is None


def test_who_is_not_beaten() -> None:
    every = content(
        useful=[[value("repU", 0.4), value("S_pMSE", 1.0)]],
        safe=[[value("repU", 0.1), value("S_pMSE", 9.0)]],
        beaten=[[value("repU", 0.4), value("S_pMSE", 2.0)]],
        failed=[[]],
    )
    assert pareto(every, summaries(every), "repU", "S_pMSE") == ["useful", "safe"]


def test_a_contradiction_needs_releases_that_do_not_overlap() -> None:
    def trials(low: list[float], strong: list[float]) -> list[list[dict[str, Any]]]:
        return [
            [value("repU", one), value("membershipShare", other)]
            for one, other in zip(low, strong, strict=True)
        ]

    clear = content(plain=trials([0.01, 0.02], [0.98, 0.99]), noisy=trials([0.05, 0.06], [0.1, 0]))
    assert list(contradictions(clear, summaries(clear), "membershipShare")) == [
        ("repU", "plain", "noisy")
    ]
    # The same means, but the releases overlap in repU.
    vague = content(plain=trials([0, 0.055], [0.98, 0.99]), noisy=trials([0.05, 0.06], [0.1, 0]))
    assert list(contradictions(vague, summaries(vague), "membershipShare")) == []


def test_the_best_attack_beyond_its_control() -> None:
    def tried(measure: str, number: float, control: float, target: str) -> dict[str, Any]:
        return value(measure, number, control=control, target=target, scenario="tries")

    every = content(
        a=[
            [tried("inference", 0.9, 0.85, "age"), tried("inference", 0.5, 0.2, "job")],
            [tried("inference", 0.9, 0.85, "age"), tried("inference", 0.3, 0.2, "job")],
        ],
        b=[[value("inference", 0.9, control=0.1, scenario="another")]],
    )
    found = beyond_control(every)
    assert set(found) == {"a"}
    assert found["a"] == (pytest.approx(0.2), "inference job")
