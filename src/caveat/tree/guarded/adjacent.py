"""How probable structure and release are when one record goes, comes or changes.

Nothing is grown again: along the record's path the counts move by one, and with them the
probabilities of the decisions taken there and, by the back-off, the shares below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.tree.guarded._share_changes import share_changes
from caveat.tree.guarded._structure_changes import structure_changes
from caveat.tree.guarded.ranking import ranking_changes
from caveat.tree.guarded.tree import GuardedTree, Sample, walked

__all__ = ["Change", "adjacent_logs", "released_codes"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Change:
    """One side of the changes: the records that go, or those that come, one for each world.

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
        Of each leaf how often each code was released; see `released_codes`.
    gone, come
        The record that each world lacks, and the one that it has instead.
    """
    logs = _structure(tree, sample, gone, come) + _shares(tree, released, gone, come)
    if tree.response.is_ranked:
        sides = [
            (np.where(s.takes_part, s.sample.response, -1), s.sample.weights) for s in (gone, come)
        ]
        counts = tree.response.count(sample)
        logs = logs + ranking_changes(counts, tree.place, *sides)
    return logs


def released_codes(
    tree: GuardedTree, codes: NDArray[np.uint16], response: NDArray[np.int64]
) -> Floats:
    """Return for each node how often each code was released in it, summed up from code 0 on."""
    counts = np.zeros((len(tree.candidate), tree.response.n_codes + 1))
    np.add.at(counts, (tree.apply(codes), tree.place[response] + 1), 1.0)
    return np.asarray(np.cumsum(counts, axis=1))


def _structure(tree: GuardedTree, sample: Sample, gone: Change, come: Change) -> Floats:
    found, classes = tree.candidates, tree.response.scores
    if not found.n:
        return np.zeros(gone.sample.n)
    nodes, order, _ = walked(sample, found, tree.guard, tree.response, 0, tree.candidate)
    of = np.repeat(np.arange(len(found.n_levels)), np.diff(found.first))
    sides = [
        (s.sample.codes, classes[s.sample.response], s.sample.weights, s.takes_part)
        for s in (gone, come)
    ]
    records = sample.codes, classes[sample.response], sample.weights, order
    return np.asarray(
        structure_changes(
            records, nodes, found.arrays, of, tree.response.n_scores, tree.guard.numbers, *sides,
            _how(classes, gone, come),
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


def _shares(tree: GuardedTree, released: Floats, gone: Change, come: Change) -> Floats:
    """Return the change of the log probability of the release; equal changes are done once."""
    sides = []
    for side in (gone, come):
        on = side.takes_part
        leaves = np.where(on, tree.apply(side.sample.codes), -1)
        weights = np.where(on, side.sample.weights, 0.0).view(np.int64)
        sides += [leaves, np.where(on, tree.place[side.sample.response], -1), weights]
    lines, kind = np.unique(np.stack(sides, axis=1), axis=0, return_inverse=True)
    whole = [np.ascontiguousarray(lines[:, i]) for i in range(6)]
    changes = share_changes(
        (tree.counts, tree.shares, tree.parent, tree.children), released, tree.guard.shrinkage,
        (whole[0], whole[1], whole[2].view(np.float64)),
        (whole[3], whole[4], whole[5].view(np.float64)),
    )  # fmt: skip
    return np.asarray(changes[kind.reshape(-1)])
