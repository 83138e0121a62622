"""Where measures disagree, and why: rules over the evidence, explained by the blind spots.

Every sentence follows from numbers in the evidence by a rule stated here; thresholds have names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from caveat.report.blocks import Remark
from caveat.report.numbers import probability
from caveat.report.reading import Evidence, about, and_list, entry_of, is_risk, risks, shown, sure
from caveat.report.wording import called

__all__ = ["disagreements"]

# From this probability on an attacker is nearly certain; below this share, or this much
# above what it is compared with, a measure finds next to nothing; above the last it looks alarming.
NEARLY_CERTAIN = 0.9
NEXT_TO_NOTHING = 0.05
ALARMING = 0.5
Measured = Mapping[str, Any]


def disagreements(evidence: Evidence) -> list[Remark]:
    """Return where measures contradict each other, each with the blind spots that explain it."""
    return [
        *_certain_but_unseen(evidence),
        *_average_hides(evidence),
        *_attack_fails(evidence),
        *_true_of_anybody(evidence),
        *_no_gain(evidence),
    ]


def _certain(evidence: Evidence) -> Iterator[Measured]:
    """Return, by target, the strong attacker who is nearly certain and was not before."""
    found: dict[str, Measured] = {}
    for scenario, m in risks(evidence):
        after, before = sure(m), sure(m, "baseline")
        if scenario["attacker"] != "strong" or after is None or after < NEARLY_CERTAIN:
            continue
        if before is not None and before >= NEARLY_CERTAIN:
            continue
        best = found.get(about(m))
        if best is None or after > (sure(best) or 0.0):
            found[about(m)] = m
    yield from found.values()


def _lowest(evidence: Evidence, target: str, attackers: tuple[str, ...]) -> dict[str, Measured]:
    """Return the measures that find next to nothing about a target, in every measurement of it."""
    worst: dict[str, Measured] = {}
    for scenario, m in risks(evidence):
        name = m["measure"]
        if scenario["attacker"] not in attackers or not is_risk(evidence, name):
            continue
        if m["value"] is None or m.get("target") not in (None, target):
            continue
        if name not in worst or m["value"] > worst[name]["value"]:
            worst[name] = m
    return {name: m for name, m in worst.items() if _found(m) <= NEXT_TO_NOTHING}


def _found(m: Measured) -> float:
    """Return what a measure finds beyond its control, or else beyond its baseline."""
    beside = m.get("control") if m.get("control") is not None else m.get("baseline")
    return min(float(m["value"]), float(m["value"]) - float(beside or 0.0))


def _about(evidence: Evidence, m: Measured) -> str:
    """Return what a measurement is about, by its label."""
    parts = (called(evidence, m["target"]) if m.get("target") else m.get("model"), m.get("table"))
    return ", ".join(str(part) for part in parts if part)


def _blind(evidence: Evidence, names: list[str]) -> list[tuple[str, str]]:
    return [(name, entry_of(evidence, name).get("blind_spot", "")) for name in names]


def _certain_but_unseen(evidence: Evidence) -> Iterator[Remark]:
    for strong in _certain(evidence):
        low = {
            name: m
            for name, m in _lowest(evidence, about(strong), ("release",)).items()
            if m["value"] <= NEXT_TO_NOTHING
        }
        if not low:
            continue
        yield Remark(
            f"Nearly certain about {_about(evidence, strong) or 'a record'}, and other measures "
            "do not see it",
            f"{_sure_words(strong)} At the same time "
            f"{and_list([f'{name} is {shown(evidence, m)}' for name, m in low.items()])}. "
            "This is no contradiction: these measures count readings that the released table "
            "shows openly, while the strong attacker works out how likely the released table would "
            "be for each value the record might have. Low values of the former are no all-clear.",
            _blind(evidence, list(low)),
        )


def _sure_words(strong: Measured) -> str:
    before = sure(strong, "baseline")
    known = f", up from {probability(before)} before the release" if before is not None else ""
    return (
        f"For one record at least the strong attacker gives the truth probability "
        f"{probability(sure(strong) or 0.0)}{known}."
    )


def _average_hides(evidence: Evidence) -> Iterator[Remark]:
    """Report means that hardly move while single records are given away."""
    for strong in _certain(evidence):
        gains = [
            m
            for _, m in risks(evidence)
            if m["measure"] == "strongGain" and about(m) == about(strong) and m["value"] is not None
        ]
        if gains and max(m["value"] for m in gains) <= NEXT_TO_NOTHING:
            worst = max(gains, key=lambda m: float(m["value"]))
            yield Remark(
                f"The average for {_about(evidence, strong)} is calm, the worst record is not",
                f"{_sure_words(strong)} On average over all records examined the probability of "
                f"the truth moves by {shown(evidence, worst)} only. The average describes the "
                "table, the worst record the person who would complain.",
                _blind(evidence, ["strongGain"]),
            )


def _attack_fails(evidence: Evidence) -> Iterator[Remark]:
    for strong in _certain(evidence):
        low = _lowest(evidence, about(strong), ("ordinary",))
        if low:
            yield Remark(
                f"Ordinary attacks on {_about(evidence, strong) or 'records'} fail, the strong one "
                "does not",
                f"{_sure_words(strong)} The attacks that were tried find next to nothing beyond "
                f"what they find about people outside the data: "
                f"{and_list([_beside(evidence, m) for m in low.values()])}. "
                "They show what these attacks achieve, not what is in the table.",
                _blind(evidence, list(low)),
            )


def _beside(evidence: Evidence, m: Measured) -> str:
    what = "control" if m.get("control") is not None else "baseline"
    return f"{m['measure']} {shown(evidence, m)} ({what} {shown(evidence, m, what)})"


def _true_of_anybody(evidence: Evidence) -> Iterator[Remark]:
    """Report limits that are broken although people outside the data fare no better."""
    found = [
        m
        for _, m in risks(evidence)
        if m.get("excess") and m.get("control") is not None and _inside(m["control"], m)
    ]
    if found:
        yield Remark(
            "Above the limit, but no more than for people who were not in the data",
            f"{and_list([_beside(evidence, m) for m in found])}. The control lies within the "
            "interval: what the measure finds holds for anybody with the same keys, and may be "
            "true of the population rather than learned from these records. Whether that may be "
            "published is a question of its own; the limit is not met either way.",
        )


def _inside(value: float, m: Measured) -> bool:
    if m.get("interval") is None:
        return False
    return bool(m["interval"][0] <= value)


def _no_gain(evidence: Evidence) -> Iterator[Remark]:
    """Report high values that are no higher than what could be had without the release."""
    high = {
        m["measure"]: m
        for _, m in risks(evidence)
        if m["value"] is not None
        and is_risk(evidence, m["measure"])
        and m["value"] > ALARMING
        and m.get("baseline") is not None
        and m["value"] <= m["baseline"]
    }
    if high:
        named = [
            f"{name} {shown(evidence, m)} (baseline {shown(evidence, m, 'baseline')})"
            for name, m in high.items()
        ]
        yield Remark(
            "High, and yet no higher than without the release",
            f"{and_list(named)}. The number alone looks alarming; what counts is how far it is "
            "above its baseline.",
            _blind(evidence, list(high)),
        )
