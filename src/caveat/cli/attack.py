"""``caveat attack``: one subcommand for each attack, made from its record in the registry."""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files
from inspect import Parameter, Signature
from json import loads
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from caveat.cli.benchmark import AllowCommandOption
from caveat.cli.console import with_hosts
from caveat.cli.reading import ClusterOption, Reader, WorkOption, column_numbers, on_cluster
from caveat.errors import CaveatError
from caveat.registry import is_extended
from caveat.table.drafts import check_outputs

if TYPE_CHECKING:
    from caveat.attack.figures import Attack, Option

__all__ = ["attack_app", "form_of", "known_attacks"]


def known_attacks() -> dict[str, Any]:
    """Return what the commands of the attacks are made from, without loading the attacks.

    ``attacks.json`` is written from the registry by ``docs/make_release_spec.py``. If a program has
    added to the tables of Caveat, the registry itself is read.
    """
    if is_extended():
        from caveat.attack.registry import ATTACKS

        stored = {name: form_of(attack) for name, attack in ATTACKS.items()}
    else:
        stored = loads(files("caveat.cli").joinpath("attacks.json").read_text("utf-8"))
    for attack in stored.values():
        attack["options"] = [SimpleNamespace(**option) for option in attack["options"]]
    return {name: SimpleNamespace(**attack) for name, attack in stored.items()}


def form_of(attack: Attack) -> dict[str, Any]:
    """Return what `known_attacks` stores of an attack."""
    return {
        "name": attack.name, "does": attack.does, "attacker": attack.attacker,
        "example": attack.example, "measures": [measure.name for measure in attack.measures],
        "options": [asdict(option) for option in attack.options],
    }  # fmt: skip


class _Attacks(TyperGroup):
    """The attacks as subcommands; they are loaded when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the attacks."""
        del ctx
        return list(known_attacks())

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the attacks, and load none."""
        listed = [TyperCommand(name=n, short_help=a.does) for n, a in known_attacks().items()]
        TyperGroup(commands=listed).format_commands(ctx, formatter)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the subcommand of an attack; refuse what is none."""
        del ctx
        known = known_attacks()
        if cmd_name not in known:
            choices = ", ".join(known)
            raise CaveatError(
                f"there is no attack {cmd_name!r}",
                do=f"choose among {choices}",
                code="attack.name.unknown",
            )
        return _command(known[cmd_name])


attack_app = typer.Typer(
    cls=_Attacks,
    no_args_is_help=True,
    help="Attack a release: with the strong attacker, exact or by simulation, or with ordinary "
    "means. Each attack is a command of its own.",
)


@attack_app.callback()
def _attack() -> None:
    """Keep the options of the attacks with the attacks."""


def _command(attack: Any) -> Any:
    """Return the subcommand of an attack, which is loaded when it is carried out."""

    def command(**given: Any) -> None:
        from caveat.attack.registry import ATTACKS

        _run(ATTACKS[attack.name], **given)

    more_files = {"strong": STRONG_FILES, "simulated": SIMULATED_FILES}.get(attack.attacker, {})
    given = (
        (SIMULATED_ARGUMENTS if attack.attacker == "simulated" else FILES)
        | {option.name: _typed(option) for option in attack.options}
        | more_files
        | OUTPUTS
    )
    parameters = [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, **default)
        for name, (kind, default) in given.items()
    ]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(attack.name, help=_help(attack), short_help=attack.does)(with_hosts(command))
    return get_command(alone)


def _help(attack: Any) -> str:
    measures = ", ".join(attack.measures)
    return (
        f"{attack.does[0].upper()}{attack.does[1:]}.\n\n"
        f"Measures: {measures}. `caveat measures NAME` says what one cannot see.\n\n"
        f"\b\nExample:\n  caveat attack {attack.name} original.csv synthetic.csv \\\n"
        f"    {attack.example}"
    )


def _run(
    attack: Attack,
    *,
    original: Path,
    synthetic: list[Path] | None,
    spec: Path | None,
    json: str | None,
    force: bool,
    model: Path | None = None,
    records: Path | None = None,
    cluster: str | None = None,
    work: Path | None = None,
    allow_command: bool = False,
    **given: Any,
) -> None:
    read = {option.name: _read(option, given[option.name]) for option in attack.options}
    told = attack.told({name: value for name, value in read.items() if value is not None})
    tables = [option.name for option in attack.options if option.kind == "table"]
    synthetic = synthetic or []
    outputs = [records, None if json in (None, "-") else Path(json or "")]
    inputs = [original, *synthetic, model, spec, *(told[name] for name in tables)]
    check_outputs(outputs, force=force, inputs=inputs)
    reader = Reader.of(spec)
    check_outputs(outputs, force=force, inputs=reader.inputs)
    of_rows = attack.attacker == "simulated" or (attack.attacker == "strong" and model is None)
    if reader.groups is not None and reader.document is not None and of_rows:
        reader.document.fail(
            ("groups",),
            "groups: whole groups are synthesised, and this attack is on single rows",
            "remove it if the release was made row by row"
            if attack.attacker == "simulated"
            else "give the fitted model (--model), whose groups are attacked",
            code="spec.entry.unsupported",
        )
    if attack.attacker == "strong":
        from caveat.cli.attacking import attack_with_the_generator

        with on_cluster(cluster, work, records):
            attack_with_the_generator(
                attack, reader, original, synthetic, told,
                model=model, records=records, json=json, force=force,
            )  # fmt: skip
        return
    if attack.attacker == "simulated":
        from caveat.cli.attacking import attack_by_simulation

        attack_by_simulation(
            attack, reader, original, synthetic, told,
            records=records, json=json, force=force, allow_command=allow_command,
        )  # fmt: skip
        return
    from caveat.cli.attacking import attack_with_the_release

    for name in tables:
        told[name] = None if told[name] is None else reader.data(reader.original(told[name]))
    table = reader.data(reader.original(original))
    releases = [reader.data(reader.release(path)) for path in synthetic]
    attack_with_the_release(attack, table, releases, told, json=json, force=force)


Typed = tuple[Any, dict[str, Any]]
"""An annotation as typer reads it, and the default, if there is one."""


def _given(kind: Any, option: Any, default: Any = None) -> Typed:
    return Annotated[kind, option], {"default": default}


FILES: dict[str, Typed] = {
    "original": (Annotated[Path, typer.Argument(help="The confidential table.")], {}),
    "synthetic": (Annotated[list[Path], typer.Argument(help="The release, or its copies.")], {}),
}
STRONG_FILES = {
    "model": _given(Path | None, typer.Option(help="The fitted model that made the release.")),
    "records": _given(
        Path | None, typer.Option(help="CONFIDENTIAL: write the result of every record here.")
    ),
    "cluster": (ClusterOption, {"default": None}),
    "work": (WorkOption, {"default": None}),
}
SIMULATED_FILES = {
    "records": STRONG_FILES["records"],
    "allow_command": (AllowCommandOption, {"default": False}),
}
SIMULATED_ARGUMENTS = {
    "original": FILES["original"],
    "synthetic": _given(
        list[Path] | None, typer.Argument(help="The release, or its copies; may be left out.")
    ),
}
OUTPUTS = {
    "spec": _given(
        Path | None,
        typer.Option(help="A specification: its [columns] and, if she knows it, [synthesis]."),
    ),
    "json": _given(
        str | None, typer.Option(help="Write the figures to this file, or to the screen with '-'.")
    ),
    "force": _given(bool, typer.Option("--force", help="Replace files that exist."), False),
}

# How each kind of option is given: what typer takes for it, and further words for typer.
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "columns": (str | None, {"metavar": "COLUMNS"}),
    "column": (str | None, {"metavar": "COLUMN"}),
    "whole": (int | None, {}),
    "number": (float | None, {"min": 0}),
    "share": (float | None, {"min": 0, "max": 1}),
    "numbers by column": (list[str] | None, {"metavar": "COLUMN=NUMBER"}),
    "table": (Path | None, {"metavar": "FILE"}),
    "flag": (bool, {}),
    "text": (str | None, {}),
}


def _typed(option: Any) -> Typed:
    kind, more = KINDS[option.kind]
    flag = f"--{option.name.replace('_', '-')}"
    if option.kind == "whole":
        more = {"min": option.least}
    words = option.help
    if option.lacking:
        words += " [required]"
    elif option.otherwise:
        words += f" [{option.otherwise}]"
    elif option.kind == "numbers by column":
        words += " Repeat it."
    default = None if option.default in ([], (), {}) else option.default
    return _given(kind, typer.Option(flag, help=words, **more), default)


def _read(option: Option, value: Any) -> Any:
    """Return an option as the attack takes it."""
    if option.kind == "columns":
        return tuple(name.strip() for name in (value or "").split(",") if name.strip())
    if option.kind == "numbers by column":
        return column_numbers(value, f"--{option.name}", float)
    return value
