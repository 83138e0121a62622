"""What a look cannot know: what is released, for whom, and against which attacker.

The starter specification has a line for each of these, with a value that does no harm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from caveat.findings.profile import Profile
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

# What neighbours, colleagues and registers know about people, what is seen first in front.
_WORDS = (
    ("sex", "gender"),
    ("age", "birth", "born"),
    ("region", "state", "county", "province", "district", "municip", "town", "city", "zip",
     "postal", "postcode", "area", "place"),
    ("marital", "married"),
    ("educ", "edu", "school", "degree"),
    ("occup", "job", "profession", "socprof", "employ", "industry"),
    ("country", "nation", "citizen", "ethnic", "race", "religion", "language"),
    ("children", "household", "hhsize", "family"),
)  # fmt: skip
IN_FORCE = 3
MOST_LEVELS = 50  # of a column that is proposed for want of a telling name


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


def candidates(profile: Profile, released: Sequence[str]) -> list[str]:
    """Return released columns whose names say that people often know them, the plainest first.

    Examples
    --------
    >>> from caveat.findings import look
    >>> candidates(look({"Age": [1, 2], "pay": [3, 3], "SEX": ["f", "m"]}), ["Age", "pay", "SEX"])
    ['SEX', 'Age']
    """
    places = _places(profile, released)
    return sorted(places, key=lambda name: places[name])


def candidates_of_tables(
    profiles: Mapping[str, Profile], released: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the same of several tables; a name that two of them have means neither.

    Parameters
    ----------
    profiles
        The result of the look at each table.
    released
        The columns of each that are released.
    """
    every = [name for names in released.values() for name in names]
    places = {
        name: place
        for table, profile in profiles.items()
        for name, place in _places(profile, released[table]).items()
        if every.count(name) == 1
    }
    return sorted(places, key=lambda name: places[name])


def _places(profile: Profile, released: Sequence[str]) -> dict[str, int]:
    varied = {column.name: column for column in profile.columns if column.distinct > 1}
    found = {name: _place(f"{name} {varied[name].label}") for name in released if name in varied}
    return {name: place for name, place in found.items() if place is not None}


def _place(text: str) -> int | None:
    tokens = re.findall(r"[a-z]+", text.lower())
    for place, words in enumerate(_WORDS):
        for word in words:
            # Short words must stand alone: "page" and "stage" are no ages.
            if any(t == word or (len(word) > 3 and t.startswith(word)) for t in tokens):
                return place
    return None


def proposal(profile: Profile, released: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the keys to put in force, and others to think about."""
    known = candidates(profile, released)
    if known:
        return known[:IN_FORCE], known[IN_FORCE:]
    distinct = {column.name: column.distinct for column in profile.columns}
    short = [name for name in released if 1 < distinct[name] <= MOST_LEVELS]
    return (short or list(released))[:IN_FORCE], []


def proposal_of_tables(
    profiles: Mapping[str, Profile], released: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str]]:
    """Return the same of tables whose rows belong to each other, the first of them to none."""
    known = candidates_of_tables(profiles, released)
    if known:
        return known[:IN_FORCE], known[IN_FORCE:]
    alone = next((table for table in profiles if released[table]), None)
    return ([], []) if alone is None else proposal(profiles[alone], released[alone])


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
