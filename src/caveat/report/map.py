"""The map of risk and utility: other settings of the release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caveat import charts
from caveat.report.blocks import Block, Cell, Field, Figure, Grid, Section, Text, cell
from caveat.report.numbers import count, number
from caveat.report.reading import Evidence, entry_of

__all__ = ["map_section"]


CURVES = "lines join the settings of one method, in the order of its dial"


def map_section(evidence: Evidence) -> Section:
    """Return the section with the map of risk and utility."""
    found = evidence["map"]
    title = "Risk and utility of other settings"
    points = [] if found is None else found["points"]
    whole = [p for p in points if None not in (p["risk_mean"], p["risk_worst"], p["utility_mean"])]
    if not whole:
        return Section("map", title, [Text("No map was asked for: other settings were not tried.")])
    risk, utility = found["risk"], found["utility"]
    unit, useful = found["risk_unit"], found["utility_unit"]
    limit = ""
    if found["limit"] is not None:
        limit = f" The dashed line is the limit, {number(found['limit'], risk, unit)}."
    chosen = [p for p in whole if p["chosen"]]
    several = any("method" in p for p in whole)
    joined = CURVES if several else "a line joins the settings that are not beaten"
    direction = entry_of(evidence, utility).get("direction") or "utility"
    table = _map_table(found)
    summary = f"{count(len(whole), 'setting')}; " + "; ".join(
        f"{p['setting']}: {risk} {number(p['risk_mean'], risk, unit)}, {utility} "
        f"{number(p['utility_mean'], utility, useful)}"
        for p in whole[:12]
    )
    blocks: list[Block] = [
        Text(
            f"Other settings were tried on several seeds each: {risk} against the attacker "
            f"“{found['scenario']}”, and {utility}. "
            + (
                "This release is one of them."
                if chosen
                else "The setting of this release is not among them."
            )
        ),
        Figure(
            "chart-map",
            "Risk against utility: dots are means over the releases of a setting, ticks the worst "
            f"of them; {joined}.{limit} Point at a dot to see its setting.",
            f"{summary}.",
            [
                (
                    "",
                    charts.risk_utility(
                        whole,
                        f"{_axis(risk, unit)} (risk)",
                        f"{_axis(utility, useful)} ({direction})",
                        found["limit"],
                        (unit, useful),
                    ),
                )
            ],
            table,
            charts.map_key(whole) if several else charts.MAP_KEY,
        ),
        table,
    ]
    return Section("map", title, blocks)


def _axis(measure: str, unit: str) -> str:
    return f"{measure} in %" if unit == "share" else measure


def _map_table(found: Mapping[str, Any]) -> Grid:
    risk, utility = found["risk"], found["utility"]
    unit, useful = found["risk_unit"], found["utility_unit"]

    def value(point: Mapping[str, Any], field: str, name: str, unit: str) -> Cell:
        return cell(number(point[field], name, unit), point[field])

    return Grid(
        "Settings tried",
        [
            Field("Setting"),
            Field("Releases", numeric=True),
            Field(f"{risk}, mean", numeric=True),
            Field(f"{risk}, worst", numeric=True),
            Field(f"{utility}, mean", numeric=True),
            Field("Not beaten"),
            Field("This release"),
        ],
        [
            [
                cell(p["setting"]),
                cell(p["seeds"], p["seeds"]),
                value(p, "risk_mean", risk, unit),
                value(p, "risk_worst", risk, unit),
                value(p, "utility_mean", utility, useful),
                cell("yes" if p["pareto"] else "no"),
                cell("yes" if p["chosen"] else ""),
            ]
            for p in found["points"]
        ],
    )
