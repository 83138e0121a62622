"""``caveat attack simulated``: any generator, run with and without a record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from caveat.attack.entry import Attack
from caveat.attack.paired import fits_needed
from caveat.cli import console
from caveat.cli.ordinary import show
from caveat.cli.reading import Reader
from caveat.cli.strong import watched, write_lines
from caveat.errors import CaveatError
from caveat.generators import Generator, Setting, generator_of
from caveat.spec.draft_spec import GeneratorSpec, refuse_commands, with_plan

__all__ = ["attack_by_simulation"]


def attack_by_simulation(
    attack: Attack,
    reader: Reader,
    original: Path,
    synthetic: list[Path],
    told: dict[str, Any],
    *,
    records: Path | None,
    json: str | None,
    force: bool,
    allow_command: bool = False,
) -> None:
    """Run the attack, print and write what it finds."""
    generator = _generator(told.pop("generator"), reader, allow_command)
    table = reader.original(original)
    releases = [reader.release(path) for path in synthetic]
    n = 1 if told["record"] is not None else min(told["most"], table.n_rows)
    console.remark(
        f"{generator.name}: {fits_needed(told['simulations'], n):,} runs, "
        f"{told['simulations']} on the data and as many without each of {n} "
        f"record{'s' if n > 1 else ''}"
    )
    with watched() as done:
        found, lines = attack.run(table, releases, generator, **told, done=done)
    show(
        attack.name, [found], json=json, force=force,
        control="releases without the record that are taken for releases with it",
    )  # fmt: skip
    if records is not None:
        write_lines(lines, records, force=force)


def _described(name: str, reader: Reader, allow_command: bool) -> tuple[str, dict[str, Any]]:
    """Return name and settings as a ``[[generator]]`` of this label has them, or the name alone."""
    if reader.document is not None:
        reader.document.check(("generator",))
        for entry in map(GeneratorSpec.of, reader.document.content.get("generator", ())):
            if name == entry.label:
                if not allow_command:
                    refuse_commands(reader.document, name)
                elif entry.command is not None:
                    file = reader.document.path.name
                    console.announce(f"{file} starts with the confidential data: {entry.command}")
                return entry.name, dict(entry.settings)
    return name, {}


def _generator(name: str | None, reader: Reader, allow_command: bool) -> Generator:
    """Return the generator that is named, with what a specification says about ours."""
    if name is None and reader.document is None:
        raise CaveatError(
            "the attacker knows how the release was made",
            do="name a generator with --generator, or give --spec FILE.toml",
            code="command.option.absent",
        )
    if name is None:
        assert reader.document is not None
        return Setting(dict(reader.synthesis), tuple(reader.document.content.get("protect", ())))
    folder = Path() if reader.document is None else reader.document.path.parent
    named = with_plan(*_described(name, reader, allow_command), folder)
    generator = generator_of(*named, allow_command=allow_command)
    if isinstance(generator, Setting) and reader.synthesis:
        return Setting({**reader.synthesis, **generator.options}, generator.protect)
    return generator
