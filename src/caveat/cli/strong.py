"""``caveat attack strong``: how sure someone can be who knows everything except this."""

from __future__ import annotations

import json as json_format
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from caveat.attack.entry import Attack
from caveat.attack.figures import check_aim
from caveat.attack.generator import plan_of
from caveat.cli import console
from caveat.cli.reading import Reader
from caveat.errors import CaveatError, CaveatWarning
from caveat.synthesis import load
from caveat.table import Table, write
from caveat.table.drafts import write_text

__all__ = ["attack_with_the_generator", "watched", "write_lines"]


BEFORE_ESTIMATE = 5.0  # seconds after which the pace is known
LONG = 120.0  # seconds from which on it is said
BOUND = "--sample 500 attacks so many records, drawn at random"


def attack_with_the_generator(
    attack: Attack,
    reader: Reader,
    original: Path,
    synthetic: list[Path],
    told: dict[str, Any],
    *,
    model: Path | None,
    records: Path | None,
    json: str | None,
    force: bool,
) -> None:
    """Run the attack on all copies together, print and write what it finds."""
    check_aim(told["record"], told["target"], told["membership"])
    if model is None and reader.document is None:
        raise CaveatError(
            "the attacker knows how the release was made",
            do="give --model FILE.caveat, --spec FILE.toml, or both if the model was made with it",
            code="command.option.absent",
        )
    table = reader.original(original)
    releases = [reader.release(path) for path in synthetic]
    generator = load(model) if model else plan_of(reader.synthesis, table)
    with watched(BOUND) as done:
        figures, lines = attack.run(table, releases, generator, **told, done=done)
    for name, value in figures.items():
        console.out.print(f"{name:<50} {_shown(value)}", markup=False)
    if json is not None:
        content = json_format.dumps(_plain(figures), indent=2)
        if json == "-":
            console.document(content)
        else:
            write_text(json, content + "\n", confidential=True, force=force)
    if records is not None:
        write_lines(lines, records, force=force)


def write_lines(lines: dict[str, Any], path: Path, *, force: bool) -> None:
    """Write what was found about single records, and say that it is confidential."""
    with console.notes():
        write(Table.from_frame(lines), path, force=force, confidential=True)
    console.remark(f"CONFIDENTIAL: single records written to {path}; not for release")


@contextmanager
def watched(bound: str = "") -> Iterator[Callable[[float], None]]:
    """Show how far the attack is, say how long it will be and how to bound it; pass warnings on."""
    with console.progress() as bar, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CaveatWarning)
        task = bar.add_task("attacking", total=1.0)
        start, told = time.monotonic(), False

        def advance(share: float) -> None:
            nonlocal told
            bar.advance(task, share)
            so_far, taken = bar.tasks[task].completed, time.monotonic() - start
            if bound and not told and taken > BEFORE_ESTIMATE and so_far > 0:
                told = True
                if taken / so_far > LONG:
                    minutes = taken / so_far / 60
                    console.remark(f"all of it will take about {minutes:,.0f} minutes; {bound}")

        yield advance
    for warning in caught:
        console.remark(f"note: {warning.message}")


def _shown(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    return f"{value:.4f}"


def _plain(figures: dict[str, Any]) -> dict[str, Any]:
    """Return figures for JSON, which has no infinity."""
    out = {}
    for name, value in figures.items():
        number = value.item() if isinstance(value, np.generic) else value
        infinite = isinstance(number, float) and math.isinf(number)
        out[name] = str(number) if infinite else number
    return out
