"""What a look cannot know: what is released, for whom, and against which attacker.

The starter specification has a line for each of these, with a value that does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    "usual_control",
]

CONTROL = 0.2
LEAST_RECORDS, LEAST_GROUPS = 500, 100
"""Records, and groups where there are some, from which on a control is held out."""
DISCLOSURE: Mapping[str, Mapping[str, float]] = {"DiSCO": {"above": 2}}
MEMBERSHIP: Mapping[str, float] = {"membershipShare": 20}
ATTRIBUTES: Mapping[str, Mapping[str, float]] = {"strongShare": {"above": 2}}
"""Usual limits: DiSCO, members known, and answers known, in per cent or points."""


Most = float | Mapping[str, float]
"""The most that a measure may come to, or by how much it may be above its comparison."""


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
        Share of the records to hold out, 0 for none; None for the usual one.
    keys
        Columns that an attacker may know; None for a proposal.
    targets
        Columns that the attacker wants to learn; empty for all others.
    limits, strong_limits
        The most that measures of the attacker who knows the keys, and of the strong attacker, may
        come to, by name; None for the usual ones.
    groups
        Whether groups that the look found are synthesised whole.
    strong
        Columns that the strong attacker wants to learn; without any, only who was in the data.
    models
        Analyses that must give the same results on the synthetic data, as formulas.
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
    limits: Mapping[str, Most] | None = None
    strong_limits: Mapping[str, Most] | None = None
    strong: tuple[str, ...] = ()
    groups: bool = True
    models: tuple[str, ...] = ()


def usual_control(records: int, groups: int | None = None) -> float | None:
    """Return the share of records to hold out; None where they would be too few to compare with.

    Parameters
    ----------
    records
        Records of the file.
    groups
        Groups of records that belong together; None where there are none.
    """
    enough = records >= LEAST_RECORDS and (groups is None or groups >= LEAST_GROUPS)
    return CONTROL if enough else None


def release_part(answers: Answers, control: float | None) -> Iterator[str]:
    """Return the lines of ``[release]``.

    The title stands on the external report, where the name of the input has no place.

    Parameters
    ----------
    answers
        What the user wants.
    control
        The usual share of records to hold out; None where the file is too small.
    """
    lines: list[tuple[str, Any, str]] = [
        ("title", answers.title or "Synthetic data", "printed on the reports"),
        ("unit", answers.unit, "what a row is: person, household, visit …"),
        ("purpose", answers.purpose, "what the release is for"),
        ("recipients", answers.recipients, "who receives it"),
        ("access", answers.access, "public, registered or secure"),
        ("copies", answers.copies, "synthetic tables"),
    ]
    yield "[release]"
    for key, value, says in lines:
        yield f"{key} = {toml_value(value)}" + (f"  # {says}" if says else "")
    share = control if answers.control is None else answers.control
    held = "share of records held out, to attack people who were not in the data"
    if share:
        yield f"control = {toml_value(share)}  # {held}"
    elif control is None:
        few = f"off, as fewer than {LEAST_RECORDS} records (or {LEAST_GROUPS} groups)"
        yield comment(f"control = {CONTROL}  # {few} leave too few to compare with")
    else:
        yield comment(f"control = {CONTROL}  # {held}")
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
    yield "# An attacker. Every measured risk depends on what the attacker is assumed to know."
    if answers.keys is None:
        yield "# The keys below are only a proposal: decide which columns an attacker may know."
    yield "[[scenario]]"
    yield 'name = "someone who knows a few facts"'
    yield 'attacker = "release"  # has the released table only'
    yield f"keys = {toml_value(keys)}"
    if others:
        yield comment(f"Others that people often know: {toml_value(others)}")
    if answers.targets:
        yield f"targets = {toml_value(answers.targets)}"
    else:
        yield '# targets = ["…"]  # what the attacker wants to learn; by default every other column'
    yield from _limits(DISCLOSURE if answers.limits is None else answers.limits)
    yield ""
    yield from _strong(answers)
    yield "[utility]"
    yield comment("Analyses that must work on the synthetic data; name one or two.")
    if answers.models:
        yield f"models = {toml_value(answers.models)}"
    else:
        yield '# models = ["income ~ age + sex"]'
    yield from rules
    yield ""
    yield "[output]"
    yield 'folder = "release"'
    yield formats
    yield 'reports = ["internal", "external"]'


# Values from the first to the last decile of 280 real tables at guard = "standard" (make corpus).
_TYPICAL = {
    "DiSCO": "keys that lead to one correct answer, in points above people outside; usual: 0 to 4",
    "membershipShare": "people surely known to be in the data, in per cent; usual: 1 to 53, median "
    "13",
    "strongShare": "answers surely known to the attacker, in points above what was known before",
}


def _limits(limits: Mapping[str, Most]) -> Iterator[str]:
    """Return the line of limits, and what is typical of each."""
    for name in limits:
        if name in _TYPICAL:
            yield comment(f"{name}: {_TYPICAL[name]}")
    ends = ", ".join(f"{name} = {_most(most)}" for name, most in limits.items())
    if not limits:
        yield "# limits = { repU = 5, DiSCO = 5 }  # in per cent: the most that you accept"
        return
    yield f"limits = {{ {ends} }}"


def _most(most: Most) -> str:
    if not isinstance(most, Mapping):
        return toml_value(most)
    inside = ", ".join(f"{key} = {toml_value(value)}" for key, value in most.items())
    return f"{{ {inside} }}"


def _strong(answers: Answers) -> Iterator[str]:
    yield "# The strongest attacker knows how the release is made, and all records but one value."
    yield "[[scenario]]"
    yield 'name = "someone who knows everybody else"'
    yield 'attacker = "strong"'
    if answers.strong:
        yield f"targets = {toml_value(answers.strong)}"
    else:
        yield '# targets = ["…"]  # by default only whether a person was in the data'
    usual: Mapping[str, Most] = {**MEMBERSHIP, **(ATTRIBUTES if answers.strong else {})}
    yield from _limits(usual if answers.strong_limits is None else answers.strong_limits)
    yield ""
