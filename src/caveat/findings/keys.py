"""Key variables that an attacker may know, proposed from the names and labels of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from caveat.findings.profile import Profile

__all__ = ["candidates", "candidates_of_tables", "proposal", "proposal_of_tables"]

# What neighbours, colleagues and registers know about people, what is seen first in front.
_WORDS = (
    ("sex", "gender"),
    ("age", "birth", "born"),
    ("region", "state", "county", "province", "district", "municip", "town", "city", "zip",
     "postal", "postcode", "area", "place"),
    ("marital", "married"),
    ("educ", "edu", "schooling", "degree"),
    ("occup", "job", "profession", "socprof", "employ", "industry"),
    ("country", "nation", "citizen", "ethnic", "race", "religion", "language"),
    ("children", "household", "hhsize", "family"),
)  # fmt: skip
IN_FORCE = 3
MOST_LEVELS = 50  # of a column that is proposed for want of a telling name
# Findings of which the first column is a function of the second.
_FIXED = ("groups-of", "determined-by", "one-to-one")

Place = tuple[int, int]
"""Which group of words a name belongs to, and which word of it."""


def candidates(profile: Profile, released: Sequence[str]) -> list[str]:
    """Return released columns that other people often know, by their names.

    One column of each topic comes first, such as sex, age and region. A column that follows from
    another one on the list is left out, such as classes of age: it tells an attacker nothing new.

    Examples
    --------
    >>> from caveat.findings import look
    >>> candidates(look({"Age": [1, 2], "pay": [3, 3], "SEX": ["f", "m"]}), ["Age", "pay", "SEX"])
    ['SEX', 'Age']
    """
    return _in_turn(_places(profile, released), [profile])


def candidates_of_tables(
    profiles: Mapping[str, Profile], released: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the same for several tables, without names that two of them share.

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
    return _in_turn(places, profiles.values())


def proposal(profile: Profile, released: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the keys to put in force, and others to think about; something is left to learn."""
    most = min(IN_FORCE, max(len(released) - 1, 1))
    known = candidates(profile, released)
    if known:
        return known[:most], known[most:]
    varied = [c for c in profile.columns if c.name in released and c.distinct > 1]
    sources = _sources([profile])
    names = [c.name for c in varied if not sources.get(c.name)]
    short = [c.name for c in varied if c.name in names and c.distinct <= MOST_LEVELS]
    return (short or names or list(released))[:most], []


def proposal_of_tables(
    profiles: Mapping[str, Profile], released: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str]]:
    """Return the same for linked tables; the first of them has no parent."""
    known = candidates_of_tables(profiles, released)
    most = min(IN_FORCE, max(sum(map(len, released.values())) - 1, 1))
    if known:
        return known[:most], known[most:]
    alone = next((table for table in profiles if released[table]), None)
    return ([], []) if alone is None else proposal(profiles[alone], released[alone])


def _in_turn(places: Mapping[str, Place], profiles: Iterable[Profile]) -> list[str]:
    """Return the columns that do not follow from others, the first of each topic in front."""
    sources = _sources(profiles)
    names = sorted(places, key=lambda name: places[name])
    names = [name for name in names if not (sources.get(name, set()) & set(names))]
    topics = [places[name][0] for name in names]
    turns = {name: topics[:i].count(topics[i]) for i, name in enumerate(names)}
    return sorted(names, key=lambda name: (turns[name], places[name]))


def _sources(profiles: Iterable[Profile]) -> dict[str, set[str]]:
    """Return for each column those that it is a function of, also by way of others."""
    direct: dict[str, set[str]] = {}
    for found in (f for profile in profiles for f in profile.findings if f.code in _FIXED):
        direct.setdefault(found.columns[0], set()).add(found.columns[1])
    return {name: _reached(name, direct) for name in direct}


def _reached(name: str, direct: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    ahead = list(direct[name])
    while ahead:
        source = ahead.pop()
        if source not in reached and source != name:
            reached.add(source)
            ahead += direct.get(source, ())
    return reached


def _places(profile: Profile, released: Sequence[str]) -> dict[str, Place]:
    varied = [c for c in profile.columns if c.name in released and c.distinct > 1]
    found = {column.name: _place(f"{column.name} {column.label}") for column in varied}
    return {name: place for name, place in found.items() if place is not None}


def _place(text: str) -> Place | None:
    tokens = re.findall(r"[a-z]+", text.lower())
    for topic, words in enumerate(_WORDS):
        for i, word in enumerate(words):
            # Short words must stand alone: "page" and "stage" are no ages.
            if any(t == word or (len(word) > 3 and t.startswith(word)) for t in tokens):
                return topic, i
    return None
