"""What a look cannot know: what is released, for whom, and against which attacker.

The starter specification has a line for each of these, with a value that does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from caveat.findings.keys import (
    candidates,
    candidates_of_tables,
    proposal,
    proposal_of_tables,
)
from caveat.spec.toml import comment, toml_value

__all__ = [
    "Answers",
    "candidates",
    "candidates_of_tables",
    "closing_parts",
    "proposal",
    "proposal_of_tables",
    "release_part",
]


@dataclass(frozen=True)
class Answers:
    """What the user wants; whatever is not said has a line that does no harm.

    Parameters
    ----------
    title, unit, purpose, recipients, access
        What is released, for what, for whom and how.
    copies
        Number of synthetic tables.
    control
        Share of the records to hold out; None for none.
    keys
        Columns that an attacker may know; None for a proposal.
    targets
        Columns that she wants to learn; empty for all others.
    limits
        The most that measures may come to, by name.
    groups
        Whether groups that the look found are synthesised whole.
    strong
        Columns that the strong attacker wants to learn; without any she asks who was in the data.
    """

    title: str = ""
    unit: str = "record"
    purpose: str = ""
    recipients: str = ""
    access: str = "secure"
    copies: int = 1
    control: float | None = None
    keys: tuple[str, ...] | None = None
    targets: tuple[str, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    strong: tuple[str, ...] = ()
    groups: bool = True


def release_part(answers: Answers) -> Iterator[str]:
    """Return the lines of ``[release]``.

    The title stands on the external report, where the name of the input has no place.
    """
    lines: list[tuple[str, Any, str]] = [
        ("title", answers.title or "Synthetic data", "stands on the reports"),
        ("unit", answers.unit, "what a row is: person, household, visit …"),
        ("purpose", answers.purpose, "what the release is for"),
        ("recipients", answers.recipients, "who gets it"),
        ("access", answers.access, "public, registered or secure"),
        ("copies", answers.copies, "synthetic tables"),
    ]
    yield "[release]"
    for key, value, says in lines:
        yield f"{key} = {toml_value(value)}" + (f"  # {says}" if says else "")
    held = "records that are held out, to attack people who were not in the data"
    if answers.control is None:
        yield comment(f"control = 0.2  # {held}")
    else:
        yield f"control = {toml_value(answers.control)}  # {held}"
    yield "# seed = 1  # names one release of the key; without a key it makes a trial"
    yield ""


def closing_parts(
    proposed: tuple[Sequence[str], Sequence[str]],
    answers: Answers,
    rules: Sequence[str] = (),
    formats: str = 'formats = ["csv"]  # also parquet, sav, dta …',
) -> Iterator[str]:
    """Return the lines of ``[[scenario]]``, ``[utility]`` and ``[output]``.

    Parameters
    ----------
    proposed
        Keys, and others to think about, if the answers name none.
    answers
        What the user wants.
    rules
        Lines of edit rules whose violations are counted.
    formats
        The line about the formats of the tables.
    """
    keys, others = (answers.keys, ()) if answers.keys else proposed
    yield "# An attacker. Everything that is measured depends on what she is said to know."
    if answers.keys is None:
        yield "# The keys below are only a proposal: which columns she may know, you can tell."
    yield "[[scenario]]"
    yield 'name = "someone who knows a few facts"'
    yield 'attacker = "release"  # has the released table only'
    yield f"keys = {toml_value(keys)}"
    if others:
        yield comment(f"Others that people often know: {toml_value(others)}")
    if answers.targets:
        yield f"targets = {toml_value(answers.targets)}"
    else:
        yield '# targets = ["…"]  # what she wants to learn; without it every other column'
    limits = ", ".join(f"{name} = {toml_value(most)}" for name, most in answers.limits.items())
    yield (
        f"limits = {{ {limits} }}"
        if limits
        else ("# limits = { repU = 5, DiSCO = 5 }  # in percent: what you can answer for")
    )
    yield ""
    yield from _strong(answers)
    yield "[utility]"
    yield '# models = ["income ~ age + sex"]  # analyses that matter'
    yield from rules
    yield ""
    yield "[output]"
    yield 'folder = "release"'
    yield formats
    yield 'reports = ["internal", "external"]'


def _strong(answers: Answers) -> Iterator[str]:
    yield "# The strongest attacker: knows how the release is made, and all records but one value."
    yield "[[scenario]]"
    yield 'name = "someone who knows everybody else"'
    yield 'attacker = "strong"'
    if answers.strong:
        yield f"targets = {toml_value(answers.strong)}"
    else:
        yield '# targets = ["…"]  # without it: whether a person was in the data'
    yield ""
