"""Columns that determine others: towns in counties, written as two columns.

Who knows which town is in which county knows that other combinations do not exist. A pattern whose
empty cells are hidden must hold against those who know this as well as against those who do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from caveat.outputs.hierarchy import Hierarchy
from caveat.table.cells import key_cells

__all__ = ["Dependency", "compatible", "dependencies"]

Ints = NDArray[np.int64]
NEARLY = 0.9  # of the records: a few codes, such as towns on a border, may have several
CHANCE = 0.5  # of the records, if the columns were independent; more of them prove nothing


@dataclass(frozen=True)
class Dependency:
    """Columns whose codes together determine the code of another column.

    Parameters
    ----------
    of
        The columns that determine it, one or two.
    on
        The column that is determined.
    depth
        Down to which level of its codes; 1 is the level below the total.
    """

    of: tuple[str, ...]
    on: str
    depth: int = 1

    def __str__(self) -> str:
        many = len(self.of) > 1
        return f"{' and '.join(self.of)} {'determine' if many else 'determines'} {self.on}"


def dependencies(
    nodes: Ints, counts: Ints, hierarchies: Mapping[str, Hierarchy]
) -> tuple[Dependency, ...]:
    """Find columns that determine others.

    One column determines another if each of its codes occurs with one code of the other only. It is
    also counted if that holds of codes with nine tenths of the records, as where a few towns lie in
    two counties, unless chance alone would bring half of the records there. Two columns together
    are counted only if chance would not.

    Parameters
    ----------
    nodes
        The position of the code in each column, for each combination that occurs.
    counts
        How many records have it.
    hierarchies
        The codes of each column.

    Examples
    --------
    >>> trees = {"town": Hierarchy.of(["a", "b", "c"]), "county": Hierarchy.of(["n", "s"])}
    >>> nodes = np.array([[1, 1], [2, 1], [3, 2]])
    >>> [str(one) for one in dependencies(nodes, np.array([9, 4, 7]), trees)]
    ['town determines county']
    """
    names, found = tuple(hierarchies), []
    for name, tree in hierarchies.items():
        others = [other for other in names if other != name]
        for depth in range(len(tree.at_depth) - 1, 0, -1):
            there = _determinants(nodes, counts, hierarchies, others, (name, depth))
            found += [Dependency(of, name, depth) for of in there]
            # What determines the finest codes determines those above them too.
            others = [other for other in others if (other,) not in there]
    return tuple(found)


def _determinants(
    nodes: Ints, counts: Ints, hierarchies: Mapping[str, Hierarchy], others: Sequence[str],
    target: tuple[str, int],
) -> list[tuple[str, ...]]:  # fmt: skip
    """Return the columns that determine a target, alone or in pairs of such as do not alone."""
    names = list(hierarchies)
    values = _view(nodes, hierarchies, *target)
    if len(np.unique(values)) < 2:
        return []
    alone = [
        other for other in others
        if _determines(nodes[:, [names.index(other)]], values, counts, strictly=True)
    ]  # fmt: skip
    rest = [other for other in others if other not in alone]
    pairs = [
        pair for pair in combinations(rest, 2)
        if _determines(nodes[:, [names.index(one) for one in pair]], values, counts)
    ]  # fmt: skip
    return [*((one,) for one in alone), *pairs]


def _determines(groups: Ints, values: Ints, counts: Ints, *, strictly: bool = False) -> bool:
    """Whether groups have one value each: all of them, or more than chance would."""
    sizes = [int(column.max()) + 1 for column in groups.T]
    (group,), n = key_cells([list(groups.T)], sizes)
    (pair,), n_pairs = key_cells([[group, values]], [n, int(values.max()) + 1])
    if strictly and n_pairs == n:
        return True
    first = np.zeros(n_pairs, np.int64)
    first[pair] = group
    single = np.bincount(first, minlength=n)[group] == 1
    if counts[single].sum() < NEARLY * counts.sum():
        return False
    shares = np.bincount(values, counts) / counts.sum()
    sizes_of, times = np.unique(np.bincount(group, counts, n), return_counts=True)
    expected = sum(
        size * many * float((shares**size).sum())
        for size, many in zip(sizes_of.tolist(), times.tolist(), strict=True)
    )
    return bool(expected <= CHANCE * counts.sum())


def _view(nodes: Ints, hierarchies: Mapping[str, Hierarchy], name: str, depth: int) -> Ints:
    """Return the codes of a column down to a depth; a code that ends above it stays."""
    mine = nodes[:, list(hierarchies).index(name)]
    above = hierarchies[name].at_depth[depth][mine]
    return np.where(above < 0, mine, above)


def compatible(
    inner: Ints, occurs: Ints, hierarchies: Mapping[str, Hierarchy], found: Sequence[Dependency]
) -> NDArray[np.bool_]:
    """Return which combinations of codes dependencies allow.

    Parameters
    ----------
    inner
        The position of the code in each column, for each combination.
    occurs
        The same for those that records have.
    hierarchies
        The codes of each column.
    found
        The dependencies. Those of their columns' codes that occur together are possible.
    """
    out, names = np.ones(len(inner), bool), list(hierarchies)
    for one in found:
        at = [names.index(name) for name in one.of]
        keys = [
            [*part[:, at].T, _view(part, hierarchies, one.on, one.depth)]
            for part in (occurs, inner)
        ]  # fmt: skip
        sizes = [len(hierarchies[name].codes) for name in (*one.of, one.on)]
        (there, mine), n = key_cells(keys, sizes)
        out &= np.isin(np.arange(n), there)[mine]
    return out
