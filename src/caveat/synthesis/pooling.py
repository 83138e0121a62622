"""Rare levels leave the vocabulary of a model before anything is coded.

A text that few units have leads to them wherever it stands. Levels that nobody declared and that
fewer than ``rare_below`` units have are therefore pooled, merged or left out with their column,
at one place: every fit, every draw and every attacker sees the pooled table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions.parser import Place, tokens_of
from caveat.table import Column, Kind, Table
from caveat.table.identifying import (
    MOST,
    K,
    has_open_vocabulary,
    level_texts,
    rare_levels,
    units_of_levels,
)
from caveat.table.linked import Linked
from caveat.table.table import Missing

__all__ = [
    "HOWS",
    "KEPT",
    "LEFT_OUT",
    "RareLevels",
    "declared_levels",
    "find_rare",
    "pool_linked",
    "pool_table",
    "rare_below",
    "rare_threshold",
    "remarks_on_rare",
]

LABELS = ("other", "other (rare)", "other (pooled)")
"""What pooled levels are called, the first that the column does not have."""
POOLED, COMMONEST, NEIGHBOUR, EMPTY, LEFT_OUT, KEPT, NONE_RARE = HOWS = (
    "pooled", "commonest", "neighbour", "empty", "left out", "kept", "none",
)  # fmt: skip
"""What happens to rare levels."""
UNITS = {"people": "person", "groups": "group"}
"""What rare levels are counted in: of many, and of one."""
WORDS = {
    POOLED: 'pooled as "{into}"',
    COMMONEST: "too few to pool and replaced by the most frequent level",
    NEIGHBOUR: "merged with the neighbouring level",
    EMPTY: "left empty",
}


@dataclass(frozen=True)
class RareLevels:
    """What happens to the rare levels of a column.

    Parameters
    ----------
    how
        One of ``HOWS``.
    n_levels, records
        How many levels are rare, and how many records have one of them.
    people
        The units that have one of them.
    edge
        The units with a level that exactly as many units have as are needed: without one of them
        it would be rare.
    levels
        The levels that stay, as texts; of a column that is left out or kept none are noted.
    into
        What the others become: a label, or one of the levels.
    held
        Of an order: the levels with enough people, with which others are merged.
    """

    how: str
    n_levels: int
    records: int
    people: int
    edge: int = 0
    levels: tuple[str, ...] = ()
    into: str = ""
    held: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<RareLevels: {self.n_levels:,} {self.how}>"

    def apply(self, column: Column) -> Column:
        """Return a column whose levels are those that leave; such a column stays as it is."""
        if self.how in (LEFT_OUT, KEPT, NONE_RARE):
            return column
        texts = level_texts(column)
        stays = np.isin(texts, [*self.levels, self.into] if self.into else list(self.levels))
        if stays.all():
            return column
        places = np.cumsum(stays) - 1
        levels, missing = column.levels[stays], column.missing
        held = np.flatnonzero(np.isin(texts, self.held))
        if self.how in (POOLED, COMMONEST):
            levels, order = _with_label(levels, self.into)
            places = np.append(order, 0)[places]
        new = [str(level) for level in levels.tolist()]
        if self.how == NEIGHBOUR and len(held):
            places = np.where(stays, places, places[_nearest(held, len(texts))])
        elif self.into and self.into in new:
            places = np.where(stays, places, new.index(self.into))
        else:  # also where a part of the table has no level that others become
            missing = missing if any(m.code is None for m in missing) else (*missing, Missing())
            empty = next(i for i, m in enumerate(missing) if m.code is None)
            places = np.where(stays, places, len(levels) + empty)
        ways = len(levels) + np.arange(len(column.missing))
        codes = np.concatenate([places, ways])[column.codes]
        gone = {level for level, stay in zip(column.levels.tolist(), stays, strict=True)
                if not stay}  # fmt: skip
        labels = {value: text for value, text in column.value_labels.items() if value not in gone}
        return replace(column, codes=codes, levels=levels, missing=missing, value_labels=labels)

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        return {
            "how": self.how,
            "counts": [self.n_levels, self.records, self.people, self.edge],
            "levels": list(self.levels),
            "into": self.into,
            "held": list(self.held),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> RareLevels:
        """Return the rare levels from a file, or raise ValueError if it holds none."""
        counts, levels, into = state["counts"], state["levels"], state["into"]
        held = state.get("held", [])
        if state["how"] not in HOWS or len(counts) != 4:
            raise ValueError("no rare levels")
        if not all(type(n) is int and n >= 0 for n in counts):
            raise ValueError("no counts")
        if not all(isinstance(text, str) for text in (*levels, *held, into)):
            raise ValueError("no levels")
        n, records, people, edge = counts
        if state["how"] == NEIGHBOUR and not held:
            raise ValueError("no level to merge with")
        return cls(state["how"], n, records, people, edge, tuple(levels), into, tuple(held))


def _nearest(stays: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return for each level the nearest one that stays; of two the lower one."""
    distance = np.abs(np.arange(n)[:, None] - stays[None, :])
    return np.asarray(stays[distance.argmin(axis=1)])


def _with_label(levels: NDArray[Any], label: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the levels with a label among them, and where each of them stands now."""
    same = np.arange(len(levels))
    if levels.dtype != object or label in levels.tolist():
        return levels, same
    if list(levels) != sorted(levels):
        return np.append(levels, np.array([label], object)), same
    place = int(np.searchsorted(levels.astype(str), label))
    return np.insert(levels, place, label), same + (same >= place)


def rare_below(given: Any) -> int:
    """Return from how many units on a level is not rare, or say what is wrong with the setting."""
    if given is None:
        return K
    if type(given) is not int or given < 1:
        raise CaveatError(
            "rare_below is a whole number of units, 1 or more",
            where="synthesis",
            do=f"write rare_below = {K}, or 1 to let every level leave",
            entry=("rare_below",),
            code="synthesis.setting.range",
        )
    return given


def rare_threshold(k: int) -> int:
    """Return below how many units a level is called rare where fewer than k do not leave.

    Where every level leaves (k = 1) it is the default: who is recognised by a level is counted all
    the same.
    """
    return K if k <= 1 else k


def declared_levels(options: Mapping[str, Any], column: str) -> list[Any]:
    """Return the levels of a column that a specification names: listed, or in rules and formulas.

    Examples
    --------
    >>> declared_levels({"columns": {"town": {"levels": ["Ulm"]}}}, "town")
    ['Ulm']
    >>> declared_levels({"rules": ['if age < 18 then marital = "single"']}, "marital")
    ['single']
    """
    own = options.get("columns", {}).get(column, {})
    texts = [*options.get("rules", ()), own.get("formula", "")]
    texts += [text for text in options.get("derived", {}).values() if isinstance(text, str)]
    return [*own.get("levels", ()), *(value for text in texts if text for value in _quoted(text))]


def _quoted(text: str) -> list[str]:
    """Return the texts between quotation marks in a rule or formula."""
    try:
        tokens = tokens_of(Place("rule", text))
    except CaveatError:  # who reads it says what is wrong
        return []
    return [str(token.value) for token in tokens if token.kind == "text"]


def find_rare(
    column: Column,
    k: int,
    *,
    declared: Collection[Any] = (),
    keep: bool = False,
    units: NDArray[Any] | None = None,
    leave_out: bool | None = None,
) -> RareLevels | None:
    """Return what happens to the rare levels of a column; None if nothing does.

    Parameters
    ----------
    column
        The column of the original.
    k
        Units that must have a level; 1 keeps every column as it is.
    declared
        Levels that are public.
    keep
        Whether the column is kept as it is.
    units
        The unit of each row; every row is one by default.
    leave_out
        Whether the column is left out, where that was decided on a larger table; by default it is
        if more than half of the records with a value have a rare level.
    """
    if not has_open_vocabulary(column):
        return None
    k, keep = rare_threshold(k), keep or k <= 1
    rare = rare_levels(column, units, k, declared)
    public = column.closed | np.isin(level_texts(column), [str(value) for value in declared])
    edge = (units_of_levels(column, units) == k) & ~public
    if not (rare.any() or edge.any()):
        return None
    n = len(column.levels)
    counts = column.counts[:n]
    records, people = int(counts[rare].sum()), _holders(column, rare, units)
    of = int(rare.sum()), records, people, 0 if keep else _holders(column, edge, units)
    if keep or not rare.any():
        return RareLevels(KEPT if keep else NONE_RARE, *of)
    if records > MOST * counts.sum() if leave_out is None else leave_out:
        return RareLevels(LEFT_OUT, *of[:3])
    stays = tuple(level_texts(column)[~rare].tolist())
    held = tuple(level_texts(column)[~rare & (counts > 0)].tolist())
    if column.kind is Kind.ORDERED and held:
        return RareLevels(NEIGHBOUR, *of, stays, held=held)
    if people < k and held:
        commonest = int(np.where(rare, -1, counts).argmax())
        return RareLevels(COMMONEST, *of, stays, str(level_texts(column)[commonest]))
    if column.levels.dtype != object:
        return RareLevels(EMPTY, *of, stays)
    return RareLevels(POOLED, *of, stays, _label(column, stays))


def _label(column: Column, stays: Collection[str]) -> str:
    used = {*stays, *(str(m.code) for m in column.missing)}
    numbered = (f"other ({i})" for i in range(2, len(used) + 4))
    return next(label for label in (*LABELS, *numbered) if label not in used)


def _holders(column: Column, levels: NDArray[np.bool_], units: NDArray[Any] | None) -> int:
    """Return how many units have one of the levels."""
    flags = np.append(levels, np.zeros(len(column.missing), bool))[column.codes]
    return int(flags.sum()) if units is None else len(np.unique(np.asarray(units)[flags]))


def pool_table(table: Table, rare: Mapping[str, RareLevels]) -> Table:
    """Return a table with nothing but levels that leave; a table that is pooled stays as it is."""
    pooled = {name: of.apply(table[name]) for name, of in rare.items() if name in table}
    changed = {name: column for name, column in pooled.items() if column is not table[name]}
    return table.with_columns(changed) if changed else table


def pool_linked(linked: Linked, rare: Mapping[str, Mapping[str, RareLevels]]) -> Linked:
    """Return linked tables with nothing but levels that leave."""
    tables = {name: pool_table(table, rare.get(name, {})) for name, table in linked.tables.items()}
    same = all(tables[name] is table for name, table in linked.tables.items())
    return linked if same else replace(linked, tables=tables)


def remarks_on_rare(rare: Mapping[str, RareLevels], k: int, units: str = "people") -> list[str]:
    """Return what has to be said about the rare levels of each column, without a level."""
    said, below = [], rare_threshold(k)
    if 1 < k < K:
        said.append(f"rare levels of {k} to {K - 1} {units} leave, because of rare_below = {k}")
    for name, of in rare.items():
        if not of.n_levels:
            continue
        which = f"{_counted(of.n_levels, 'rare level')} (fewer than {below} {units})"
        if of.how == LEFT_OUT:
            said.append(
                f"{name} is left out: most of its values are rare, {which}; "
                f'keep = ["{name}"] would release it, levels = […] declares public ones'
            )
        elif of.how == KEPT:
            said.append(
                f"{name} leaves with {which}: it identifies {_counted(of.people, UNITS[units])}"
            )
        else:
            words = WORDS[of.how].format(into=of.into)
            said.append(f"{name}: {which} in {_counted(of.records, 'record')}, {words}")
    return said


def _counted(n: int, what: str) -> str:
    """Return a number with what it counts.

    Examples
    --------
    >>> _counted(1, "person"), _counted(2, "person"), _counted(2, "record")
    ('1 person', '2 people', '2 records')
    """
    more = next((many for many, one in UNITS.items() if one == what), f"{what}s")
    return f"{n:,} {what if n == 1 else more}"
