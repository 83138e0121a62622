"""How probable structure and release are when records go, come or change.

Nothing is grown again: along the records' paths the counts move, and with them the probabilities of
the decisions taken there and, by the back-off, the shares below. Records of one world move
together: where their paths meet, it is by all of them at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.showing import without_values
from caveat.tree.guarded._changes import class_changes, share_changes, structure_changes
from caveat.tree.guarded.tree import GuardedTree, Sample, ranking_changes, walked

__all__ = ["Change", "Moves", "logs_of_moves", "moves_work", "released_codes"]

MOST_POWER = 600.0
"""Powers of e that floating point holds, with room to spare."""

OF_SHARES = 0.25
"""Work for a node and a halving of its codes, where a candidate split at a node is 1."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Change:
    """One side of the changes: the records that go, or those that come.

    Parameters
    ----------
    sample
        The records in the codes of the tree.
    takes_part
        Which of them are in the tree at all.
    """

    sample: Sample
    takes_part: NDArray[np.bool_]

    __repr__ = without_values


@dataclass(frozen=True, eq=False)
class Moves:
    """All records that go or come, any number in each world.

    Parameters
    ----------
    sample
        The records that take part; those that go have negative weights, and come first.
    starts
        Where those of each world begin, and the end.
    rows
        Which they are among those that go and then those that come.
    """

    sample: Sample
    starts: Ints
    rows: Ints

    __repr__ = without_values

    @classmethod
    def of(cls, gone: Change, come: Change, worlds: tuple[Ints, Ints], n_worlds: int) -> Moves:
        """Return the moves of records that go and come, each in its world."""
        world = np.concatenate(worlds)
        rows = np.flatnonzero(np.concatenate([gone.takes_part, come.takes_part]))
        rows = rows[np.argsort(world[rows], kind="stable")]
        old, new = gone.sample, come.sample
        sample = Sample(
            np.concatenate([old.codes, new.codes], axis=1).take(rows, axis=1),
            np.concatenate([old.response, new.response])[rows],
            np.concatenate([-old.weights, new.weights])[rows],
        )
        return cls(sample, np.searchsorted(world[rows], np.arange(n_worlds + 1)), rows)

    @property
    def n_worlds(self) -> int:
        """Number of worlds."""
        return len(self.starts) - 1

    @property
    def worlds(self) -> Ints:
        """The world of each record."""
        return np.repeat(np.arange(self.n_worlds), np.diff(self.starts))

    def with_class_alone(self) -> tuple[Ints, float]:
        """Return the worlds in which one record changes nothing but its class, and its weight.

        One weight serves all; worlds with another are left out.
        """
        pairs = np.flatnonzero(np.diff(self.starts) == 2)
        first, weights = self.starts[pairs], self.sample.weights
        pairs = pairs[weights[first] == -weights[first + 1]]
        first = self.starts[pairs]
        codes = self.sample.codes
        pairs = pairs[np.all(codes[:, first] == codes[:, first + 1], axis=0)]
        if not len(pairs):
            return pairs, 0.0
        own = weights[self.starts[pairs] + 1]
        return pairs[own == own[0]], float(own[0])


def logs_of_moves(tree: GuardedTree, sample: Sample, released: Floats, moves: Moves) -> Floats:
    """Return for each world how much more probable structure and release are than with all records.

    Parameters
    ----------
    tree
        The tree, counted on the sample.
    sample
        All records.
    released
        Of each node how often each code was released; see `released_codes`.
    moves
        The records that each world lacks, and those that it has instead.
    """
    moved = moves.sample
    logs = _structure(tree, sample, moves) + _shares(tree, released, moves)
    if tree.response.is_ranked:
        counts = tree.response.count(sample)
        logs = logs + ranking_changes(
            counts, tree.place, moved.response, moved.weights, moves.starts
        )
    return np.asarray(logs)


def moves_work(tree: GuardedTree) -> float:
    """Return the work of one record that moves: candidate splits that are scored on its path."""
    sizes = tree.counts[:, -1]
    visits = float(sizes[tree.candidate >= 0].sum() / max(sizes[0], 1.0))
    codes = tree.response.n_codes
    halvings = math.ceil(math.log2(max(codes, 2)))
    ranked = codes if tree.response.is_ranked else 0
    return visits * tree.candidates.n + OF_SHARES * len(sizes) * halvings + ranked


def released_codes(
    tree: GuardedTree, codes: NDArray[np.uint16], response: NDArray[np.int64]
) -> Floats:
    """Return for each node how often each code was released below it, summed up from code 0 on."""
    counts = np.zeros((len(tree.candidate), tree.response.n_codes + 1))
    np.add.at(counts, (tree.apply(codes), tree.place[response] + 1), 1.0)
    for m in range(len(counts) - 1, 0, -1):
        counts[tree.parent[m]] += counts[m]
    return np.asarray(np.cumsum(counts, axis=1))


def _structure(tree: GuardedTree, sample: Sample, moves: Moves) -> Floats:
    found, classes, moved = tree.candidates, tree.response.scores, moves.sample
    changes = np.zeros(moves.n_worlds)
    if not found.n or not moved.n:
        return changes
    nodes, records, _ = walked(sample, found, tree.guard, tree.response, 0, tree.candidate)
    of = np.repeat(np.arange(len(found.n_levels)), np.diff(found.first))
    given = records, nodes, found.arrays, of, tree.response.n_scores, tree.guard.numbers
    response = classes[moved.response]
    alone, weight = moves.with_class_alone()
    # Beyond what exp can hold each world has a largest gain of its own.
    if 8.0 * weight > MOST_POWER * tree.guard.temperature:
        alone = alone[:0]
    if len(alone):
        first = moves.starts[alone]
        codes, old, new = moved.codes.take(first, axis=1), response[first], response[first + 1]
        theirs = codes, old, new, np.arange(len(alone)), _who(codes, old)
        changes[alone] = class_changes(*given, theirs, weight)
    worlds = moves.worlds
    others = np.flatnonzero(~np.isin(worlds, alone))
    if len(others):
        codes, weights = moved.codes.take(others, axis=1), moved.weights[others]
        rest = codes, response[others], weights, np.arange(len(others))
        changes += structure_changes(*given, rest, worlds[others], moves.n_worlds)
    return changes


def _who(codes: NDArray[np.uint16], classes: Ints) -> Ints:
    """Return a number for each record; records beside each other that are equal have the same."""
    first = np.ones(len(classes), bool)
    first[1:] = np.any(codes[:, 1:] != codes[:, :-1], axis=0) | (classes[1:] != classes[:-1])
    return np.cumsum(first)


def _shares(tree: GuardedTree, released: Floats, moves: Moves) -> Floats:
    """Return the change of the log probability of the release."""
    places = tree.place[moves.sample.response]
    order = np.lexsort((places, moves.worlds))
    leaves, weights = tree.apply(moves.sample.codes)[order], moves.sample.weights[order]
    changes = share_changes(
        (tree.counts, tree.shares, tree.parent, tree.children), released, tree.guard.shrinkage,
        (leaves, places[order], weights), moves.starts,
    )  # fmt: skip
    return np.asarray(changes)
