"""Options for the randomness of a command: its seed and the secret key of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from caveat.cli import console
from caveat.seeds import MOST_SEED, TRIAL, is_guessable

__all__ = ["KeyOption", "SeedOption", "remark_on_draws"]

SeedOption = Annotated[
    int | None,
    typer.Option(min=0, max=MOST_SEED, help="Without --key: a repeatable trial, not for release."),
]
KeyOption = Annotated[
    Path | None,
    typer.Option(help="File of the secret key; created if missing. Same key and seed, same bytes."),
]


def remark_on_draws(root: int, do: str = "use --key FILE, or leave the seed out") -> None:
    """Say of a trial that it must not be released."""
    if is_guessable(root):
        console.remark(f"warning: {TRIAL}; {do}")
