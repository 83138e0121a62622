"""What a run leaves, as it is shown."""

from __future__ import annotations

from pathlib import Path

from caveat.release.folder import Outcome


def test_an_outcome_says_which_limits_are_met(tmp_path: Path):
    def measurement(name: str, value: float, most: float | None, excess: float | None) -> dict:
        limit = None if most is None else {"most": most, "least": None}
        about = {"measure": name, "label": "", "target": None, "copy": 1, "value": value}
        return {**about, "limit": limit, "excess": excess, "baseline": None, "control": None}

    scenario = {
        "name": "neighbour",
        "measurements": [
            measurement("repU", 0.02, 0.05, 0.0),
            measurement("DiSCO", 0.2, 0.05, 0.15),
            measurement("UiO", 0.3, None, None),
        ],
    }
    says = {name: {"says": f"says {name}"} for name in ("repU", "DiSCO")}
    evidence = {
        "scenarios": [scenario],
        "utility": {"measurements": [measurement("pMSE", 0.1, None, None)]},
        "measures": says,
        "remarks": ["a remark"],
    }
    outcome = Outcome(tmp_path / "survey", evidence)
    assert repr(outcome) == "<Release in survey: 1 of 2 limits are met>"
    assert [m["measure"] for m in outcome.broken] == ["DiSCO"]
    assert outcome._summary().rows[1] == (
        "says DiSCO", "DiSCO", None, "neighbour", 0.2, None, None, 0.05, None, None, "no",
    )  # fmt: skip
    frame = outcome.to_frame("polars")
    assert frame["scenario"].to_list() == ["neighbour"] * 3 + ["utility"]
    assert frame["value"].to_list() == [0.02, 0.2, 0.3, 0.1]
