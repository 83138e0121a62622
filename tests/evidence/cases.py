"""Evidence with a few measurements, of which the verdict is known."""

from __future__ import annotations

from typing import Any

from tests.report.sample import measured, small

LIMIT = {"most": 0.05, "least": None}


def entry(value: float | None, control: float | None = None, **more: Any) -> dict[str, Any]:
    """A measurement of DiSCO as a run writes it."""
    found = measured("DiSCO", value, target="marital", control=control, **more)
    if value is not None and control is not None:
        rise = value - control
        ends = [rise - 0.01, rise + 0.01]
        found["rise"] = {"value": rise, "over": "control", "interval": ends}
    return found


def content(*measurements: dict[str, Any]) -> dict[str, Any]:
    """The sample with one attacker who has these measurements."""
    found = small()
    found["scenarios"] = [found["scenarios"][0] | {"measurements": list(measurements)}]
    found["utility"]["measurements"] = []
    return found


def point(setting: str, risk: float, utility: float, chosen: bool = False) -> dict[str, Any]:
    return {
        "setting": setting, "setting_is_public": True, "seeds": 1, "risk_mean": risk,
        "risk_worst": risk, "utility_mean": utility, "utility_worst": utility, "pareto": True,
        "chosen": chosen,
    }  # fmt: skip


def with_settings(found: dict[str, Any], *points: dict[str, Any]) -> dict[str, Any]:
    found["other_settings"] = {
        "scenario": "", "risk": "membershipShare", "utility": "S_pMSE two-way",
        "risk_unit": "share", "utility_unit": "ratio", "limit": None, "points": list(points),
        "records": 500,
    }  # fmt: skip
    return found
