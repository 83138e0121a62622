"""``caveat benchmark``: which generator, on these data, at what risk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as Grid

from caveat.cli import console
from caveat.cli.cluster import ClusterOption
from caveat.cli.reading import check_file

if TYPE_CHECKING:
    from caveat.benchmark.run import Comparison

__all__ = ["AllowCommandOption", "benchmark", "show"]

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
    grid = Grid(box=None, title="generators", title_justify="left", title_style="bold")
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
