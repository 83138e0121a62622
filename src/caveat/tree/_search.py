"""Kernels: describe a node and find its best split over the predictors."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from caveat.tree._classes import best_of_profiles, best_of_sorted, sort_by_level, tabulate_classes
from caveat.tree._kernel import kernel
from caveat.tree._numbers import best_of_numbers, tabulate_numbers
from caveat.tree._subsets import best_subset

__all__ = ["MANY_CLASSES", "NUMBERS", "TWO_CLASSES", "Node", "best_split", "describe", "make_work"]

NUMBERS, TWO_CLASSES, MANY_CLASSES = 0, 1, 2


class Node(NamedTuple):
    """What a split search needs to know of the node as a whole.

    `centre` + `rest` is the mean of numbers (whole grid units and what is left); `k`, `totals`
    (in the work space) and `squares` describe the classes present.
    """

    size: int
    weight: int
    centre: int
    rest: float
    k: int
    squares: float


class Split(NamedTuple):
    """The best split found: `cut` is -1 for nominal predictors, `feature` is -1 when none is."""

    feature: int
    cut: int
    present: int
    improve: float


class Work(NamedTuple):
    """Arrays that are allocated once for a tree and reused at every node."""

    table: Any  # kept zero between uses
    levels: Any  # code, rows, weight, response of each level present
    order: Any
    key: Any
    side: Any
    best_codes: Any
    goes_left: Any
    profiles: Any
    ordered_levels: Any
    ordered_profiles: Any
    local: Any
    sorted_classes: Any
    sorted_weight: Any
    class_weight: Any
    number_of: Any
    totals: Any
    left: Any
    right: Any
    candidates: Any
    row_buffer: Any
    class_buffer: Any
    number_buffer: Any


@kernel
def make_work(table, response, n):
    """Allocate the work space for one tree of `n` rows."""
    many = response.kind == MANY_CLASSES
    most = 1
    cells = 1
    for f in range(len(table.columns)):
        most = max(most, table.n_codes[f])
        if many and table.nominal[f]:
            cells = max(cells, table.n_codes[f] * response.n_classes)
    if many:
        cells = max(cells, min(most * response.n_classes, dense_cells(n)))
    k = response.n_classes if many else 0
    half = n // 2 + 1
    return Work(
        np.zeros(max(3 * most, cells + most), np.int64),
        np.empty((most + 1, 4), np.int64),
        np.empty(most, np.int64),
        np.empty(most),
        np.zeros(most, np.uint8),
        np.empty(most, np.int64),
        np.zeros(most, np.uint8),
        np.empty(cells),
        np.empty((most + 1 if many else 0, 4), np.int64),
        np.empty(cells),
        np.empty(n if many else 0, np.uint16),
        np.empty(n if many else 0, np.uint16),
        np.empty(len(response.weight) if many else 0, np.int64),
        np.zeros(k, np.int64),
        np.empty(k, np.uint16),
        np.empty(k),
        np.empty(k),
        np.empty(k),
        np.arange(len(table.columns)),
        np.empty(half, np.uint32),
        np.empty(half if len(response.classes) else 0, np.uint16),
        np.empty(half if len(response.numbers) or len(response.weight) else 0, np.int64),
    )


@kernel
def dense_cells(n):
    """Return up to how many level x class cells a table is cheaper than sorting n rows."""
    return max(4 * n, 512)


@kernel
def describe(response, start, stop, work):
    """Return the node's description and its risk."""
    if response.kind == MANY_CLASSES:
        return count_classes(response, start, stop, work)
    node, spread = count_numbers(response.numbers, response.weight, start, stop)
    if response.kind == TWO_CLASSES:
        ones = np.rint((node.centre + node.rest) * node.weight)
        return node, min(ones, node.weight - ones)
    return node, spread


@kernel
def count_numbers(y, weight, start, stop):
    """Return the node and its sum of squares; with weights `y` is weight times response."""
    total_weight = stop - start
    if len(weight):
        total_weight = 0
        for i in range(start, stop):
            total_weight += weight[i]
    total = 0
    for i in range(start, stop):
        total += y[i]
    centre = total // total_weight
    rest = (total - centre * total_weight) / total_weight
    spread = 0.0
    for i in range(start, stop):
        if len(weight):
            apart = (y[i] - centre * weight[i]) / weight[i] - rest
            spread += weight[i] * apart * apart
        else:
            apart = (y[i] - centre) - rest
            spread += apart * apart
    return Node(stop - start, total_weight, centre, rest, 2, 0.0), spread


@kernel
def count_classes(response, start, stop, work):
    """Count the classes, number those present from 0; return the node and its risk."""
    y = response.classes
    weight = response.weight
    for c in range(response.n_classes):
        work.class_weight[c] = 0
    if len(weight):
        for i in range(start, stop):
            work.class_weight[y[i]] += weight[i]
    else:
        for i in range(start, stop):
            work.class_weight[y[i]] += 1
    k = 0
    total = 0
    largest = 0
    squares = 0.0
    for c in range(response.n_classes):
        mass = work.class_weight[c]
        if mass:
            work.number_of[c] = k
            work.totals[k] = mass
            k += 1
            total += mass
            largest = max(largest, mass)
            squares += float(mass) * float(mass)
    for i in range(start, stop):
        work.local[i - start] = work.number_of[y[i]]
    return Node(stop - start, total, 0, 0.0, k, squares), float(total - largest)


@kernel
def best_split(table, response, rules, rows, start, node, work, random):
    """Try the predictors in turn; with fewer candidates than predictors, in random order."""
    n_features = len(table.columns)
    best = 0.0
    feature = -1
    cut = -1
    present = 0
    for tried in range(n_features):
        if rules.n_candidates < n_features:
            if tried >= rules.n_candidates and feature >= 0:
                break
            draw_candidate(work.candidates, tried, random)
        f = work.candidates[tried]
        span = (start, node.size, table.n_codes[f])
        column = table.codes[table.columns[f]]
        if response.kind == MANY_CLASSES:
            found, place, levels = search_classes(
                column, span, table.nominal[f], response, rules, rows, node, best, work
            )
        else:
            found, place, levels = search_numbers(
                column, span, table.nominal[f], response, rules, rows, node, best, work
            )
        if place < 0:
            continue
        best = found
        feature = f
        cut = -1
        present = levels
        if table.nominal[f]:
            for i in range(levels):
                work.best_codes[i] = work.levels[i, 0]
                work.goes_left[work.levels[i, 0]] = work.side[i]
        else:
            # Codes between the two levels go to the nearer one.
            cut = (work.levels[place, 0] + work.levels[place + 1, 0] - 1) // 2
    return Split(feature, cut, present, best)


@kernel
def draw_candidate(candidates, tried, random):
    """Swap a random predictor that was not tried yet into place (xorshift, Marsaglia 2003)."""
    state = random[0]
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    random[0] = state
    pick = tried + np.int64((state >> np.uint64(11)) % np.uint64(len(candidates) - tried))
    candidates[tried], candidates[pick] = candidates[pick], candidates[tried]


@kernel
def search_numbers(column, span, nominal, response, rules, rows, node, best, work):
    """Return improvement, place of the cut (-1 if not better) and number of levels present."""
    present = tabulate_numbers(
        column, rows, response.numbers, response.weight, span, work.table, work.levels
    )
    found, place = best_of_numbers(
        work.levels, present, nominal, node, rules.minbucket, best, work.order, work.key
    )
    if nominal and place >= 0:
        for i in range(present):
            work.side[work.order[i]] = i <= place
    return found, place, present


@kernel
def search_classes(column, span, nominal, response, rules, rows, node, best, work):
    """Do the same for three and more classes."""
    _, size, n_codes = span
    y, weight = work.local, response.weight
    if not nominal and n_codes * node.k > dense_cells(size):
        present = sort_by_level(column, rows, y, weight, span, work)
        found, place = best_of_sorted(present, node, rules.minbucket, best, work)
        return found, place, present
    present = tabulate_classes(column, rows, y, weight, span, node.k, work)
    if nominal:
        found, place = best_subset(present, node, rules.minbucket, best, work)
    else:
        found, place = best_of_profiles(
            work.levels, work.profiles, present, node, rules.minbucket, best, work
        )
    return found, place, present
