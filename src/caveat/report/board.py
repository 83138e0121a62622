"""The first page with its map of risk and utility."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat import charts
from caveat.evidence import DECISIONS, Decision, evidence_sha256
from caveat.evidence.verdict import STATES, Limited, is_by_chance, limited_in
from caveat.notes import printed
from caveat.report.account import is_withheld
from caveat.report.blocks import (
    Block,
    Box,
    Cell,
    Field,
    Figure,
    Grid,
    Headline,
    Line,
    Notes,
    Section,
    Text,
    cell,
)
from caveat.report.verdict import (
    FEW,
    headline,
    never,
    reasons,
    released_before,
    reliance,
    unprotected,
)
from caveat.report.wording import (
    NBSP,
    Evidence,
    and_list,
    badness,
    called,
    count,
    entry_of,
    is_probability_or_share,
    is_risk,
    limit_text,
    measure_name,
    number,
    phrase,
    points_text,
    risks,
    scenarios,
    shown,
    span,
    unit_of,
    upper,
)
from caveat.seeds import TRIAL

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


# -------------------------------------------------------------------------------------------------
# The first page: what the evidence says, what leaves as it is, limits, a picture, the decision.
#
# The decision itself stays with people: the page has a box for it.


# More lines than this make no picture that is taken in at a glance.
MOST_LINES = 5
OF_CERTAINTY = ("strongWorst", "posterior", "strongShare", "membershipShare")
Measured = Mapping[str, Any]


def board_section(evidence: Evidence, decision: Decision | None, external: bool) -> Section:
    """Return the first page."""
    lines = [*_trial(evidence), *reasons(evidence), *unprotected(evidence)]
    lines += released_before(evidence, short=True)
    blocks: list[Block] = [Headline(headline(evidence), lines)]
    limits = limits_of(evidence)
    if limits:
        blocks.append(_limits(evidence, limits))
    blocks += reliance(evidence)
    blocks += [] if is_withheld(evidence) else _picture(evidence)
    if not external:
        return Section("decision", "The decision", [*blocks, _box(decision, evidence)])
    # A decision rests on measurements, which a promise does not cover.
    blocks += [] if is_withheld(evidence) else _published(decision)
    return Section("decision", "What the evidence says", blocks)


def limits_of(evidence: Evidence) -> list[Limited]:
    """Return the limits that were set, each with its worst result over targets and copies."""
    return list(limited_in(evidence))


def _trial(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Say that a trial must not be released, and what makes a release of it."""
    if evidence.get("trial"):
        yield (
            "Trial",
            f"{upper(TRIAL)}. Run it with a key (caveat run --key FILE), or without the seed: the "
            "key is then created.",
        )


def _limits(evidence: Evidence, limits: Sequence[Limited]) -> Grid:
    order = {words: place for place, words in enumerate(STATES)}
    rows, notes = [], Notes()
    for limit in sorted(limits, key=lambda one: order[one.state]):
        m, name = limit.worst, measure_name(limit.worst)
        unit = m.get("unit") or unit_of(evidence, m["measure"])
        small = name if limit.results == 1 else f"{name}, the worst of {limit.results:,} results"
        where = "utility" if limit.where == "utility" else f"“{limit.where}”"
        why = {"cannot be met": never(evidence, m), "met": FEW if is_by_chance(m) else ""}
        remark = why.get(limit.state, "")
        rows.append(
            [
                cell(upper(phrase(evidence, m)), None, f"{small}; {where}",
                     notes.mark(_knows(evidence, limit.where))),
                cell(limit.state.capitalize().replace(" ", NBSP), order[limit.state],
                     marks=notes.mark(upper(f"{remark}.") if remark else "")),
                cell(number(m.get("value"), m["measure"], unit), m.get("value"),
                     span(m.get("interval"), m["measure"], unit)),
                *_references(m, unit),
                cell(limit_text(m["limit"], m["measure"], unit, m.get("rise")), None,
                     _rise(m, unit)),
            ]
        )  # fmt: skip
    return Grid(
        "The limits that were set, and what was found",
        [Field("What is limited", wide=True), Field("Met?"), Field("Found", numeric=True),
         Field("Baseline", numeric=True), Field("Control", numeric=True), Field("Limit")],
        rows,
        notes=notes.texts,
    )  # fmt: skip


def _rise(m: Measured, unit: str) -> str:
    """Return by how much a value exceeds its control or baseline, where that is limited."""
    rise = m.get("rise")
    return "" if rise is None or m["limit"].get("above") is None else points_text(rise, unit)


def _references(m: Measured, unit: str) -> list[Cell]:
    """Return what a value is compared with; of utility a fresh sample of the original."""
    base = m.get("baseline", m.get("resample"))
    small = "fresh sample" if base is not None and "resample" in m else ""
    outside = m.get("control")
    return [
        cell(number(base, m["measure"], unit), base, small),
        cell(number(outside, m["measure"], unit), outside,
             span(m.get("control_interval"), m["measure"], unit)),
    ]  # fmt: skip


def _knows(evidence: Evidence, where: str) -> str:
    """Say what an attacker knows of the person she is after."""
    scenario = next((s for s in scenarios(evidence) if s["name"] == where), None)
    if scenario is None:
        return ""
    if scenario["attacker"] in ("strong", "simulated"):
        return "She knows how the release was made, and everybody else's record in full."
    if not scenario["keys"]:
        return ""
    keys = and_list([called(evidence, name) for name in scenario["keys"]], most=12)
    return f"What she knows of a person (the keys): {keys}."


def _picture(evidence: Evidence) -> list[Block]:
    """Return one picture: other settings, if they were tried, or what the attacker learns."""
    found = map_figure(evidence)
    if found is not None:
        return [found]
    drawn = _learned(evidence)
    if not drawn:
        return []
    rows = [_before_and_after(evidence, m) for m in drawn]
    told = [f"{row['label']}: {row['text']}" for row in rows]
    return [
        Figure(
            "chart-certainty",
            "What the attacker knows before and after the release",
            f"{'; '.join(told)}.",
            [("", charts.certainty(rows))],
            Grid(
                "What the attacker knows before and after the release",
                [Field("What", wide=True), Field("Before", numeric=True),
                 Field("After", numeric=True), Field("Control", numeric=True)],
                [
                    [
                        cell(row["label"], None, measure_name(m)),
                        cell(shown(evidence, m, "baseline"), m["baseline"]),
                        cell(shown(evidence, m), m["value"]),
                        cell(shown(evidence, m, "control"), m.get("control")),
                    ]
                    for row, m in zip(rows, drawn, strict=True)
                ],
            ),
            charts.CERTAINTY_KEY,
        )
    ]  # fmt: skip


def _learned(evidence: Evidence) -> list[Measured]:
    """Return what a strong attacker learns, else what others do; the largest rises of each."""
    can = [
        (s, m)
        for s, m in risks(evidence)
        if m["value"] is not None
        and m.get("baseline") is not None
        and is_probability_or_share(evidence, m)
    ]
    strong = [m for s, m in can if s["attacker"] == "strong" and m["measure"] in OF_CERTAINTY]
    others = [m for _, m in can if is_risk(evidence, m["measure"])]
    limited = [m for m in others if m.get("limit") is not None]
    worst: dict[tuple[str, str, str], Measured] = {}
    for m in strong or limited or others:
        key = (m["measure"], m.get("target") or m.get("label") or "", m.get("per") or "")
        if key not in worst or badness(evidence, m) > badness(evidence, worst[key]):
            worst[key] = m
    most = sorted(worst.values(), key=lambda m: m["baseline"] - m["value"])[:MOST_LINES]
    return [m for m in worst.values() if m in most]


def _before_and_after(evidence: Evidence, m: Measured) -> dict[str, Any]:
    before, after = (printed(min(max(m[end], 0.0), 1.0), "share") for end in ("baseline", "value"))
    bound = (m.get("limit") or {}).get("most")
    return {
        "label": upper(phrase(evidence, m)),
        "before": before,
        "after": after,
        "limit": None if bound is None else printed(bound, "share"),
        "text": f"{shown(evidence, m, 'baseline')} → {shown(evidence, m)}",
    }


def _box(decision: Decision | None, evidence: Evidence) -> Box:
    """Return the box for the decision: filled, or with lines to write on."""
    own = evidence_sha256(dict(evidence))
    text = "People decide, not this report. It is signed on this evidence file and no other."
    holds = decision is not None and decision.evidence_sha256 == own
    if decision is not None and not holds:
        text = (
            "There is a decision, but it was made on another evidence file than this one (SHA-256 "
            f"{decision.evidence_sha256[:12]}…): {_in_words(decision)}. It says nothing about this "
            "release."
        )
    made = decision if holds else None
    chosen = [(words, made is not None and made.decision == one)
              for one, words in DECISIONS.items()]  # fmt: skip
    conditions = [] if made is None else list(made.conditions) or ["none"]
    return Box(
        "The decision of the board",
        "" if made is not None else text,
        [
            Line("Decision", () if made is None else (DECISIONS[made.decision],), chosen),
            Line("Names", () if made is None else list(made.names)),
            Line("Date", () if made is None else (made.date,)),
            Line("Conditions", conditions, room=2),
            Line("Next review", () if made is None else (made.next_review or "none",)),
        ],
        f"Evidence file: SHA-256 {own}",
    )


def _in_words(decision: Decision) -> str:
    said = DECISIONS[decision.decision].lower()
    return f"“{said}”, {decision.date}, {and_list(list(decision.names))}"


def _published(decision: Decision | None) -> list[Block]:
    """Return what outsiders are told; a report is not signed by them, and names stay inside."""
    if decision is None:
        return []
    lines = [
        Line("Decision", (DECISIONS[decision.decision],)),
        Line("Date", (decision.date,)),
        Line("Next review", (decision.next_review or "none",)),
    ]
    return [Box("The decision of the board", "", lines)]
