"""``caveat generator``: other people's generators, each in an environment of its own."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table as Sheet

from caveat.cli import console

__all__ = ["generator_app"]

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
