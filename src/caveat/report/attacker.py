"""What the attacker can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat import charts
from caveat.evidence.verdict import state_of
from caveat.report.blind import blind_blocks
from caveat.report.blocks import (
    Block,
    Cell,
    Field,
    Figure,
    Grid,
    Heading,
    Items,
    Notes,
    Remark,
    Section,
    Text,
    cell,
)
from caveat.report.disagreement import disagreements
from caveat.report.numbers import count, limit_text, percent, span
from caveat.report.reading import (
    Evidence,
    and_list,
    badness,
    guarded_columns,
    is_probability_or_share,
    is_reference,
    notes_of,
    scenarios,
    shown,
    unit_of,
)
from caveat.report.wording import called, column_cell, measure_name, phrase, upper
from caveat.units import printed

__all__ = ["attacker_section"]

WHO = {
    "strong": "She knows how the release was made, with every setting but the seed; she knows "
    "every other record in full, and of the person she is after everything but the target. Few "
    "real attackers know as much. ",
    "simulated": "She knows how the release was made and every other record, as the strong "
    "attacker does, and asks whether a record was in the data. What she can find out is not "
    "computed but tried: the generator is run again and again with the record and without it, and "
    "she learns to tell the releases apart. Somebody else may find a better way: her numbers are a "
    "lower bound.",
    "ordinary": "She has the released table and ordinary tools: she trains models on it, searches "
    "it for descriptions that fit one person, or links it to what she knows. Other attacks of the "
    "same kind may do better or worse.",
    "release": "She has the released table only, takes it for the truth, and looks up a person of "
    "whom she knows the keys.",
}
NOBODY_BETTER = (
    "She is computed because nobody who knows less can do better: what she cannot learn from the "
    "modelled columns, no one can."
)
GIVEN = (
    "Of the guarded trees she is also given the splits that were drawn. She is computed because "
    "nobody who knows less learns more on average over the releases that could have been drawn; "
    "about a single record, someone without the splits may happen to be surer. She is computed on "
    "these data and is not the worst case over all data sets."
)
NOISY = (
    "She is given the noisy tables and the pairs that were chosen; rows drawn from them tell her "
    "nothing more. She is computed on these data; what holds for all data is the promise."
)
TITLES = {
    "strong": "The strong attacker",
    "simulated": "The strong attacker by simulation",
    "ordinary": "An ordinary attacker",
    "release": "An attacker with the table only",
}
COMPARED = (
    Field("Value", numeric=True),
    Field("Baseline", numeric=True),
    Field("Control", numeric=True),
    Field("Limit"),
)
Measured = Mapping[str, Any]


def attacker_section(evidence: Evidence) -> Section:
    """Return the section on attackers, the strongest first."""
    blocks: list[Block] = [
        Text(
            "Each number says how often an attack succeeds. It is to be compared with the baseline "
            "(what could be guessed without the release) and, where people were held out, with the "
            "control (the same attack on people who were not in the data). A high value with an "
            "equally high baseline or control is no sign that single records are given away."
        )
    ]
    every = scenarios(evidence)
    if not every:
        blocks.append(Text("No attacker was examined: nothing is known about the risk."))
    for i, scenario in enumerate(every, start=1):
        blocks += _scenario(evidence, scenario, f"attacker-{i}")
    found = disagreements(evidence)
    if found:
        blocks.append(Heading("Where measures disagree, and why", "disagreements"))
        blocks += found
    blocks += blind_blocks(evidence)
    return Section("attacker", "What the attacker can do", blocks, annex=True)


def _scenario(evidence: Evidence, scenario: Mapping[str, Any], name: str) -> Iterator[Block]:
    kind = scenario["attacker"]
    yield Heading(f"{TITLES.get(kind, 'An attacker')}: {scenario['name']}", name)
    given = GIVEN if guarded_columns(evidence) else NOBODY_BETTER
    given = NOISY if "promise" in evidence else given
    yield Text(WHO.get(kind, "") + (given if kind == "strong" else ""))
    yield Items(list(_circumstances(evidence, scenario)))
    measured = [m for m in scenario["measurements"] if not is_reference(evidence, m["measure"])]
    worst = _worst_of_each(evidence, measured)
    if not worst:
        yield Text("Nothing was measured for this attacker.")
        return
    drawn = [m for m in worst if m["value"] is not None and is_probability_or_share(evidence, m)]
    table = _table(evidence, worst, _caption(scenario, measured, worst))
    if drawn:
        yield Figure(
            f"chart-{name}",
            f"How often the attack succeeds: {scenario['name']}",
            _summary(evidence, drawn),
            [("", charts.attackers(_chart_rows(evidence, drawn)))],
            table,
            charts.ATTACKERS_KEY,
        )
    yield table
    everything = scenario["measurements"]
    if len(everything) > len(worst):
        yield _all_of_them(evidence, everything, scenario["name"])
    yield from _checks(scenario)


def _circumstances(evidence: Evidence, scenario: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    given = scenario["circumstances"]
    if scenario.get("table"):
        yield "Rows", f"those of {scenario['table']}, with the columns of what they belong to"
    if scenario.get("unit"):
        yield "Unit", f"one {scenario['unit']}: all its rows leave or change together"
    if scenario["attacker"] == "simulated":
        yield "Records examined", f"up to {given['most']:,} that look most vulnerable"
        runs = f"{given['simulations']:,} on the data, and as many without each record"
        yield "Runs of the generator", runs
    if scenario["attacker"] != "strong" and scenario["keys"]:
        yield "She knows", and_list([called(evidence, k) for k in scenario["keys"]], most=12)
    if scenario["targets"]:
        targets = [called(evidence, name) for name in scenario["targets"]]
        yield "She wants to learn", and_list(targets, most=12)
    yield from _examined(scenario)
    if given.get("groups"):
        groups = [f"{name} in {n} groups" for name, n in given["groups"].items()]
        yield "Numbers cut into groups", and_list(groups)
    if given.get("tolerance"):
        near = [f"{name} ± {width:g}" for name, width in given["tolerance"].items()]
        yield "Near values count as equal", and_list(near)
    excluded = [
        f"{and_list(levels)} of {name}" for name, levels in given.get("exclude_levels", {}).items()
    ]
    excluded += [f"missing {name}" for name in given.get("exclude_missing", ())]
    if given.get("exclude_pairs"):
        excluded.append(count(len(given["exclude_pairs"]), "pair of values", "pairs of values"))
    if given.get("limit") is not None:
        excluded.append(f"cells of more than {given['limit']} records")
    if excluded:
        yield "Does not count as disclosure", and_list(excluded)


def _examined(scenario: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Say whom the strong attacker is after."""
    records = scenario["circumstances"].get("records")
    grouped = any(m.get("per") == "group" for m in scenario["measurements"])
    if records == "all" or _all_records(scenario):
        yield "Records examined", "all"
    elif records is not None and grouped:
        yield "Groups examined", "as each result says"
    elif records is not None:
        some = f"up to {records:,} drawn at random, and those that look most vulnerable"
        yield "Records examined", some


def _all_records(scenario: Mapping[str, Any]) -> bool:
    """Whether the strong attacker took everybody although fewer were asked for."""
    codes = [{note["code"] for note in m["notes"]} for m in scenario["measurements"]]
    return bool(codes) and all("all-records" in found for found in codes)


def _worst_of_each(evidence: Evidence, measured: Sequence[Measured]) -> list[Measured]:
    """Return one measurement per measure: the worst over targets and copies."""
    worst: dict[tuple[str, str, str], Measured] = {}
    for m in measured:
        name = (m["measure"], m.get("label") or "", m.get("per") or "")
        if name not in worst or badness(evidence, m) > badness(evidence, worst[name]):
            worst[name] = m
    return list(worst.values())


def _caption(
    scenario: Mapping[str, Any], measured: Sequence[Measured], worst: Sequence[Measured]
) -> str:
    more = len(measured) > len(worst)
    which = "the worst over all targets and copies" if more else "all results"
    return f"Attacker “{scenario['name']}”: {which}"


def _compared(evidence: Evidence, m: Measured, notes: Notes) -> list[Cell]:
    """Return value, baseline, control and limit; how the value was found is a note."""
    name, unit = m["measure"], unit_of(evidence, m["measure"])
    interval = span(m["interval"], name, unit)
    marks = notes.mark(*map(upper, notes_of(m)))
    return [
        cell(shown(evidence, m), m["value"], interval, marks),
        *(cell(shown(evidence, m, field), m.get(field)) for field in ("baseline", "control")),
        cell(limit_text(m["limit"], name, unit) or "–", None, state_of(m)),
    ]


def _table(evidence: Evidence, rows: Sequence[Measured], caption: str) -> Grid:
    notes = Notes()
    return Grid(
        caption,
        [Field("What it says", wide=True), *COMPARED],
        [
            [
                cell(upper(phrase(evidence, m)), None, measure_name(m)),
                *_compared(evidence, m, notes),
            ]
            for m in rows
        ],
        notes=notes.texts,
    )


def _all_of_them(evidence: Evidence, rows: Sequence[Measured], name: str) -> Grid:
    notes = Notes()
    return Grid(
        f"Attacker “{name}”: all {count(len(rows), 'result')}, by target and copy",
        [Field("Measure"), Field("Target"), Field("Copy"), *COMPARED,
         Field("Records", numeric=True), Field("Left out", numeric=True)],
        [
            [
                cell(measure_name(m)),
                column_cell(evidence, m.get("target"), m.get("table") or ""),
                cell("all" if m.get("copy") is None else m["copy"]),
                *_compared(evidence, m, notes),
                *(cell("–" if m[n] is None else f"{m[n]:,}", m[n]) for n in ("n", "excluded")),
            ]
            for m in rows
        ],
        folded=True,
        notes=notes.texts,
    )  # fmt: skip


def _chart_rows(evidence: Evidence, rows: Sequence[Measured]) -> list[dict[str, Any]]:
    found = []
    for m in rows:
        name, unit = m["measure"], unit_of(evidence, m["measure"])
        limit = m["limit"] or {}
        bound = limit.get("most") if limit.get("most") is not None else limit.get("least")
        ends = m["interval"] or (None, None)
        numbers = {
            "value": m["value"],
            "low": ends[0],
            "high": ends[1],
            "baseline": m.get("baseline"),
            "control": m.get("control"),
            "limit": bound,
        }
        found.append(
            {
                "label": f"{upper(phrase(evidence, m))} · {measure_name(m)}",
                **{k: None if v is None else _inside(v) for k, v in numbers.items()},
                "value_text": shown(evidence, m),
                "interval_text": span(m["interval"], name, unit) or "–",
                "baseline_text": shown(evidence, m, "baseline"),
                "control_text": shown(evidence, m, "control"),
                "limit_text": limit_text(m["limit"], name, unit) or "–",
            }
        )
    return found


def _inside(value: float) -> float:
    """Keep a mark on the axis, which is in per cent: scaled measures can be negative."""
    return printed(min(max(value, 0.0), 1.0), "share")


def _summary(evidence: Evidence, rows: Sequence[Measured]) -> str:
    parts = []
    for m in rows[:12]:
        text = f"{upper(phrase(evidence, m))} ({measure_name(m)}) {shown(evidence, m)}"
        for what in ("baseline", "control"):
            if m.get(what) is not None:
                text += f", {what} {shown(evidence, m, what)}"
        if m["limit"] is not None:
            text += (
                f", limit {limit_text(m['limit'], m['measure'], unit_of(evidence, m['measure']))}"
            )
        parts.append(text)
    return f"Chart of {count(len(rows), 'measure')}. {'; '.join(parts)}. The table has all numbers."


def _checks(scenario: Mapping[str, Any]) -> Iterator[Remark]:
    """Say what lies behind DiSCO; levels of the original are named, so this is internal."""
    seen = set()
    for check in scenario["checks"]:
        one, two = check.get("one_way"), check.get("two_way") or ()
        if check.get("target") in seen or not (one or two):
            continue
        seen.add(check.get("target"))
        items = []
        if one:
            items.append(
                (
                    "One common value",
                    f"{one['at_level']:,} of the {one['disclosive']:,} records that DiSCO counts "
                    f"have {check['target']} = {one['level']}, as do "
                    f"{percent(one['share_of_original'])} of all records: anyone would guess it.",
                )
            )
        items += [
            (
                f"{pair['key']} = {pair['key_level']}",
                f"nearly implies {check['target']} = {pair['target_level']} "
                f"({percent(pair['share'])} of these records).",
            )
            for pair in two[:3]
        ]
        yield Remark(
            f"Part of what DiSCO finds about {check['target']} may be common knowledge",
            "If so, name it in the scenario as something that does not count.",
            items,
        )
