"""What analysts can do with the release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat import charts
from caveat.evidence.verdict import state_of
from caveat.notes import Z95, printed
from caveat.report.blocks import (
    Block,
    Cell,
    Field,
    Figure,
    Grid,
    Heading,
    Notes,
    Section,
    Text,
    cell,
)
from caveat.report.wording import (
    Evidence,
    and_list,
    called,
    column_cell,
    count,
    entry_of,
    limit_text,
    measure_name,
    notes_of,
    number,
    percent,
    phrase,
    plain,
    unit_of,
    upper,
)


def structure_blocks(
    evidence: Evidence, structure: Mapping[str, Any] | None, place: int = 0
) -> Iterator[Block]:
    """Return what is known of the groups, if there are any; of several tables at each place."""
    if structure is None:
        return
    table = structure.get("table")
    more = f": {table}" if table else ""
    yield Heading(f"Rows that belong together{more}", f"structure{f'-{place}' if place else ''}")
    ours, theirs = f"{structure['original']:,.0f}", f"{structure['synthetic']:,}"
    text = f"By {structure['key']} there are {ours} groups in the original and {theirs} in the "
    text += "release; its keys are fresh ones."
    if table:
        text += f" Members are rows of {table}; groups without any are counted too."
    if structure["size_column"] is not None:
        size = structure["size_column"]
        text += f" {size['name']} is the number of members in {percent(size['right'])} of the rows."
    yield Text(text)
    yield Grid(
        "Groups by their number of members",
        [Field("Members"), Field("Original", numeric=True), Field("Synthetic", numeric=True)],
        [
            [
                cell(_members(s["members"], structure["largest"])),
                *map(_share, (s["original"], s["synthetic"])),
            ]
            for s in structure["sizes"]
        ],
    )
    if structure["one_value"]:
        yield Grid(
            "Groups in which a column has one value, as in every group of the original",
            [Field("Column"), Field("Synthetic groups", numeric=True)],
            [
                [column_cell(evidence, c["name"]), _share(c["share"])]
                for c in structure["one_value"]
            ],
        )
    yield from _columns(evidence, structure)


def _columns(evidence: Evidence, structure: Mapping[str, Any]) -> Iterator[Block]:
    """Return a row for each column that varies within groups."""
    within = {c["name"]: c for c in structure["within"]}
    distance = {c["name"]: c["distance"] for c in structure["compositions"]}
    names = list(dict.fromkeys([*within, *distance]))
    if not names:
        return
    yield Grid(
        "Members of a group: how they go together (1: alike; 0: as strangers), and how many groups "
        "would have to change which classes their members have",
        [
            Field("Column"),
            Field("Together, original", numeric=True),
            Field("Together, synthetic", numeric=True),
            Field("Compositions apart", numeric=True),
        ],
        [
            [
                column_cell(evidence, name),
                *(_figure(within.get(name, {}).get(side)) for side in ("original", "synthetic")),
                _share(distance.get(name)),
            ]
            for name in names
        ],
    )


def _members(members: int, largest: int) -> str:
    return f"{members} or more" if members >= largest else str(members)


def _share(value: float | None) -> Cell:
    return cell("–" if value is None else percent(value), value)


def _figure(value: float | None) -> Cell:
    return cell("–" if value is None else f"{value:.3f}", value)


# -------------------------------------------------------------------------------------------------
# What analysts can do with the release.


# More panels or cells than this are too many to look at: the worst are drawn, the tables have all.
MOST_PANELS = 36
MOST_NAMES = 36
MOST_PAIRS = 15
MOST_TERMS = 40
FEW_PAIRS = 5


def analyst_section(evidence: Evidence) -> Section:
    """Return the section on utility."""
    utility = evidence["utility"]
    blocks: list[Block] = [
        Text(
            "These numbers say how far results from the release may be from those of the original. "
            "They are to be compared with a fresh sample of the original of the same size: nobody "
            "can ask a synthetic table to be closer than that."
        )
    ]
    if utility["measurements"]:
        blocks.append(_measures(evidence))
    else:
        blocks.append(Text("No measure of utility was computed."))
    blocks += _variables(evidence)
    blocks += _pairs(evidence)
    blocks += _regressions(utility.get("regressions", ()))
    blocks += _models(utility["models"])
    blocks += _rules(utility["rules"])
    for place, structure in enumerate(utility.get("structures", [utility.get("structure")])):
        blocks += structure_blocks(evidence, structure, place)
    return Section("analyst", "What analysts can do", blocks, annex=True)


def _measures(evidence: Evidence) -> Grid:
    rows, notes = [], Notes()
    for m in evidence["utility"]["measurements"]:
        name = m["measure"]
        unit = m["unit"] or unit_of(evidence, name)
        blind = entry_of(evidence, name).get("blind_spot", "")
        reasons = notes_of(m)[:1] if m["value"] is None else []
        limit = limit_text(m["limit"], name, unit)
        rows.append(
            [
                cell(
                    upper(phrase(evidence, m)),
                    None,
                    measure_name(m),
                    notes.mark(f"Cannot see: {blind}") if blind else "",
                ),
                cell(number(m["value"], name, unit), m["value"], "", notes.mark(*reasons)),
                *(
                    cell(number(m.get(field), name, unit), m.get(field))
                    for field in ("resample", "second_copy", "control", "best")
                ),
                cell(limit or "–", None, state_of(m)),
            ]
        )
    return Grid(
        "Measures of utility, and the same for tables that are as good as can be",
        [
            Field("What it says", wide=True),
            Field("Release", numeric=True),
            Field("Fresh sample", numeric=True),
            Field("Second copy", numeric=True),
            Field("Held out", numeric=True),
            Field("Identical", numeric=True),
            Field("Limit"),
        ],
        rows,
        notes=notes.texts,
    )


def _of_table(name: str, entry: Mapping[str, Any]) -> str:
    """Return a name with the table whose rows it is about, where there are several."""
    return f"{name} ({entry['table']})" if entry.get("table") else name


def _by_score(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return variables or pairs, the worst first, those without a score last."""
    return sorted(entries, key=lambda v: (v["S_pMSE"] is None, -(v["S_pMSE"] or 0.0)))


def _variables(evidence: Evidence) -> Iterator[Block]:
    variables = evidence["utility"]["variables"]
    if not variables:
        return
    ranked = _by_score(variables)
    yield Heading("Single variables", "variables")
    table = _variable_table(evidence, ranked)
    drawn = [v for v in ranked if v["groups"]]
    if not drawn:
        yield from _scores(evidence, ranked, table)
        return
    shown = {v["name"] for v in drawn[:MOST_PANELS]}
    # In the order of the table, where one looks for a variable by its place.
    panels = [v for v in variables if v["name"] in shown]
    which = (
        f"the {len(panels)} of {count(len(variables), 'variable')} that fare worst"
        if len(panels) < len(variables)
        else count(len(variables), "variable")
    )
    worst = drawn[0]
    yield Figure(
        "chart-distributions",
        f"Distributions in per cent of the rows: {which}",
        f"Paired bars for {which}. The largest S_pMSE is that of {called(evidence, worst['name'])} "
        f"({number(worst['S_pMSE'], '', 'ratio')}); {_largest_gap(evidence, drawn)}. "
        "The table gives the scores of all variables.",
        [
            (called(evidence, v["name"]), charts.distribution(v["groups"], v["ordered"]))
            for v in panels
        ],
        table,
        charts.SIDES_KEY,
        layout="grid",
    )
    yield table


def _scores(
    evidence: Evidence, ranked: Sequence[Mapping[str, Any]], table: Grid
) -> Iterator[Block]:
    """Draw scores where distributions may not be shown."""
    scored = [v for v in ranked if v["S_pMSE"] is not None]
    rows = [
        {"name": called(evidence, v["name"]), "value": v["S_pMSE"]} for v in scored[:MOST_PANELS]
    ]
    if rows:
        which = f"the {len(rows)} that fare worst" if len(rows) < len(scored) else "all of them"
        poor = sum(v["S_pMSE"] > 10 for v in scored)
        yield Figure(
            "chart-variables",
            f"S_pMSE of single variables, {which}. 1 is expected of a right synthesis, above 10 is "
            "poor (dashed lines).",
            f"Bars for {count(len(rows), 'variable')}. {poor} of {len(scored):,} are above 10; "
            f"the worst is {rows[0]['name']} with {plain(rows[0]['value'])}.",
            [("", charts.scores(rows))],
            table,
        )
    yield table


def _largest_gap(evidence: Evidence, variables: Sequence[Mapping[str, Any]]) -> str:
    gaps = [
        (abs(group["original"] - group["synthetic"]), v["name"], group)
        for v in variables
        for group in v["groups"]
    ]
    gap, name, group = max(gaps, key=lambda found: found[0])
    return (
        f"the largest difference of a bar is {printed(gap, 'share'):.1f} percentage points, "
        f"in {called(evidence, name)}, {group['label']}: {percent(group['original'])} and "
        f"{percent(group['synthetic'])}"
    )


def _variable_table(evidence: Evidence, ranked: Sequence[Mapping[str, Any]]) -> Grid:
    def score(value: float | None) -> Cell:
        return cell("–" if value is None else plain(value), value)

    return Grid(
        "All variables, the worst first; of S_pMSE 1 is expected, and above 10 is poor",
        [
            Field("Variable"),
            Field("Kind"),
            Field("S_pMSE", numeric=True),
            Field("In pairs", numeric=True),
            Field("Rows that differ", numeric=True),
            Field("Missing alike", numeric=True),
        ],
        [
            [
                column_cell(evidence, v["name"], v.get("table", "")),
                cell(v["kind"]),
                score(v["S_pMSE"]),
                score(v["in_pairs"]),
                cell(
                    "–" if v["total_variation"] is None else percent(v["total_variation"]),
                    v["total_variation"],
                ),
                score(v["missing_similarity"]),
            ]
            for v in ranked
        ],
        folded=len(ranked) > 12,
    )


def _pairs(evidence: Evidence) -> Iterator[Block]:
    utility = evidence["utility"]
    pairs = [p for p in _by_score(utility["pairs"]) if p["S_pMSE"] is not None]
    if not pairs:
        return
    yield Heading("Pairs of variables", "pairs")
    worst = pairs[:MOST_PAIRS]
    table = Grid(
        f"The {count(len(worst), 'two-way table')} that fare worst, of {len(pairs):,}",
        [Field("Variable"), Field("With"), Field("S_pMSE", numeric=True)],
        [
            [
                *(column_cell(evidence, name) for name in p["names"]),
                cell(plain(p["S_pMSE"]), p["S_pMSE"]),
            ]
            for p in worst
        ],
        folded=len(worst) > FEW_PAIRS,
    )
    names = _worst_names(utility, pairs)
    inside = {
        (p["names"][0], p["names"][1]): p["S_pMSE"] for p in pairs if set(p["names"]) <= set(names)
    }
    singles = {
        v["name"]: v["S_pMSE"]
        for v in utility["variables"]
        if v["name"] in names and v["S_pMSE"] is not None
    }
    poor = sum(p["S_pMSE"] > 10 for p in pairs)
    first = " with ".join(called(evidence, name) for name in pairs[0]["names"])
    cut = f", the {len(names)} variables that fare worst" if len(names) < _n_names(pairs) else ""
    yield Figure(
        "chart-pairs",
        f"S_pMSE of two-way tables{cut}; on the diagonal of single variables. 1 is expected of a "
        "right synthesis, above 10 is poor.",
        f"Heat map of {len(inside):,} two-way tables. {poor} of {len(pairs):,} tables are above "
        f"10; the worst is {first} with {plain(pairs[0]['S_pMSE'])}.",
        [("", charts.two_way(names, inside, singles))],
        table,
        layout="scroll",
    )
    yield table


def _n_names(pairs: Sequence[Mapping[str, Any]]) -> int:
    return len({name for p in pairs for name in p["names"]})


def _worst_names(utility: Mapping[str, Any], pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the variables of the worst pairs, in the order of the table."""
    chosen: dict[str, None] = {}
    for pair in pairs:
        for name in pair["names"]:
            if len(chosen) < MOST_NAMES:
                chosen.setdefault(name)
    order = [v["name"] for v in utility["variables"]]
    place = {name: i for i, name in enumerate(order)}
    return sorted(chosen, key=lambda name: place.get(name, len(order)))


def _regressions(regressions: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    """Return the regressions behind the figures of page one."""
    if not regressions:
        return

    def share(value: float | None) -> Cell:
        return cell("–" if value is None else percent(value), value)

    yield Heading("Regressions", "regressions")
    yield Grid(
        "Regressions whose coefficients are compared on page one: means over the coefficients that "
        "differ from 0 in the original",
        [
            Field("Model", wide=True),
            Field("Family"),
            Field("Coefficients", numeric=True),
            Field("Relative to the original's", numeric=True),
            Field("Overlap of intervals", numeric=True),
        ],
        [
            [
                cell(_of_table(str(r["formula"]), r), None, "automatic" if r["automatic"] else ""),
                cell(r["family"]),
                cell(r["terms"], r["terms"]),
                share(r["coefficient_ratio"]),
                share(r["interval_overlap"]),
            ]
            for r in regressions
        ],
    )


def _models(models: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    if not models:
        return
    yield Heading("Models", "models")
    yield Grid(
        "Models fitted to both tables",
        [
            Field("Model"),
            Field("Family"),
            Field("Overlap of intervals", numeric=True),
            Field("Lack of fit", numeric=True),
        ],
        [
            [
                cell(_of_table(m["formula"], m), None, and_list(notes_of(m))),
                cell(m["family"]),
                cell(number(m["mean_overlap"], "", ""), m["mean_overlap"]),
                cell(number(m["lack_of_fit"], "", ""), m["lack_of_fit"], f"df {m['df']}"),
            ]
            for m in models
        ],
    )
    for i, model in enumerate(models, start=1):
        if model["coefficients"]:
            yield from _forest(model, i)


def _forest(model: Mapping[str, Any], place: int) -> Iterator[Block]:
    terms = model["coefficients"]
    drawn = sorted(terms, key=lambda t: -abs(t["standardised"]))[:MOST_TERMS]
    drawn = [t for t in terms if t in drawn]
    table = Grid(
        f"Coefficients of {model['formula']} with 95 % intervals",
        [
            Field("Term"),
            Field("Original", numeric=True),
            Field("Synthetic", numeric=True),
            Field("Difference in standard errors", numeric=True),
            Field("Overlap", numeric=True),
            Field("Same sign"),
            Field("Same significance"),
        ],
        [_coefficient(t) for t in terms],
        folded=True,
    )
    apart = [t["term"] for t in terms if not t["same_sign"]]
    worst = max(terms, key=lambda t: abs(t["standardised"]))
    yield Figure(
        f"chart-model-{place}",
        f"{model['formula']}: coefficients with 95 % intervals",
        f"{count(len(terms), 'coefficient')}. The largest difference is that of {worst['term']}, "
        f"{plain(worst['standardised'])} standard errors. "
        + (f"The sign differs for {and_list(apart)}." if apart else "All signs agree."),
        [("", charts.coefficients([_in_errors(t) for t in drawn]))],
        table,
        charts.FOREST_KEY,
    )
    yield table


def _in_errors(term: Mapping[str, Any]) -> dict[str, Any]:
    """Return a coefficient on the scale of the original's standard error."""
    error = (term["original_high"] - term["original_low"]) / (2 * Z95) or 1.0
    scaled = {
        f"{side}_{end}": (term[f"{side}_{end}"] - term["original"]) / error
        for side in ("original", "synthetic")
        for end in ("low", "high")
    }
    values = f"{plain(term['original'])} → {plain(term['synthetic'])}"
    gap = (term["synthetic"] - term["original"]) / error
    return {"term": term["term"], "values": values, "gap": gap, **scaled}


def _coefficient(term: Mapping[str, Any]) -> list[Cell]:
    def side(name: str) -> Cell:
        ends = f"[{plain(term[f'{name}_low'])}, {plain(term[f'{name}_high'])}]"
        return cell(plain(term[name]), term[name], ends)

    return [
        cell(term["term"]),
        side("original"),
        side("synthetic"),
        cell(plain(term["standardised"]), abs(term["standardised"])),
        cell(f"{term['overlap']:.2f}".replace("-", "−"), term["overlap"]),
        cell("yes" if term["same_sign"] else "no"),
        cell("yes" if term["same_significance"] else "no"),
    ]


def _rules(rules: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    if not rules:
        return

    def share(value: float | None) -> Cell:
        return cell("–" if value is None else percent(value), value)

    yield Heading("Rules", "rules")
    yield Grid(
        "Records that break a rule, of those it is about",
        [
            Field("Rule"),
            Field("Original", numeric=True),
            Field("Synthetic", numeric=True),
            Field("If columns were independent", numeric=True),
        ],
        [
            [
                cell(_of_table(r["name"], r)),
                share(r["original"]),
                share(r["synthetic"]),
                share(r["independent"]),
            ]
            for r in rules
        ],
    )
