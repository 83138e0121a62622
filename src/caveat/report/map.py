"""The map of risk and utility: other settings of the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from caveat import charts
from caveat.report.blocks import Block, Cell, Field, Figure, Grid, Section, Text, cell
from caveat.report.numbers import count, number
from caveat.report.reading import Evidence, entry_of
from caveat.report.wording import phrase

__all__ = ["is_drawn", "map_figure", "map_section"]


CURVES = "lines join the settings of one method, in the order of its dial"


def map_section(evidence: Evidence) -> list[Section]:
    """Return the section on other settings, if there are any; the picture is on page one."""
    blocks = [*_asked_for(evidence), *_every_run(evidence)]
    title = "Risk and utility of other settings"
    return [Section("map", title, blocks, annex=True)] if blocks else []


def _asked_for(evidence: Evidence) -> Iterator[Block]:
    """Return the settings of the map that was asked for."""
    found = evidence["map"]
    if found is None or not found["points"]:
        return
    risk, utility = _called(evidence, found["risk"]), _called(evidence, found["utility"])
    chosen = any(point["chosen"] for point in found["points"])
    yield Text(
        f"Other settings were tried on several seeds each: {risk}, against the "
        f"attacker “{found['scenario']}”, and {utility}. "
        + (
            "This release is one of them."
            if chosen
            else "The setting of this release is not among them."
        )
    )
    yield _map_table(found, "Settings tried")


def _every_run(evidence: Evidence) -> Iterator[Block]:
    """Return the settings beside that of the release, or why none was tried."""
    found = evidence.get("other_settings")
    if found is None:
        return
    if not found["points"]:
        why = found["reason"]["text"]
        yield Text(f"Settings beside that of the release were not tried: {why}.")
        return
    risk, utility = _called(evidence, found["risk"]), _called(evidence, found["utility"])
    yield Text(
        f"The settings beside that of the release were tried once each: {risk}, by the strong "
        f"attacker on the same {count(found['records'], 'record')}, and {utility}."
    )
    yield _map_table(found, "The setting of the release and those beside it")


def is_drawn(point: Mapping[str, Any]) -> bool:
    """Whether a setting has a point in the picture: everything could be measured."""
    return None not in (point["risk_mean"], point["risk_worst"], point["utility_mean"])


def map_figure(evidence: Evidence) -> Figure | None:
    """Return the map of risk and utility as a picture; None if there is nothing to draw."""
    found = evidence["map"]
    points = [] if found is None else found["points"]
    whole = [p for p in points if is_drawn(p)]
    if not whole:
        return None
    risk, utility = found["risk"], found["utility"]
    unit, useful = found["risk_unit"], found["utility_unit"]
    limit = ""
    if found["limit"] is not None:
        limit = f" The dashed line is the limit, {number(found['limit'], risk, unit)}."
    several = any("method" in p for p in whole)
    joined = CURVES if several else "a line joins the settings that are not beaten"
    direction = entry_of(evidence, utility).get("direction") or "utility"
    summary = f"{count(len(whole), 'setting')}; " + "; ".join(
        f"{p['setting']}: {risk} {number(p['risk_mean'], risk, unit)}, {utility} "
        f"{number(p['utility_mean'], utility, useful)}"
        for p in whole[:12]
    )
    return Figure(
        "chart-map",
        "Risk against utility: this release and its alternatives"
        if any(p["chosen"] for p in whole)
        else "Risk against utility of other settings",
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
        _map_table(found, "Settings tried"),
        charts.map_key(whole) if several else charts.MAP_KEY,
        reading="Dots are means over the releases of a setting, ticks the worst of them; "
        f"{joined}.{limit}",
    )


def _called(evidence: Evidence, measure: str) -> str:
    says = phrase(evidence, {"measure": measure})
    return f"{says} ({measure})"


def _axis(measure: str, unit: str) -> str:
    return f"{measure} in %" if unit == "share" else measure


def _map_table(found: Mapping[str, Any], caption: str) -> Grid:
    risk, utility = found["risk"], found["utility"]
    unit, useful = found["risk_unit"], found["utility_unit"]

    def value(point: Mapping[str, Any], field: str, name: str, unit: str) -> Cell:
        return cell(number(point[field], name, unit), point[field])

    return Grid(
        caption,
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
