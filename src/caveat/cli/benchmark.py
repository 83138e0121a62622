"""``caveat benchmark``, ``tune``, ``generator`` and ``study``: generators and their settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import JustifyMethod
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.table import Table as Sheet
from rich.text import Text

from caveat.cli import console
from caveat.cli.reading import (
    ClusterOption,
    Reader,
    WorkOption,
    check_file,
    code_folders,
    on_cluster,
)
from caveat.errors import CaveatError
from caveat.notes import printed
from caveat.stopping import going_on_from
from caveat.table.drafts import check_output, check_outputs, write_text

if TYPE_CHECKING:
    from caveat.benchmark.run import Comparison
    from caveat.studies.study import Grid
    from caveat.tuning.bench import Point
    from caveat.tuning.tune import Tuning


AllowCommandOption = Annotated[
    bool,
    typer.Option(
        "--allow-command",
        help="Start commands that the specification names, after printing them.",
    ),
]


def benchmark(
    spec: Annotated[Path, typer.Argument(help="A specification with [[generator]] (bench.toml).")],
    folder: Annotated[
        Path | None, typer.Option(help="Where it goes [folder in the specification].")
    ] = None,
    date: Annotated[str | None, typer.Option(help="The date on the page [none].")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="[all cores]")] = None,
    cluster: ClusterOption = None,
    allow_command: AllowCommandOption = False,
    force: Annotated[
        bool, typer.Option("--force", help="Run everything again, also what is there already.")
    ] = False,
) -> None:
    """Compare generators on your data: the same records, attackers and analysts for all.

    A run that was stopped goes on where it was. A generator that fails is a row with its reason.
    """
    check_file(spec)
    from caveat.benchmark import Benchmark
    from caveat.spec.draft_spec import commands_of

    compared = Benchmark.from_toml(spec)
    for command in commands_of(compared.spec.generators) if allow_command else ():
        console.announce(f"{spec.name} starts with the confidential data: {command}")
    with console.notes(), console.progress() as bar:
        task = bar.add_task("starting", total=1.0)

        def tell(step: str, share: float) -> None:
            bar.update(task, description=step, completed=share)

        found = compared.run(
            folder, force=force, allow_command=allow_command, threads=threads, cluster=cluster,
            date=date, progress=tell,
        )  # fmt: skip
    show(found)


def show(found: Comparison) -> None:
    """Print the comparison in short."""
    from caveat.report.benchmark import risk_axis, summaries
    from caveat.report.wording import number, unit_of

    content = found.content
    every = summaries(content)
    shown = [name for name in (content["utility"], risk_axis(content, every)) if name in every]
    grid = Table(box=None, title="generators", title_justify="left", title_style="bold")
    grid.add_column("", header_style="dim")
    for name in (*shown, "CPU s"):
        grid.add_column(name, justify="right", header_style="dim")

    def value(name: str, label: str) -> str:
        one = every[name].get(label)
        return number(None if one is None else one.mean, name, unit_of(content, name))

    for generator in content["generators"]:
        costs = [t["cost"]["cpu"] for t in generator["trials"] if t["cost"] is not None]
        cpu = f"{sum(costs) / len(costs):.1f}" if costs else "–"
        label = generator["label"]
        grid.add_row(label, *(value(name, label) for name in shown), cpu)
    console.out.print(grid, markup=False)
    for generator, why in dict.fromkeys(_failed(content)):
        console.out.print(f"{generator} failed: {why}", markup=False, soft_wrap=True)
    page = found.folder / "benchmark.html"
    words = f"\n{page}: the whole comparison; evidence of each fit beside it"
    console.out.print(words, markup=False, soft_wrap=True)


def _failed(content: Any) -> list[tuple[str, str]]:
    return [
        (g["label"], "; ".join(part for part in (t["failed"], t["advice"]) if part))
        for g in content["generators"]
        for t in g["trials"]
        if t["failed"] is not None
    ]


# -------------------------------------------------------------------------------------------------
# ``caveat tune``: the setting that meets the limits of a specification with the best utility.


def tune(
    context: typer.Context,
    spec: Annotated[Path, typer.Argument(help="The specification (release.toml).")],
    data: Annotated[
        Path | None, typer.Option(help="The original data [data in the specification].")
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="Where measured settings are kept, to go on after an interruption "
                     "[SPEC with the ending .tune.json]."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything that was measured.")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw risk against utility (.html, .svg, .png).")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="[all cores]")] = None,
    cluster: ClusterOption = None,
    work: WorkOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:  # fmt: skip
    """Find the setting that meets the limits of a specification and keeps most utility."""
    memory = state or spec.with_suffix(".tune.json")
    outputs = [json_file, chart]
    check_outputs(outputs, force=force, inputs=[spec, data, memory])
    check_output(memory, force=True, inputs=[spec, data])
    check_file(spec, "synthesis", "tune")
    from caveat.charts import save
    from caveat.spec.document import Document
    from caveat.spec.spec import read_tune
    from caveat.tuning.tune import tune as run_tune

    search = read_tune(Document.read(spec))
    reader = Reader.of(spec)
    for section in ("groups", "tables"):
        if reader.document is not None and section in reader.document.content:
            reader.document.fail(
                (section,),
                f"{section}: the search compares settings row by row, on one table",
                "search without it, on one table; or try settings of [synthesis] with caveat run",
                code="spec.entry.unsupported",
            )
    check_outputs([*outputs, memory], force=True, inputs=reader.inputs)
    kept = context.with_resource(code_folders(work))
    table = reader.original(_named(data or reader.path, spec), kept())
    limits = ", ".join(map(str, search.limits))
    console.remark(f"comparing {len(search.settings)} settings; limits: {limits}")
    if memory.exists():
        console.remark(f"going on with what {memory} holds")
    with (
        on_cluster(cluster, work, memory),
        going_on_from(memory),
        console.progress() as bar,
    ):
        task = bar.add_task("tuning", total=1.0)

        def show(step: str, share: float) -> None:
            bar.update(task, description=step, completed=share)

        found = run_tune(table, search, state=memory, threads=threads, progress=show)
    if json_file is not None:
        write_text(json_file, json.dumps(found.to_dict(), indent=1), confidential=True, force=force)
    if chart is not None and search.limits:
        limit = search.limits[0]
        most = limit.to_dict()["most"]
        save(found.map.plot(limit.measure, search.objective, most), chart, force=force)
    _print(found)
    if found.chosen is None:
        raise typer.Exit(3)


def _named(path: Path | None, spec: Path) -> Path:
    if path is None:
        raise CaveatError(
            "the specification names no data",
            where=str(spec),
            do='write [data] and below it path = "file.csv"',
            code="spec.entry.absent",
        )
    return path


def _print(found: Tuning) -> None:
    from caveat.tuning.tune import excess, rank

    spec, names = found.spec, found.spec.question.measures
    best = sorted(found.points, key=partial(rank, spec))
    grid = Table(box=None, title="search, best first", title_justify="left", title_style="bold")
    grid.add_column("setting", header_style="dim", min_width=20)
    for name in ("seeds", *names):
        grid.add_column(name, justify="right", header_style="dim")
    broken = {str(limit): limit.measure for limit in spec.limits}
    for point in best[:10]:
        failed = {broken[name] for name, by in excess(spec, point).items() if by > 0}
        cells = [_cell(point, name, spec.objective, name in failed) for name in names]
        grid.add_row(str(point.setting), str(len(point.values)), *cells)
    console.out.print(grid, markup=False)
    if len(best) > 10:
        console.out.print(f"… and {len(best) - 10} more (see --json)")
    console.out.print(
        f"\n{spec.objective}: mean over the seeds; the others: the worst seed; !: breaks its limit",
        markup=False,
    )
    for line in dict.fromkeys(f"~ {name}: {how}" for p in best for name, how in p.how.items()):
        console.out.print(line, markup=False, soft_wrap=True)
    for point in best:
        reasons = dict.fromkeys(point.reasons.values())
        for line in (f"{point.setting}: none, {reason}" for reason in reasons):
            console.out.print(line, markup=False, soft_wrap=True)
    for line in _conclusion(found):
        console.out.print(line, markup=False, soft_wrap=True)


def _cell(point: Point, name: str, objective: str, broken: bool) -> str:
    value = point.mean(name) if name == objective else point.worst(name)
    shown = "none" if value is None else f"{_number(value, name)}{_mark(point, name)}"
    return shown + (" !" if broken else "  ")


def _number(value: float, measure: str, digits: int = 4) -> str:
    from caveat.spec.limits import unit_of

    return f"{printed(value, unit_of(measure)):.{digits}g}"


def _mark(point: Point, name: str) -> str:
    return "~" if name in point.how else ""


def _shown(point: Point, name: str) -> str:
    mean, worst = point.mean(name), point.worst(name)
    if mean is None or worst is None:
        return "none"
    error = max((errors.get(name, 0.0) for errors in point.errors), default=0.0)
    mark = _mark(point, name) + (f", error {_number(error, name, 2)}" if error else "")
    shown = _number(mean, name)
    if len(point.values) > 1:
        shown += f" ({_number(worst, name)})"
    return shown + mark


def _conclusion(found: Tuning) -> list[str]:
    spec, names = found.spec, found.spec.question.measures
    lines = [""]
    shown = found.chosen or found.closest
    numbers = ", ".join(f"{name} {_shown(shown, name)}" for name in names)
    if found.chosen is not None:
        lines += [f"chosen: {shown.setting}", f"on {spec.fresh} fresh seeds: {numbers}"]
        if len(found.confirmed) > 1:
            lines.append(f"{len(found.confirmed) - 1} better setting(s) failed on fresh seeds")
    else:
        lines.append("no setting meets the limits")
        lines += [f"  {line}" for line in found.binding()]
        lines.append(f"closest: {shown.setting}: {numbers}")
    free = ", ".join(f"{name} {_shown(found.free, name)}" for name in names)
    if found.chosen is not None and found.free.setting.key != found.chosen.setting.key:
        lines.append(f"without limits: {found.free.setting}: {free}")
        cost = _cost(found.chosen, found.free, spec.objective)
        if cost is not None:
            much = f"{_number(cost, spec.objective)} of {spec.objective}" if cost > 0 else "nothing"
            lines.append(f"the limits cost {much} (mean, same fresh seeds)")
    return lines


def _cost(chosen: Point, free: Point, objective: str) -> float | None:
    from caveat.utility import MEASURES

    mine, other = chosen.mean(objective), free.mean(objective)
    if mine is None or other is None:
        return None
    return other - mine if MEASURES[objective].direction == "higher is better" else mine - other


# -------------------------------------------------------------------------------------------------
# ``caveat generator``: other people's generators, each in an environment of its own.


generator_app = typer.Typer(
    name="generator",
    help="Install, list and try generators that are not ours; see the page on generators.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NAME = Annotated[str, typer.Argument(help="The generator; 'caveat generator list' shows all.")]


@generator_app.command("list")
def list_generators() -> None:
    """Show all generators: what each is, its licence, and whether it is installed."""
    from caveat.generators.contract import REFERENCES
    from caveat.generators.process import home
    from caveat.generators.registry import RECIPES, is_installed

    sheet = Sheet(box=None, padding=(0, 1))
    for head in ("name", "installed", "seeded", "licence", "what it is"):
        sheet.add_column(head, no_wrap=head in ("name", "licence"))
    ours = ("yes", "yes", "Apache-2.0")
    sheet.add_row("guarded, cart, …", *ours, "ours: every method of a synthesis")
    for entry in REFERENCES.values():
        sheet.add_row(entry.name, *ours, entry.says)
    sheet.add_row("outputs:FILE", *ours, "drafts from published numbers: caveat draft")
    for recipe in RECIPES.values():
        source = recipe.source
        there = "yes" if is_installed(source) else f"needs {source.program}" * bool(source.program)
        licence = f"{source.licence} (*)" if source.must_accept else source.licence
        seeded = "yes" if recipe.is_seeded else "no"
        sheet.add_row(recipe.name, there or "no", seeded, licence, recipe.says)
    console.out.print(sheet)
    console.out.print("(*) restricts the use: read it, then add with --accept-licence")
    console.remark(f"environments are in {home() / 'generators'}")


@generator_app.command()
def add(
    name: NAME,
    accept_licence: Annotated[
        bool,
        typer.Option("--accept-licence", help="Accept a licence that restricts the use (SDV)."),
    ] = False,
    uv: Annotated[bool, typer.Option("--uv", help="Let uv make the environment.")] = False,
) -> None:
    """Make the pinned environment of a generator.

    Example: caveat generator add arfpy
    """
    from caveat.generators import registry

    folder = registry.add(name, accept_licence=accept_licence, uv=uv, say=console.remark)
    console.remark(f"{name}: {folder}")


@generator_app.command("test")
def try_one(
    name: NAME,
    seconds: Annotated[float, typer.Option(help="Time limit of each run.")] = 600,
) -> None:
    """Try a generator on a small table of our own; exit 3 if it does not keep the contract.

    Example: caveat generator test arfpy
    """
    from caveat.generators import generator_of
    from caveat.generators.process import Limits
    from caveat.generators.registry import try_generator

    with console.notes(), console.progress() as bar:
        bar.add_task(f"trying {name}", total=None)
        found = try_generator(generator_of(name, limits=Limits(seconds=seconds)))
    for problem in found.problems:
        console.out.print(f"{name}: {problem}", markup=False)
    seeded = "the same seed gives the same table" if found.is_seeded else "not seeded"
    used = ""
    if found.cpu_seconds is not None:
        used = f", {found.cpu_seconds:.1f} CPU seconds, {found.peak_megabytes:,.0f} MB"
    if found.problems:
        raise typer.Exit(3)
    console.out.print(f"{name}: keeps the contract; {seeded}{used}", markup=False)


@generator_app.command()
def remove(name: NAME) -> None:
    """Remove the environment of a generator, with all generators that live in it."""
    from caveat.generators import registry

    console.remark(f"removed {registry.remove(name)}")


# -------------------------------------------------------------------------------------------------
# ``caveat study``: a published experiment, rerun and put beside the printed numbers.


def study(
    name: Annotated[str | None, typer.Argument(help="The study.")] = None,
    out: Annotated[Path | None, typer.Option(help="Save the pictures in this folder.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with data sets that some tables need.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace pictures that exist.")] = False,
    list_: Annotated[
        bool, typer.Option("--list", help="Show all: paper, what is rerun, time, data.")
    ] = False,
) -> None:
    """Rerun a published experiment and print our numbers beside the printed ones."""
    from caveat.studies import STUDIES
    from caveat.studies.study import Output

    if list_ or name is None:
        for entry in STUDIES.values():
            needs = f"; needs {entry.needs}" if entry.needs else ""
            console.out.print(entry.name, style="bold", markup=False)
            told = Text(f"{entry.says}\n{entry.paper}; takes {entry.takes}{needs}")
            console.out.print(Padding(told, (0, 0, 0, 2)))
        return
    if name not in STUDIES:
        raise CaveatError(
            f"there is no study {name!r}",
            do=f"choose among {', '.join(STUDIES)}",
            code="study.name.unknown",
        )
    with console.progress() as bar:
        bar.add_task(f"running {name}", total=None)
        result = STUDIES[name].run(Output(out, force, read=data), data)
    for grid in result.grids:
        _show(grid)
    for remark in result.remarks:
        console.remark(f"note: {remark}")
    for path in result.pictures:
        console.remark(f"picture: {path}")


def _show(grid: Grid) -> None:
    """Print a table whole: where it is too wide, as several with the same first column."""
    named = (0,) if len(grid.rows) > 1 else ()  # a single row has no name
    parts: list[tuple[int, ...]] = [(0,)]
    for group in grid.groups:
        longer = (*parts[-1], *group)
        is_bare = parts[-1] == named
        if is_bare or _width(_sheet(grid, longer)) <= console.out.width:
            parts[-1] = longer
        else:
            parts.append((*named, *group))
    console.out.print(grid.title, style="bold", markup=False)
    for part in parts:
        sheet = _sheet(grid, part)
        sheet.width = _width(sheet)  # a terminal may break a line, we never cut a number
        console.out.print(sheet, crop=False)
    console.out.print(f"{grid.note}\n" if grid.note else "", markup=False)


def _sheet(grid: Grid, columns: Sequence[int]) -> Sheet:
    """Return some columns of a table."""
    sheet = Sheet()
    for i in columns:
        justify: JustifyMethod = "right" if i or len(grid.rows) == 1 else "left"
        sheet.add_column(grid.header[i], justify=justify, no_wrap=True)
    for row in grid.rows:
        sheet.add_row(*(row[i] for i in columns))
    return sheet


def _width(sheet: Sheet) -> int:
    endless = console.out.options.update(width=1_000_000)
    return Measurement.get(console.out, endless, sheet).maximum
