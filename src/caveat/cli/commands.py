"""All commands in one application.

Each is loaded when it is chosen: most bring large libraries, which `caveat --help` does not need.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from caveat import __version__
from caveat.cli import console
from caveat.cli.console import with_hosts

__all__ = ["COMMANDS", "app", "command_of", "loaded"]

# The first paragraph of what each says about itself: it stands here too so that the list of
# commands can be shown without loading any of them.
COMMANDS = {
    "app": "Work in the browser: from a file to a report and a decision, on this machine alone.",
    "audit": "Measure what a release gives away about the people in the original.",
    "benchmark": "Compare generators on your data: the same records, attackers and analysts for "
    "all.",
    "check": "Say of each output whether it may leave: safe, needs review or refuse, and why.",
    "compare": "Measure what an analyst can still do with a release.",
    "diff": "Say what changed between two releases: specification, risk, utility and files.",
    "draft": "Make a file from published numbers, without access to any microdata.",
    "explain": "Say in plain words what a release gives away about one record, and what would "
    "change it.",
    "init": "Write a release specification after a few questions.",
    "look": "Report what has to be decided before FILE is synthesised.",
    "measures": "Say what each measure is, for which attacker, and what it cannot see.",
    "places": "Move places into a ring around the true ones, or measure places that were moved.",
    "replication": "Say how often the small cells of the original come out true over the copies.",
    "report": "Write the report that a review board reads.",
    "run": "Make a release: synthesise, protect, attack, measure, and write the evidence down.",
    "safepub": "Release some of the real records, generalised, under (epsilon, delta)-differential "
    "privacy.",
    "study": "Rerun a published experiment and print our numbers beside the printed ones.",
    "synth": "Make synthetic copies of a table by guarded trees, or as the specification says.",
    "tables": "Make tables of counts or magnitudes in which no hidden cell can be computed.",
    "tune": "Find the setting that meets the limits of a specification and keeps most utility.",
    "attack": "Attack a release: with the strong attacker, exact or by simulation, or with "
    "ordinary means. Each attack is a command of its own.",
    "generator": "Install, list and try generators that are not ours; see the page on generators.",
    "model": "Look into model files.",
}
# Commands with commands of their own.
_GROUPS = {"attack": "attack_app", "generator": "generator_app", "model": "model_app"}
# Where commands lie that have no module of their name.
_MODULES = {
    "app": "run", "audit": "measures", "check": "tables", "compare": "measures", "diff": "run",
    "draft": "synth", "explain": "run", "generator": "benchmark", "init": "look", "model": "synth",
    "places": "records", "replication": "measures", "report": "run", "safepub": "records",
    "study": "benchmark", "tune": "benchmark",
}  # fmt: skip
# The name is taken by the application itself.
_CALLED = {"app": "serve"}


def command_of(name: str) -> Any:
    """Return what a command is made from: a function, or an application with commands."""
    module = import_module(f"caveat.cli.{_MODULES.get(name, name)}")
    return getattr(module, (_GROUPS | _CALLED).get(name, name))


@cache
def loaded(name: str) -> Any:
    """Return a command, loaded."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.callback()(_nothing)  # one command in a group stays a command
    what = command_of(name)
    if name in _GROUPS:
        alone.add_typer(what, name=name)
    else:
        alone.command(name)(with_hosts(what))
    group: Any = get_command(alone)
    return group.commands[name]


def _nothing() -> None:
    pass


class _Commands(TyperGroup):
    """The commands by name; the list of them shows what is said about each above."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        for name, says in COMMANDS.items():
            self.commands[name] = TyperCommand(name=name, help=says, rich_markup_mode=None)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; a database server that stands among them is named by the user."""
        from caveat.table.source import allow_source

        for argument in args:
            if "postgres" in argument.lower():
                name, equals, value = argument.partition("=")
                allow_source(value if name.startswith("--") and equals else argument)
        return list(super().parse_args(ctx, args))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command that was chosen, loaded."""
        del ctx
        return loaded(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands, and load none."""
        TyperGroup(commands=dict(self.commands)).format_commands(ctx, formatter)


app = typer.Typer(
    name="caveat",
    cls=_Commands,
    help="Make synthetic microdata, and know before the release what they give away.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"caveat {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print results only: no progress, no remarks.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    del version
    console.set_quiet(quiet)
