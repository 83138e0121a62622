"""Who belongs together in both tables of a pair.

The key is taken out of the tables: a release has fresh keys, and what they are called says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.table import Pair, align
from caveat.table.grouping import Groups
from caveat.table.linked import Linked, Members, children_of, members_of
from caveat.utility.weighting import Weights

__all__ = [
    "PairGroups",
    "draw_again",
    "draw_some",
    "group_weights",
    "groups_of",
    "groups_of_children",
]


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

    said: Groups
    original: Members
    synthetic: Members
    control: Members | None = None

    __repr__ = without_values


def groups_of(pair: Pair, said: Groups) -> tuple[Pair, PairGroups]:
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
                code="data.column.absent",
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


def groups_of_children(original: Linked, synthetic: Linked, table: str) -> PairGroups:
    """Return whose children the rows of a table are, in an original and in a release."""
    whose = children_of(original, table), children_of(synthetic, table)
    parents = [who.parents for who in whose if who.parents is not None]
    if all(len(known.names) for known in parents):
        aligned = align(*parents)
        parents = [aligned.original, aligned.synthetic]
    ours, theirs = (
        Members(who.group, who.n_groups, known) for who, known in zip(whose, parents, strict=True)
    )
    link = original.parent_of(table)
    assert link is not None  # or it would not be a table of children
    return PairGroups(Groups(link.column, order=original.order.get(table, "")), ours, theirs)


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
