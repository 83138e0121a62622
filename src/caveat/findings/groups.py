"""Groups of rows, such as households: what a section ``[groups]`` would say about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.findings.profile import Finding, Strength, listed, plural
from caveat.findings.weights import says_sampling_unit
from caveat.table.column import Column, Kind
from caveat.table.grouping import MOST_MEMBERS, constant_columns, size_columns
from caveat.table.table import Table

__all__ = ["ADULT", "find_groups", "order_of"]

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
