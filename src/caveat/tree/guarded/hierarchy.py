# mypy: disable-error-code="no-untyped-def"
"""Shares that back off: each value is found by halving the range of codes.

At every branch a node's share of the left half is (n_left + a p) / (n + a), with p the share of its
parent node and a = α (1 + 10 / (n + 1)) + κ / min(p, 1 - p): where few records are, their parent
node says more, and of the rarer half it brings κ records at least, so that one more or less never
counts for much. At the root the share is (n_left + ½) / (n + 1). Every value is possible in every
leaf, and a rare one is decided together with those beside it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import inner, kernel

__all__ = ["back_off", "count_nodes", "draw_codes", "halves", "log_shares", "root_share", "share"]

SPARSE = 10.0
"""How many times over the parent's share counts where a branch has no records at all, less one."""

AT_ROOT = 0.5
"""Records in each half of a branch at the root of a tree."""


def halves(n_codes: int) -> NDArray[np.int64]:
    """Return the range of codes of every branch, in line with its first code on the right less 1.

    Examples
    --------
    Three codes have two branches: 0 | 1, 2 and then 1 | 2.

    >>> halves(3).tolist()
    [[0, 3], [1, 3]]
    """
    ranges = np.zeros((max(n_codes - 1, 0), 2), np.int64)
    waiting = [(0, n_codes)]
    while waiting:
        low, high = waiting.pop()
        if high - low > 1:
            middle = (low + high) // 2
            ranges[middle - 1] = low, high
            waiting += [(low, middle), (middle, high)]
    return ranges


@inner
def root_share(left, both):
    """Return the share of the left half at the root."""
    return (left + AT_ROOT) / (both + 2.0 * AT_ROOT)


@inner
def share(left, both, parent, settings):
    """Return the share of the left half at a node, given that of its parent."""
    alpha, kappa = settings
    worth = alpha * (1.0 + SPARSE / (both + 1.0)) + kappa / min(parent, 1.0 - parent)
    return (left + worth * parent) / (both + worth)


@kernel
def count_nodes(response, weights, order, nodes, n_codes):
    """Return for each node how much weight has a code below each: sums from code 0 on."""
    counts = np.zeros((len(nodes), n_codes + 1))
    for m in range(len(nodes) - 1, -1, -1):
        if nodes[m, 0] < 0:
            for i in range(nodes[m, 4], nodes[m, 5]):
                counts[m, response[order[i]] + 1] += weights[order[i]]
        if m > 0:
            for code in range(1, n_codes + 1):
                counts[nodes[m, 2], code] += counts[m, code]
    for m in range(len(nodes)):
        for code in range(n_codes):
            counts[m, code + 1] += counts[m, code]
    return counts


@kernel
def back_off(counts, parent, ranges, settings):
    """Return the share of the left half of every branch at every node."""
    shares = np.empty((len(parent), len(ranges)))
    for m in range(len(parent)):
        for b in range(len(ranges)):
            low, high = ranges[b, 0], ranges[b, 1]
            left = counts[m, b + 1] - counts[m, low]
            both = counts[m, high] - counts[m, low]
            if parent[m] < 0:
                shares[m, b] = root_share(left, both)
            else:
                shares[m, b] = share(left, both, shares[parent[m], b], settings)
    return shares


@kernel
def draw_codes(shares, leaves, numbers):
    """Return for each row a code drawn with the shares of its leaf, by one uniform number."""
    n_codes = shares.shape[1] + 1
    drawn = np.zeros(len(leaves), np.int64)
    for i in range(len(leaves)):
        low, high, u = 0, n_codes, numbers[i]
        while high - low > 1:
            middle = (low + high) // 2
            p = shares[leaves[i], middle - 1]
            if u < p:
                high = middle
                u = u / p
            else:
                low = middle
                u = (u - p) / (1.0 - p)
        drawn[i] = low
    return drawn


@kernel
def log_shares(shares, leaves, codes):
    """Return the log probability of each row's code in its leaf."""
    logs = np.zeros(len(leaves))
    for i in range(len(leaves)):
        low, high = 0, shares.shape[1] + 1
        while high - low > 1:
            middle = (low + high) // 2
            p = shares[leaves[i], middle - 1]
            if codes[i] < middle:
                high = middle
                logs[i] += math.log(p)
            else:
                low = middle
                logs[i] += math.log1p(-p)
    return logs
