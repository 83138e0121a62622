"""How probable structure and release are when records go, come or change.

Nothing is grown again: along the records' paths the counts move, and with them the probabilities of
the decisions taken there and, by the back-off, the shares below. One record at a time is done with
tables of what it can do to a candidate; several together are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.tree.guarded._several_structure import structure_changes_of_sets
from caveat.tree.guarded._share_changes import share_changes
from caveat.tree.guarded._structure_changes import structure_changes
from caveat.tree.guarded.ranking import ranking_changes
from caveat.tree.guarded.tree import GuardedTree, Sample, walked

__all__ = ["Change", "Moves", "adjacent_logs", "logs_of_moves", "released_codes"]

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
        The records that take part; those that go have negative weights.
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
            np.concatenate([old.codes, new.codes], axis=1)[:, rows],
            np.concatenate([old.response, new.response])[rows],
            np.concatenate([-old.weights, new.weights])[rows],
        )
        return cls(sample, np.searchsorted(world[rows], np.arange(n_worlds + 1)), rows)

    @property
    def worlds(self) -> Ints:
        """The world of each record."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def adjacent_logs(
    tree: GuardedTree, sample: Sample, released: Floats, gone: Change, come: Change
) -> Floats:
    """Return for each world how much more probable structure and release are than with all records.

    Parameters
    ----------
    tree
        The tree, counted on the sample.
    sample
        All records.
    released
        Of each node how often each code was released; see `released_codes`.
    gone, come
        The record that each world lacks, and the one that it has instead.
    """
    logs = _structure(tree, sample, gone, come) + _distinct_shares(tree, released, gone, come)
    if tree.response.is_ranked:
        each = np.arange(gone.sample.n)
        logs = logs + _ranking(tree, sample, Moves.of(gone, come, (each, each), len(each)))
    return logs


def logs_of_moves(tree: GuardedTree, sample: Sample, released: Floats, moves: Moves) -> Floats:
    """Return the same as `adjacent_logs` where several records go and come together."""
    leaves = tree.apply(moves.sample.codes)
    places, weights = tree.place[moves.sample.response], moves.sample.weights
    logs = _shares(tree, released, moves.worlds, (leaves, places, weights), len(moves.starts) - 1)
    logs = logs + _structure_of_moves(tree, sample, moves)
    if tree.response.is_ranked:
        logs = logs + _ranking(tree, sample, moves)
    return logs


def released_codes(
    tree: GuardedTree, codes: NDArray[np.uint16], response: NDArray[np.int64]
) -> Floats:
    """Return for each node how often each code was released below it, summed up from code 0 on."""
    counts = np.zeros((len(tree.candidate), tree.response.n_codes + 1))
    np.add.at(counts, (tree.apply(codes), tree.place[response] + 1), 1.0)
    for m in range(len(counts) - 1, 0, -1):
        counts[tree.parent[m]] += counts[m]
    return np.asarray(np.cumsum(counts, axis=1))


def _ranking(tree: GuardedTree, sample: Sample, moves: Moves) -> Floats:
    """Return the change of the log probability of the places of classes."""
    counts, moved = tree.response.count(sample), moves.sample
    changes = ranking_changes(counts, tree.place, moved.response, moved.weights, moves.starts)
    return np.asarray(changes)


def _whose(tree: GuardedTree) -> Ints:
    """Return whose candidate each is."""
    found = tree.candidates
    return np.repeat(np.arange(len(found.n_levels)), np.diff(found.first))


def _structure_of_moves(tree: GuardedTree, sample: Sample, moves: Moves) -> Floats:
    found, classes, moved = tree.candidates, tree.response.scores, moves.sample
    if not found.n:
        return np.zeros(len(moves.starts) - 1)
    nodes, order, _ = walked(sample, found, tree.guard, tree.response, 0, tree.candidate)
    records = sample.codes, classes[sample.response], sample.weights, order
    theirs = moved.codes, classes[moved.response], moved.weights, np.arange(moved.n)
    return np.asarray(
        structure_changes_of_sets(
            records, nodes, found.arrays, _whose(tree), tree.response.n_scores, tree.guard.numbers,
            theirs, moves.worlds, len(moves.starts) - 1,
        )
    )  # fmt: skip


def _structure(tree: GuardedTree, sample: Sample, gone: Change, come: Change) -> Floats:
    found, classes = tree.candidates, tree.response.scores
    if not found.n:
        return np.zeros(gone.sample.n)
    nodes, order, _ = walked(sample, found, tree.guard, tree.response, 0, tree.candidate)
    sides = [
        (s.sample.codes, classes[s.sample.response], s.sample.weights, s.takes_part)
        for s in (gone, come)
    ]
    records = sample.codes, classes[sample.response], sample.weights, order
    return np.asarray(
        structure_changes(
            records, nodes, found.arrays, _whose(tree), tree.response.n_scores, tree.guard.numbers,
            *sides, _how(classes, gone, come),
        )
    )  # fmt: skip


def _how(
    classes: NDArray[np.int64], gone: Change, come: Change
) -> tuple[NDArray[np.bool_], NDArray[np.int64], float]:
    """Return which worlds a table serves, whose record changes its class alone, and the weight."""
    old, new = gone.sample, come.sample
    weight = float(old.weights.max(initial=0.0))
    same = np.all(old.codes == new.codes, axis=0)
    tabled = (old.weights == weight) & (new.weights == weight)
    tabled &= same | (classes[old.response] == classes[new.response])
    # Worlds of one record stand together; they have the same predictors and the same class.
    first = np.ones(old.n, bool)
    first[1:] = np.any(old.codes[:, 1:] != old.codes[:, :-1], axis=0)
    first[1:] |= old.response[1:] != old.response[:-1]
    return tabled, np.where(same & tabled, np.cumsum(first), -1), weight


def _distinct_shares(tree: GuardedTree, released: Floats, gone: Change, come: Change) -> Floats:
    """Return the change of the log probability of the release; equal changes are done once."""
    sides = []
    for side, sign in ((gone, -1.0), (come, 1.0)):
        on = side.takes_part
        leaves = np.where(on, tree.apply(side.sample.codes), -1)
        weights = np.where(on, sign * side.sample.weights, 0.0).view(np.int64)
        sides += [leaves, np.where(on, tree.place[side.sample.response], -1), weights]
    lines, kind = np.unique(np.stack(sides, axis=1), axis=0, return_inverse=True)
    kinds = np.repeat(np.arange(len(lines)), 2)
    leaves, places, weights = (lines[:, [i, i + 3]].ravel() for i in range(3))
    on = leaves >= 0
    moved = leaves[on], places[on], weights.view(np.float64)[on]
    return _shares(tree, released, kinds[on], moved, len(lines))[kind.reshape(-1)]


def _shares(
    tree: GuardedTree, released: Floats, worlds: Ints, moved: tuple[Ints, Ints, Floats], n: int
) -> Floats:
    """Return the change of the log probability of the release by leaves, places and weights."""
    order = np.lexsort((moved[1], worlds))
    leaves, places, weights = (part[order] for part in moved)
    starts = np.searchsorted(worlds, np.arange(n + 1))
    changes = share_changes(
        (tree.counts, tree.shares, tree.parent, tree.children), released, tree.guard.shrinkage,
        (leaves, places, weights), starts,
    )  # fmt: skip
    return np.asarray(changes)
