"""Generators by name: ours, the reference ones, and other people's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from caveat.errors import CaveatError, hint
from caveat.generators.child import Limits
from caveat.generators.contract import Fitted, Generator
from caveat.generators.drafted import OUTPUTS, drafted
from caveat.generators.environments import process_of
from caveat.generators.ours import Setting
from caveat.generators.process import ProcessGenerator
from caveat.generators.recipes import RECIPES
from caveat.generators.reference import REFERENCES, reference
from caveat.protect.pipeline import check_steps
from caveat.synthesis.methods import METHODS
from caveat.table import Table
from caveat.table.identifying import Origin

__all__ = ["generator_names", "generator_of", "seed_by_seed"]


RUNS = ("seed", "threads", "anyway")
"""Options of a synthesis that are a matter of the run."""


def generator_names() -> list[str]:
    """Return the names of all generators.

    The reference generator ``sample`` has the name of a method of ours, which is here ``margins``.
    """
    return [*(name for name in METHODS if name not in REFERENCES), *REFERENCES, OUTPUTS, *RECIPES]


def generator_of(
    name: str,
    settings: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    *,
    allow_command: bool = False,
) -> Generator:
    """Return a generator by its name.

    Parameters
    ----------
    name
        One of our methods for the whole table (``guarded``, ``cart``, …), a reference generator,
        ``outputs`` (drafts from published numbers), or one with a recipe (see ``caveat generator
        list``). Any name with the setting ``command``: a
        command of your own.
    settings
        Its settings: for ours the options of a synthesis, and ``protect`` with the steps after it;
        for a command of your own ``command``, a list of words, ``is_seeded`` (true unless you say
        otherwise), ``copies_records`` (false declares that it draws its tables; they count as
        copied otherwise, and are confidential), and whatever it understands itself; for
        ``outputs`` its ``plan``.
    limits
        Of a generator in another process.
    allow_command
        Whether a ``command`` in the settings may be started. Settings often come from a file that
        somebody else has written, and the command gets the confidential data.

    Raises
    ------
    GeneratorError
        If its environment is not there.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> generator = generator_of("cart", {"minbucket": 20})
    >>> generator.name, generator.is_seeded
    ('cart, minbucket 20', True)
    >>> generator.fit(buyer_beware(), seed=1).sample(rows=10)[0].n_rows
    10
    """
    given = dict(settings or {})
    if "command" in given:
        return _command(name, given, limits, allow_command)
    if name in RECIPES:
        return process_of(name, given, limits)
    if name in REFERENCES:
        return reference(name, given)
    if name == OUTPUTS:
        return drafted(given)
    if name in METHODS:
        return _ours(name, given)
    near = hint(name, generator_names())
    raise CaveatError(
        f"there is no generator {name!r}",
        do=f"{near}; those of others need: caveat generator add NAME",
        code="generator.name.unknown",
    )


def _ours(name: str, given: dict[str, Any]) -> Setting:
    """Return one of our methods with its settings."""
    for key in RUNS:
        if key in given:
            raise CaveatError(
                f"{key} is no setting of a generator",
                where=f"generator {name}",
                do="leave it out",
                code="generator.setting.unknown",
            )
    steps = given.pop("protect", [])
    check_steps(steps)
    return Setting({"method": name, **given}, tuple(steps))


def _command(
    name: str, given: dict[str, Any], limits: Limits | None, allowed: bool
) -> ProcessGenerator:
    """Return a command of the user's own; a document alone starts none."""
    if not allowed:
        raise CaveatError(
            "its settings name a command, which is not allowed to start",
            where=f"generator {name}",
            do="read the command, and use allow_command=True (--allow-command) if you trust it",
            code="generator.command.refused",
        )
    words, is_seeded = given.pop("command"), given.pop("is_seeded", True)
    origin = Origin.DRAWN if given.pop("copies_records", True) is False else Origin.COPIED
    is_list = isinstance(words, list | tuple) and all(isinstance(word, str) for word in words)
    if not is_list or not words or not words[0]:
        raise CaveatError(
            "a command is a list of words",
            where=f"generator {name}",
            do='write command = ["python3", "/path/of/my_generator.py"]',
            code="generator.command.type",
        )
    return ProcessGenerator(
        name, tuple(words), given, bool(is_seeded), limits or Limits(), origin=origin
    )


def seed_by_seed(generator: Generator, table: Table) -> Callable[[int], Fitted]:
    """Return fits of a generator with any seed; ours is fitted once where a fit draws nothing."""
    if isinstance(generator, Setting):
        return generator.seed_by_seed(table)
    return lambda seed: generator.fit(table, seed)
