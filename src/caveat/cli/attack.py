"""``caveat attack``: how sure someone can be who knows everything except this."""

from __future__ import annotations

import json as json_format
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from caveat.cli import console
from caveat.cli.reading import Reader, column_numbers
from caveat.errors import CaveatError, CaveatWarning
from caveat.risk.scenario import DEFAULT_PRIOR, NamedPrior
from caveat.synthesis import Model, Plan, load, make_plan
from caveat.table import Table, write
from caveat.table.atomic import check_outputs, write_text

__all__ = ["attack"]


def attack(
    original: Annotated[Path, typer.Argument(help="The confidential table.")],
    synthetic: Annotated[list[Path], typer.Argument(help="The release, or its copies.")],
    model: Annotated[
        Path | None, typer.Option(help="The fitted model that made the release.")
    ] = None,
    spec: Annotated[
        Path | None, typer.Option(help="A TOML file with [columns] and [synthesis].")
    ] = None,
    record: Annotated[
        int | None, typer.Option(min=1, help="Attack this row, counted from 1.")
    ] = None,
    unknown: Annotated[
        str | None,
        typer.Option(help="With --record: columns she does not know, with commas [all]."),
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="Attack the --target of every record.")
    ] = False,
    target: Annotated[str | None, typer.Option(help="With --all: the column to learn.")] = None,
    membership: Annotated[
        bool, typer.Option("--membership", help="Ask of every record whether it was in the data.")
    ] = False,
    prior: Annotated[
        str, typer.Option(help="conditional (on what she knows), marginal or uniform.")
    ] = DEFAULT_PRIOR,
    limit: Annotated[
        float, typer.Option(min=0, max=1, help="From this probability on it is a disclosure.")
    ] = 0.9,
    records: Annotated[
        Path | None, typer.Option(help="CONFIDENTIAL: write the result of every record here.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the figures to this file.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="[all cores]")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    kind: Annotated[
        str | None,
        typer.Option(
            help="With the release alone: classifier, singling-out, linkability, inference, "
            "outliers, membership or distances."
        ),
    ] = None,
    keys: Annotated[
        str | None, typer.Option(help="With --kind: columns she knows, with commas.")
    ] = None,
    second: Annotated[
        str | None, typer.Option(help="linkability: columns that the second party knows.")
    ] = None,
    control: Annotated[
        Path | None, typer.Option(help="With --kind: people who were not in the data.")
    ] = None,
    subsets: Annotated[
        int | None, typer.Option(min=1, help="classifier: every combination of so many keys.")
    ] = None,
    columns: Annotated[
        int, typer.Option(min=1, help="singling-out: columns in a description.")
    ] = 4,
    neighbours: Annotated[
        int, typer.Option(min=1, help="linkability: nearest records each party takes.")
    ] = 1,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(help="With --kind: how far a number may lie off: age=2. Repeat it."),
    ] = None,
    fraction: Annotated[
        float | None, typer.Option(help="membership: share of the population in the data, for F1.")
    ] = None,
    attacks: Annotated[int, typer.Option(min=1, help="With --kind: how many attacks.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="With --kind: root of the randomness.")] = 0,
) -> None:
    """Attack a release: as someone who knows the generator and all others, or with --kind."""
    outputs = [records, None if str(json) == "-" else json]
    check_outputs(outputs, force=force, inputs=[original, *synthetic, model, spec, control])
    if kind is not None:
        _with_the_release_alone(record, everyone, membership, model, unknown, records)
        from caveat.attack.ordinary import Options
        from caveat.cli.ordinary import attack_of_kind, names

        reader = Reader.of(spec)
        check_outputs(outputs, force=force, inputs=reader.inputs)
        options = Options(
            keys=names(keys), second=names(second), target=target,
            control=None if control is None else reader.original(control),
            size=subsets, columns=columns,
            tolerance=column_numbers(tolerance, "--tolerance", float),
            neighbours=neighbours, fraction=fraction, attacks=attacks, seed=seed,
        )  # fmt: skip
        attack_of_kind(
            kind,
            reader.original(original),
            [reader.release(path) for path in synthetic],
            options,
            json=None if json is None else str(json),
            force=force,
        )
        return
    if (record is not None) + everyone + membership != 1:
        raise CaveatError(
            "it is not clear what to attack",
            do="use one of --record N, --all --target COLUMN, --membership, --kind KIND",
        )
    if everyone == (target is None):
        raise CaveatError("--all and --target belong together", do="give both or neither")
    from caveat.attack.priors import named_prior

    beliefs = named_prior(prior)
    reader = Reader.of(_known(model, spec))
    check_outputs(outputs, force=force, inputs=reader.inputs)
    table = reader.original(original)
    releases = [reader.release(path) for path in synthetic]
    generator = load(model) if model else make_plan(table, reader.synthesis)
    with _watched() as done:
        if record is not None:
            figures, lines = _one(
                table, releases, generator, record - 1, unknown, beliefs, limit, threads, done
            )
        elif membership:
            figures, lines = _members(table, releases, generator, limit, threads, done)
        else:
            figures, lines = _all(
                table, releases, generator, str(target), beliefs, limit, threads, done
            )
    for name, value in figures.items():
        console.out.print(f"{name:<50} {_shown(value)}", markup=False)
    if json is not None:
        content = json_format.dumps(_plain(figures), indent=2)
        if str(json) == "-":
            console.document(content)
        else:
            write_text(json, content + "\n", force=force)
    if records is not None:
        with console.notes():
            write(Table.from_frame(lines), records, force=force)
        console.remark(f"CONFIDENTIAL: single records written to {records}; not for release")


def _with_the_release_alone(*others: object) -> None:
    """Refuse what belongs to the attacker who knows the generator."""
    if any(others):
        raise CaveatError(
            "--kind is an attack with the release alone",
            do="drop --record, --all, --membership, --model, --unknown and --records",
        )


def _known(model: Path | None, spec: Path | None) -> Path | None:
    """Return the specification; refuse an attacker who knows nothing about the generator."""
    if model is None and spec is None:
        raise CaveatError(
            "the attacker knows how the release was made",
            do="give --model FILE.caveat, --spec FILE.toml, or both if the model was made with it",
        )
    return spec


@contextmanager
def _watched() -> Iterator[Callable[[float], None]]:
    """Show how far the attack is, and pass warnings on as remarks."""
    with console.progress() as bar, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CaveatWarning)
        task = bar.add_task("attacking", total=1.0)
        yield lambda share: bar.advance(task, share)
    for warning in caught:
        console.remark(f"note: {warning.message}")


def _one(
    table: Table, releases: list[Table], generator: Model | Plan, record: int,
    unknown: str | None, prior: NamedPrior, limit: float, threads: int | None,
    done: Callable[[float], None],
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    from caveat.attack import posterior

    if record >= table.n_rows:
        raise CaveatError(
            f"there is no row {record + 1}",
            where="--record",
            do=f"choose from 1 to {table.n_rows:,}",
        )
    names = None if unknown is None else [n.strip() for n in unknown.split(",") if n.strip()]
    found = posterior(
        table, releases, record, unknown=names, generator=generator, prior=prior,
        threads=threads, done=done,
    )  # fmt: skip
    figures = {
        "probability of the truth": found.probability,
        "before the release": float(found.prior[found.truth]),
        "gain (factor)": found.gain,
        "rank of the truth": found.rank,
        "candidates": len(found.prior),
        "best guess is right": found.correct,
        "left to learn (bits)": found.entropy,
        "to learn before the release (bits)": found.prior_entropy,
        f"disclosed (probability at least {limit:g})": found.probability >= limit,
    }
    lines = {
        "candidate": np.arange(1, len(found.prior) + 1),
        "prior": found.prior,
        "posterior": found.probabilities,
        "truth": np.arange(len(found.prior)) == found.truth,
    }
    for name in found.candidates:
        lines[name] = found.candidates[name].values
    return figures, lines


def _members(
    table: Table, releases: list[Table], generator: Model | Plan, limit: float,
    threads: int | None, done: Callable[[float], None],
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    from caveat.attack import membership

    found = membership(table, releases, generator=generator, threads=threads, done=done)
    chance = found.posterior(0.5)
    figures = {
        "records": len(chance),
        f"membership shown (probability at least {limit:g}, %)": 100 * (chance >= limit).mean(),
        "release impossible without the record (%)": 100 * np.isposinf(found.log_ratio).mean(),
        "median log-likelihood ratio": float(np.nanmedian(found.log_ratio)),
        "row most exposed": found.worst + 1,
    }
    # No file format of ours has an infinite number: the cell is empty and the next one says why.
    certain = np.isinf(found.log_ratio)
    ratio = np.where(certain, np.nan, found.log_ratio)
    without, never = np.isposinf(found.log_ratio), np.isneginf(found.log_ratio)
    impossible = np.select([without, never], ["without the record", "with the record"], "")
    return figures, {
        "row": found.records + 1, "log_ratio": ratio, "release_impossible": impossible,
        "probability": chance,
    }  # fmt: skip


def _all(
    table: Table, releases: list[Table], generator: Model | Plan, target: str, prior: NamedPrior,
    limit: float, threads: int | None, done: Callable[[float], None],
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    from caveat.attack import attributes

    found = attributes(
        table, releases, target, generator=generator, prior=prior, threads=threads, done=done
    )
    figures = {
        "records": len(found.records),
        f"disclosed (probability at least {limit:g}, %)": 100 * (found.probability >= limit).mean(),
        "disclosed before the release (%)": 100 * (found.prior_probability >= limit).mean(),
        "best guess is right (%)": 100 * found.correct.mean(),
        "right before the release (%)": 100 * found.prior_correct.mean(),
        "mean probability of the truth": found.probability.mean(),
        "before the release": found.prior_probability.mean(),
        "largest probability of a truth": found.probability.max(),
        "row most exposed": int(found.records[np.argmax(found.gain)]) + 1,
    }
    lines = {
        "row": found.records + 1, "probability": found.probability,
        "prior": found.prior_probability, "gain": found.gain, "rank": found.rank,
        "correct": found.correct,
    }  # fmt: skip
    return figures, lines


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
