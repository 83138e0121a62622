"""Generators held against each other: means over releases, who is beaten, where measures differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from caveat.report.reading import entry_of

__all__ = [
    "Summary",
    "beyond_control",
    "contradictions",
    "is_worse",
    "pareto",
    "risk_axis",
    "summaries",
]

Content = Mapping[str, Any]

AXES = ("simulatedFound", "membershipShare", "strongShare", "DiSCO", "repU")
"""Which measure of risk is drawn unless one is named: the strongest attacker known for all."""


@dataclass(frozen=True)
class Summary:
    """One measure of one generator.

    Parameters
    ----------
    measure
        Its name.
    mean, low, high
        Over all releases, of the target that is worst off; None if there is no value. Of a single
        number its own interval.
    n
        Releases.
    about
        That target, if there are several.
    why
        Why there is no value.
    """

    measure: str
    mean: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    about: str = ""
    why: str = ""

    def worst(self, worse: int) -> float | None:
        """Return the worst release, if more (1) or less (-1) is worse."""
        return self.high if worse > 0 else self.low


def is_worse(content: Content, measure: str) -> int:
    """Return 1 if more of a measure is worse, -1 if less is."""
    direction = str(entry_of(content, measure).get("direction", ""))
    return -1 if direction in ("lower is riskier", "higher is better") else 1


def summaries(content: Content) -> dict[str, dict[str, Summary]]:
    """Return every measure with what it says about each generator."""
    found: dict[str, dict[str, Summary]] = {}
    for generator in content["generators"]:
        values: dict[str, dict[str, list[Any]]] = {}
        for trial in generator["trials"]:
            for value in trial["values"]:
                label = value["label"] if value["label"] != value["measure"] else ""
                about = value["target"] or label or ""
                values.setdefault(value["measure"], {}).setdefault(about, []).append(value)
        for measure, by_target in values.items():
            if entry_of(content, measure).get("direction") == "reference":
                continue
            worse = is_worse(content, measure)
            several = len(by_target) > 1
            each = [_summary(measure, about * several, all_) for about, all_ in by_target.items()]
            known = [s for s in each if s.mean is not None]
            worst = max(known, key=lambda s: worse * (s.mean or 0.0), default=each[0])
            found.setdefault(measure, {})[generator["label"]] = worst
    return found


def _summary(measure: str, about: str, values: list[Any]) -> Summary:
    numbers = [value["value"] for value in values if value["value"] is not None]
    if not numbers:
        why = next((text for value in values for text in value["why"]), "")
        return Summary(measure, None, about=about, why=why)
    low, high = min(numbers), max(numbers)
    if len(numbers) == 1 and values[0]["interval"] is not None:
        low, high = values[0]["interval"]
    return Summary(measure, sum(numbers) / len(numbers), low, high, len(numbers), about)


def risk_axis(content: Content, found: Mapping[str, Mapping[str, Summary]]) -> str | None:
    """Return the measure of risk to draw: the one that is named, or known for most generators."""

    def known(measure: str) -> int:
        return sum(s.mean is not None for s in found.get(measure, {}).values())

    if content["risk"] is not None:
        return content["risk"] if known(content["risk"]) else None
    risks = [name for name in found if entry_of(content, name).get("kind") == "risk"]
    first = [name for name in (*AXES, *risks) if known(name) > 1]
    return max(first, key=known, default=None)  # the first of those known for most


def pareto(
    content: Content, found: Mapping[str, Mapping[str, Summary]], risk: str, utility: str
) -> list[str]:
    """Return the generators that no other beats in both."""
    at = {
        label: (is_worse(content, risk) * s.mean, is_worse(content, utility) * other.mean)
        for label, s in found.get(risk, {}).items()
        if (other := found.get(utility, {}).get(label)) is not None
        and s.mean is not None
        and other.mean is not None
    }

    def beaten(mine: tuple[float, float]) -> bool:
        return any(
            other[0] <= mine[0] and other[1] <= mine[1] and other != mine for other in at.values()
        )

    return [label for label, mine in at.items() if not beaten(mine)]


def contradictions(
    content: Content, found: Mapping[str, Mapping[str, Summary]], risk: str
) -> Iterator[tuple[str, str, str]]:
    """Return measures with the pair of generators that they order most against another one.

    Only pairs count whose releases do not overlap, in either measure.

    Returns
    -------
    Iterator
        The measure, the generator that it calls safer, and the one that it calls riskier.
    """
    truth = {label: s for label, s in found[risk].items() if s.mean is not None}
    for measure, by_label in found.items():
        if measure == risk or entry_of(content, measure).get("kind") != "risk":
            continue
        known = {k: s for k, s in by_label.items() if s.mean is not None and k in truth}
        best: tuple[float, str, str] | None = None
        for safer in known:
            for riskier in known:
                size = min(
                    _apart(known[riskier], known[safer], known, is_worse(content, measure)),
                    _apart(truth[safer], truth[riskier], truth, is_worse(content, risk)),
                )
                if size > 0 and (best is None or size > best[0]):
                    best = (size, safer, riskier)
        if best is not None:
            yield measure, best[1], best[2]


def _apart(one: Summary, other: Summary, all_: Mapping[str, Summary], worse: int) -> float:
    """Return by how much one is worse in all releases, as a share of the range; 0 if it is not."""
    ends = [end for s in all_.values() for end in (s.low, s.high) if end is not None]
    if not ends or min(ends) == max(ends):
        return 0.0
    if worse > 0:
        gap = (one.low or 0.0) - (other.high or 0.0)
    else:
        gap = (other.low or 0.0) - (one.high or 0.0)
    return max(gap, 0.0) / (max(ends) - min(ends))


def beyond_control(content: Content) -> dict[str, tuple[float, str]]:
    """Return by how much the best ordinary attack does better than on people outside the data.

    Returns
    -------
    dict
        By generator the largest difference of mean and control, and the measure.
    """
    ordinary = {s["name"] for s in content["scenarios"] if s["attacker"] == "ordinary"}
    found = {}
    for generator in content["generators"]:
        gaps: dict[str, list[float]] = {}
        for trial in generator["trials"]:
            for v in trial["values"]:
                if v["scenario"] in ordinary and None not in (v["value"], v["control"]):
                    entry = entry_of(content, v["measure"])
                    if (
                        entry.get("unit") == "share"
                        and entry.get("direction") == "higher is riskier"
                    ):
                        about = f"{v['measure']} {v['target'] or v['label'] or ''}".strip()
                        gaps.setdefault(about, []).append(v["value"] - v["control"])
        if gaps:
            means = {about: sum(g) / len(g) for about, g in gaps.items()}
            best = max(means, key=lambda about: means[about])
            found[generator["label"]] = (means[best], best)
    return found
