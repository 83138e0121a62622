"""The page of a benchmark: generators held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from caveat import charts
from caveat.report.blocks import Block, Field, Figure, Grid, Items, Remark, Section, Text, cell
from caveat.report.render import page
from caveat.report.wording import UNKNOWN, and_list, count, entry_of, number, plain, unit_of

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


# -------------------------------------------------------------------------------------------------
# The page of a benchmark: generators in one table, and what the measures make of them.


NOTICE = "It describes the original by its distributions. Keep it as you keep the data."
BEYOND = "best attack beyond control"
# What stands in the first table, as far as it was measured; the risk axis always does.
HEADLINES = (
    "S_pMSE", "S_pMSE two-way", "CI overlap", "TSTR", "repU", "DiSCO", "simulatedFound",
    "membershipShare", "strongShare", "strongWorst",
)  # fmt: skip
WIDE = 30.0
"""From this ratio of the largest to the smallest utility on the axes are not even."""


def benchmark_page(content: Content, *, date: str | None = None) -> str:
    """Return the comparison as one HTML page that needs nothing else.

    Parameters
    ----------
    content
        What ``benchmark.json`` holds.
    date
        The date to print, if any.
    """
    found = summaries(content)
    risk = risk_axis(content, found)
    sections = [
        Section("short", "In short", _short(content, found, risk)),
        Section("plane", "Risk and utility", _plane(content, found, risk)),
        Section("table", "The generators", [_table(content, found, risk), *_without(found)]),
        Section("disagree", "Where measures disagree", _disagree(content, found, risk)),
        Section("all", "Everything that was measured", list(_everything(content, found))),
        Section("how", "How it was done", _how(content)),
    ]
    return page(
        content["title"],
        sections,
        kind="Benchmark of generators",
        notice=NOTICE,
        source="the results of this benchmark",
        software=content["software"],
        date=date,
    )


def _short(content: Content, found: Any, risk: str | None) -> list[Block]:
    items = []
    utility = content["utility"]
    best = _order(content, found, utility)
    if best:
        items.append(("Most useful", f"{_named(content, found, utility, best[:3])}."))
    if risk is not None:
        safest = _order(content, found, risk)
        items.append((f"Least risk ({risk})", f"{_named(content, found, risk, safest[:3])}."))
        unbeaten = pareto(content, found, risk, utility)
        if unbeaten:
            items.append(
                ("Not beaten", f"{and_list(unbeaten)}: no other generator is better in both.")
            )
    failed = _failures(content)
    if failed:
        items.append(("Failed", "; ".join(f"{label}: {why}" for label, why in failed)))
    items.append(
        (
            "How to read it",
            "Every generator got the same records and was held to the same measures. A low value "
            "of a measure of risk is no all-clear: each has a blind spot, and where they "
            "contradict each other is said below.",
        )
    )
    return [Items(items)]


def _named(content: Content, found: Any, measure: str, labels: list[str]) -> str:
    return and_list([f"{label} ({_text(content, found[measure][label])})" for label in labels])


def _text(content: Content, one: Summary) -> str:
    return number(one.mean, one.measure, unit_of(content, one.measure))


def _order(content: Content, found: Any, measure: str) -> list[str]:
    """Return the generators with a value, the best first."""
    values = {label: s.mean for label, s in found.get(measure, {}).items() if s.mean is not None}
    worse = is_worse(content, measure)
    return sorted(values, key=lambda label: worse * values[label])


def _failures(content: Content) -> list[tuple[str, str]]:
    return [
        (generator["label"], trial["failed"])
        for generator in content["generators"]
        for trial in generator["trials"][:1]
        if trial["failed"] is not None
    ]


def _plane(content: Content, found: Any, risk: str | None) -> list[Block]:
    utility = content["utility"]
    if risk is None:
        return [Text("No measure of risk has a value for more than one generator.")]
    unbeaten = pareto(content, found, risk, utility)
    points = [
        {
            "setting": label,
            "risk_mean": ours.mean,
            "risk_worst": ours.worst(is_worse(content, risk)),
            "utility_mean": found[utility][label].mean,
            "pareto": label in unbeaten,
            "chosen": False,
        }
        for label, ours in found[risk].items()
        if (other := found.get(utility, {}).get(label)) is not None
        and None not in (ours.mean, other.mean)
    ]
    if len(points) < 2:
        return [Text("Fewer than two generators have both values.")]
    table = Grid(
        f"{risk} and {utility}",
        [Field("Generator"), Field(risk, numeric=True), Field(utility, numeric=True)],
        [
            [cell(p["setting"]), *(_cell(content, found[m][p["setting"]]) for m in (risk, utility))]
            for p in points
        ],
        folded=True,
    )
    direction = entry_of(content, utility).get("direction") or "utility"
    at = [p["utility_mean"] for p in points]
    some = [value for value in at if value > 0]
    wide = min(at) >= 0 and len(some) > 1 and max(some) > WIDE * min(some)
    unit = unit_of(content, risk)
    chart = charts.risk_utility(
        points,
        f"{risk} in %" if unit == "share" else risk,
        f"{utility} ({direction})",
        units=(unit, unit_of(content, utility)),
        wide=wide,
    )
    caption = (
        "Risk against utility: dots are means over the releases of a generator, ticks the worst of "
        "them; a line joins the generators that are not beaten. "
        + ("Both axes are drawn together towards their ends. " if wide else "")
        + "Point at a dot to see its name."
    )
    words = "; ".join(
        f"{p['setting']}: {risk} {_text(content, found[risk][p['setting']])}, {utility} "
        f"{_text(content, found[utility][p['setting']])}"
        for p in points[:12]
    )
    figure = Figure(
        "chart-plane", caption, f"{words}.", [("", chart)], table, charts.map_key(points)
    )
    return [figure, table]


def _cell(content: Content, one: Summary | None) -> Any:
    if one is None or one.mean is None:
        return cell(UNKNOWN)
    unit = unit_of(content, one.measure)
    spread = ""
    if one.low is not None and one.high is not None and one.low < one.high:
        ends = [number(end, one.measure, unit) for end in (one.low, one.high)]
        spread = f"{ends[0]} to {ends[1]}"
    return cell(_text(content, one), one.mean, ", ".join(t for t in (one.about, spread) if t))


def _table(content: Content, found: Any, risk: str | None) -> Grid:
    names = [n for n in dict.fromkeys([*HEADLINES, risk]) if n is not None and n in found]
    beyond = beyond_control(content)
    columns = [Field("Generator"), *(Field(name, numeric=True) for name in names)]
    columns += [Field(BEYOND, numeric=True)] if beyond else []
    columns += [Field("CPU s", numeric=True), Field("MB", numeric=True), Field("Seed honoured")]
    rows = []
    for generator in content["generators"]:
        label = generator["label"]
        row = [cell(label, small=_failed_words(generator))]
        row += [_cell(content, found[name].get(label)) for name in names]
        if beyond:
            value, what = beyond.get(label, (None, ""))
            row.append(cell(number(value, what, "share"), value, what))
        row += [_cost(generator, "cpu"), _cost(generator, "megabytes")]
        seeded = {True: "yes", False: "no", None: UNKNOWN}[generator["seeded"]]
        rows.append([*row, cell(seeded)])
    return Grid(
        "Means over all releases of a generator; below them the lowest and the highest (of a "
        "single number its interval), and the target that is worst off",
        columns,
        rows,
    )


def _without(found: Any) -> Iterator[Block]:
    """Say why a measure has no value for some generators, each reason once."""
    reasons: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for measure, by_label in found.items():
        without: dict[str, list[str]] = {}
        for label, one in by_label.items():
            if one.why:
                without.setdefault(one.why, []).append(label)
        for why, labels in without.items():
            reasons.setdefault((why, tuple(labels)), []).append(measure)
    if reasons:
        yield Items(
            [
                (f"No {and_list(measures)}", f"{and_list(labels, most=20)}: {why}.")
                for (why, labels), measures in reasons.items()
            ]
        )


def _failed_words(generator: Mapping[str, Any]) -> str:
    failed = [t["failed"] for t in generator["trials"] if t["failed"] is not None]
    if not failed:
        return ""
    many = len(generator["trials"])
    return f"failed: {failed[0]}" if len(failed) == many else f"{len(failed)} of {many} fits failed"


def _cost(generator: Mapping[str, Any], what: str) -> Any:
    costs = [t["cost"][what] for t in generator["trials"] if t["cost"] is not None]
    known = [value for value in costs if value is not None]
    if not known:
        return cell(UNKNOWN)
    value = sum(known) / len(known) if what == "cpu" else max(known)
    return cell(plain(value), value)


def _disagree(content: Content, found: Any, risk: str | None) -> list[Block]:
    if risk is None:
        return [Text("There is nothing to compare.")]
    blocks: list[Block] = [
        Text(
            f"Each measure is held against {risk}. Named are pairs of generators that the two "
            "order the other way round, where the releases of neither overlap with those of the "
            "other."
        )
    ]
    for one, safer, riskier in contradictions(content, found, risk):
        entry = entry_of(content, one)
        blocks.append(
            Remark(
                f"{one} calls {safer} safer than {riskier}; {risk} says the reverse",
                f"{one}: {_named(content, found, one, [safer, riskier])}. "
                f"{risk}: {_named(content, found, risk, [safer, riskier])}.",
                [(one, entry.get("blind_spot", ""))],
            )
        )
    if len(blocks) == 1:
        blocks.append(Text("No such pair was found."))
    return blocks


def _everything(content: Content, found: Any) -> Any:
    labels = [g["label"] for g in content["generators"]]
    for kind, title in (("risk", "Risk"), ("utility", "Utility")):
        names = [n for n in found if entry_of(content, n).get("kind") == kind]
        if names:
            yield Grid(
                title,
                [
                    Field("Measure"),
                    Field("Better", wide=False),
                    *(Field(label, numeric=True) for label in labels),
                ],
                [
                    [
                        cell(name),
                        cell(entry_of(content, name).get("direction")),
                        *(_cell(content, found[name].get(label)) for label in labels),
                    ]
                    for name in names
                ],
                folded=True,
            )


def _how(content: Content) -> list[Block]:
    data = content["inputs"]["data"]
    control = content["control_rows"]
    facts = [
        ("Data", f"{data['name']}: {data['rows']:,} records; {content['fitted_rows']:,} of them "
         f"were given to every generator, {control:,} were held out as a control."),
        ("Columns", and_list(content["columns"], most=40)),
        ("Releases", f"{count(content['seeds'], 'fit')} of each generator with seeds of their own, "
         f"{count(content['copies'], 'copy', 'copies')} of each."),
        ("Cost", "Processor seconds of one fit with its copies (mean), all threads and child "
         "processes; megabytes beyond what was taken before (most)."),
    ]  # fmt: skip
    rows = [
        [
            cell(g["label"]),
            cell(g["name"]),
            cell(", ".join(f"{k} = {v}" for k, v in g["settings"].items()) or "its own"),
            cell(", ".join(t["folder"] for t in g["trials"])),
        ]
        for g in content["generators"]
    ]
    fields = [Field("Generator"), Field("Name"), Field("Settings"), Field("Evidence in")]
    return [Items(facts), Grid("What was run", fields, rows)]
