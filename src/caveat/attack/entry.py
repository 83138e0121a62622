"""What is known about an attack: one record, from which everything else about it is made.

The subcommand, its help, the keys of a scenario, the measures, the labels that may be published and
the table of the documentation come from here. An attack is written in its own file, which ends with
such a record; :data:`caveat.attack.registry.ATTACKS` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from caveat.errors import CaveatError
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement

__all__ = ["Attack", "Attacker", "Finding", "Option", "OptionKind"]

ABSENT = {
    "keys": "attack.key.absent",
    "target": "attack.target.absent",
    "control": "attack.control.absent",
}  # codes of errors about options that must be given; of others "attack.option.absent"

Attacker = Literal["strong", "simulated", "ordinary"]

OptionKind = Literal[
    "columns", "column", "whole", "number", "share", "numbers by column", "table", "flag", "text"
]


class Finding(NamedTuple):
    """A result and its name in MEASURES; ``label`` tells several of one name apart."""

    measure: str
    label: str
    result: Measurement


@dataclass(frozen=True)
class Option:
    """Something that an attack can be told.

    Parameters
    ----------
    name
        Its name as an argument of the runner, on the command line and in a scenario.
    kind
        What is given.
    help
        What it is, in a sentence.
    default
        What holds if nothing is given.
    otherwise
        The same in words, where it is no value.
    lacking
        What is wrong if nothing is given; empty if that is allowed.
    do
        What to do then.
    least
        The smallest whole number.
    """

    name: str
    kind: OptionKind
    help: str
    default: Any = None
    otherwise: str = ""
    lacking: str = ""
    do: str = ""
    least: int = 1


@dataclass(frozen=True)
class Attack:
    """One attack.

    Parameters
    ----------
    name
        The name by which it is asked for.
    does
        What the attacker does, in a line of at most 60 characters.
    run
        Takes the original and the synthetic table and the options as keywords, and returns
        findings; of the strong attacker see :func:`caveat.attack.figures.strong_figures`, of the
        simulated one :func:`caveat.attack.by_simulation.simulated_findings`.
    options
        What it can be told.
    measures
        Entries of MEASURES for what it finds.
    example
        Arguments of a command after the two tables.
    labels
        The labels of its findings that may be published, as a regular expression: labels made of
        fixed words and of options. A label that is a released column may always be.
    attacker
        Who carries it out.
    usual
        Whether a scenario tries it by itself where all that it needs is given.
    """

    name: str
    does: str
    run: Callable[..., Any]
    options: tuple[Option, ...]
    measures: tuple[Measure, ...]
    example: str
    labels: str = ""
    attacker: Attacker = "ordinary"
    usual: bool = False

    @property
    def takes(self) -> dict[str, Option]:
        """The options by name."""
        return {option.name: option for option in self.options}

    @property
    def needs(self) -> dict[str, Option]:
        """The options that must be given."""
        return {option.name: option for option in self.options if option.lacking}

    def told(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options; refuse those that it does not take, and to do without a needed one.

        Examples
        --------
        >>> size = Option("size", "whole", "How many.", 3)
        >>> Attack("guess", "guesses", print, (size,), (), "").told({})
        {'size': 3}
        """
        for name in given:
            if name not in self.takes:
                raise CaveatError(
                    f"the attack {self.name} takes no {name}",
                    do=f"drop {name}",
                    code="attack.option.unknown",
                )
        for option in self.needs.values():
            value = given.get(option.name)
            if value is None or (isinstance(value, list | tuple) and not value):
                raise CaveatError(
                    option.lacking,
                    do=option.do,
                    code=ABSENT.get(option.name, "attack.option.absent"),
                )
        return {o.name: given.get(o.name, o.default) for o in self.options}
