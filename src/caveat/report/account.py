"""What was done, how to repeat it, and what is promised."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat import charts
from caveat.report.blocks import (
    Block,
    Code,
    Field,
    Figure,
    Grid,
    Heading,
    Items,
    Notes,
    Section,
    Text,
    cell,
)
from caveat.report.wording import (
    NBSP,
    Evidence,
    and_list,
    called,
    column_cell,
    count,
    has_plain_trees,
    listed,
    notes_of,
    other_columns,
    percent,
    plain,
    tiny,
    upper,
)

TITLE = "What is promised, and what was measured"
Entry = Mapping[str, Any]

NOT_COVERED = (
    "Everything that is computed from the original records: what attackers find, what utility "
    "costs, whether limits are met, and warnings about values outside the declared domain. None "
    "of it may leave with the release, and a decision that rests on it is a look at the data too. "
    "Nor is the choice of ε, columns and bins covered if the data were looked at for it."
)
LEFT_OUT = (
    "Measurements are left out of this version: they are computed from the original records, and "
    "the promise does not cover them."
)
APART = (
    "A promise holds for all data of the declared domain, whoever is in them. A measurement is "
    "about these data alone and can be smaller or larger; neither stands for the other. The "
    "attacker who is measured has the noisy tables, knows which pairs were chosen, and knows "
    "every record but one."
)


def is_withheld(evidence: Evidence) -> bool:
    """Whether this is the version of a private release that leaves measurements out."""
    return "promise" in evidence and "measured" not in evidence


def promise_lines(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Return what page one says about promises, where there is anything to say."""
    if "cleared" in evidence:
        tables = count(len(evidence["cleared"]["tables"]), "cleared table")
        others = other_columns(evidence)
        source = (
            f"{_named(others)} made from records, all others from {tables}"
            if others
            else f"The release was made from {tables} and from nothing else"
        )
        yield "What is promised", f"Nothing. {source}; what is given away is measured, not bounded."
    if "promise" in evidence:
        promise = evidence["promise"]
        text = (
            f"Differential privacy with ε = {promise['epsilon']:g} and δ = "
            f"{tiny(promise['delta'])} for {promise['unit']}, for the synthetic tables and the "
            "noisy tables behind them."
        )
        if promise["poisson"] is not None:
            text += " Such a δ is large: see below."
        if not is_withheld(evidence):
            text += " The measurements on these pages are not covered by it and stay inside."
        yield "What is promised", text
    if is_withheld(evidence):
        yield "What was measured", LEFT_OUT


def promise_section(evidence: Evidence) -> list[Section]:
    """Return the section on promises, if the release promises something or was cleared."""
    if "cleared" in evidence:
        return [Section("promise", TITLE, list(_cleared(evidence)), annex=True)]
    if "promise" not in evidence:
        return []
    promise = evidence["promise"]
    blocks: list[Block] = [
        Heading("What is promised", "promised"),
        Items(list(_promised(promise))),
        _tables(promise),
    ]
    if is_withheld(evidence):
        blocks.append(Text(LEFT_OUT))
    else:
        blocks += _side_by_side(promise, evidence["measured"])
    return [Section("promise", TITLE, blocks, annex=True)]


def _promised(promise: Entry) -> Iterator[tuple[str, str]]:
    epsilon = promise["epsilon"]
    yield (
        "The promise",
        "With and without any one record, nothing that can be seen in the release is more than "
        f"exp(ε) = {plain(math.exp(epsilon))} times as probable (ε = {epsilon:g}), but for a "
        f"probability of δ = {tiny(promise['delta'])}.",
    )
    if promise["poisson"] is not None:
        yield "This δ is large", _poisson(promise)
    yield (
        "To whom",
        f"To everybody with {promise['unit']} in the data, whatever an attacker knows or will get "
        f"from elsewhere ({promise['neighbours']}). What k people have in common, or a person with "
        "k records, is protected k times less: ε times k, with a larger δ.",
    )
    yield "How", f"{_upper(promise['mechanism'])}.{_cost(promise)}"
    yield "Pairs of columns", f"{_upper(promise['pairs'])}."
    yield "Domain of the columns", f"{_upper(promise['domain'])}: it is assumed to be public."
    yield "Number of records", f"{_upper(promise['records'])}."
    if promise["held_out"]:
        yield (
            "Records held out",
            "Some records were drawn as a control, each by itself without looking at it, and are "
            "not in the tables: the promise holds for them as well.",
        )
    yield (
        "Covered",
        "The noisy tables (folder margins), the synthetic tables that were drawn from them, and "
        "what was done to these afterwards without looking at original records.",
    )
    yield "Not covered", NOT_COVERED
    if promise["ledger"] is not None:
        yield "Budget", _budget(promise["ledger"])


def _poisson(promise: Entry) -> str:
    poisson = promise["poisson"]
    return (
        f"By equation 9 of its authors the loss is above ε with a probability of up to "
        f"{plain(poisson['delta_equation_9'])}; the exact δ is {plain(poisson['delta_exact'])}. A "
        "δ should be far below one in the number of records: with one so large the promise says "
        "little about the unlucky."
    )


def _cost(promise: Entry) -> str:
    return "" if promise["rho"] is None else f" It costs ρ = {plain(promise['rho'])} (zCDP)."


def _budget(ledger: Entry) -> str:
    limit = ledger["limit"]
    spent = "more than δ allows" if ledger["spent"] is None else f"ε = {plain(ledger['spent'])}"
    return (
        f"{spent} of ε = {limit['epsilon']:g} is spent on “{ledger['dataset']}” by this and "
        f"earlier releases, at δ = {tiny(limit['delta'])}."
    )


def _tables(promise: Entry) -> Grid:
    poisson = promise["poisson"]
    rows = [
        [
            cell(" × ".join(table["columns"])),
            cell(f"{table['cells']:,}", table["cells"]),
            cell(
                f"Poisson(count + {poisson['alpha']:g})"
                if table["sigma"] is None
                else plain(table["sigma"]),
                table["sigma"],
            ),
        ]
        for table in promise["tables"]
    ]
    noise = "Noise" if poisson is not None else "σ of the noise"
    columns = [Field("Table", wide=True), Field("Cells", numeric=True), Field(noise, numeric=True)]
    return Grid("The noisy tables: all that is known of the data", columns, rows, len(rows) > 6)


def _side_by_side(promise: Entry, measured: Entry) -> Iterator[Block]:
    yield Heading("Promise and measurement side by side", "side-by-side")
    yield Text(f"{APART} What was measured is {measured['says']}.")
    grid = Grid(
        "The promise, and the measurements",
        [Field("Number"), Field("Kind"), Field("Value", numeric=True), Field("About", wide=True)],
        [
            [cell(name), cell(kind), cell(text, value), cell(words)]
            for name, kind, text, value, words in _numbers(promise, measured)
        ],
    )
    drawn = [
        {"label": name, "kind": kind, "value": value, "text": text}
        for name, kind, text, value, _ in _numbers(promise, measured)[:3]
        if value is not None
    ]
    summary = "; ".join(f"{row['label']} ({row['kind']}): {row['text']}" for row in drawn)
    yield Figure(
        "chart-promise",
        "Logarithms of how much more probable the release is with a record than without it",
        f"{summary}.",
        [("", charts.promised(drawn))],
        grid,
        charts.PROMISED_KEY,
    )
    yield grid
    if measured["largest"] > promise["epsilon"]:
        yield Text(
            f"{percent(measured['above'])} of the records have a loss above ε. For any one record "
            f"the promise allows that with a probability of about δ = {tiny(promise['delta'])}.",
            "A loss above the promise.",
        )
    if (measured["bound"] or 0) > promise["epsilon"]:
        yield Text(
            f"By chance this happens in at most {100 * (1 - measured['confidence']):.0f}{NBSP}% of "
            "all runs; otherwise the promise is not kept. Do not release the tables before that is "
            "clear.",
            "The lower bound is above the promise.",
        )
    if measured["bounds"]:
        yield _bounds(measured)


def _numbers(promise: Entry, measured: Entry) -> list[tuple[str, str, str, float | None, str]]:
    """Return name, kind, text, number and explanation of what stands side by side."""
    bound, everybody = measured["bound"], count(measured["records"], "record")
    simulated = "not simulated: the tables have too many cells to draw them often enough"
    if bound is not None:
        simulated = (
            f"the generator on these data, {100 * measured['confidence']:g}{NBSP}% confidence: the "
            f"largest for {count(len(measured['bounds']), 'record')} with the largest ratios, "
            f"tables drawn {measured['simulations']:,} times with and without each. Few draws "
            "give a low bound: it shows what is certainly there, not how little there is"
        )
    return [
        ("ε", "promise", plain(promise["epsilon"]), promise["epsilon"],
         f"all data of the declared domain, but for δ = {tiny(promise['delta'])}"),
        ("Largest exact log ratio", "measurement", plain(measured["largest"]), measured["largest"],
         f"this release and these data: {everybody}, each left out in turn"),
        ("Lower bound of ε by simulation", "measurement",
         "–" if bound is None else plain(bound), bound, simulated),
        ("Records with a ratio above ε", "measurement", percent(measured["above"]),
         measured["above"], f"this release and these data: of {everybody}"),
    ]  # fmt: skip


def _bounds(measured: Entry) -> Grid:
    return Grid(
        "Records whose membership was tested: CONFIDENTIAL",
        [Field("Row", numeric=True), Field("Exact log ratio", numeric=True),
         Field("Lower bound of ε", numeric=True)],
        [
            [
                cell(f"{one['row']:,}", one["row"]),
                cell(plain(one["log_ratio"]), one["log_ratio"]),
                cell(plain(one["bound"]), one["bound"]),
            ]
            for one in measured["bounds"]
        ],
        folded=True,
    )  # fmt: skip


def _named(columns: list[str]) -> str:
    return f"{and_list(columns, most=6)} {'was' if len(columns) == 1 else 'were'}"


def _cleared(evidence: Evidence) -> Iterator[Block]:
    cleared, others = evidence["cleared"], other_columns(evidence)
    tables = count(len(cleared["tables"]), "cleared table")
    source = (
        f"All columns that are made from margins come from {tables} (folder margins, with a "
        f"manifest that can be checked by hand) and from nothing else. {_named(others)} not: the "
        "tables say nothing about what these give away."
        if others
        else f"The release was made from {tables} (folder margins, with a manifest that can be "
        "checked by hand) and from nothing else: it gives away what they give away."
    )
    items = [
        (
            "What is promised",
            "Nothing. Cleared tables keep the rules of an office; they bound nothing that somebody "
            "may learn from them.",
        ),
        ("The source" if others else "The only source", source),
    ]
    inside = "changed_by" in cleared
    if inside:
        share = percent(cleared["changed_by"] / max(cleared["records"], 1))
        items += [
            ("Rules", f"{_upper(cleared['rules'])}."),
            (
                "What single records change",
                f"Without each of {count(cleared['changed_by'], 'record')} ({share} of "
                f"{cleared['records']:,}) one of the tables would be another. Who knows all other "
                "records and sees the tables knows that such a person is in the data.",
            ),
        ]
    yield Items(items)
    columns = [Field("Table", wide=True), Field("Cells", numeric=True),
               Field("Rounded to", numeric=True)]  # fmt: skip
    words = {"smallest": "Smallest count", "suppressed": "Cells suppressed",
             "changed_by": "Records that change it"} if inside else {}  # fmt: skip
    names = ["cells", "multiple", *words]
    yield Grid(
        "The cleared tables",
        [*columns, *(Field(title, numeric=True) for title in words.values())],
        [
            [
                cell(" × ".join(table["columns"])),
                *(cell(f"{table[name]:,}", table[name]) for name in names),
            ]
            for table in cleared["tables"]
        ],
        folded=len(cleared["tables"]) > 6,
    )


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


# -------------------------------------------------------------------------------------------------
# What was done and how to repeat it.


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
