"""Keys, groups of rows and links between tables, and what a look leaves to decide."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.findings.codes_and_kinds import says_sampling_unit
from caveat.findings.profile import (
    CATALOGUE,
    HIDDEN,
    RULES,
    Finding,
    Profile,
    Status,
    Strength,
    listed,
    plural,
    shown,
)
from caveat.table._signs import says_id
from caveat.table.grouping import MOST_MEMBERS, constant_columns, size_columns
from caveat.table.identifying import K, judge
from caveat.table.table import Column, Kind, Table

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


# -------------------------------------------------------------------------------------------------
# Groups of rows, such as households: what a section ``[groups]`` would say about them.


EXACT = 2.0**52  # whole numbers that floating point tells apart, with room to spare
# With fewer groups, or fewer of several members, nobody can tell what binds them.
LEAST_GROUPS = 30
# What is so of this share of the groups is meant to be so of all.
NEARLY_EVERY = 0.995
# A column with more levels than this does not say what a member is in its group.
MOST_ROLES = 20
# Names of columns that number the occasions of a panel; years of four digits need no such name.
_TIME = re.compile(
    r"(?<![a-z])(s?year|yr|jahr|annee|année|año|anno|jaar|wave|welle|vague|ola|onda|round|period|"
    r"periode|visit|visite|besuch|month|monat|mois|quarter|quartal|week|woche|time|t)(?![a-z])"
)
YEARS = 1900, 2100
# Records of one occasion: with fewer it is no occasion at which many people were asked.
LEAST_RECORDS = 30
# A household has somebody of this age; the rule says something if this share of people is younger.
ADULT, YOUNGER = 18, 0.02
_AGE = re.compile(r"(?<![a-z])(age|alter|edad|idade|eta|leeftijd|alder|wiek|ika)(?![a-z])")
_DATES, _NUMBERS = (Kind.DATE, Kind.DATETIME), (Kind.INTEGER, Kind.NUMERIC)


def find_groups(
    table: Table, keys: Sequence[str], interpreted: Table | None = None
) -> list[Finding]:
    """Propose the section for the key whose groups have most in common.

    Clusters of a sample are no such groups, whatever their members have in common.

    Parameters
    ----------
    table
        The table as it was read, weights included.
    keys
        Columns that were judged to be keys of groups.
    interpreted
        The table as it reads once its codes are declared, if that is another.

    Examples
    --------
    >>> people = {"hh": [k // 2 for k in range(200)], "region": [k // 2 % 3 for k in range(200)],
    ...           "age": [40, 7] * 100}
    >>> (found,) = find_groups(Table.from_frame(people), ["hh"])
    >>> found.suggestion["groups"], found.suggestion["adult"]
    ({'key': 'hh', 'constant': ['region']}, 'age')
    """
    usable = [key for key in keys if _is_key(table[key]) and not says_sampling_unit(key)]
    shared = {key: constant_columns(table, key) for key in usable}
    if not shared:
        return []
    key = max(shared, key=lambda name: len(shared[name]))
    return [_proposal(table, key, shared[key], interpreted or table)]


def _is_key(column: Column) -> bool:
    sizes = column.counts[: len(column.levels)]
    several = int((sizes > 1).sum())
    whole = not column.is_missing.any() and _may_be_key(column.levels)
    return whole and several >= LEAST_GROUPS and int(sizes.max()) <= MOST_MEMBERS


def _may_be_key(levels: NDArray[Any]) -> bool:
    """Whether they are words or whole numbers, as keys are that can be made anew."""
    if levels.dtype.kind != "f":
        return levels.dtype.kind in "iuO"
    return bool((levels == np.rint(levels)).all() and (np.abs(levels) < EXACT).all())


def _proposal(table: Table, key: str, constant: Sequence[str], interpreted: Table) -> Finding:
    column = table[key]
    sizes = column.counts[column.counts > 0]
    own = [name for name in table if name != key and name not in constant]
    size = size_columns(table, key, constant)
    role = next((name for name in own if _is_role(table[name], column)), "")
    order = order_of(table, column, own)
    sums = _sums(interpreted, column, [n for n in constant if n not in size], own)
    in_time = bool(order) and not order.startswith("-")
    ages = () if in_time else own  # a person who is asked again is no household
    adult = next((name for name in ages if _has_adults(table[name], name, column)), "")
    section: dict[str, Any] = {"key": key, "constant": list(constant)}
    section |= {"order": order} if order else {}
    section |= {"role": role} if role else {}
    parts = [f"{plural(len(sizes), 'group')} of {sizes.min():,} to {sizes.max():,} records"]
    parts += [f"ordered in time by {order}"] if in_time else []
    if constant:
        have = "column has" if len(constant) == 1 else "columns have"
        parts.append(f"{len(constant)} {have} one value in each group ({listed(constant, 8)})")
    parts += [f"{name} is the number of members" for name in size[:1]]
    parts += [f"{name} is the sum of {of}" for name, of in sums.items()]
    parts += [f"{role} gives the role of each member"] if role else []
    parts += [f"nearly every group has a member aged {ADULT} or over ({adult})"] if adult else []
    suggestion = {"groups": section, "size": list(size), "sums": sums, "adult": adult}
    return Finding(
        "groups", (key,), f"{'; '.join(parts)}.", Strength.LIKELY, table.n_rows, 1.0, suggestion
    )


def _sums(table: Table, key: Column, constant: Sequence[str], own: Sequence[str]) -> dict[str, str]:
    """Return the columns of groups that are the sum of a column of their members."""
    whole = [n for n in constant if table[n].kind in _NUMBERS and not table[n].is_missing.any()]
    parts = [n for n in own if table[n].kind in _NUMBERS and len(table[n].levels) > 1]
    if not whole or not parts:
        return {}
    first = np.unique(key.codes, return_index=True)[1]
    found: dict[str, str] = {}
    for part in parts:
        cells = np.nan_to_num(table[part].cell_numbers)
        sums = np.bincount(key.codes, cells, key.n_levels)[key.codes[first]]
        # Where one member alone has anything, a sum is no more than a copy.
        several = np.bincount(key.codes, cells != 0, key.n_levels) > 1
        if several.sum() < LEAST_GROUPS:
            continue
        for name in whole:
            if np.allclose(table[name].cell_numbers[first], sums, rtol=1e-9, atol=1e-6):
                found.setdefault(name, part)
    return found


def _is_role(column: Column, key: Column) -> bool:
    """Whether there is a level that one member of nearly every group has, and no second one."""
    if column.kind in (*_DATES, *_NUMBERS, Kind.TEXT):
        return False
    if not 2 <= len(column.levels) <= MOST_ROLES:
        return False
    groups = np.flatnonzero(key.counts)
    for level in range(len(column.levels)):
        times = np.bincount(key.codes[column.codes == level], minlength=key.n_levels)[groups]
        if (times == 1).mean() >= NEARLY_EVERY:
            return True
    return False


def order_of(table: Table, key: Column, own: Sequence[str]) -> str:
    """Return the column that orders the members: a date, an occasion, or falling age.

    Age orders the members only where the rows of a group are scattered over the file.
    """
    rows = np.argsort(key.codes, kind="stable")
    same = key.codes[rows][1:] == key.codes[rows][:-1]
    for name in own:
        column = table[name]
        if column.kind in _DATES and not column.is_missing.any():
            moves = np.diff(column.codes[rows].astype(np.int64))[same]
            if (moves >= 0).all() and (moves > 0).any():
                return name
    occasion = next((name for name in own if _is_occasion(table[name], name, key)), "")
    if occasion:
        return occasion
    together = 1 + int((key.codes[1:] != key.codes[:-1]).sum()) == int((key.counts > 0).sum())
    ages = [name for name in own if _is_age(table[name], name)]
    return f"-{ages[0]}" if ages and not together else ""


def _is_occasion(column: Column, name: str, key: Column) -> bool:
    """Whether it is the year or wave of a panel: every person has each of them once at most."""
    if column.kind is not Kind.INTEGER or column.is_missing.any() or len(column.levels) < 2:
        return False
    years = YEARS[0] <= column.levels[0] and column.levels[-1] <= YEARS[1]
    if not years and not _TIME.search(f"{name} {column.label}".lower()):
        return False
    if len(column) < LEAST_RECORDS * len(column.levels):
        return False
    once = np.unique(key.codes.astype(np.int64) * column.n_levels + column.codes)
    return len(once) == len(column)


def _is_age(column: Column, name: str) -> bool:
    return column.kind in _NUMBERS and bool(_AGE.search(f"{name} {column.label}".lower()))


def _has_adults(column: Column, name: str, key: Column) -> bool:
    """Whether it is an age, and nearly every group has somebody who is of age."""
    if not _is_age(column, name):
        return False
    ages = column.cell_numbers
    oldest = np.full(key.n_levels, -np.inf)
    np.maximum.at(oldest, key.codes, np.where(np.isnan(ages), -np.inf, ages))
    oldest = oldest[key.counts > 0]
    younger = float((ages < ADULT).mean())
    return bool((oldest >= ADULT).mean() >= NEARLY_EVERY and younger >= YOUNGER)


# -------------------------------------------------------------------------------------------------
# Keys of several tables, and the columns that link them.


# A column with fewer different values than this points to nobody.
LEAST_KEYS = 10


@dataclass(frozen=True)
class Links:
    """The keys of tables and the links between them, as found in their values.

    Parameters
    ----------
    keys
        The column that numbers the rows of a table.
    parents
        For each table its columns that hold keys of another table, with that table.
    order
        The date by which the rows of one parent are ordered.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    parents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    order: Mapping[str, str] = field(default_factory=dict)

    def key_columns(self, table: str) -> set[str]:
        """Return the columns of a table that hold keys, its own or those of others."""
        own = [self.keys[table]] if table in self.keys else []
        return {*own, *self.parents.get(table, ())}

    def sentences(self) -> list[str]:
        """Return a sentence for each link between two tables."""
        sentences = []
        for child, columns in self.parents.items():
            for column, parent in columns.items():
                text = f"{child}: {column} refers to {self.keys[parent]} of {parent}"
                if child in self.order:
                    text += f"; rows are ordered by {self.order[child]}"
                sentences.append(f"{text}.")
        return sentences


def find_links(tables: Mapping[str, Table]) -> Links:
    """Propose keys and links: a column whose every value is a key of another table.

    Examples
    --------
    >>> from caveat.datasets import patients
    >>> found = find_links(patients(number=60))
    >>> dict(found.keys), found.parents["visits"], found.order["visits"]
    ({'patients': 'patient', 'visits': 'visit'}, {'patient': 'patients'}, 'date')
    """
    naming = {name: _naming(table) for name, table in tables.items()}
    keys = {}
    for name, columns in naming.items():
        unique = [c for c in columns if _is_unique(tables[name][c])]
        elsewhere = {c for other in tables if other != name for c in tables[other]}
        # What other tables have too is what they refer to; else the first.
        best = next((c for c in unique if c in elsewhere and len(unique) > 1), None)
        if unique:
            keys[name] = best or unique[0]
    parents: dict[str, dict[str, str]] = {}
    for child, columns in naming.items():
        for column in columns:
            parent = _parent(tables, keys, child, column, parents)
            if parent is not None:
                parents.setdefault(child, {})[column] = parent
    order = {}
    for child, held in parents.items():
        own = [name for name in tables[child] if name not in held]
        by = order_of(tables[child], tables[child][next(iter(held))], own)
        if by and not by.startswith("-"):
            order[child] = by
    used = {parent for columns in parents.values() for parent in columns.values()}
    # A child's own key is one only if it is not the parent's.
    kept = {n: k for n, k in keys.items() if n in used or k not in parents.get(n, {})}
    return Links(kept, parents, order)


def _naming(table: Table) -> list[str]:
    """Return the columns that name rows of this table or of others."""
    judged = judge(table)
    number = ("identifier", "group-key", "near-unique-text", "person-name")
    return [
        name
        for name in table
        if (name in judged and judged[name].code in number)
        or says_id(name)
        or _is_code(table[name])
    ]


def _is_code(column: Column) -> bool:
    """Whether it may hold keys that no judgement knows, as codes of text do that come often."""
    return column.kind in (Kind.CATEGORY, Kind.ID) and len(column.levels) >= LEAST_KEYS


def _is_unique(column: Column) -> bool:
    return not column.is_missing.any() and int(column.counts.max(initial=0)) <= 1


def _parent(
    tables: Mapping[str, Table],
    keys: Mapping[str, str],
    child: str,
    column: str,
    parents: Mapping[str, Mapping[str, str]],
) -> str | None:
    """Return the table that holds every value of a column as a key, the smallest of several."""
    held = tables[child][column]
    fitting = [
        parent
        for parent, key in keys.items()
        if parent != child
        and child not in _above(parent, parents)
        and _points_to(held, tables[parent][key])
        and (key == column or not _is_unique(held))
    ]
    return min(fitting, key=lambda parent: tables[parent].n_rows, default=None)


def _above(table: str, parents: Mapping[str, Mapping[str, str]]) -> set[str]:
    """Return a table and all those that it hangs on."""
    return {table}.union(*(_above(p, parents) for p in parents.get(table, {}).values()))


def _points_to(held: Column, key: Column) -> bool:
    used = held.levels[held.counts[: len(held.levels)] > 0]
    if held.is_missing.any() or len(used) < LEAST_KEYS:
        return False
    alike = (used.dtype == object) == (key.levels.dtype == object)
    return alike and bool(np.isin(used, key.levels).all())


# -------------------------------------------------------------------------------------------------
# Summarise a look: what the user has to decide, by importance, and what the starter settles.


MOST_DECISIONS = 7
"""Decisions that are shown first; the others are of less importance."""

# Findings that the user has to decide about, what changes the results most in front.
_RANKED = (
    "number-as-text", "date-as-text", "missing-code", "few-numbers", "outlier", "missing-word",
    RULES, "spellings", "top-code", "duplicate-rows", "determined-by", "all-missing",
    "nearly-constant",
)  # fmt: skip
# Entries that take a column out of the output.
_NOT_RELEASED = ("[synthesis] drop", "[synthesis] replace", "[synthesis] weights", "[groups]")
_RULES = "rules that hold in the data"
_STATE = "State those as rules that must hold in every record."
# What the starter specification does, for the findings that it settles.
_SETTLED = {
    "encoding-found": "encoding found from the bytes",
    "columns-renamed": "columns with the same name renamed",
    "words-as-missing": "words read as missing values",
    "groups": "groups synthesised as a whole",
    "survey-weights": "used as survey weights, not released",
    "id-like": "replaced by fresh identifiers",
    "group-id": "left out: identifiers of groups",
    "person-name": "left out: names of people",
    "birth-date": "left out: dates of birth",
    "coordinate": "left out: coordinates",
    "free-text": "left out: free text",
    "near-unique-text": "left out: text that differs in nearly every record",
    "mostly-rare": "left out: most records have a rare level",
    "missing-code": "codes counted as missing",
    "number-as-text": "text read as numbers",
    "date-as-text": "text or numbers read as dates",
    "local-form": "read in a local format",
    "sampling-unit": "clusters and strata, treated as categories",
    "arithmetic": "computed from other columns",
    "groups-of": "looked up from another column",
    "one-to-one": "looked up from another column",
    "private-numbers": "drawn from a range: many records have a value of their own",
    "rare-levels": f"levels of fewer than {K} records pooled",
    "long-factor": "drawn last: many levels",
}
# Findings whose sentence names the columns, and those about a set of columns.
_SENTENCES = (*RULES, "duplicate-rows", "arithmetic", "private-numbers")
_SETS = ("missing-together", "few-numbers", "same-in-group")
_PAIRS = {"one-to-one": "and", "determined-by": "from", "groups-of": "from"}


@dataclass(frozen=True)
class OpenDecision:
    """Something that the user has to decide.

    Parameters
    ----------
    title
        What it is about.
    action
        What to do, in one sentence.
    entry
        The entry of the specification that holds the decision.
    findings
        What was found about it.
    summary
        What is proposed, where no finding is behind it.
    """

    title: str
    action: str
    entry: str
    findings: tuple[Finding, ...] = ()
    summary: str = ""


@dataclass(frozen=True)
class SettledDecision:
    """Something that the starter specification decides.

    Parameters
    ----------
    title
        What is done.
    columns
        The columns concerned, with their codes for missing.
    entry
        The entry of the specification that holds the decision.
    """

    title: str
    columns: tuple[str, ...]
    entry: str


def open_decisions(profile: Profile) -> list[OpenDecision]:
    """Return what the user has to decide, the most important first.

    Examples
    --------
    >>> from caveat.findings import look
    >>> answers = {"sex": ["f", "m"] * 50, "trust": ["yes", "no", "unknown", "yes"] * 25}
    >>> for decision in open_decisions(look(answers))[:2]:
    ...     print(decision.title, "->", decision.entry)
    key variables that an attacker may know -> [[scenario]] keys
    levels that mean no answer -> [columns.trust] missing
    """
    found = [_keys(profile)] if _released(profile) else []
    for ranked in _RANKED:
        codes = ranked if isinstance(ranked, tuple) else (ranked,)
        of_codes = tuple(f for f in profile.findings if f.code in codes and f.status is Status.OPEN)
        if of_codes:
            found.append(_decision(of_codes))
    return found


def _keys(profile: Profile) -> OpenDecision:
    names = _released(profile)
    keys, others = proposal(profile, names)
    summary = f"Proposed: {', '.join(keys)}."
    if others:
        summary += f" Often known too: {listed(others)}."
    elif not candidates(profile, names):
        summary += " No column name says what other people know."
    return OpenDecision(
        "key variables that an attacker may know",
        "Name what other people can know: the risk measures depend on it.",
        "[[scenario]] keys",
        summary=summary,
    )


def _released(profile: Profile) -> list[str]:
    """Return the columns that vary and are neither left out nor computed."""
    settled = (f for f in profile.findings if f.status is Status.SETTLED)
    apart = {
        f.columns[0]
        for f in settled
        if f.code == "arithmetic" or CATALOGUE[f.code].entry in _NOT_RELEASED
    }
    return [c.name for c in profile.columns if c.distinct > 1 and c.name not in apart]


def _decision(findings: tuple[Finding, ...]) -> OpenDecision:
    codes = {f.code for f in findings}
    kind = CATALOGUE[findings[0].code]
    title = kind.title if len(codes) == 1 else _RULES
    actions = {f.action for f in findings}
    several = _STATE if findings[0].code in RULES else kind.action
    action = actions.pop() if len(actions) == 1 else several
    names = {name for f in findings for name in (f.columns if f.code in _SETS else f.columns[:1])}
    entry = kind.entry.format(names.pop() if len(names) == 1 else "NAME")
    return OpenDecision(title, action, entry, findings)


def settled_decisions(profile: Profile) -> list[SettledDecision]:
    """Return what the starter specification decides."""
    grouped = {name for f in profile.about("groups") for name in f.columns}
    settled: dict[tuple[str, str], list[str]] = {}
    for code in _SETTLED:
        for f in (f for f in profile.about(code) if f.status is Status.SETTLED):
            names = f.columns if code == "private-numbers" else f.columns[:1]
            if code == "group-id":
                names = tuple(name for name in names if name not in grouped)
            elif code == "missing-code":
                codes = ", ".join(map(shown, f.suggestion["missing"]))
                names = tuple(f"{name} ({codes if f.rows >= K else HIDDEN})" for name in names)
            order = f.suggestion["groups"].get("order", "") if code == "groups" else ""
            title = f"{_SETTLED[code]}, in the order of {order}" if order else _SETTLED[code]
            if not f.columns:  # how the file was read: the finding itself names what it is about
                title, names = f.message.rstrip("."), ("file",)
            entry = CATALOGUE[code].entry.format("NAME")
            settled.setdefault((title, entry), []).extend(names)
    return [
        SettledDecision(title, tuple(dict.fromkeys(names)), entry)
        for (title, entry), names in settled.items()
        if names
    ]


def further_findings(profile: Profile) -> list[Finding]:
    """Return the findings that none of the first decisions is about."""
    shown = {id(f) for d in open_decisions(profile)[:MOST_DECISIONS] for f in d.findings}
    return [f for f in profile.findings if id(f) not in shown]


def sentences(decision: OpenDecision) -> list[str]:
    """Return what was found about a decision, without values that few records have."""
    if decision.summary:
        return [decision.summary]
    names = [heading(f) for f in decision.findings]
    said = zip(names, decision.findings, strict=True)
    return [f"{name}: {f.discreet}" if name else f.discreet for name, f in said]


def heading(finding: Finding) -> str:
    """Return the columns that a finding is about; nothing where its sentence names them."""
    if finding.code in _SENTENCES or not finding.columns:
        return ""
    if finding.code in _SETS:
        # The last column of a set that shares its values is the identifier of the group.
        last = len(finding.columns) - (finding.code == "same-in-group")
        return listed(finding.columns[:last], 12)
    if finding.code in _PAIRS:
        return f"{finding.columns[0]} {_PAIRS[finding.code]} {finding.columns[1]}"
    return finding.columns[0]
