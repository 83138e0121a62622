"""The page of a benchmark: generators in one table, and what the measures make of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from caveat import charts
from caveat.report.blocks import (
    Block,
    Field,
    Figure,
    Grid,
    Items,
    Remark,
    Section,
    Text,
    cell,
)
from caveat.report.comparing import (
    Summary,
    beyond_control,
    contradictions,
    is_worse,
    pareto,
    risk_axis,
    summaries,
)
from caveat.report.numbers import UNKNOWN, count, number, plain
from caveat.report.reading import and_list, entry_of, unit_of
from caveat.report.render import page

__all__ = ["benchmark_page"]

Content = Mapping[str, Any]

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
