"""What the evidence comes to, what it does not show, and which standard asks for what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from caveat.report.account import is_withheld, promise_lines
from caveat.report.blocks import Block, Field, Grid, Heading, Items, Section, Text, cell
from caveat.report.verdict import in_words, released_before
from caveat.report.wording import (
    NBSP,
    NOT_DRAWN,
    Evidence,
    and_list,
    badness,
    called,
    count,
    guarded_columns,
    has_plain_trees,
    is_number,
    is_risk,
    measure_name,
    notes_of,
    number,
    percent,
    phrase,
    plain,
    probability,
    risks,
    scenarios,
    several,
    shown,
    sure,
    upper,
)

# From this probability on an attacker is nearly certain; below this share in per cent, or this much
# above what it is compared with, a measure finds next to nothing.
NEARLY_CERTAIN = 0.9
NEXT_TO_NOTHING = 5.0
WITHHELD = (
    "What groups of people have in common, and other releases of the same data, each of which adds "
    "to what is promised here. A promise says how little a single record can change; it does not "
    "say that the tables are right, or fit for a purpose."
)
SHARES = ("strongShare", "membershipShare")
EXPECTED = " (1 is expected, above 10 is poor)"
Measured = Mapping[str, Any]


def findings(evidence: Evidence) -> list[tuple[str, str]]:
    """Return the lines: released, promised, worst finding, utility, not covered.

    Where measurements are left out only what is released and promised is said.
    """
    told = [
        ("What is released", _released(evidence)),
        *released_before(evidence),
        *promise_lines(evidence),
    ]
    if is_withheld(evidence):
        return [*told, ("What this does not cover", WITHHELD)]
    return [
        *told,
        *_guard(evidence),
        ("The worst finding", _worst(evidence)),
        ("What utility costs", _utility(evidence)),
        ("What this does not cover", _uncovered(evidence)),
    ]


def _guard(evidence: Evidence) -> Iterator[tuple[str, str]]:
    columns = guarded_columns(evidence)
    if not columns:
        return
    drawn = [c for c in evidence["synthesis"]["columns"] if c["method"] not in NOT_DRAWN]
    every = len(columns) == len(drawn)
    which = "" if every else f" of {and_list([called(evidence, c) for c in columns], most=6)}"
    text = (
        f"The trees{which} are guarded: their splits are drawn by chance among good ones, every "
        "value is possible everywhere, and small groups borrow from larger ones, "
        f"{_moved(evidence)}"
    )
    assumed = evidence["synthesis"].get("assumed_public", ())
    if assumed:
        names = list(dict.fromkeys(entry.split(": ")[0] for entry in assumed if ": " in entry))
        text += (
            " It takes as public what nobody declared"
            + (f" ({and_list(names, most=6)})" if names else "")
            + ": see how the release was made."
        )
    yield "What the guard does", text


def _moved(evidence: Evidence) -> str:
    """Say how little a single record does to a draw: what was meant, and what was measured."""
    found = [
        m
        for s, m in risks(evidence)
        if s["attacker"] == "strong" and m["measure"] in SHARES and m["value"] is not None
    ]
    meant = "which is meant to keep single records from moving a draw by much."
    if not found:
        return f"{meant} How far it does was not measured."
    told = (
        " The strong attacker of this report is even given the splits that were drawn. This "
        "protection is measured on these data; it is no guarantee for all data."
    )
    most, one = max(found, key=_rise), strongest(evidence)
    if 100 * _rise(most) < NEXT_TO_NOTHING:
        if one is not None and (sure(one) or 0) >= NEARLY_CERTAIN > (sure(one, "baseline") or 0):
            return f"{meant} It does not do so for all: {_named(evidence, one)}.{told}"
        return f"so that no single record moves a draw by much.{told}"
    return f"{meant} It does not do so for all: {_named(evidence, most)}.{told}"


def _released(evidence: Evidence) -> str:
    release = evidence["release"]
    rows = release["rows"]
    unit = release["unit"] or "record"
    size = f"{min(rows):,}" if rows and min(rows) == max(rows) else "various numbers of"
    tables = count(release["copies"], "synthetic table")
    columns = count(len(release["columns"]), "column")
    text = f"{tables} of {size} rows (one row is one {unit}) and {columns}"
    if release["synthesised_by"] == "elsewhere":
        text += ", made elsewhere"
    if release["original_rows"] is not None:  # a promise does not tell
        text += f", from {release['original_rows']:,} original records"
    if "tables" in release:
        text = _tables(release)
    elif "groups" in release:
        numbers, key = release["groups"]["released"], release["groups"]["key"]
        size = f"{min(numbers):,}" if min(numbers) == max(numbers) else "various numbers of"
        text += f"; {size} whole groups by {key}, with fresh keys"
    if release["not_released"]:
        text += f"; {count(len(release['not_released']), 'column is', 'columns are')} not released"
    parts = [f"Access: {release['access']}."] if release["access"] else []
    parts += [f"For: {release['recipients']}."] if release["recipients"] else []
    parts += [f"Purpose: {release['purpose']}."] if release["purpose"] else []
    return " ".join([f"{text}.", *parts])


def _tables(release: Mapping[str, Any]) -> str:
    """Say which tables are released, and whose rows are protected."""
    copies = count(release["copies"], "synthetic copy", "synthetic copies")
    tables = [
        f"{table['name']} ({min(table['released']):,} to {max(table['released']):,} rows)"
        if min(table["released"]) < max(table["released"])
        else f"{table['name']} ({table['released'][0]:,} rows{_of_list(table)})"
        for table in release["tables"]
    ]
    root = next(t["name"] for t in release["tables"] if not (t["belongs_to"] or t["lookup"]))
    return (
        f"{copies} of {count(len(tables), 'table')} that belong together, {and_list(tables)}, "
        f"with {count(len(release['columns']), 'column')} and fresh keys, from "
        f"{release['original_rows']:,} original rows of {root}; who is protected is one "
        f"{release['unit'] or 'record'} with all that belongs to it"
    )


def _of_list(table: Mapping[str, Any]) -> str:
    return ", a public list" if table["lookup"] else ""


def strongest(evidence: Evidence) -> Measured | None:
    """Return the measurement of the surest strong attacker; of equals the one who learns most."""
    found = [m for s, m in risks(evidence) if s["attacker"] == "strong" and sure(m) is not None]
    return max(found, key=lambda m: (sure(m) or 0.0, -(sure(m, "baseline") or 0.0)), default=None)


def _worst(evidence: Evidence) -> str:
    strong, members = strongest(evidence), _members(evidence)
    if strong is not None:
        return _strong_sentence(evidence, strong) + _members_sentence(members)
    worst = _worst_without_strong(evidence)
    named = members is not None and _named(evidence, members) in worst
    return worst if named else worst + _members_sentence(members)


def _members(evidence: Evidence) -> Measured | None:
    """Return the largest share of those whom the strong attacker knows to be in the data."""
    found = [
        m
        for s, m in risks(evidence)
        if s["attacker"] == "strong" and m["measure"] == "membershipShare" and m["value"]
    ]
    return max(found, key=lambda m: float(m["value"]), default=None)


def _members_sentence(members: Measured | None) -> str:
    if members is None:
        return ""
    whom = several(members["per"]) if members.get("per") else "records"
    return (
        f" Of {percent(members['value'])} of the {whom} examined the strong attacker knows almost "
        "surely that they were in the data."
    )


def _strong_sentence(evidence: Evidence, strong: Measured) -> str:
    after, before = sure(strong) or 0.0, sure(strong, "baseline")
    true = f"“{called(evidence, strong['target'])}”" if strong.get("target") else "value"
    exact = "exact" if is_number(evidence, strong.get("target")) else "true"
    subject = f"the {exact} {true}"
    known, whose = _known(strong.get("per"))
    text = (
        f"An attacker who knows how the table was made and every {known} but one gives "
        f"probability {probability(after)} to {subject} of the {whose} most at risk"
    )
    text += f" (before the release: {probability(before)})." if before is not None else "."
    shares = [
        m for _, m in risks(evidence) if m["measure"] == "strongShare" and m["value"] is not None
    ]
    if shares:
        worst = max(shares, key=lambda m: badness(evidence, m))
        target = f" of “{called(evidence, worst['target'])}”" if worst.get("target") else ""
        share = percent(worst["value"])
        whom = several(worst["per"]) if worst.get("per") else "records"
        text += (
            f" Because of the release she is nearly certain (0.9 or more){target} for {share} of "
            f"the {whom} examined."
        )
    if after >= NEARLY_CERTAIN and has_plain_trees(evidence):
        text += (
            ' Plain trees show single records; guarded ones (method = "guarded") are made to hide '
            "them from her."
        )
    elif after >= NEARLY_CERTAIN and _can_be_stronger(evidence):
        text += ' guard = "strong" would hide more.'
    return text


def _known(per: str | None) -> tuple[str, str]:
    """Return of what she knows all but one, and of whom that one is."""
    if per in (None, "person"):
        return "record", "person"
    return str(per), str(per)


def _can_be_stronger(evidence: Evidence) -> bool:
    guard = (evidence["synthesis"] or {}).get("guard") or {"columns": ()}
    return any(column["guard"] != "strong" for column in guard["columns"])


def _worst_without_strong(evidence: Evidence) -> str:
    measured = [
        (s, m)
        for s, m in risks(evidence)
        if m["value"] is not None and is_risk(evidence, m["measure"])
    ]
    if not measured:
        return (
            "No measure of risk has a value: nothing can be said about what the release gives away."
        )
    broken = [(s, m) for s, m in measured if m.get("excess")]
    if broken:
        scenario, m = max(broken, key=lambda found: found[1]["excess"])
        text = f"Furthest above its limit: {_named(evidence, m)} ({scenario['name']})."
    else:
        compared = [found for found in measured if found[1].get("baseline") is not None]
        if not compared:
            return (
                "No measure has a baseline to be compared with: what the release adds to what was "
                f"known before is not measured, and {_unasked(evidence)}."
            )
        scenario, m = max(compared, key=lambda found: _rise(found[1]))
        if _rise(m) <= 0:
            return (
                "No measure finds more than could be had without the release. That is no "
                f"all-clear: {_unasked(evidence)}."
            )
        text = f"Furthest above its baseline: {_named(evidence, m)} ({scenario['name']})."
    return f"{text} {upper(_unasked(evidence))}: the worst may be worse."


def _unasked(evidence: Evidence) -> str:
    """Return what is not known without the probability of a strong attacker, and why."""
    if any(s["attacker"] == "strong" and m["value"] is not None for s, m in risks(evidence)):
        return "the strong attacker was not asked for anybody's values"
    return "no strong attacker was computed"


def _rise(m: Measured) -> float:
    """Return how far a share is above what could be had without the release."""
    return float(m["value"]) - float(m.get("baseline") or 0.0)


def _named(evidence: Evidence, m: Measured) -> str:
    text = f"{phrase(evidence, m)} ({measure_name(m)}): {shown(evidence, m)}"
    if m.get("baseline") is not None:
        text += f", baseline {shown(evidence, m, 'baseline')}"
    return text


def _utility(evidence: Evidence) -> str:
    utility = evidence["utility"]
    kept = in_words(evidence)
    if kept:
        pairs = utility.get("associations", ())
        worst = " and ".join(called(evidence, name) for name in pairs[0]["names"]) if pairs else ""
        return f"{kept} Pair that differs most: {worst}." if pairs else kept
    parts = [_general(evidence)]
    scored = [v for v in utility["variables"] if v.get("S_pMSE") is not None]
    if scored:
        worst = max(scored, key=lambda v: v["S_pMSE"])
        parts.append(
            f"Worst single variable: {called(evidence, worst['name'])} "
            f"(S_pMSE {plain(worst['S_pMSE'])})."
        )
    pairs = [p for p in utility["pairs"] if p.get("S_pMSE") is not None]
    if pairs:
        pair = max(pairs, key=lambda p: p["S_pMSE"])
        both = " and ".join(called(evidence, name) for name in pair["names"])
        parts.append(f"Worst pair: {both} ({plain(pair['S_pMSE'])}).")
    overlaps = [m["mean_overlap"] for m in utility["models"] if m.get("mean_overlap") is not None]
    if overlaps:
        parts.append(
            f"In {count(len(overlaps), 'model')} confidence intervals overlap by "
            f"{plain(min(overlaps))} at the worst (1 is the same, 0 or below is apart)."
        )
    text = " ".join(part for part in parts if part)
    return text or "No measure of utility has a value."


def _general(evidence: Evidence) -> str:
    """Return what the propensity score says, or else the first measure there is."""
    measured = [m for m in evidence["utility"]["measurements"] if m["value"] is not None]
    scored = [m for m in measured if m["measure"] == "S_pMSE"]
    chosen = max(scored, key=lambda m: m["value"], default=None)  # the table that fares worst
    if chosen is None:
        chosen = next(iter(measured), None)
    if chosen is None:
        return ""
    name, unit = chosen["measure"], chosen["unit"]
    of_table = f" of {chosen['table']}" if chosen.get("table") else ""
    says = upper(phrase(evidence, {"measure": name}).removesuffix(EXPECTED))
    text = f"{says}{of_table} ({name}): {number(chosen['value'], name, unit)}"
    if name == "S_pMSE":
        text += " (1 is expected of a right synthesis, above 10 is poor"
    else:
        text += f" ({number(chosen['best'], name, unit)} for identical tables"
    if chosen.get("resample") is not None:
        text += f"; {number(chosen['resample'], name, unit)} for a fresh sample of the original"
    return f"{text})."


def _fresh(evidence: Evidence) -> set[str]:
    """Return the columns that are keys: they are made afresh and tell nothing."""
    release = evidence["release"]
    groups = {release["groups"]["key"]} if "groups" in release else set()
    groups |= {found["column"] for found in release.get("replaced", ())}
    return groups | {key for table in release.get("tables", ()) for key in table["keys"]}


def _uncovered(evidence: Evidence) -> str:
    kinds = {s["attacker"] for s in scenarios(evidence)}
    parts = []
    if not kinds & {"strong", "simulated"}:
        parts.append("the strong attacker")
    if "ordinary" not in kinds:
        parts.append("ordinary attacks (prediction, singling out, linkage)")
    if not evidence["release"]["control_rows"]:
        parts.append("a control (people who were not in the data)")
    targets = {t for s in scenarios(evidence) for t in s["targets"]}
    free = [c for c in evidence["release"]["columns"] if c not in {*targets, *_fresh(evidence)}]
    text = f"Not measured: {and_list(parts)}. " if parts else ""
    if free and targets:
        text += (
            f"{count(len(free), 'column was', 'columns were')} no attacker's target "
            f"({and_list([called(evidence, name) for name in free], most=4)}). "
        )
    undefined = sum(m["value"] is None for _, m in risks(evidence))
    if undefined:
        text += f"{count(undefined, 'value')} could not be computed. "
    return (
        text + "Nor does it cover attackers who know other things than named below, or later "
        "releases of the same data."
    )


# -------------------------------------------------------------------------------------------------
# Which part of the report answers which heading of a standard.
#
# Of ISO/IEC 27559:2022 only the headings of its published table of contents are used; what SATRE
# asks for is said in our words. Neither has been checked by anybody who accredits.


# Section of the report, what in it, and the heading it answers.
ISO = (
    ("decision", "limits and the board's decision", "9.2", "Before data are made available"),
    ("short", "who gets what for which purpose, and who is protected", "7.2", "Data features"),
    ("promise", "the promise and its assumptions", "7.3.4", "Data privacy models"),
    ("attacker", "who the attackers are, what they know and want", "6.2", "Threat modelling"),
    ("attacker", "the worst record beside means", "7.3.2", "Maximum or average risk"),
    ("attacker", "values, intervals, baselines", "8.2.2", "Quantifying identifiability"),
    ("attacker", "attacks on the release, with controls", "8.2.3", "Adversarial testing"),
    ("records", "records that stand out", "8.2.2", "Quantifying identifiability"),
    ("map", "other settings of the generator", "8.3.4", "Re-evaluation"),
    ("done", "synthesis and protections", "8.3.3", "Transforming the data"),
    ("limits", "assumptions, what was not measured", "7.3", "Attack modelling"),
)
SATRE = (
    "asks, for each released package, for records that a machine can read of all criteria, "
    "parameters, thresholds and tool versions of disclosure control"
)


def standards_section(present: Mapping[str, str], external: bool) -> Section:
    """Return the annex that maps headings.

    Parameters
    ----------
    present
        The sections of this report: id and how they are called.
    external
        Whether it is written for the public, who do not have the evidence file.
    """
    rows = [
        [cell(present[part]), cell(what), cell(number), cell(heading)]
        for part, what, number, heading in ISO
        if part in present
    ]
    kept = "evidence.json, kept inside" if external else "evidence.json and release.toml"
    return Section(
        "standards",
        "Where standards ask for it",
        [
            Text(
                "For readers who work by a standard. The right-hand side has headings only; that a "
                "part of this report stands beside one does not say that it meets all that the "
                "standard asks for there. What concerns people and places (6.3, 8.3.2, 9.3) is not "
                "in this report."
            ),
            Grid(
                "Parts of this report, and the headings of ISO/IEC 27559:2022 they belong to",
                [Field("Part", wide=True), Field("What", wide=True), Field("Number"),
                 Field("Heading", wide=True)],
                rows,
            ),
            Text(f"{SATRE}. Here it is {kept}.", "SATRE 3.3.09 (2026)"),
        ],
        annex=True,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------
# The limits of the evidence: what it assumes, and what it does not show.


def limits_section(evidence: Evidence, external: bool) -> Section:
    """Return what the evidence does not show."""
    return Section(
        "limits",
        "Limits of this evidence",
        [
            Items(list(_not_shown(evidence, external))),
            *([] if is_withheld(evidence) else _undefined(evidence)),
            *_remarks(evidence),
        ],
        annex=True,
    )


def _not_shown(evidence: Evidence, external: bool) -> Iterator[tuple[str, str]]:
    if is_withheld(evidence):
        yield from _of_a_promise()
    else:
        yield from _of_measurements(evidence)
    if external:
        yield (
            "This version",
            "Written for the public: it leaves out single records, distributions and coefficients "
            "of the original, settings that could hold values, the seed and everything about the "
            "input. "
            + (
                "The number of original records is not told."
                if is_withheld(evidence)
                else "Numbers are rounded to four digits."
            ),
        )


def _of_a_promise() -> Iterator[tuple[str, str]]:
    yield (
        "No measurement",
        "Nothing here was computed from the original records but the noisy tables: neither what an "
        "attacker finds nor how useful the tables are.",
    )
    yield (
        "Beyond this release",
        "Other releases from the same data add to what this one costs; who released it keeps an "
        "account of that.",
    )


def _of_measurements(evidence: Evidence) -> Iterator[tuple[str, str]]:
    kinds = {s["attacker"] for s in scenarios(evidence)}
    if "strong" in kinds:
        yield (
            "What the strong attacker assumes",
            "She knows the generator and all other records, but not the seed. Her numbers hold for "
            "columns that a model draws; columns that are copied or derived are not covered by "
            "them. Where protections were applied afterwards the number is a bound, simulated, or "
            "not there; notes beside it say which.",
        )
        if guarded_columns(evidence):
            yield (
                "What she is and is not where trees are guarded",
                "She is given the release and the splits that were drawn. That is more than the "
                "release alone, and on average she does better with it; for a single record what "
                "follows from the release alone can be more. She is computed on these data, and is "
                "not the worst case over all data sets. Settings that were chosen by looking at "
                "all records are a choice from the data too.",
            )
    else:
        yield (
            "No strong attacker",
            "The probability of the truth about single records was not computed. The other "
            "measures can be low while a record is given away.",
        )
    if "ordinary" not in kinds:
        yield (
            "No ordinary attacks",
            "Prediction, singling out, linkage and inference were not tried.",
        )
    control = evidence["release"]["control_rows"]
    if control:
        yield (
            "Control",
            f"{control:,} {_of_whom(evidence)} were held out before fitting. The control says how "
            "the same attacks fare on them; with few of them its own uncertainty is large.",
        )
    else:
        yield (
            "No control",
            "No records were held out: what is true of the population cannot be told from what was "
            "learned from these records.",
        )
    if evidence["map"] is None or not evidence["map"]["points"]:
        yield "No other settings", "No map was asked for: other settings were not tried."
    yield (
        "Intervals",
        f"Intervals are 95{NBSP}% intervals for the records at hand, taken as a sample; they do "
        "not cover the choice of attackers, keys and targets.",
    )
    yield (
        "Beyond this release",
        "Other releases from the same data, other files that can be linked, and attackers who know "
        "other things than named here add to the risk and are not measured.",
    )


def _of_whom(evidence: Evidence) -> str:
    """Return what is counted where records were held out."""
    tables = evidence["release"].get("tables")
    if not tables:
        return "records"
    root = next(t["name"] for t in tables if not (t["belongs_to"] or t["lookup"]))
    return f"rows of {root}, with all that belongs to them,"


def _undefined(evidence: Evidence) -> Iterator[Block]:
    rows = [(scenario["name"], m) for scenario, m in risks(evidence) if m["value"] is None]
    rows += [("utility", m) for m in evidence["utility"]["measurements"] if m["value"] is None]
    if not rows:
        yield Text("All measures that were asked for have a value.")
        return
    yield Heading("Values that could not be computed", "undefined")
    yield Grid(
        f"{count(len(rows), 'value')} without a number. None counts as low, or as a limit met.",
        [Field("What", wide=True), Field("Where"), Field("Reason", wide=True)],
        [
            [
                cell(upper(phrase(evidence, m)), None, measure_name(m)),
                cell(where),
                cell("; ".join(notes_of(m))),
            ]
            for where, m in rows
        ],
    )


def _remarks(evidence: Evidence) -> Iterator[Block]:
    found = [("", text) for text in evidence["remarks"]]
    found += [(s["name"], text) for s in scenarios(evidence) for text in s["remarks"]]
    found += [("Utility", text) for text in evidence["utility"]["remarks"]]
    by_text: dict[str, list[str]] = {}
    for where, text in found:
        by_text.setdefault(text, []).append(where)
    by_place: dict[str, list[str]] = {}
    for text, places in by_text.items():
        by_place.setdefault(", ".join(dict.fromkeys(filter(None, places))), []).append(text)
    if by_place:
        yield Heading("Remarks of the run", "remarks")
        yield Items([(where, "; ".join(texts)) for where, texts in by_place.items()])
