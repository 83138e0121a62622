"""Who belongs together in both tables of a pair.

The key is taken out of the tables: a release has fresh keys, and what they are called says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.table import Pair, Table, align_copies
from caveat.table.members import Members, children_of, members_of
from caveat.utility.weighting import Weights

__all__ = [
    "Grouped",
    "PairGroups",
    "draw_again",
    "draw_some",
    "group_weights",
    "groups_of",
    "groups_of_children",
]


@dataclass(frozen=True)
class Grouped:
    """How the rows of a table belong together.

    Parameters
    ----------
    key
        The column whose values name the groups.
    constant
        Columns with one value for the whole group; without it those that are so in every group of
        the original.
    size
        The column that holds the number of members; without it one that does in every row of the
        original.
    order
        The column by which the first and the second member are found; "-age" begins with the
        largest. Without it all members of a group are compared with one another.
    """

    key: str
    constant: tuple[str, ...] | None = None
    size: str | None = None
    order: str = ""


@dataclass(frozen=True, eq=False)
class PairGroups:
    """Who belongs together in an original, a synthetic table and perhaps a control.

    Attributes
    ----------
    said
        What was said about the groups.
    original, synthetic, control
        The group of each row.
    """

    said: Grouped
    original: Members
    synthetic: Members
    control: Members | None = None

    __repr__ = without_values


def groups_of(pair: Pair, said: Grouped) -> tuple[Pair, PairGroups]:
    """Take the key out of a pair: the pair without it, and who belongs together."""
    key, outside = said.key, pair.control
    for what, table in (
        ("the original", pair.original),
        ("the synthetic table", pair.synthetic),
        ("the control", outside),
    ):
        if table is not None and key not in table:
            raise CaveatError(
                f"{what} does not say which rows belong together: it lacks the key",
                column=key,
                do="check its name, or release it with fresh keys",
            )
    found = PairGroups(
        said,
        members_of(pair.original, key),
        members_of(pair.synthetic, key),
        None if outside is None else members_of(outside, key),
    )
    bare = Pair(
        pair.original.drop([key]),
        pair.synthetic.drop([key]),
        None if outside is None else outside.drop([key]),
        tuple(d for d in pair.differences if d.column != key),
        tuple(d for d in pair.control_differences if d.column != key),
    )
    return bare, found


def groups_of_children(
    parents: tuple[Any, Any], children: tuple[Any, Any], key: str, column: str, order: str = ""
) -> tuple[Pair, PairGroups]:
    """Return the pair of two tables of children, and whose they are.

    Parameters
    ----------
    parents, children
        The original and the synthetic table of either.
    key, column
        The parents' key, and the column of the children that holds it.
    order
        The children's column by which the first and the second are found.
    """
    above = [Table.from_frame(table) for table in parents]
    below = [Table.from_frame(table) for table in children]
    whose = [children_of(a, key, b, column) for a, b in zip(above, below, strict=True)]
    bare = align_copies(below[0].drop([column]), [below[1].drop([column])])[0]
    known: Sequence[Table | None] = [who.parents for who in whose]
    if known[0] is not None and known[1] is not None and known[0].names:
        aligned = align_copies(known[0], [known[1]])[0]
        known = [aligned.original, aligned.synthetic]
    ours, theirs = (
        Members(who.group, who.n_groups, table) for who, table in zip(whose, known, strict=True)
    )
    return bare, PairGroups(Grouped(column, order=order), ours, theirs)


def group_weights(members: Members, weights: Weights) -> Weights:
    """Return the weight of each group, the mean of its members', as many in sum as groups count.

    Weights of rows sum to the number of rows; those of groups then sum to the number of groups that
    so many rows of the population would make.

    Examples
    --------
    >>> household = Members(np.array([0, 0, 1]), 2)
    >>> group_weights(household, np.array([0.5, 0.5, 2.0])).tolist()
    [0.5, 2.0]
    """
    return None if weights is None else members.means(weights)


def draw_again(
    members: Members, weights: Weights, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Members]:
    """Return the rows of as many groups, drawn with replacement by their weights."""
    n, by_group = members.n_groups, group_weights(members, weights)
    chance = None if by_group is None else by_group / by_group.sum()
    return members.take(rng.choice(n, n, p=chance))


def draw_some(
    members: Members, n: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Members]:
    """Return the rows of so many groups, each drawn once."""
    return members.take(np.sort(rng.permutation(members.n_groups)[:n]))
