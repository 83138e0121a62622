"""All commands in one application."""

from __future__ import annotations

from typing import Annotated

import typer

from caveat import __version__
from caveat.cli import console
from caveat.cli.attack import attack_app
from caveat.cli.audit import audit
from caveat.cli.benchmark import benchmark
from caveat.cli.check import check
from caveat.cli.compare import compare
from caveat.cli.draft import draft
from caveat.cli.generator import generator_app
from caveat.cli.init import init
from caveat.cli.look import look
from caveat.cli.measures import measures
from caveat.cli.places import places
from caveat.cli.replication import replication
from caveat.cli.report import report
from caveat.cli.run import run
from caveat.cli.safepub import safepub
from caveat.cli.study import study
from caveat.cli.synth import model_app, synth
from caveat.cli.tables import tables
from caveat.cli.tune import tune

__all__ = ["app"]

app = typer.Typer(
    name="caveat",
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


app.add_typer(attack_app, name="attack")
app.command()(audit)
app.command()(benchmark)
app.command()(check)
app.command()(compare)
app.command()(draft)
app.add_typer(generator_app, name="generator")
app.command()(init)
app.command()(look)
app.command()(measures)
app.command()(places)
app.command()(replication)
app.command()(report)
app.command()(run)
app.command()(safepub)
app.command()(study)
app.command()(synth)
app.command()(tables)
app.command()(tune)
app.add_typer(model_app, name="model")
