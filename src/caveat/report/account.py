"""What was done and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat.report.blocks import (
    Block,
    Code,
    Field,
    Grid,
    Heading,
    Items,
    Notes,
    Section,
    Text,
    cell,
)
from caveat.report.numbers import percent
from caveat.report.reading import (
    Evidence,
    and_list,
    has_plain_trees,
    listed,
    notes_of,
    other_columns,
)
from caveat.report.wording import called, column_cell, upper

__all__ = ["done_section"]

TABLES = {"promise": "noisy", "cleared": "cleared"}
NOISE = (
    "The noise comes from the operating system and cannot be drawn again: the command makes "
    "another release, and spends its budget again:"
)
DIAL = ("temperature", "smallest", "backoff", "floor", "depth")


def done_section(evidence: Evidence) -> Section:
    """Return the section on how the release was made."""
    blocks: list[Block] = [*_plan(evidence, _source(evidence))]
    plain_trees = has_plain_trees(evidence)
    blocks += _private(evidence, plain_trees)
    blocks += _protection(evidence["protection"])
    blocks += _repeat(evidence)
    return Section("done", "What was done and how to repeat it", blocks, annex=True)


def _source(evidence: Evidence) -> str:
    """Return the tables that all columns were drawn from, if there are such."""
    found = next((words for name, words in TABLES.items() if name in evidence), "")
    return "" if other_columns(evidence) else found


def _plan(evidence: Evidence, tables: str) -> Iterator[Block]:
    synthesis = evidence["synthesis"]
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
            column_cell(evidence, column["name"]),
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
    yield from _guard(evidence, synthesis)


def _guard(evidence: Evidence, synthesis: Mapping[str, Any]) -> Iterator[Block]:
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
        [
            Field("Columns", wide=True),
            Field("Guard"),
            *(Field(w.capitalize(), numeric=True) for w in DIAL),
        ],
        [
            [
                cell(and_list([called(evidence, name) for name in names], most=200)),
                cell(words),
                *(cell(f"{value:g}", value) for value in numbers),
            ]
            for (words, *numbers), names in _alike(guard["columns"]).items()
        ],
    )
    public = synthesis.get("assumed_public", ())
    items = [("Assumed public", f"{'; '.join(public)}.")] if public else []
    if guard["worst_case"] is not None:
        bound = f"{guard['worst_case']:,.0f}: {guard['worst_case_says']}."
        items.append(("Worst case over all data sets", bound))
    yield Items(items)


def _alike(columns: Sequence[Mapping[str, Any]]) -> dict[tuple[Any, ...], list[str]]:
    """Return the settings of the guard, and the columns that have them."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for column in columns:
        key = (column["guard"], *(column[word] for word in DIAL))
        found.setdefault(key, []).append(column["name"])
    return found


def _private(evidence: Evidence, plain_trees: bool) -> Iterator[Block]:
    columns = evidence["release"].get("private_numbers", ())
    if not columns:
        return
    yield Heading("Values of single people", "private")
    yield Text(
        "A number that exactly one original record has leads to that person, and so does a level "
        "that fewer than five have. Some of them are released by chance: other people have them "
        "too. Rounding hides numbers, "
        'and so does smoothing ("density" within the leaves of a tree, "kernel" for any method).'
        + (
            ' Guarded trees (method = "guarded") draw any number of the declared range.'
            if plain_trees
            else ""
        )
    )
    yield Grid(
        "Numbers that exactly one original record has, and rare levels, by column",
        [
            Field("Column"),
            Field("Of the original", numeric=True),
            Field("Of the released values", numeric=True),
            Field("By chance", numeric=True),
            Field("Of people not in the data", numeric=True),
        ],
        [
            [
                column_cell(evidence, found["column"]),
                *(
                    cell("–" if found.get(side) is None else percent(found[side]), found.get(side))
                    for side in ("original", "released", "baseline", "control")
                ),
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
    notes = Notes()
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
                cell(
                    _value(step["counts"]) or "–", None, "", notes.mark(*map(upper, notes_of(step)))
                ),
            ]
            for place, step in enumerate(steps, start=1)
        ],
        notes=notes.texts,
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
        again = "whoever has both can repeat the draws"
        again += ", from the noisy tables" if private else ""
        items.append(("Seed", evidence["seed"]))
        if evidence.get("key") is not None:
            items.append(("Key", f"{evidence['key']} (confidential: {again})"))
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
        same = "The same data, specification, key and versions give the same files, byte for byte:"
        yield Text(NOISE if private else same)
        yield Code(
            f"caveat run {evidence['inputs']['spec']['name']}{'' if made else ' --only audit'}"
        )
