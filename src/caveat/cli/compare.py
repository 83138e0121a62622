"""``caveat compare``: what an analyst can still do with a release."""

from __future__ import annotations

import json as text_format
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid
from rich.text import Text

from caveat.cli import console
from caveat.cli.reading import Reader
from caveat.table.drafts import check_outputs, make_folder, write_text
from caveat.units import printed

if TYPE_CHECKING:
    from caveat.utility import ModelComparison, Result, Utility

__all__ = ["compare"]

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
        _print(found, str(original))
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


def _print(found: Utility, title: str) -> None:
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
