"""Keys of several tables, and the columns that link them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from caveat.findings.groups import order_of
from caveat.table._telling import says_id
from caveat.table.column import Column, Kind
from caveat.table.identifying import judge
from caveat.table.table import Table

__all__ = ["Links", "find_links"]

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
