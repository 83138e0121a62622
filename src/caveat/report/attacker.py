"""What the attacker can do, who is at risk, and where measures disagree or see nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat import charts
from caveat.evidence.verdict import state_of
from caveat.notes import printed
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
from caveat.report.wording import (
    DOES_NOT,
    PROBABILITIES,
    UNKNOWN,
    Evidence,
    about,
    and_list,
    badness,
    called,
    column_cell,
    count,
    does_not,
    entry_of,
    guarded_columns,
    is_probability_or_share,
    is_reference,
    is_risk,
    limit_text,
    listed,
    measure_name,
    notes_of,
    people,
    percent,
    phrase,
    plain,
    probability,
    risks,
    scenarios,
    shown,
    span,
    sure,
    unit_of,
    upper,
)

ALL_BUT_ONE = len(DOES_NOT) - 1
FIVE = f"A measure of risk should: {'; '.join(DOES_NOT.values())}."


def blind_blocks(evidence: Evidence) -> Iterator[Block]:
    """Return the measures of risk with their blind spots; those of one table alone are folded."""
    used = list(dict.fromkeys(m["measure"] for s in scenarios(evidence) for m in s["measurements"]))
    if not used:
        return
    yield Heading("What each measure cannot see", "blind-spots")
    compared = [name for name in used if not is_reference(evidence, name)]
    others = [name for name in used if is_reference(evidence, name)]
    if compared:
        yield _table(
            evidence,
            "Measures of risk used here: what they are compared with, what they cannot see, and "
            "which of five things they do not do on published counter-examples",
            compared,
        )
    if others:
        yield _table(evidence, "Numbers that describe one of the tables only", others, folded=True)


def _table(evidence: Evidence, caption: str, names: Sequence[str], folded: bool = False) -> Grid:
    return Grid(
        caption,
        [
            Field("Measure", wide=True),
            Field("Compared with", wide=True),
            Field("Cannot see", wide=True),
            Field("Does not", wide=True),
        ],
        [_row(evidence, name, names[:place]) for place, name in enumerate(names)],
        folded,
        (FIVE,) if any(len(_fails(evidence, name)) >= ALL_BUT_ONE for name in names) else (),
        "blind-spots",
    )


def _row(evidence: Evidence, name: str, before: Sequence[str]) -> list[Cell]:
    entry = entry_of(evidence, name)
    fails = _fails(evidence, name)
    return [
        cell(upper(entry.get("says", "") or name), None, name),
        cell(entry.get("baseline") or "–"),
        cell(_blind_spot(evidence, name, before)),
        cell(does_not(fails), len(fails), "", "1" if len(fails) >= ALL_BUT_ONE else ""),
    ]


def _fails(evidence: Evidence, name: str) -> Sequence[str]:
    fails: Sequence[str] = entry_of(evidence, name).get("fails", ())
    return fails


def _blind_spot(evidence: Evidence, name: str, before: Sequence[str]) -> str:
    """Return what a measure cannot see; what a measure before it has said is not said again."""
    text = str(entry_of(evidence, name).get("blind_spot", ""))
    for other in before:
        said = str(entry_of(evidence, other).get("blind_spot", ""))
        if said and text.startswith(f"{said} "):
            return f"As {other}. {text.removeprefix(said).strip()}"
    return text


# -------------------------------------------------------------------------------------------------
# Where measures disagree, and why: rules over the evidence, explained by the blind spots.
#
# Every sentence follows from numbers in the evidence by a rule stated here; thresholds have
# names.


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


# -------------------------------------------------------------------------------------------------
# Who is at risk: rows of the original and their signs, never values. Internal only.


# What a sign means for the people who bear it.
SIGNS = {
    "unique on the keys": "alone with their keys",
    "only donor of its value in a leaf": "alone in their leaf with their value",
    "far from all others": "far from all others",
}
Record = Mapping[str, Any]


def records_section(evidence: Evidence) -> Section:
    """Return the section on single records: groups of them, rows and signs, never values."""
    records = evidence["records_at_risk"]
    title = "Who is at risk"
    if not records:
        return Section("records", title, [Text("The evidence lists no single record.")])
    inputs = evidence["inputs"]
    file = and_list([data["name"] for data in inputs.get("tables") or [inputs["data"]]])
    rows = {(record.get("table"), record["row"]) for record in records}
    return Section(
        "records",
        title,
        [
            Text(
                f"{count(len(rows), 'record')} of {file} stand out most, by the signs that they "
                "have in common. No values are printed: look the rows up where the data are kept. "
                "The list is cut after 50 entries and is no complete list of people at risk."
            ),
            _groups(evidence, records),
            _records(evidence, records),
        ],
    )


def _groups(evidence: Evidence, records: Sequence[Record]) -> Grid:
    """Return who is alike: same attacker, measure, target and signs."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        key = (record["scenario"], record.get("table"), record["measure"], record["target"],
               _signs(record))  # fmt: skip
        found.setdefault(key, []).append(record)
    return Grid(
        "Who is at risk, by what they have in common",
        [
            Field("Who", wide=True),
            Field("What points at them", wide=True),
            Field("After the release", numeric=True),
            Field("Before", numeric=True),
        ],
        [_group(evidence, alike) for alike in found.values()],
    )


def _signs(record: Record) -> tuple[str, ...]:
    """Return the signs without how many columns they are about."""
    return tuple(re.sub(r",? in \d+ columns?$", "", sign) for sign in record["signs"])


def _group(evidence: Evidence, alike: Sequence[Record]) -> list[Cell]:
    first = alike[0]
    signs = and_list([SIGNS.get(sign, sign) for sign in _signs(first)]) or "without such a sign"
    table = first.get("table")
    unit = f"row of {table}" if table else evidence["release"]["unit"] or "record"
    who = f"1 {unit}" if len(alike) == 1 else f"{len(alike):,} {people(evidence, unit)}"
    m = {"measure": first["measure"], "target": first["target"], "per": unit}
    return [
        cell(f"{who} {signs}", -len(alike)),
        cell(
            upper(phrase(evidence, m, each=True)), None, f"{first['measure']}, {first['scenario']}"
        ),
        _span([record["value"] for record in alike])
        if first["measure"] in PROBABILITIES
        else cell("counted"),
        _span([record["prior"] for record in alike]),
    ]


def _span(values: Sequence[float | None]) -> Cell:
    known = [value for value in values if value is not None]
    if not known:
        return cell(UNKNOWN)
    low, high = probability(min(known)), probability(max(known))
    return cell(low if low == high else f"{low} to {high}", max(known))


def _records(evidence: Evidence, records: Sequence[Record]) -> Grid:
    """Return the table of single rows; what is the same for all goes into its caption."""
    columns = [
        Field("Row", numeric=True),
        Field("Table"),
        Field("Attacker"),
        Field("Target"),
        Field("Measure"),
        Field("After the release", numeric=True),
        Field("Before", numeric=True),
        Field("Factor", numeric=True),
        Field("Signs", wide=True),
    ]
    rows = [_record(evidence, record) for record in records]
    same = [i for i in range(1, 5) if len(rows) > 1 and len({row[i].text for row in rows}) == 1]
    if not any(record.get("table") for record in records) and 1 not in same:
        same.insert(0, 1)
    targets = {record["target"] for record in records}
    common = [
        f"{columns[i].title.lower()} "
        + (called(evidence, next(iter(targets))) if i == 3 else rows[0][i].text)
        for i in same
        if rows[0][i].text != "–"
    ]
    kept = [i for i in range(len(columns)) if i not in same]
    return Grid(
        f"The rows, counted from 1 without the header{': ' if common else ''}{', '.join(common)}",
        [columns[i] for i in kept],
        [[row[i] for i in kept] for row in rows],
        folded=True,
    )


def _record(evidence: Evidence, record: Record) -> list[Cell]:
    def chance(value: float | None) -> str:
        # The strong attacker's posterior, of all others the part of the measure that the record
        # carries: 1 if it counts.
        return UNKNOWN if value is None else probability(value)

    return [
        cell(record["row"], record["row"]),
        cell(record.get("table") or "–"),
        cell(record["scenario"]),
        column_cell(evidence, record["target"]),
        cell(record["measure"]),
        cell(chance(record["value"]), record["value"]),
        cell(chance(record["prior"]), record["prior"]),
        cell(
            "–" if record["gain"] is None else plain(record["gain"]) + "×",
            record["gain"],
        ),
        cell(listed(record["signs"])),
    ]


# -------------------------------------------------------------------------------------------------
# What the attacker can do.


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
    table = _table_attacker(evidence, worst, _caption(scenario, measured, worst))
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


def _table_attacker(evidence: Evidence, rows: Sequence[Measured], caption: str) -> Grid:
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
                **{k: None if v is None else _inside_attacker(v) for k, v in numbers.items()},
                "value_text": shown(evidence, m),
                "interval_text": span(m["interval"], name, unit) or "–",
                "baseline_text": shown(evidence, m, "baseline"),
                "control_text": shown(evidence, m, "control"),
                "limit_text": limit_text(m["limit"], name, unit) or "–",
            }
        )
    return found


def _inside_attacker(value: float) -> float:
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
