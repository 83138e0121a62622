"""Nearest records of mixed columns, nearest cells, and records within given distances."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import kernel
from caveat.nearest.vectors import TIE, Codes, Floats, Ints, Nearest, in_blocks, lot, lots
from caveat.table.cells import Joint, key_cells

KeyCodes = Sequence[NDArray[np.integer[Any]]]

# A look-up in one restricted release costs about as much as this many comparisons of a cell.
LOOKUP_COST = 30


def nearest_pools(
    joint: Joint, key_codes: KeyCodes, n_levels: Sequence[int]
) -> tuple[Floats, Floats, Ints]:
    """Return for every pair what an attacker finds among the nearest synthetic records.

    Parameters
    ----------
    joint
        Cells by target.
    key_codes
        For each key its code in each cell.
    n_levels
        Number of codes of each key.

    Returns
    -------
    The share of the pair's target in the pool of its cell; the chance that the most frequent target
    of the pool (ties broken at random) is the pair's; and the distance of the pool. For cells that
    the release has, the pool is the cell itself, at distance 0; where there is none it is −1.
    """
    share, credit = cell_pools(joint)
    distance = np.where(joint.s_all > 0, 0, -1)
    present = np.flatnonzero(joint.s_cell > 0)
    far = np.flatnonzero((joint.s_cell == 0) & (joint.d_cell > 0))
    ends = np.append(joint.starts[1:], len(joint.cell))
    for r in range(1, len(key_codes) + 1):
        if not len(far) or not len(present):
            break
        last = comb(len(key_codes), r) * LOOKUP_COST > len(far) * len(key_codes)
        found = np.zeros(len(far), np.int64)
        spans = np.stack([joint.starts[far], ends[far]], axis=1)
        if last:
            matrix = np.stack([np.asarray(codes, np.int64) for codes in key_codes], axis=1)
            origin = np.stack([joint.starts[present], ends[present]], axis=1)
            _compare(
                matrix[far], matrix[present], spans, origin, joint.target, joint.s,
                np.zeros(joint.n_targets, np.int64), share, credit, found,
            )  # fmt: skip
        else:
            segments, target, counts = _restricted(joint, present, far, key_codes, n_levels, r)
            _pool(
                segments, target, counts, spans, joint.target,
                np.zeros(joint.n_targets, np.int64), share, credit, found,
            )  # fmt: skip
            found *= r
        for cell, steps in zip(far[found > 0], found[found > 0], strict=True):
            distance[joint.starts[cell] : ends[cell]] = steps
        far = far[found == 0]
    return share, credit, distance


def cell_pools(joint: Joint) -> tuple[Floats, Floats]:
    """Return the share of each pair's target in its own synthetic cell, and the chance to guess it.

    The guess is the most frequent target of the cell, one of them at random if there are several.
    Both are 0 where the release has no such cell.
    """
    share = joint.s / np.maximum(joint.s_all, 1)
    if not len(joint.s):
        return share, share.copy()
    best = joint.s == joint.spread(np.maximum.reduceat(joint.s, joint.starts))
    ties = joint.spread(joint.by_cell(best.astype(np.int64))).astype(np.int64)
    return share, np.where(best & (joint.s_all > 0), 1 / ties, 0.0)


def _restricted(
    joint: Joint, present: Ints, far: Ints, key_codes: KeyCodes, n_levels: Sequence[int], r: int
) -> tuple[Ints, Ints, Ints]:
    """Tabulate the release on every set of k − r keys, where a far cell may find something.

    Returns
    -------
    For every set and far cell the first and last + 1 position of its records in what follows; the
    targets; their counts.
    """
    pairs = np.flatnonzero(joint.s > 0)
    of_pair = np.searchsorted(present, joint.cell[pairs])
    segments, targets, counts, offset = [], [], [], 0
    for kept in combinations(range(len(key_codes)), len(key_codes) - r):
        sides = [[key_codes[j][cells] for j in kept] or [np.zeros(len(cells), np.uint8)]
                 for cells in (present, far)]  # fmt: skip
        (theirs, ours), n = key_cells(sides, [n_levels[j] for j in kept] or [1])
        wanted = np.zeros(n, dtype=bool)
        wanted[ours] = True
        chosen = wanted[theirs][of_pair]
        code = theirs[of_pair[chosen]] * joint.n_targets + joint.target[pairs[chosen]]
        distinct, inverse = np.unique(code, return_inverse=True)
        cell, target = np.divmod(distinct, joint.n_targets)
        edges = np.searchsorted(cell, np.stack([ours, ours + 1], axis=1)) + offset
        segments.append(edges)
        targets.append(target)
        counts.append(np.bincount(inverse, joint.s[pairs[chosen]]).astype(np.int64))
        offset += len(distinct)
    return np.stack(segments), np.concatenate(targets), np.concatenate(counts)


@kernel
def _settle(span, target, pool, total, share, credit):  # type: ignore[no-untyped-def]
    """Write the results of one cell from the pooled counts of its neighbours."""
    best, ties = 0, 0
    for t in range(len(pool)):
        if pool[t] > best:
            best, ties = pool[t], 1
        elif pool[t] == best:
            ties += 1
    for i in range(span[0], span[1]):
        count = pool[target[i]]
        share[i] = count / total
        credit[i] = 1 / ties if count == best else 0.0


@kernel
def _pool(segments, targets, counts, spans, target, pool, share, credit, found):  # type: ignore[no-untyped-def]
    """Pool the records of all sets for every far cell; mark the cells that found any."""
    for f in range(len(spans)):
        total = 0
        for a in range(len(segments)):
            for i in range(segments[a, f, 0], segments[a, f, 1]):
                pool[targets[i]] += counts[i]
                total += counts[i]
        if total > 0:
            found[f] = 1
            _settle(spans[f], target, pool, total, share, credit)
            pool[:] = 0


@kernel
def _compare(far, present, spans, origin, target, s, pool, share, credit, found):  # type: ignore[no-untyped-def]
    """Find the least distance of every far cell by comparing it with all synthetic cells."""
    n_keys = far.shape[1]
    for f in range(len(far)):
        least, total = n_keys + 1, 0
        for c in range(len(present)):
            steps = 0
            for j in range(n_keys):
                if far[f, j] != present[c, j]:
                    steps += 1
                    if steps > least:
                        break
            if steps > least:
                continue
            if steps < least:
                least, total = steps, 0
                pool[:] = 0
            for i in range(origin[c, 0], origin[c, 1]):
                pool[target[i]] += s[i]
                total += s[i]
        found[f] = least
        _settle(spans[f], target, pool, total, share, credit)
        pool[:] = 0


# -------------------------------------------------------------------------------------------------
# Nearest records by Gower's distance, exact and without a matrix of all distances.
#
# The distance is a sum over columns: 1 for categories that differ, and the difference of numbers,
# at most 1 each. Records that agree in all categories make a group. A query looks at its own
# group; only if it has not found enough there that is nearer than 1 at the groups that differ in
# one category, which are found by leaving out one column at a time; and only if not enough is
# nearer than 2 at all others. Within a group it walks outwards from its own place on the first
# number.
#
# Attackers ask for the k nearest, one of equals by lot; the distance filter for the smallest
# distance and the largest value among those that are equal but for rounding. Both are this
# search: they differ in the rank of a record among equals and in the slack that makes distances
# equal.


GROUPS = 2_048  # groups whose categories are compared together
FEW = 1 << 16


class Mixed(NamedTuple):
    """Rows of one table: numbers in units of their range, and codes of categories from 0.

    The difference of two numbers is cut to 1. A number that is missing is one that lies far from
    all others.
    """

    numbers: Floats
    codes: Codes

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def take(self, rows: NDArray[np.int64] | slice) -> Mixed:
        """Return some of the rows."""
        return Mixed(self.numbers[rows], self.codes[rows])

    @property
    def width(self) -> int:
        """Number of parts that a distance is the sum of."""
        return max(int(self.numbers.shape[1] + self.codes.shape[1]), 1)


class _OneOff(NamedTuple):
    """Which groups agree with a query in all categories but one.

    Attributes
    ----------
    cell
        For each column that is left out, and each query: its combination of the other columns.
    starts, groups
        The groups that have combination i are ``groups[starts[i]:starts[i + 1]]``.
    """

    cell: Ints
    starts: Ints
    groups: Ints


def gower_nearest(
    query: Mixed,
    data: Mixed,
    k: int,
    *,
    rng: np.random.Generator | None = None,
    own: Ints | None = None,
) -> Nearest:
    """Return the k nearest records of each query; distances are means over columns, 0 to 1.

    Parameters
    ----------
    query, data
        Rows of the two sides.
    k
        How many; at most the number of records.
    rng
        Decides between records at equal distance by lot. Without it the first in the table wins,
        which is for distances only: a release may be sorted as the original is.
    own
        For each query the position in ``data`` of the record itself, which is left out.
    """
    k = min(k, data.n - (own is not None))
    rank = np.arange(data.n, dtype=np.uint64)
    found = _nearest(query, data, max(k, 0), lots(query.n, rng), rank, own)
    return Nearest(found.distance / data.width, found.position)


def gower_smallest(
    query: Mixed, data: Mixed, value: Floats, *, apart: bool = False, threads: int | None = None
) -> tuple[Floats, Floats]:
    """Return the smallest distances (sums over columns), and the largest value at that distance.

    Parameters
    ----------
    query, data
        Rows of the two sides. A search ends soonest where the number that differs most is first.
    value, apart, threads
        As for :func:`caveat.nearest.vectors.tree_smallest`.
    """
    rank = np.empty(data.n, np.uint64)
    rank[np.argsort(-value, kind="stable")] = np.arange(data.n, dtype=np.uint64)
    own = np.arange(query.n) if apart else None
    found = _nearest(query, data, 1, lots(query.n, None), rank, own, TIE, threads)
    return found.distance[:, 0], value[found.position[:, 0]]


def _nearest(
    query: Mixed,
    data: Mixed,
    k: int,
    keys: NDArray[np.uint64],
    rank: NDArray[np.uint64],
    own: Ints | None,
    slack: float = 0.0,
    threads: int | None = None,
) -> Nearest:
    """Return the k nearest; between equals, up to a share of ``slack``, the lot of ranks decides.

    With slack, k is 1: of many that are nearly equal there is no order.
    """
    distance, position = np.full((query.n, k), np.inf), np.zeros((query.n, k), np.int64)
    if not k or not query.n:
        return Nearest(distance, position)
    numbers, offered = (
        side.numbers if side.numbers.shape[1] else np.zeros((side.n, 1)) for side in (query, data)
    )
    (mine, theirs), n_groups = _groups(query.codes, data.codes)
    order = np.lexsort((offered[:, 0], theirs))
    starts = np.searchsorted(theirs[order], np.arange(n_groups + 1))
    first = order[np.minimum(starts[:-1], len(order) - 1)]  # an empty group is never looked at
    near = _but_one(query.codes, data.codes[first], np.flatnonzero(np.diff(starts)))
    most = max(query.codes.max(initial=0), data.codes.max(initial=0))
    small = np.uint16 if most < FEW else np.int32
    codes = query.codes.astype(small)
    kinds = np.ascontiguousarray(data.codes[first].T.astype(small))
    itself = np.full(query.n, -1) if own is None else np.argsort(order)[own]
    numbers, offered = np.ascontiguousarray(numbers), np.ascontiguousarray(offered[order])
    rank = rank[order]

    def block(rows: slice) -> None:
        _search(
            numbers[rows], codes[rows], mine[rows], near.cell[:, rows], keys[rows], itself[rows],
            offered, rank, starts, kinds, near.starts, near.groups, slack,
            distance[rows], position[rows],
        )  # fmt: skip

    in_blocks(block, query.n, threads)
    return Nearest(distance, order[position])


def _groups(*tables: NDArray[Any]) -> tuple[list[Ints], int]:
    """Return the combination of codes of each row, table by table, and their number."""
    if not tables[0].shape[1]:
        return [np.zeros(len(table), np.int64) for table in tables], 1
    sizes = [
        1 + max(int(t[:, j].max(initial=0)) for t in tables) for j in range(tables[0].shape[1])
    ]
    return key_cells([list(table.T.astype(np.int64)) for table in tables], sizes)


def _but_one(codes: NDArray[Any], kinds: NDArray[Any], filled: Ints) -> _OneOff:
    """Find the groups that agree in all categories but one; ``filled`` are those with records."""
    cell = np.zeros((codes.shape[1], len(codes)), np.int64)
    starts, groups = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    n_cells = n_items = 0
    for j in range(codes.shape[1]):
        others = [k for k in range(codes.shape[1]) if k != j]
        (mine, theirs), n = _groups(codes[:, others], kinds[filled][:, others])
        order = np.argsort(theirs, kind="stable")
        cell[j] = mine + n_cells
        starts.append(np.searchsorted(theirs[order], np.arange(n)) + n_items)
        groups.append(filled[order])
        n_cells, n_items = n_cells + n, n_items + len(filled)
    starts.append(np.array([n_items]))
    return _OneOff(cell, np.concatenate(starts), np.concatenate(groups))


@kernel
def _outwards(place, left, right, low, high, data):  # type: ignore[no-untyped-def]
    """Return the next point on the way out from a place on the first number, and its gap."""
    gap_left = place - data[left, 0] if left >= low else np.inf
    gap_right = data[right, 0] - place if right < high else np.inf
    if gap_left < gap_right:
        return left, gap_left, left - 1, right
    return right, gap_right, left, right + 1


@kernel
def _insert(d, j, key, rank, slack, distance, position):  # type: ignore[no-untyped-def]
    """Take one more record into account that is no further away than the last one found."""
    place = len(distance) - 1
    mine = lot(key, rank[j])
    if d >= distance[place] * (1 - slack):
        d = min(d, distance[place])
        if lot(key, rank[position[place]]) <= mine:
            distance[place] = d
            return
    while place > 0 and (
        distance[place - 1] > d
        or (distance[place - 1] == d and lot(key, rank[position[place - 1]]) > mine)
    ):
        distance[place], position[place] = distance[place - 1], position[place - 1]
        place -= 1
    distance[place], position[place] = d, j


@kernel
def _look(query, base, low, high, key, itself, data, rank, slack, distance, position):  # type: ignore[no-untyped-def]
    """Look at one group; the categories that differ count ``base``."""
    right = low + np.searchsorted(data[low:high, 0], query[0])
    left = right - 1
    last = distance[-1]
    while left >= low or right < high:
        j, gap, left, right = _outwards(query[0], left, right, low, high, data)
        if base + min(gap, 1.0) > last * (1 + slack):
            break
        if j == itself:
            continue
        total = base
        for k in range(len(query)):
            total += min(abs(query[k] - data[j, k]), 1.0)
            if total > last * (1 + slack):
                break
        if total <= last * (1 + slack):
            _insert(total, j, key, rank, slack, distance, position)
            last = distance[-1]


@kernel
def _differences(kinds, first, last, codes, differing):  # type: ignore[no-untyped-def]
    """Count the categories in which groups differ from a query; the inner loop is vectorised."""
    differing[: last - first] = 0
    for j in range(len(codes)):
        code = codes[j]
        row = kinds[j, first:last]
        for k in range(last - first):
            differing[k] += np.uint16(row[k] != code)


@kernel
def _search(  # type: ignore[no-untyped-def]
    numbers, codes, group, cell, keys, itself, data, rank, starts, kinds, near_starts, near, slack,
    distances, positions,
):  # fmt: skip
    """Fill ``distances`` and ``positions`` for a block of queries."""
    n_columns = codes.shape[1]
    differing = np.empty(GROUPS, np.uint16)
    for i in range(len(numbers)):
        query, key, me, distance, position = (
            numbers[i], keys[i], itself[i], distances[i], positions[i]
        )  # fmt: skip
        low, high = starts[group[i]], starts[group[i] + 1]
        _look(query, 0.0, low, high, key, me, data, rank, slack, distance, position)
        if distance[-1] * (1 + slack) >= 1.0:
            for j in range(n_columns):
                for place in range(near_starts[cell[j, i]], near_starts[cell[j, i] + 1]):
                    g = near[place]
                    if kinds[j, g] != codes[i, j]:
                        low, high = starts[g], starts[g + 1]
                        _look(query, 1.0, low, high, key, me, data, rank, slack, distance, position)
        if distance[-1] * (1 + slack) >= 2.0:
            for first in range(0, kinds.shape[1], len(differing)):
                last = min(first + len(differing), kinds.shape[1])
                _differences(kinds, first, last, codes[i], differing)
                for g in range(first, last):
                    base = float(differing[g - first])
                    if base >= 2.0 and base <= distance[-1] * (1 + slack):
                        low, high = starts[g], starts[g + 1]
                        _look(
                            query, base, low, high, key, me, data, rank, slack, distance, position
                        )


# -------------------------------------------------------------------------------------------------
# How many records lie within given distances of another: box queries, one group at a time.
#
# Everything that must be equal makes a group; what may differ by a radius are numbers. Within a
# group the records are sorted by the first number, so that a query looks only at a window of
# them.


class Split(NamedTuple):
    """Rows of one table, parted into what must be equal and what may be near.

    Attributes
    ----------
    equal
        Codes that must agree.
    n_levels
        Number of codes of each.
    numbers
        One column per number, 0 where it is missing.
    """

    equal: list[NDArray[np.integer[Any]]]
    n_levels: list[int]
    numbers: Floats


def within(
    query: Split,
    data: Split,
    radius: Floats,
    target: tuple[Split, Split] | None = None,
    width: float = 0.0,
) -> tuple[Ints, Ints]:
    """Count, for each query, the data within the radius, and those whose target agrees.

    Parameters
    ----------
    query, data
        The keys of the two sides, parted in the same way.
    radius
        One row per query, one column per number: how far it may lie off.
    target
        The target of the two sides; without one, all agree.
    width
        How far a numeric target may lie off.
    """
    groups, n = key_cells([query.equal, data.equal], query.n_levels)
    wanted, offered = target or (_nothing(len(groups[0])), _nothing(len(groups[1])))
    targets, _ = key_cells([wanted.equal, offered.equal], wanted.n_levels)
    first = data.numbers[:, 0] if data.numbers.shape[1] else np.zeros(len(groups[1]))
    order = np.lexsort((first, groups[1]))
    starts = np.searchsorted(groups[1][order], np.arange(n + 1))
    found, right = np.zeros((2, len(groups[0])), np.int64)
    has_number = bool(wanted.numbers.shape[1])
    _count(
        groups[0],
        np.ascontiguousarray(query.numbers),
        np.ascontiguousarray(radius),
        targets[0],
        wanted.numbers[:, 0] if has_number else np.zeros(len(targets[0])),
        starts,
        np.ascontiguousarray(data.numbers[order]),
        targets[1][order],
        (offered.numbers[:, 0] if has_number else np.zeros(len(targets[1])))[order],
        width,
        found,
        right,
    )
    return found, right


def _nothing(n: int) -> Split:
    """Return a target that is the same for all."""
    return Split([np.zeros(n, np.uint8)], [1], np.zeros((n, 0)))


@kernel
def _count(  # type: ignore[no-untyped-def]
    group, query, radius, status, value, starts, data, statuses, values, width, found, right
):
    """Fill ``found`` and ``right`` for every query."""
    n_numbers = query.shape[1]
    for i in range(len(group)):
        low, high = starts[group[i]], starts[group[i] + 1]
        if n_numbers > 0:
            # Records below the window are skipped by bisection; those above end the loop.
            a, b = low, high
            floor = query[i, 0] - radius[i, 0]
            while a < b:
                middle = (a + b) // 2
                if data[middle, 0] < floor:
                    a = middle + 1
                else:
                    b = middle
            low = a
        for j in range(low, high):
            if n_numbers > 0 and data[j, 0] - query[i, 0] > radius[i, 0]:
                break
            inside = True
            for k in range(1, n_numbers):
                if abs(data[j, k] - query[i, k]) > radius[i, k]:
                    inside = False
                    break
            if inside:
                found[i] += 1
                if statuses[j] == status[i] and abs(values[j] - value[i]) <= width:
                    right[i] += 1
