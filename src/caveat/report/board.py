"""The first page: what the evidence says, what leaves as it is, limits, a picture, the decision.

The decision itself stays with people: the page has a box for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat import charts
from caveat.evidence import DECISIONS, Decision, evidence_sha256
from caveat.evidence.verdict import STATES, Limited, is_by_chance, limited_in
from caveat.report.before import released_before
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
    cell,
)
from caveat.report.map import map_figure
from caveat.report.numbers import NBSP, limit_text, number, points_text, span
from caveat.report.promise import is_withheld
from caveat.report.reading import (
    Evidence,
    and_list,
    badness,
    is_probability_or_share,
    is_risk,
    risks,
    scenarios,
    shown,
    unit_of,
)
from caveat.report.unprotected import unprotected
from caveat.report.verdict import FEW, headline, never, reasons
from caveat.report.wording import called, measure_name, phrase, upper
from caveat.seeds import TRIAL
from caveat.units import printed

__all__ = ["board_section", "limits_of"]

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
