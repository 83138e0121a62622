"""``caveat audit``, ``compare``, ``replication`` and ``measures``: what is measured."""

from __future__ import annotations

import json as text_format
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid
from rich.text import Text

from caveat.cli import console
from caveat.cli.reading import (
    ClusterOption,
    Reader,
    WorkOption,
    code_folders,
    column_numbers,
    on_cluster,
)
from caveat.errors import CaveatError
from caveat.notes import SIGNS, printed
from caveat.table import Table, write
from caveat.table.drafts import check_outputs, make_folder, write_text
from caveat.table.grouping import Groups

if TYPE_CHECKING:
    from caveat.risk import Audit, Measure
    from caveat.utility import ModelComparison, Result, Utility


WIDEST_NAME = 24


def measures(
    name: Annotated[
        str | None, typer.Argument(help="A measure; without it all are listed.")
    ] = None,
) -> None:
    """Say what each measure is, for which attacker, and what it cannot see."""
    # The rooms of the attackers and of utility bring entries of their own, and large libraries.
    import caveat.attack.registry  # noqa: F401  (entries join the table of the risk measures)
    from caveat.risk import MEASURES
    from caveat.utility import MEASURES as UTILITY

    if name is None:
        _list([*MEASURES.values(), *UTILITY.values()])
    else:
        _show(UTILITY[name] if name in UTILITY else MEASURES[name])


def _list(measures: Iterable[Measure]) -> None:
    for family, members in groupby(measures, key=lambda measure: measure.family):
        console.out.print(family, style="bold", markup=False)
        grid = Grid(box=None, show_header=False, padding=(0, 1, 0, 2))
        grid.add_column(no_wrap=True, min_width=WIDEST_NAME)
        grid.add_column()
        for measure in members:
            said = Text.assemble(measure.says, (f" (limits: {measure.blind})", "dim"))
            grid.add_row(f"{measure.name} {SIGNS[measure.unit]}".strip(), said)
        console.out.print(grid)
    console.out.print("caveat measures NAME says more about one of them.")


def _show(measure: Measure) -> None:
    from caveat.risk import Property

    fails = "; ".join(p for p in Property if p in measure.fails)
    lines = {
        "says": measure.says,
        "attacker": measure.attacker,
        "formula": measure.formula,
        "unit": SIGNS[measure.unit],
        "direction": measure.direction,
        "baseline": measure.baseline or "none",
        "needs": ", ".join(sorted(measure.needs)),
        "source": measure.source,
        "cannot see": measure.blind_spot,
        "properties it fails": fails or "none on the published counter-examples",
    }
    if measure.attacker == "none":  # a utility measure: the five properties are about risk
        del lines["attacker"], lines["properties it fails"]
    grid = Grid(
        title=measure.name, title_justify="left", title_style="bold", box=None, show_header=False
    )
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for title, text in lines.items():
        grid.add_row(title, text)
    console.out.print(grid, markup=False)


# -------------------------------------------------------------------------------------------------
# ``caveat audit``: what a release gives away, measure by measure, with what each cannot see.


def audit(
    context: typer.Context,
    original: Annotated[Path, typer.Argument(help="The confidential table.")],
    synthetic: Annotated[list[Path], typer.Argument(help="The release, or its copies.")],
    keys: Annotated[
        str, typer.Option(help="Columns an attacker may know, with commas between them.")
    ],
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--targets",
            "--target",
            help="Columns she may want to learn, with commas between them [all other columns].",
        ),
    ] = None,
    control: Annotated[
        Path | None, typer.Option(help="Records of people who were not used for the release.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="A measure (see: caveat measures); repeat it; 'all' for all."),
    ] = None,
    subsets: Annotated[
        int | None, typer.Option(help="Repeat for each combination of so many keys.")
    ] = None,
    groups: Annotated[
        list[str] | None, typer.Option(help="Cut a numeric column: age=10. Repeat it.")
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(help="Match a numeric column up to a distance: age=2. Repeat it."),
    ] = None,
    exclude_level: Annotated[
        list[str] | None,
        typer.Option(help="A target level whose disclosure does not count: work=NO. Repeat it."),
    ] = None,
    exclude_missing: Annotated[
        list[str] | None, typer.Option(help="A column whose missing values do not count.")
    ] = None,
    group_key: Annotated[
        str | None,
        typer.Option(help="The key of groups (households …), fresh in the release: it is no data."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Leave out cells with more records than this.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="A TOML file that declares kinds and missing codes.")
    ] = None,
    json: Annotated[
        str | None, typer.Option(help="Write all results to this file, or to the screen with '-'.")
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(help="CONFIDENTIAL: write which original records carry each measure."),
    ] = None,
    cluster: ClusterOption = None,
    work: WorkOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Measure what a release gives away about the people in the original."""
    outputs = [records, None if json in (None, "-") else Path(json or "")]
    check_outputs(outputs, force=force, inputs=[original, *synthetic, control, schema])
    reader = Reader.of(schema)
    if group_key is not None:
        reader = replace(reader, groups=Groups(group_key))
    check_outputs(outputs, force=force, inputs=reader.inputs)
    context.with_resource(on_cluster(cluster, work, records or synthetic[0]))
    kept = context.with_resource(code_folders(work))
    table = reader.data(reader.original(original, kept()))
    releases = [reader.data(reader.release(path, kept())) for path in synthetic]
    outside = None if control is None else reader.data(reader.original(control, kept()))
    # The measures bring a compiler and SciPy: only when there is something to measure.
    from caveat.risk import audit as run_audit

    found = run_audit(
        table,
        releases,
        keys=_split(keys),
        targets=None if target is None else [name for part in target for name in _split(part)],
        control=outside,
        measures=measure,
        subsets=subsets,
        groups=column_numbers(groups, "--groups", int),
        tolerance=column_numbers(tolerance, "--tolerance", float),
        exclude_levels=_levels(exclude_level),
        exclude_missing=tuple(exclude_missing or ()),
        limit=limit,
    )
    _write(found, json, records, force=force)
    if json != "-":
        _print(found)


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _levels(given: Sequence[str] | None) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise CaveatError(
                "a level is excluded as column=level",
                where="--exclude-level",
                do="name both",
                code="command.option.malformed",
            )
        out.setdefault(name, []).append(value)
    return out


def _write(found: Audit, json: str | None, records: Path | None, *, force: bool) -> None:
    if json == "-":
        console.document(found.to_json())
    elif json is not None:
        write_text(json, found.to_json(), confidential=True, force=force)
        console.remark(f"results written to {json}")
    if records is not None:
        with console.notes():
            write(Table.from_frame(found.records()), records, force=force, confidential=True)
        console.remark(f"CONFIDENTIAL: single records written to {records}; not for release")


def _blind_spots(blind: list[tuple[str, str]]) -> Grid:
    grid = Grid(box=None, show_edge=False, header_style="dim")
    grid.add_column("cannot see", ratio=1)
    grid.add_column("", ratio=3)
    for names, text in blind:
        grid.add_row(names, text)
    return grid


def _print(found: Audit) -> None:
    from caveat.risk.result import heading, sections, warning_lines

    for difference in found.differences:
        if not difference.is_alarm:
            console.remark(f"note: {difference}")
    for remark in found.remarks:
        console.remark(f"note: {remark}")
    for line in warning_lines(found):
        console.out.print(line, markup=False, style="bold red")
    console.out.print(heading(found), markup=False)
    for section in sections(found):
        console.out.print()
        grid = Grid(title=section.title, title_justify="left", title_style="bold", box=None)
        for i, name in enumerate(section.header):
            grid.add_column(name, justify="right" if i else "left", header_style="dim")
        for row in section.rows:
            grid.add_row(*row)
        console.out.print(grid, markup=False)
        if section.blind:
            console.out.print(_blind_spots(section.blind), markup=False)
        for remark in section.remarks:
            console.out.print(f"  ! {remark}", markup=False)
    console.out.print()
    console.out.print(
        "baseline: what there is without the release; original: if the original itself were "
        "released. `caveat measures NAME` says what a measure is and what it cannot see.",
        markup=False,
    )


# -------------------------------------------------------------------------------------------------
# ``caveat compare``: what an analyst can still do with a release.


WIDEST = 100
WORST = 5


def compare(
    original: Annotated[Path, typer.Argument(help="The confidential table.")],
    synthetic: Annotated[list[Path], typer.Argument(help="The release, or its copies.")],
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model to fit on both sides: 'income ~ age + sex'. Repeat it."),
    ] = None,
    control: Annotated[
        Path | None, typer.Option(help="Records that were not used to make the release.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            help="The original's column of survey weights that the release was made with."
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="The key of groups (households …): their structure is measured too."),
    ] = None,
    model_rows: Annotated[
        int | None,
        typer.Option(
            min=100,
            help="Rows of each table that models are fitted to: larger ones are sampled for that. "
            "Counts are over all.  [default: 50000]",
        ),
    ] = None,
    charts: Annotated[
        Path | None, typer.Option(help="A folder for charts as HTML, SVG and PNG.")
    ] = None,
    json: Annotated[
        str | None, typer.Option(help="Write all results to this file, or to the screen with '-'.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="A TOML file that declares kinds and missing codes.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Measure what an analyst can still do with a release."""
    models = model or []
    json_path = Path(json) if json not in (None, "-") else None
    targets = [] if charts is None else _chart_files(charts, len(models))
    outputs = [json_path, *targets]
    check_outputs(outputs, force=force, inputs=[original, *synthetic, control, schema])
    reader = Reader.of(schema)
    check_outputs(outputs, force=force, inputs=reader.inputs)
    tables = [reader.original(original), *(reader.release(path) for path in synthetic)]
    outside = None if control is None else reader.original(control)
    # scikit-learn, statsmodels and Altair take a second to load: not for `caveat --help`.
    from caveat.utility import compare as run_compare

    with console.progress() as bar:
        task = bar.add_task("reading", total=1.0)
        found = run_compare(
            tables[0],
            tables[1:],
            models=models,
            control=outside,
            weights=weights or reader.synthesis.get("weights"),
            groups=groups or reader.groups,
            model_rows=model_rows,
            progress=lambda step, share: bar.update(task, description=step, completed=share),
        )
    content = text_format.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    if json == "-":
        console.document(content)
    else:
        _print_comparison(found, str(original))
    if json_path is not None:
        write_text(json_path, content + "\n", confidential=True, force=force)
        console.remark(f"written: {json_path}")
    if charts is not None:
        _draw(found, charts, targets, force=force)


def _chart_files(folder: Path, n_models: int) -> list[Path]:
    """Return the files of all charts, format by format, and make the folder."""
    from caveat.charts import FORMATS

    make_folder(folder, confidential=True)
    names = ["distributions", "two-way", "associations", "propensity"]
    names += [f"model-{i}" for i in range(1, n_models + 1)]
    return [folder / f"{name}.{kind}" for name in names for kind in FORMATS]


def _draw(found: Utility, folder: Path, targets: list[Path], *, force: bool) -> None:
    from caveat.utility import charts as draw
    from caveat.utility.entries.general import cart_of

    drawn: dict[str, Any] = {"distributions": draw.distributions(found.first)}
    if len(found.first.names) > 1:
        drawn["two-way"] = draw.two_way(found.tables(2), found.tables(1))
        drawn["associations"] = draw.correlation_difference(found.associations)
    drawn["propensity"] = draw.propensity_scores(cart_of(found.first))
    for i, fitted in enumerate(found.models, 1):
        drawn[f"model-{i}"] = draw.coefficient_forest(fitted)
    for target in targets:
        if target.stem in drawn:
            draw.save(drawn[target.stem], target, force=force, confidential=True)
    console.remark(f"written: {len(targets)} files in {folder}")


def _print_comparison(found: Utility, title: str) -> None:
    out, width = console.out, min(console.out.width, WIDEST)
    copies = len(found.pairs)
    rows = f"{found.first.n_original:,} rows, {len(found.first.names)} variables"
    against = "1 synthetic table" if copies == 1 else f"{copies} synthetic tables"
    for warning in found.warnings:
        out.print(Text(f"WARNING: {warning}", style="bold red"), width=width)
    out.print(Text.assemble((title, "bold"), f"  {rows}, against {against}"), width=width)
    out.print()
    out.print(_measures(found), width=width)
    out.print(
        Text(
            "resample: a bootstrap sample of the original against the original, what sampling "
            "error alone would give",
            style="italic",
        ),
        width=width,
    )
    for result in found.results:
        for note in result.measurement.notes:
            if result.value is None or note.code in ("twins", "sampled-rows"):
                out.print(Text(f"{result.label}: {note}", style="italic"), width=width)
    parts = [("Variables that fare worst", _variables(found))]
    if len(found.first.names) > 1:
        parts.append(("Two-way tables that fare worst", _tables(found)))
    numbered = enumerate(found.models, 1)
    parts += [(f"({i}) {m.formula}, {m.family}", _model(m)) for i, m in numbered]
    for heading, grid in parts:
        out.print()
        out.print(Text(heading, style="bold"), width=width)
        out.print(grid, width=width)
    for fitted in found.models:
        console.remark(f"{fitted.formula}: {_fit(fitted)}")
    for remark in found.remarks:
        if remark not in found.warnings:
            console.remark(remark)


def _grid(*columns: str) -> Grid:
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for i, column in enumerate(columns):
        grid.add_column(column, justify="left" if i == 0 else "right", no_wrap=i > 0)
    return grid


def _number(value: float | None, unit: str = "score") -> str:
    if value is None:
        return "–"
    value = printed(value, unit)
    if value == 0 or 0.001 <= abs(value) < 10_000:
        return f"{value:.4g}"
    return f"{value:.2e}" if abs(value) < 0.001 else f"{value:,.0f}"


def _measures(found: Utility) -> Grid:
    from caveat.utility import BEST

    columns = ["measure", "release", "resample"]
    second, outside = len(found.pairs) > 1, found.control_rows is not None
    columns += ["2nd copy"] if second else []
    columns += ["control"] if outside else []
    grid = _grid(*columns, "ideal")
    for family, results in groupby(found.results, key=lambda result: result.measure.family):
        grid.add_row(Text(family, style="underline"))
        for result in results:
            unit, beside = result.measure.unit, result.references
            cells = [_number(result.value, unit), _number(beside.resample, unit)]
            cells += [_number(beside.second_copy, unit)] if second else []
            cells += [_number(beside.control, unit)] if outside else []
            # A standardised statistic is 1 on average even if the synthesis is right.
            ideal = "≤ 1" if unit == "ratio" else _number(BEST[result.measure.name], unit)
            grid.add_row(f"  {_label(result, found)}", *cells, ideal)
    return grid


def _label(result: Result, found: Utility) -> str:
    """Return a label with the number of its model instead of the formula."""
    name, _, rest = result.label.partition(": ")
    formulas = [m.formula for m in found.models]
    model = next((i for i, f in enumerate(formulas, 1) if rest.endswith(f)), None)
    return result.label if model is None else f"{name} ({model})"


def _variables(found: Utility) -> Grid:
    singles = dict(found.tables(1).ranked())
    pairs = found.tables(2).variable_scores() if len(found.first.names) > 1 else {}
    scores = pairs or {names[0]: value for names, value in singles.items()}
    known = {variable.name: variable for variable in found.variables}
    grid = _grid("variable", "S_pMSE", "in pairs", "total variation", "levels gone", "missing")
    for name in list(scores)[:WORST]:
        variable = known[name]
        gone = "–" if variable.vanished is None else str(variable.vanished)
        grid.add_row(
            name,
            _number(singles.get((name,))),
            _number(pairs.get(name)),
            _number(variable.total_variation),
            gone,
            _number(variable.missing_similarity),
        )
    return grid


def _tables(found: Utility) -> Grid:
    grid = _grid("variables", "S_pMSE")
    for names, value in found.tables(2).ranked()[:WORST]:
        grid.add_row(" × ".join(names), _number(value))
    return grid


def _model(fitted: ModelComparison) -> Grid:
    grid = _grid("term", "original", "synthetic", "Δ / se", "overlap", "sign", "significance")
    for row in fitted.coefficients.rows():
        grid.add_row(
            row["term"],
            _number(row["original"]),
            _number(row["synthetic"]),
            f"{row['standardised']:.2f}",
            f"{row['overlap']:.2f}",
            "same" if row["same_sign"] else "OTHER",
            "same" if row["same_significance"] else "OTHER",
        )
    return grid


def _fit(fitted: ModelComparison) -> str:
    fit = "" if fitted.lack_of_fit is None else f"; lack of fit {fitted.lack_of_fit:.1f}"
    notes = "".join(f"; {note}" for note in fitted.notes)
    return f"mean overlap {fitted.mean_overlap:.2f}{fit} on {fitted.df} degrees of freedom{notes}"


# -------------------------------------------------------------------------------------------------
# ``caveat replication``: how often a small cell comes out true over the copies.


def replication(
    original: Annotated[Path, typer.Argument(help="The confidential table.")],
    copies: Annotated[list[Path], typer.Argument(help="Two or more runs, or synthetic copies.")],
    by: Annotated[list[str], typer.Option(help="A column of the cells. Repeat it.")],
    k: Annotated[int, typer.Option(help="Cells with fewer records are small: 3, 5 or 10.")] = 3,
    often: Annotated[
        float, typer.Option(help="True in this share of the copies is systematic.")
    ] = 0.9,
    rounded: Annotated[
        bool,
        typer.Option(
            "--rounded", help="Counts below k are shown as 0 or k at random, in each copy anew."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="With --rounded: seed of the draws.")] = 0,
    json: Annotated[
        str | None,
        typer.Option(help="Write the results with all small cells to this file, or '-': screen."),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="A TOML file that declares kinds and missing codes.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Say how often the small cells of the original come out true over the copies.

    A cell that does in nearly every copy is replicated systematically, not by chance.

    Example: caveat replication people.csv run-1.csv run-2.csv run-3.csv --by age --by sex
    """
    json_path = Path(json) if json not in (None, "-") else None
    check_outputs([json_path], force=force, inputs=[original, *copies, schema])
    reader = Reader.of(schema)
    check_outputs([json_path], force=force, inputs=reader.inputs)
    tables = [reader.original(original), *(reader.release(path) for path in copies)]
    from caveat.outputs.plan_risk import replication as audit
    from caveat.protect import stochastic_round
    from caveat.seeds import child_seed

    found = audit(
        tables[0],
        tables[1:],
        by,
        k=k,
        often=often,
        shown=(lambda counts, copy: stochastic_round(counts, k, seed=child_seed(seed, copy)))
        if rounded
        else None,
    )
    content = text_format.dumps(found.to_dict(cells=True), indent=2, ensure_ascii=False)
    if json_path is not None:
        write_text(json_path, content + "\n", confidential=True, force=force)
    if json == "-":
        console.document(content)
    else:
        for sentence in found.sentences():
            console.out.print(sentence, markup=False, soft_wrap=True)
    if json_path is not None:
        console.remark(f"written: {json_path}")
