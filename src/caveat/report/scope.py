"""The limits of the evidence: what it assumes, and what it does not show."""

from __future__ import annotations

from collections.abc import Iterator

from caveat.report.blocks import Block, Field, Grid, Heading, Items, Section, Text, cell
from caveat.report.numbers import NBSP, count
from caveat.report.promise import is_withheld
from caveat.report.reading import Evidence, guarded_columns, notes_of, risks, scenarios
from caveat.report.wording import measure_name, phrase, upper

__all__ = ["limits_section"]


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
