"""What was done and how to repeat it, and the limits of the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat.report.blocks import Block, Code, Field, Grid, Heading, Items, Section, Text, cell
from caveat.report.numbers import NBSP, count, percent
from caveat.report.promise import is_withheld
from caveat.report.reading import (
    Evidence,
    about,
    and_list,
    guarded_columns,
    has_plain_trees,
    listed,
    notes_of,
    other_columns,
    risks,
    scenarios,
)

__all__ = ["done_section", "limits_section"]

TABLES = {"promise": "noisy", "cleared": "cleared"}
NOISE = (
    "The noise comes from the operating system and cannot be drawn again: the command makes "
    "another release, and spends its budget again:"
)
DIAL = ("temperature", "smallest", "backoff", "floor", "depth")


def done_section(evidence: Evidence) -> Section:
    """Return the section on how the release was made."""
    blocks: list[Block] = [*_plan(evidence["synthesis"], _source(evidence))]
    plain_trees = has_plain_trees(evidence)
    blocks += _private(evidence["release"].get("private_numbers", ()), plain_trees)
    blocks += _protection(evidence["protection"])
    blocks += _repeat(evidence)
    return Section("done", "What was done and how to repeat it", blocks)


def _source(evidence: Evidence) -> str:
    """Return the tables that all columns were drawn from, if there are such."""
    found = next((words for name, words in TABLES.items() if name in evidence), "")
    return "" if other_columns(evidence) else found


def _plan(synthesis: Mapping[str, Any] | None, tables: str) -> Iterator[Block]:
    yield Heading("Synthesis", "synthesis")
    if synthesis is None:
        yield Text(
            "The tables were made elsewhere; how is not known here. They were measured only."
        )
        return
    # What is declared of each column of a private release is as long as a code book.
    apart = ("columns",) if tables == TABLES["promise"] else ()
    settings = [
        f"{name} {_value(value)}"
        for name, value in synthesis["settings"].items()
        if name not in apart
    ]
    how = "modelled one after the other, each from columns before it, and drawn in the same order"
    if tables:
        how = f"drawn from the {tables} tables one after the other, each from columns before it"
    told = and_list(settings, most=20) or ("as promised" if tables else "the usual ones")
    yield Text(f"The columns were {how}. Settings: {told}.")
    has_leaves = any("leaves" in column for column in synthesis["columns"])
    columns = [Field("Place", numeric=True), Field("Column"), Field("Method")]
    columns += [Field("Leaves", numeric=True)] if has_leaves else []
    rows = [
        [
            cell(place, place),
            cell(column["name"]),
            cell(column["method"]),
            *([cell(column.get("leaves", "–"), column.get("leaves"))] if has_leaves else []),
            cell(listed(column["predictors"])),
        ]
        for place, column in enumerate(synthesis["columns"], start=1)
    ]
    yield Grid(
        "The plan: columns in the order in which they were made",
        [*columns, Field("Drawn from", wide=True)],
        rows,
        folded=len(rows) > 12,
    )
    items = [(f"{name} is derived", str(_value(how))) for name, how in synthesis["derived"].items()]
    if "choice" in synthesis:
        items.append(("Predictors", f"{synthesis['choice']['says']}."))
    items += [("Rule", rule) for rule in synthesis["rules"]]
    items += [("Remark", remark) for remark in synthesis["remarks"]]
    if items:
        yield Items(items)
    yield from _guard(synthesis)


def _guard(synthesis: Mapping[str, Any]) -> Iterator[Block]:
    guard = synthesis.get("guard")
    if guard is None:
        return
    yield Heading("Guarded trees", "guard")
    yield Text(
        "A split is drawn with a chance that grows with what it gains, the more evenly the higher "
        "the temperature. A node of “smallest” records is split in half of the cases. A node "
        "borrows the share of the node above for so many records (backoff), and of what is rare it "
        "borrows at least so many (floor), so that no value is impossible and no record counts for "
        "much."
    )
    yield Grid(
        "The numbers behind the guard, by column",
        [Field("Column"), Field("Guard"), *(Field(w.capitalize(), numeric=True) for w in DIAL)],
        [
            [
                cell(column["name"]),
                cell(column["guard"]),
                *(cell(f"{column[word]:g}", column[word]) for word in DIAL),
            ]
            for column in guard["columns"]
        ],
        folded=len(guard["columns"]) > 12,
    )
    items = [("Assumed public", text) for text in synthesis.get("assumed_public", ())]
    if guard["worst_case"] is not None:
        bound = f"{guard['worst_case']:,.0f}: {guard['worst_case_says']}."
        items.append(("Worst case over all data sets", bound))
    yield Items(items)


def _private(columns: Sequence[Mapping[str, Any]], plain_trees: bool) -> Iterator[Block]:
    if not columns:
        return
    yield Heading("Numbers of single people", "private")
    yield Text(
        "A number that exactly one original record has leads to that person. Rounding hides it, "
        'and so does smoothing ("density" within the leaves of a tree, "kernel" for any method).'
        + (
            ' Guarded trees (method = "guarded") draw any number of the declared range.'
            if plain_trees
            else ""
        )
    )
    yield Grid(
        "Values that exactly one original record has, by column",
        [
            Field("Column"),
            Field("Of the original", numeric=True),
            Field("Of the released values", numeric=True),
        ],
        [
            [
                cell(found["column"]),
                *(cell(percent(found[side]), found[side]) for side in ("original", "released")),
            ]
            for found in columns
        ],
        folded=len(columns) > 12,
    )


def _value(value: Any) -> str:
    """Return a setting as it would be written."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_value(entry)}" for name, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_value(entry) for entry in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _protection(steps: list[Mapping[str, Any]]) -> Iterator[Block]:
    yield Heading("Protections", "protections")
    if not steps:
        yield Text("None was applied after the synthesis.")
        return
    yield Grid(
        "Protections in the order in which they were applied",
        [
            Field("Step", numeric=True),
            Field("Protection"),
            Field("Told", wide=True),
            Field("What it did", wide=True),
        ],
        [
            [
                cell(place, place),
                cell(step["name"].replace("_", " ")),
                cell(_value(step["arguments"]) or "–"),
                cell(_value(step["counts"]) or "–", None, " ".join(notes_of(step))),
            ]
            for place, step in enumerate(steps, start=1)
        ],
    )


def _repeat(evidence: Evidence) -> Iterator[Block]:
    yield Heading("Files and software", "software")
    software = evidence["software"]
    packages = [f"{name} {version}" for name, version in software["packages"].items()]
    items = [
        ("Software", f"Caveat {software['caveat']}, Python {software['python']}"),
        ("Packages", listed(packages)),
    ]
    if evidence["inputs"] is not None:
        inputs = evidence["inputs"]
        spec = inputs["spec"]
        items += [
            (
                "Data",
                f"{data['name']}, {data['rows']:,} rows, {data['columns']:,} columns, "
                f"SHA-256 {data['sha256']}",
            )
            for data in inputs.get("tables") or [inputs["data"]]
        ]
        items.append(("Specification", f"{spec['name']}, SHA-256 {spec['sha256']}"))
    private = "promise" in evidence
    if evidence["seed"] is not None:
        again = "who has it can draw the release again"
        again += ", from the noisy tables" if private else ""
        items.append(("Seed", f"{evidence['seed']} (confidential: {again})"))
    yield Items(items)
    if evidence["release"]["files"]:
        yield Grid(
            "Released files",
            [Field("File"), Field("Rows", numeric=True), Field("SHA-256", wide=True)],
            [
                [cell(f["name"]), cell(f"{f['rows']:,}", f["rows"]), cell(f["sha256"])]
                for f in evidence["release"]["files"]
            ],
        )
    if evidence["inputs"] is not None:
        made = evidence["release"]["synthesised_by"] == "caveat"
        same = "The same data, specification, seed and versions give the same files, byte for byte:"
        yield Text(NOISE if private else same)
        yield Code(
            f"caveat run {evidence['inputs']['spec']['name']}{'' if made else ' --only audit'}"
        )


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
        [Field("Where"), Field("Measure"), Field("About"), Field("Reason", wide=True)],
        [
            [cell(where), cell(m["measure"]), cell(about(m) or "–"), cell("; ".join(notes_of(m)))]
            for where, m in rows
        ],
    )


def _remarks(evidence: Evidence) -> Iterator[Block]:
    found = [("", text) for text in evidence["remarks"]]
    found += [(s["name"], text) for s in scenarios(evidence) for text in s["remarks"]]
    found += [("Utility", text) for text in evidence["utility"]["remarks"]]
    if found:
        yield Heading("Remarks of the run", "remarks")
        yield Items(found)
