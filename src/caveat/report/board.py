"""The first page: what the evidence says, what leaves as it is, limits, a picture, the decision.

The decision itself stays with people: the page has a box for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from caveat import charts
from caveat.evidence import DECISIONS, Decision, evidence_sha256
from caveat.report.before import released_before
from caveat.report.blocks import (
    Block,
    Box,
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
from caveat.report.numbers import NBSP, limit_text, number, tiny, verdict
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
from caveat.report.reliance import reliance
from caveat.report.unprotected import unprotected
from caveat.report.wording import called, measure_name, phrase, upper
from caveat.seeds import TRIAL
from caveat.units import printed

__all__ = ["board_section", "headline", "limits_of"]

# More lines than this make no picture that is taken in at a glance.
MOST_LINES = 5
# From the worst; a limit is what its worst result is.
VERDICTS = ("not met", "not measured", "not shown", "met")
OF_CERTAINTY = ("strongWorst", "posterior", "strongShare", "membershipShare")
Measured = Mapping[str, Any]


@dataclass(frozen=True)
class Limit:
    """A limit with the measurement that comes out worst against it."""

    where: str
    worst: Measured
    unit: str
    verdict: str
    results: int


def board_section(evidence: Evidence, decision: Decision | None, external: bool) -> Section:
    """Return the first page."""
    lines = [*_trial(evidence), *unprotected(evidence)]
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


def limits_of(evidence: Evidence) -> list[Limit]:
    """Return the limits that were set, each with its worst result over targets and copies."""
    sources = [(s["name"], s["measurements"]) for s in scenarios(evidence)]
    sources.append(("utility", evidence["utility"].get("measurements", ())))
    found: dict[tuple[str, ...], list[Measured]] = {}
    for where, measurements in sources:
        for m in measurements:
            if m.get("limit") is not None:
                key = (where, m["measure"], m.get("label") or "", str(m["limit"]),
                       m.get("per") or "")  # fmt: skip
                found.setdefault(key, []).append(m)
    return [_limit(evidence, key[0], results) for key, results in found.items()]


def _limit(evidence: Evidence, where: str, results: Sequence[Measured]) -> Limit:
    """Return a limit: broken by one result it is broken, without one it is not known to be met."""
    unit = results[0].get("unit") or unit_of(evidence, results[0]["measure"])
    verdicts = {_verdict(m) for m in results}
    said = next(v for v in VERDICTS if v in verdicts)
    worst = max((m for m in results if _verdict(m) == said), key=lambda m: badness(evidence, m))
    return Limit(where, worst, unit, said, len(results))


def _verdict(m: Measured) -> str:
    """Return how a result stands to its limit; what rests on few records is not told outside."""
    few = any(note["code"] == "below-threshold" for note in m["notes"])
    return "not shown" if few else verdict(m)


def _trial(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Say that a trial must not be released, and what makes a release of it."""
    if evidence.get("trial"):
        yield (
            "Trial",
            f"{upper(TRIAL)}. Run it with a key (caveat run --key FILE), or without the seed: the "
            "key is then created.",
        )


def headline(evidence: Evidence) -> str:
    """Return what the evidence says, in one sentence; of a trial that it is one."""
    said = _headline(evidence)
    return f"Trial, not for release. {said}" if evidence.get("trial") else said


def _headline(evidence: Evidence) -> str:
    if is_withheld(evidence):
        promise = evidence["promise"]
        return (
            f"Differential privacy is promised: ε = {promise['epsilon']:g}, "
            f"δ = {tiny(promise['delta'])}."
        )
    limits = limits_of(evidence)
    if not limits:
        return "No limit was set: whether this is ready for release is for the board to say."
    broken = sum(limit.verdict == "not met" for limit in limits)
    unknown = sum(limit.verdict == "not measured" for limit in limits)
    hidden = sum(limit.verdict == "not shown" for limit in limits)
    n = len(limits)
    rest = f" ({hidden:,} not shown: too few records)" if hidden else ""
    the_only = "The limit that was set"
    if hidden == n:
        return "How the limits compare is not shown: too few records."
    if not broken and not unknown:
        met = (
            f"All {n:,} limits are met" if not hidden else f"{n - hidden:,} of {n:,} limits are met"
        )
        met = f"{the_only} is met" if n == 1 else met
        return f"{met}{rest}; the decision is the board's."
    parts = []
    if broken:
        which = the_only if n == 1 else f"{broken:,} of {n:,} limits"
        parts.append(f"{which} {'is' if broken == 1 else 'are'} not met")
    if unknown:
        which = the_only if n == 1 else f"{unknown:,}" + ("" if broken else f" of {n:,} limits")
        parts.append(f"{which} could not be measured")
    return f"{' and '.join(parts)}{rest}: as specified, not ready for release."


def _limits(evidence: Evidence, limits: Sequence[Limit]) -> Grid:
    order = {words: place for place, words in enumerate(VERDICTS)}
    rows, notes = [], Notes()
    for limit in sorted(limits, key=lambda one: order[one.verdict]):
        m, name = limit.worst, measure_name(limit.worst)
        small = name if limit.results == 1 else f"{name}, the worst of {limit.results:,} results"
        rows.append(
            [
                cell(upper(phrase(evidence, m)), None, small),
                cell(limit.verdict.capitalize().replace(" ", NBSP), order[limit.verdict]),
                cell(number(m.get("value"), m["measure"], limit.unit), m.get("value")),
                cell(limit_text(m["limit"], m["measure"], limit.unit)),
                cell(
                    "Utility" if limit.where == "utility" else limit.where,
                    marks=notes.mark(_knows(evidence, limit.where)),
                ),
            ]
        )
    return Grid(
        "The limits that were set, and what was found",
        [Field("What is limited", wide=True), Field("Met?"), Field("Found", numeric=True),
         Field("Limit"), Field("Attacker")],
        rows,
        notes=notes.texts,
    )  # fmt: skip


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
                 Field("After", numeric=True)],
                [
                    [
                        cell(row["label"], None, measure_name(m)),
                        cell(shown(evidence, m, "baseline"), m["baseline"]),
                        cell(shown(evidence, m), m["value"]),
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
