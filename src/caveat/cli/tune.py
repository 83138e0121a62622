"""``caveat tune``: the setting that meets the limits of a specification with the best utility."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as Grid

from caveat.cli import console
from caveat.cli.cluster import ClusterOption, WorkOption, code_folders, on_cluster
from caveat.cli.reading import Reader, check_file
from caveat.errors import CaveatError
from caveat.stopping import going_on_from
from caveat.table.drafts import check_output, check_outputs, write_text
from caveat.units import printed

if TYPE_CHECKING:
    from caveat.tuning.bench import Point
    from caveat.tuning.tune import Tuning

__all__ = ["tune"]


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
    grid = Grid(box=None, title="search, best first", title_justify="left", title_style="bold")
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
