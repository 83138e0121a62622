# mypy: disable-error-code="no-untyped-def"
"""A guarded tree: a drawn structure, and shares that no single record can move far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import inner, kernel
from caveat.showing import without_values
from caveat.tree.guarded._structure import goes_left, pack_codes, predictor_of, walk
from caveat.tree.guarded.hierarchy import back_off, count_nodes, draw_codes, halves, log_shares

ALL_UP_TO = 5
"""Levels up to which every way to part them in two is a candidate."""

SUBSETS = 24
"""Subsets of a predictor with more levels, beside its single levels."""

SEED = 20_11
"""Root of the subsets: a constant, the same for all data."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """All splits that a node may take.

    Parameters
    ----------
    n_levels, ordered
        Levels of each predictor, and whether their order has a meaning.

    Attributes
    ----------
    first
        Number of the first candidate of each predictor, and of all.
    sides, side_at
        For predictors without an order one line per candidate with 1 for each level that goes
        left; and where the lines of a predictor begin.

    Examples
    --------
    An order of four levels has three cuts; three levels without one are parted in three ways.

    >>> found = Candidates([4, 3], [True, False])
    >>> found.first.tolist()
    [0, 3, 6]
    >>> found.sides.reshape(3, 3).tolist()
    [[1, 0, 0], [0, 1, 0], [1, 1, 0]]
    """

    n_levels: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    __repr__ = without_values

    first: NDArray[np.int64] = field(init=False)
    sides: NDArray[np.uint8] = field(init=False)
    side_at: NDArray[np.int64] = field(init=False)

    def __init__(self, n_levels: Sequence[int], ordered: Sequence[bool]) -> None:
        counts, lines, starts, place = [], [np.zeros(0, np.uint8)], [], 0
        for levels, has_order in zip(n_levels, ordered, strict=True):
            starts.append(place)
            if has_order:
                counts.append(max(levels - 1, 0))
                continue
            own = _sides(levels)
            counts.append(len(own))
            lines.append(own.ravel())
            place += own.size
        values: dict[str, NDArray[Any]] = {
            "n_levels": np.asarray(n_levels, np.int64),
            "ordered": np.asarray(ordered, np.bool_),
            "first": np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
            "sides": np.concatenate(lines),
            "side_at": np.asarray(starts, np.int64),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the kernels take."""
        return self.ordered, self.n_levels, self.first, self.sides, self.side_at

    @property
    def n(self) -> int:
        """Number of candidates."""
        return int(self.first[-1])


def _sides(levels: int) -> NDArray[np.uint8]:
    """Return the candidates of a predictor without an order, one line each."""
    if levels <= ALL_UP_TO:
        # The last level stays on the right, so that no partition comes twice.
        numbers = np.arange(1, 1 << max(levels - 1, 0))
        return ((numbers[:, None] >> np.arange(levels)) & 1).astype(np.uint8)
    drawn = np.random.default_rng((SEED, levels)).random((SUBSETS, levels))
    half = np.argsort(np.argsort(drawn, axis=1), axis=1) < levels // 2
    return np.concatenate([np.eye(levels, dtype=np.uint8), half.astype(np.uint8)])


# -------------------------------------------------------------------------------------------------
# The order in which classes without one stand in the hierarchy: common ones first, but drawn.
#
# So rare classes are decided together. The order is drawn class by class, each with probability
# proportional to exp(n / scale) among those that are left, and that probability is part of the
# structure's.


SCALE = 5.0
"""Records by which a class must lead to come e times as often before another."""

MOST_RANKED = 300
"""Classes beyond which their order is that of the dictionary."""


def draw_ranking(counts: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the place of each class. Noise by Gumbel's law and sorting gives just this draw."""
    order = np.argsort(-(counts / SCALE + rng.gumbel(size=len(counts))), kind="stable")
    place = np.empty(len(counts), np.int64)
    place[order] = np.arange(len(counts))
    return place


@inner
def log_of(counts, order):
    """Return the log probability of an order."""
    total, left = 0.0, -np.inf
    for i in range(len(order) - 1, -1, -1):
        x = counts[order[i]] / SCALE
        top = max(x, left)
        left = top + math.log(math.exp(x - top) + math.exp(left - top))
        total += x - left
    return total


@kernel
def log_ranking(counts, place):
    """Return the log probability of the places of classes."""
    return log_of(counts, np.argsort(place))


@kernel
def ranking_changes(counts, place, classes, weights, starts):
    """Return for each world the change of the log probability.

    ``classes`` and ``weights``, negative if they go, are those of the records that move; those of
    one world stand together from its start on.
    """
    order, now = np.argsort(place), counts.copy()
    base = log_of(counts, order)
    changes = np.zeros(len(starts) - 1)
    for i in range(len(changes)):
        begin, end = starts[i], starts[i + 1]
        if begin == end:
            continue
        for j in range(begin, end):
            now[classes[j]] += weights[j]
        changes[i] = log_of(now, order) - base
        for j in range(begin, end):
            now[classes[j]] = counts[classes[j]]
    return changes


# -------------------------------------------------------------------------------------------------
# A guarded tree: a drawn structure, and shares that no single record can move far.


MOST_LEVELS = 1 << 16
MOST_SCORES = 64
NUMBER_SCORES = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Guard:
    """How strongly single records are hidden.

    Parameters
    ----------
    temperature
        A split is chosen with probability proportional to exp(gain / temperature).
    smallest
        Number of records at which a node is split in half of the cases.
    backoff
        Records' worth of the parent node's share in that of a node (α).
    floor
        Records of the rarer half that the parent node's share brings at least (κ).
    depth
        Most splits from the root to a leaf.
    """

    temperature: float = 0.7
    smallest: float = 120.0
    backoff: float = 4.0
    floor: float = 1.0
    depth: int = 20

    @property
    def softness(self) -> float:
        """Records over which the decision to split fades."""
        return self.smallest / 10

    @property
    def least(self) -> float:
        """Records below which a child costs its split one unit of gain each."""
        return self.smallest * 0.3

    @property
    def shrinkage(self) -> tuple[float, float]:
        """How much the parent node's share counts: α and κ."""
        return float(self.backoff), float(self.floor)

    @property
    def numbers(self) -> tuple[float, float, float, float, int]:
        """What the kernel takes."""
        return (float(self.temperature), float(self.smallest), self.softness, self.least,
                int(self.depth))  # fmt: skip


@dataclass(frozen=True)
class Response:
    """What is drawn.

    Parameters
    ----------
    n_codes
        Number of codes.
    is_number
        Whether they are cells of a number.
    has_order
        Whether their order has a meaning.
    """

    n_codes: int
    is_number: bool = False
    has_order: bool = False

    @property
    def is_ranked(self) -> bool:
        """Whether the places of the codes are drawn."""
        return not self.has_order and 2 < self.n_codes <= MOST_RANKED

    @property
    def n_scores(self) -> int:
        """Number of classes that splits are judged by."""
        return min(NUMBER_SCORES if self.is_number else MOST_SCORES, self.n_codes)

    @property
    def scores(self) -> NDArray[np.int64]:
        """The class of each code that splits are judged by: codes beside each other share one."""
        return np.arange(self.n_codes) * self.n_scores // self.n_codes

    def count(self, sample: Sample) -> Floats:
        """Return the weight of each code."""
        return np.bincount(sample.response, sample.weights, self.n_codes).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Sample:
    """The records that a tree is counted on.

    Parameters
    ----------
    codes
        One line per predictor, one entry per record.
    response
        The code of the response of each record.
    weights
        The weight of each record.
    """

    codes: NDArray[np.uint16]
    response: NDArray[np.int64]
    weights: Floats

    __repr__ = without_values

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.response)


@dataclass(frozen=True, eq=False)
class GuardedTree:
    """Structure and counts.

    Parameters
    ----------
    candidates
        The splits that a node may take.
    guard
        The settings.
    response
        The kind of response.
    place
        The place of each code in the hierarchy.
    candidate, children, parent, depth
        Of each node: the candidate it takes (-1 for a leaf), its left child (the right one is the
        next), its parent, its distance from the root.
    counts
        Of each node: the weight of the codes before each place.
    log_structure
        Log probability that these records give this structure.
    """

    candidates: Candidates
    guard: Guard
    response: Response
    place: NDArray[np.int64]
    candidate: NDArray[np.int32]
    children: NDArray[np.int32]
    parent: NDArray[np.int32]
    depth: NDArray[np.int32]
    counts: Floats = field(repr=False)
    log_structure: float

    __repr__ = without_values

    @cached_property
    def ranges(self) -> NDArray[np.int64]:
        """The codes of every branch."""
        return halves(self.response.n_codes)

    @cached_property
    def shares(self) -> Floats:
        """The share of the left half of every branch at every node."""
        return np.asarray(back_off(self.counts, self.parent, self.ranges, self.guard.shrinkage))

    def apply(self, codes: NDArray[np.uint16]) -> NDArray[np.int64]:
        """Return the leaf of each row."""
        found = self.candidates.arrays
        return np.asarray(leaves_of(codes, self.candidate, self.children, found))

    def draw(self, codes: NDArray[np.uint16], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw a code for each row."""
        leaves = self.apply(codes)
        places = draw_codes(self.shares, leaves, rng.random(len(leaves)))
        return np.asarray(np.argsort(self.place)[places])

    def log_prob(self, codes: NDArray[np.uint16], response: NDArray[Any]) -> Floats:
        """Return the log probability of the response of each row."""
        leaves = self.apply(codes)
        return np.asarray(log_shares(self.shares, leaves, self.place[response]))

    def arrays(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        return {
            "n_levels": self.candidates.n_levels,
            "ordered": self.candidates.ordered.astype(np.uint8),
            "guard": [float(v) for v in astuple(self.guard)],
            "response": list(astuple(self.response)),
            "place": self.place,
            "candidate": self.candidate,
            "counts": self.counts,
            "log_structure": self.log_structure,
        }

    @classmethod
    def from_arrays(cls, state: dict[str, Any]) -> GuardedTree:
        """Return the tree from its arrays, or raise ValueError if they are none of a tree."""
        levels, ordered = (np.asarray(state[name]) for name in ("n_levels", "ordered"))
        if levels.dtype.kind not in "iu" or levels.ndim != 1 or levels.shape != ordered.shape:
            raise ValueError("no predictors")
        if len(levels) and not 1 <= levels.min() <= levels.max() <= MOST_LEVELS:
            raise ValueError("no levels")
        found = Candidates(levels.tolist(), (ordered != 0).tolist())
        tau, smallest, alpha, beta, depth = map(float, state["guard"])
        guard = Guard(tau, smallest, alpha, beta, int(depth))
        candidate, counts = np.asarray(state["candidate"]), np.asarray(state["counts"])
        response, place = Response(*state["response"]), np.asarray(state["place"])
        n_codes, logs = response.n_codes, float(state["log_structure"])
        if type(n_codes) is not int or not 1 <= n_codes <= MOST_LEVELS:
            raise ValueError("no response")
        if type(response.is_number) is not bool or type(response.has_order) is not bool:
            raise ValueError("no response")
        if place.dtype != np.int64 or not np.array_equal(np.sort(place), np.arange(n_codes)):
            raise ValueError("no places")
        splits = int((candidate >= 0).sum())
        if candidate.dtype != np.int32 or candidate.shape != (2 * splits + 1,):
            raise ValueError("no nodes")
        if candidate.max() >= found.n or candidate.min() < -1:
            raise ValueError("a split that is no candidate")
        if counts.shape != (len(candidate), n_codes + 1) or counts.dtype != np.float64:
            raise ValueError("no counts")
        steps = np.diff(counts, axis=1)
        if not (np.isfinite(counts).all() and (counts[:, 0] == 0).all() and (steps >= 0).all()):
            raise ValueError("counts that do not rise")
        if not math.isfinite(logs) or logs > 0:
            raise ValueError("no probability")
        if not (guard.temperature > 0 and guard.smallest > 0 and guard.backoff >= 0
                and guard.floor > 0 and guard.depth >= 0):  # fmt: skip
            raise ValueError("no guard")
        children, parent, depths = _links(candidate)
        return cls(found, guard, response, place, candidate, children, parent, depths, counts, logs)

    def counted_on(self, sample: Sample) -> GuardedTree:
        """Return the same structure with the counts, and the probability, of other records."""
        given = self.place, 0, self.candidate
        return _counted(sample, self.candidates, self.guard, self.response, *given)


def _links(
    candidate: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return left children, parents and depths of nodes whose children come in order."""
    split = np.flatnonzero(candidate >= 0)
    children = np.full(len(candidate), -1, np.int32)
    children[split] = 1 + 2 * np.arange(len(split))
    parent = np.full(len(candidate), -1, np.int32)
    parent[1:] = np.repeat(split, 2)
    depth = np.zeros(len(candidate), np.int32)
    for m in range(1, len(candidate)):
        if parent[m] >= m:
            raise ValueError("a node before its parent")
        depth[m] = depth[parent[m]] + 1
    return children, parent, depth


def grow_guarded(
    sample: Sample,
    candidates: Candidates,
    response: Response,
    guard: Guard,
    rng: np.random.Generator,
) -> GuardedTree:
    """Draw the structure of a tree and count the records in it."""
    place = np.arange(response.n_codes)
    if response.is_ranked:
        place = draw_ranking(response.count(sample), rng)
    key = int(rng.integers(1 << 63))
    return _counted(sample, candidates, guard, response, place, key, np.zeros(0, np.int32))


def walked(
    sample: Sample,
    found: Candidates,
    guard: Guard,
    response: Response,
    key: int,
    given: NDArray[np.int32],
) -> tuple[NDArray[np.int64], tuple[Any, ...], float]:
    """Return the nodes of a structure, the records that the kernels take, and the log probability.

    These are codes, classes, weights (none if all are one), the rows in the order of the nodes, and
    the packed codes.
    """
    # As short as they can be: there is one of each for every record, and for every thread.
    order = np.arange(sample.n, dtype=np.uint32)
    scores = response.scores.astype(np.uint8)[sample.response]
    packed = pack_codes(sample.codes, found.n_levels, scores)
    weights = sample.weights[:0] if (sample.weights == 1.0).all() else sample.weights
    records = sample.codes, scores, weights, order, packed
    nodes, logs = walk(
        records, found.arrays, response.n_scores, guard.numbers, np.uint64(key), given
    )
    return nodes, records, float(logs)


def _counted(
    sample: Sample,
    found: Candidates,
    guard: Guard,
    response: Response,
    place: NDArray[np.int64],
    key: int,
    given: NDArray[np.int32],
) -> GuardedTree:
    nodes, records, logs = walked(sample, found, guard, response, key, given)
    candidate, children, parent, depth = (
        np.ascontiguousarray(nodes[:, i]).astype(np.int32) for i in range(4)
    )
    short = place.astype(np.uint16)  # at most MOST_LEVELS of them
    counts = count_nodes(
        short[sample.response], sample.weights, records[3], nodes, response.n_codes
    )
    if response.is_ranked:
        logs += log_ranking(response.count(sample), place)
    return GuardedTree(
        found, guard, response, place, candidate, children, parent, depth, counts, float(logs)
    )


@kernel
def leaves_of(codes, candidate, children, splits):
    """Return the leaf of each row."""
    ordered, n_levels, first, sides, side_at = splits
    which = np.zeros(len(candidate), np.int64)
    for m in range(len(candidate)):
        if candidate[m] >= 0:
            which[m] = predictor_of(candidate[m], first)
    leaves = np.zeros(codes.shape[1], np.int64)
    for i in range(codes.shape[1]):
        m = 0
        while candidate[m] >= 0:
            p = which[m]
            number = candidate[m] - first[p]
            left = goes_left(number, codes[p, i], ordered[p], n_levels[p], sides, side_at[p])
            m = children[m] if left else children[m] + 1
        leaves[i] = m
    return leaves


# -------------------------------------------------------------------------------------------------
# How much one record can do to a structure, in the worst case over all data sets.


SENSITIVITY = 2.0
"""The most that a record of weight 1 changes the gain of a split: 1 by its class, and 1 by what a
small child lacks."""


def structure_bound(tree: GuardedTree) -> float:
    """Return the bound on the log ratio of the structure with and without one record of weight 1.

    It is depth x (2 x sensitivity / temperature + 1 / softness), and (K - 1)/5 for the line of K
    classes if it is drawn. It holds for all data sets, and is far too large to mean anything at
    useful settings. The draws from counts are not covered by it.

    Parameters
    ----------
    tree
        The tree; its counts do not matter.
    """
    guard, response = tree.guard, tree.response
    line = max(1, response.n_codes - 1) / SCALE if response.is_ranked else 0.0
    decision = 2 * SENSITIVITY / guard.temperature + 1 / guard.softness
    return line + (guard.depth * decision if tree.candidates.n else 0.0)
