# mypy: disable-error-code="no-untyped-def"
"""How probable structure and release are when one record goes, comes or changes.

Nothing is grown again: along the record's path the counts move by one, and with them the
probabilities of the decisions taken there and, by the back-off, the shares below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import inner, kernel
from caveat.discreet import without_values
from caveat.tree.guarded._grow import candidate_counts, gain_of, goes_left, log_split, walk
from caveat.tree.guarded.hierarchy import root_share, share
from caveat.tree.guarded.ranking import ranking_changes
from caveat.tree.guarded.tree import GuardedTree, Sample

__all__ = ["Change", "adjacent_logs", "released_codes"]

NEGLIGIBLE = 45.0
"""Candidates whose weight is so many powers of e below the largest do not show in the sum."""

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
    order = np.arange(sample.n)
    given = tree.candidate
    _, _, _, _, begin, end, _ = walk(
        sample.codes, classes[sample.response], sample.weights, order, found.ordered,
        found.n_levels, found.first, found.sides, found.side_at,
        tree.response.n_scores, tree.guard.numbers, np.uint64(0), given,
    )  # fmt: skip
    if not found.n:
        return np.zeros(gone.sample.n)
    of = np.repeat(np.arange(len(found.n_levels)), np.diff(found.first))
    return np.asarray(
        structure_changes(
            (sample.codes, classes[sample.response], sample.weights, order, begin, end),
            (tree.candidate, tree.children, tree.depth),
            (found.ordered, found.n_levels, found.first, found.sides, found.side_at, of),
            tree.response.n_scores, tree.guard.numbers,
            (gone.sample.codes, classes[gone.sample.response], gone.sample.weights,
             gone.takes_part),
            (come.sample.codes, classes[come.sample.response], come.sample.weights,
             come.takes_part),
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
        tree.counts, tree.shares, tree.parent, tree.children, released,
        tree.guard.shrinkage,
        (whole[0], whole[1], whole[2].view(np.float64)),
        (whole[3], whole[4], whole[5].view(np.float64)),
    )  # fmt: skip
    return np.asarray(changes[kind.reshape(-1)])


@inner
def step(m, codes, i, candidate, children, splits):
    """Return the child that a record goes to; -1 beyond a leaf."""
    ordered, n_levels, first, sides, side_at, of = splits
    if candidate[m] < 0:
        return -1
    p = of[candidate[m]]
    left = goes_left(candidate[m] - first[p], codes[p, i], ordered[p], n_levels[p], sides,
                     side_at[p])  # fmt: skip
    return children[m] if left else children[m] + 1


@kernel
def visits_of(candidate, children, splits, gone, come):
    """Return who passes each node: offsets, worlds, and 1 if a record goes, 2 if one comes."""
    n_nodes, n = len(candidate), gone[0].shape[1]
    starts = np.zeros(n_nodes + 1, np.int64)
    worlds = np.empty(0, np.int64)
    which = np.empty(0, np.uint8)
    for filling in range(2):
        for i in range(n):
            a = 0 if gone[3][i] else -1
            b = 0 if come[3][i] else -1
            while a >= 0 or b >= 0:
                for node, flag in ((a, 3 if a == b else 1), (b, 2)):
                    if node < 0 or (flag == 2 and a == b):
                        continue
                    if filling:
                        worlds[starts[node]] = i
                        which[starts[node]] = flag
                        starts[node] += 1
                    else:
                        starts[node + 1] += 1
                a = step(a, gone[0], i, candidate, children, splits) if a >= 0 else -1
                b = step(b, come[0], i, candidate, children, splits) if b >= 0 else -1
        if filling:
            for m in range(n_nodes - 1, 0, -1):
                starts[m] = starts[m - 1]
            starts[0] = 0
        else:
            for m in range(n_nodes):
                starts[m + 1] += starts[m]
            worlds = np.empty(starts[-1], np.int64)
            which = np.empty(starts[-1], np.uint8)
    return starts, worlds, which


@inner
def changed_gain(s, flag, i, gone, come, left, left_n, squares, total, n, splits, least):
    """Return the gain of a candidate after a record has gone, come, or both."""
    ordered, n_levels, first, sides, side_at, of = splits
    p = of[s]
    number = s - first[p]
    left_squares, left_sum = squares[s, 0], squares[s, 1]
    right_squares, right_sum = squares[s, 2], squares[s, 3]
    n_left = left_n[s]
    n_right = n - n_left
    a_left = False
    a = -1
    w = 0.0
    if flag & 1:
        a, w = gone[1][i], gone[2][i]
        a_left = goes_left(number, gone[0][p, i], ordered[p], n_levels[p], sides, side_at[p])
        if a_left:
            left_squares += w * (w - 2.0 * left[s, a])
            left_sum -= w
            n_left -= 1
        else:
            right_squares += w * (w - 2.0 * (total[a] - left[s, a]))
            right_sum -= w
            n_right -= 1
    if flag & 2:
        b, v = come[1][i], come[2][i]
        b_left = goes_left(number, come[0][p, i], ordered[p], n_levels[p], sides, side_at[p])
        held = left[s, b] if b_left else total[b] - left[s, b]
        if a == b and a_left == b_left:
            held -= w
        if b_left:
            left_squares += v * (v + 2.0 * held)
            left_sum += v
            n_left += 1
        else:
            right_squares += v * (v + 2.0 * held)
            right_sum += v
            n_right += 1
    return gain_of(left_squares, left_sum, right_squares, right_sum, n_left, n_right, least)


@inner
def weigh_candidates(left, left_n, total, n, splits, settings, reach, near, squares, powers):
    """Write the candidates that count, their sums of squares and their weights; return the best."""
    temperature, _, _, least, _ = settings
    n_candidates = splits[2][-1]
    best = -np.inf
    for s in range(n_candidates):
        for k in range(4):
            squares[s, k] = 0.0
        for k in range(len(total)):
            c = left[s, k]
            d = total[k] - c
            squares[s, 0] += c * c
            squares[s, 1] += c
            squares[s, 2] += d * d
            squares[s, 3] += d
        powers[s] = gain_of(squares[s, 0], squares[s, 1], squares[s, 2], squares[s, 3], left_n[s],
                            n - left_n[s], least)  # fmt: skip
        best = max(best, powers[s])
    n_near = 0
    for s in range(n_candidates):
        if powers[s] > best - NEGLIGIBLE * temperature - reach:
            near[n_near] = s
            n_near += 1
        powers[s] = math.exp((powers[s] - best) / temperature)
    return best, n_near


@inner
def tabulate(table, n_near, near, best, weight, left, left_n, squares, total, n, settings):
    """Write the weights of candidates when a record of this weight goes, comes or changes sides.

    Columns 0 and 1 are a record that goes on the left and on the right, 2 and 3 one that comes, 4
    one that moves from left to right, 5 from right to left; 6 to 9 are the factors of a record
    that changes its class: the old one on the left and on the right, the new one there.
    """
    temperature, _, _, least, _ = settings
    for q in range(n_near):
        s = near[q]
        l2, l1, r2, r1 = squares[s, 0], squares[s, 1], squares[s, 2], squares[s, 3]
        nl = left_n[s]
        nr = n - nl
        for k in range(len(total)):
            c = left[s, k]
            d = total[k] - c
            c_less, c_more = weight * (weight - 2.0 * c), weight * (weight + 2.0 * c)
            d_less, d_more = weight * (weight - 2.0 * d), weight * (weight + 2.0 * d)
            gains = (
                gain_of(l2 + c_less, l1 - weight, r2, r1, nl - 1, nr, least),
                gain_of(l2, l1, r2 + d_less, r1 - weight, nl, nr - 1, least),
                gain_of(l2 + c_more, l1 + weight, r2, r1, nl + 1, nr, least),
                gain_of(l2, l1, r2 + d_more, r1 + weight, nl, nr + 1, least),
                gain_of(l2 + c_less, l1 - weight, r2 + d_more, r1 + weight, nl - 1, nr + 1, least),
                gain_of(l2 + c_more, l1 + weight, r2 + d_less, r1 - weight, nl + 1, nr - 1, least),
            )
            for j in range(6):
                table[q, k, j] = math.exp((gains[j] - best) / temperature)
            table[q, k, 6] = math.exp(c_less / l1 / temperature) if nl else 1.0
            table[q, k, 7] = math.exp(d_less / r1 / temperature) if nr else 1.0
            table[q, k, 8] = math.exp(c_more / l1 / temperature) if nl else 1.0
            table[q, k, 9] = math.exp(d_more / r1 / temperature) if nr else 1.0


@inner
def is_left(s, codes, i, splits):
    """Say whether a record goes left in a candidate."""
    ordered, n_levels, first, sides, side_at, of = splits
    p = of[s]
    return goes_left(s - first[p], codes[p, i], ordered[p], n_levels[p], sides, side_at[p])


@inner
def tabulated(s, q, flag, i, gone, come, table, power, splits):
    """Return the weight of a candidate after a change, from the table."""
    if flag == 1:
        return table[q, gone[1][i], 0 if is_left(s, gone[0], i, splits) else 1]
    if flag == 2:
        return table[q, come[1][i], 2 if is_left(s, come[0], i, splits) else 3]
    here, there = is_left(s, gone[0], i, splits), is_left(s, come[0], i, splits)
    a, b = gone[1][i], come[1][i]
    if a == b:
        return power if here == there else table[q, a, 4 if here else 5]
    place = 0 if here else 1
    return power * table[q, a, 6 + place] * table[q, b, 8 + place]


@kernel
def structure_changes(records, nodes, splits, n_scores, settings, gone, come, how):
    """Return for each world the change of the log probability of the structure.

    ``how`` says of each world whether the weights of candidates can be read from a table, whose
    record it is if only the class changes (else -1), and the weight that the table is made for.
    """
    tabled, owner, weight = how
    codes, scores, weights, order, begin, end = records
    candidate, children, depth = nodes
    ordered, n_levels, first, sides, side_at, _ = splits
    temperature, smallest, softness, least, max_depth = settings
    n_candidates = first[-1]
    starts, worlds, which = visits_of(candidate, children, splits, gone, come)
    heaviest = max(gone[2].max(), come[2].max())
    # What one record may add to a gain or take from it: three of its weight, and one of penalty.
    reach = 2.0 * (3.0 * heaviest + 1.0)
    cells = np.empty((max(n_levels.max(), 1), n_scores))
    sizes = np.empty(max(n_levels.max(), 1), np.int64)
    left = np.empty((n_candidates, n_scores))
    left_n = np.empty(n_candidates, np.int64)
    squares = np.empty((n_candidates, 4))
    powers = np.empty(n_candidates)
    near = np.empty(n_candidates, np.int64)
    table = np.empty((n_candidates, n_scores, 10))
    by_class = np.empty(n_scores)
    total = np.empty(n_scores)
    changes = np.zeros(gone[0].shape[1])
    for m in range(len(candidate)):
        if depth[m] >= max_depth or starts[m] == starts[m + 1]:
            continue
        n = end[m] - begin[m]
        before = log_split(n, smallest, softness)
        if candidate[m] < 0:
            for j in range(starts[m], starts[m + 1]):
                now = n - (which[j] & 1) + (which[j] >> 1)
                after = log_split(now, smallest, softness) - (now - smallest) / softness
                changes[worlds[j]] += after - (before - (n - smallest) / softness)
            continue
        candidate_counts(codes, scores, weights, order, begin[m], end[m], ordered, n_levels,
                         first, sides, side_at, cells, sizes, left, left_n, total)  # fmt: skip
        best, n_near = weigh_candidates(left, left_n, total, n, splits, settings, reach, near,
                                        squares, powers)  # fmt: skip
        usable = False
        for j in range(starts[m], starts[m + 1]):
            usable = usable or tabled[worlds[j]]
        if usable:
            tabulate(table, n_near, near, best, weight, left, left_n, squares, total, n, settings)
        whole = 0.0
        for q in range(n_near):
            whole += powers[near[q]]
        chosen = candidate[m]
        gain = changed_gain(chosen, 0, 0, gone, come, left, left_n, squares, total, n, splits,
                            least)  # fmt: skip
        base = (gain - best) / temperature - math.log(whole)
        known = -1
        for j in range(starts[m], starts[m + 1]):
            i, flag = worlds[j], which[j]
            now = n - (flag & 1) + (flag >> 1)
            mass = 0.0
            if flag == 3 and owner[i] >= 0:
                if known != owner[i]:
                    known = owner[i]
                    by_class[:] = 0.0
                    for q in range(n_near):
                        s = near[q]
                        place = 0 if is_left(s, gone[0], i, splits) else 1
                        factor = powers[s] * table[q, gone[1][i], 6 + place]
                        for k in range(n_scores):
                            by_class[k] += factor * table[q, k, 8 + place]
                mass = whole if come[1][i] == gone[1][i] else by_class[come[1][i]]
            elif tabled[i]:
                for q in range(n_near):
                    s = near[q]
                    mass += tabulated(s, q, flag, i, gone, come, table, powers[s], splits)
            else:
                for q in range(n_near):
                    gain = changed_gain(near[q], flag, i, gone, come, left, left_n, squares, total,
                                        n, splits, least)  # fmt: skip
                    mass += math.exp((gain - best) / temperature)
            gain = changed_gain(chosen, flag, i, gone, come, left, left_n, squares, total, n,
                                splits, least)  # fmt: skip
            after = log_split(now, smallest, softness)
            changes[i] += after - before + (gain - best) / temperature - math.log(mass) - base
    return changes


@inner
def moved(code, weight, low, middle, high):
    """Return what a record with this code adds to the left half of a branch, and to both."""
    if code < low or code >= high:
        return 0.0, 0.0
    return (weight if code < middle else 0.0), weight


@kernel
def share_changes(counts, shares, parent, children, released, settings, gone, come):
    """Return for each change the difference of the log probability of the release."""
    n_nodes, n_codes = len(parent), shares.shape[1] + 1
    changes = np.zeros(len(gone[0]))
    going = np.full(n_nodes, -1, np.int64)
    coming = np.full(n_nodes, -1, np.int64)
    now = np.empty(n_nodes)
    for i in range(len(changes)):
        m = gone[0][i]
        while m >= 0:
            going[m] = i
            m = parent[m]
        m = come[0][i]
        while m >= 0:
            coming[m] = i
            m = parent[m]
        for side in range(2):
            code = gone[1][i] if side == 0 else come[1][i]
            if code < 0:
                continue
            low, high = 0, n_codes
            while high - low > 1:
                middle = (low + high) // 2
                b = middle - 1
                other = gone[1][i]
                # A branch that both records are at was done with the first of them.
                if side == 0 or not low <= other < high:
                    down_left, down = moved(gone[1][i], gone[2][i], low, middle, high)
                    up_left, up = moved(come[1][i], come[2][i], low, middle, high)
                    for m in range(n_nodes):
                        top = parent[m]
                        p = shares[m, b]
                        left = counts[m, middle] - counts[m, low]
                        both = counts[m, high] - counts[m, low]
                        if going[m] == i:
                            left -= down_left
                            both -= down
                        if coming[m] == i:
                            left += up_left
                            both += up
                        if top < 0:
                            now[m] = root_share(left, both)
                        else:
                            now[m] = share(left, both, now[top], now[0], settings)
                        if children[m] < 0:
                            z_left = released[m, middle] - released[m, low]
                            z_both = released[m, high] - released[m, low]
                            if z_left > 0.0:
                                changes[i] += z_left * (math.log(now[m]) - math.log(p))
                            if z_both > z_left:
                                changes[i] += (z_both - z_left) * (
                                    math.log1p(-now[m]) - math.log1p(-p)
                                )
                if code < middle:
                    high = middle
                else:
                    low = middle
    return changes
