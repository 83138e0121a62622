"""p(Z, T | D) of guarded trees, slowly: raw records, declarations and formulas, nothing compiled.

Written from docs/guarded-trees.md. Of a fit it takes the structure alone: the candidate of every
node in the order of the nodes (-1 for a leaf; the children of the k-th node that is split are the
nodes 2k + 1 and 2k + 2), and the place of each class in the line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

Record = Mapping[str, Any]
"""Values by column; a cell without a value holds an `Absent`."""


@dataclass(frozen=True)
class Absent:
    """A way to be missing."""

    key: Any


class Settings(NamedTuple):
    temperature: float
    smallest: float
    backoff: float
    floor: float
    depth: int


class Structure(NamedTuple):
    candidates: Sequence[int]
    place: Sequence[int]


@dataclass(frozen=True)
class Declared:
    """What is public about a column.

    Parameters
    ----------
    values
        The classes, ways to be missing behind them; of a number the ways to be missing alone.
    is_number
        Whether cells are points of a range.
    in_line, cut_in_order
        Whether classes have an order when they are drawn, and when others are drawn from them.
    low, high, step, geometric, special
        The range of a number, and its special values.
    """

    values: tuple[Any, ...]
    is_number: bool = False
    in_line: bool = False
    cut_in_order: bool = False
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0
    geometric: bool = False
    special: tuple[float, ...] = ()

    @property
    def kinds(self) -> tuple[Any, ...]:
        """What a number can be: ordinary (the first), special, missing."""
        return (None, *sorted(self.special), *self.values)

    @property
    def has_kinds(self) -> bool:
        return self.is_number and len(self.kinds) > 1

    def kind(self, value: Any) -> int:
        return self.kinds.index(value) if value in self.kinds[1:] else 0

    @cached_property
    def apart(self) -> set[int]:
        """Points that are special values."""
        return {self._nearest(v) for v in self.special if self.low <= v <= self.high}

    def _nearest(self, value: float) -> int:
        return round(value / self.step)

    def point(self, value: float) -> int:
        """The number of a value: it is so many steps from 0."""
        return max(self._nearest(self.low), min(self._nearest(self.high), self._nearest(value)))

    @cached_property
    def cells(self) -> list[range]:
        """The points of each cell."""
        first, last = self._nearest(self.low), self._nearest(self.high)
        n = last - first + 1
        parts = min(n, 64)
        shares = [i / parts for i in range(parts + 1)]
        if self.geometric and n > 64:
            shares = [(100.0**share - 1) / 99 for share in shares]
        bounds = sorted({first + round(share * n) for share in shares})
        cells = [range(a, b) for a, b in pairwise(bounds)]
        # A cell without a point of its own is taken in by the next one, the last by that before.
        while len(cells) > 1:
            empty = [i for i, cell in enumerate(cells) if set(cell) <= self.apart]
            if not empty:
                break
            i = min(empty[0], len(cells) - 2)
            cells[i : i + 2] = [range(cells[i].start, cells[i + 1].stop)]
        return cells

    def cell(self, value: float) -> int:
        point = self.point(value)
        return next(i for i, cell in enumerate(self.cells) if point in cell)

    def predictors(self, value: Any) -> list[tuple[int, int, bool]]:
        """Code, number of codes and order of the variables that later columns are drawn from."""
        if not self.is_number:
            return [(self.values.index(value), len(self.values), self.cut_in_order)]
        kind = self.kind(value)
        number = (self.cell(0.0 if kind else value), len(self.cells), True)
        return [number, (kind, len(self.kinds), False)] if self.has_kinds else [number]


@dataclass(frozen=True)
class Rule:
    """Where the condition holds, the column has the value."""

    column: str
    holds: Callable[[Record], bool]
    value: Any


@dataclass(frozen=True)
class Design:
    """Everything that is public, and the structures.

    Parameters
    ----------
    columns
        The declarations, in the order in which columns are drawn.
    predictors, settings
        Of each column.
    kinds, values
        Of each column its structures by stratum (None without strata).
    """

    columns: Mapping[str, Declared]
    predictors: Mapping[str, Sequence[str]]
    settings: Mapping[str, Settings]
    kinds: Mapping[str, Mapping[Any, Structure]]
    values: Mapping[str, Mapping[Any, Structure]]
    rules: Sequence[Rule] = ()
    strata: str = ""
    weights: str = ""
    weight_unit: float = 1.0
    parts: Sequence[str] = field(default=("structure", "cells", "points"))

    def log_prob(self, records: Sequence[Record], release: Sequence[Record]) -> float:
        """Return log p(Z, T | D)."""
        terms: list[float] = []
        for name in self.columns:
            terms += self._column(name, records, release)
        return math.fsum(terms)

    def _weight(self, record: Record) -> float:
        return float(record[self.weights]) / self.weight_unit if self.weights else 1.0

    def _ruled(self, name: str, record: Record) -> list[Rule]:
        return [r for r in self.rules if r.column == name and r.holds(record)]

    def _inputs(self, name: str, record: Record) -> list[tuple[int, int, bool]]:
        names = list(self.predictors[name])
        if self.strata and name != self.strata:
            names = [n for n in names if n != self.strata] + [self.strata]
        found = [self.columns[n].predictors(record[n]) for n in names]
        whole, split = ([p for p in found if len(p) == k] for k in (1, 2))
        return [part for parts in whole + split for part in parts]

    def _column(
        self, name: str, records: Sequence[Record], release: Sequence[Record]
    ) -> list[float]:
        declared, settings, terms = self.columns[name], self.settings[name], []
        held = [r for r in records if self._weight(r) > 0 and not self._ruled(name, r)]
        drawn = [r for r in release if not self._ruled(name, r)]
        for record in release:
            last = self._ruled(name, record)[-1:]
            terms += [0.0 if record[name] == rule.value else -math.inf for rule in last]
        by_stratum = bool(self.strata) and name != self.strata
        for stratum in self.columns[self.strata].values if by_stratum else (None,):

            def inside(rows: Sequence[Record], stratum: Any = stratum) -> list[Record]:
                return [r for r in rows if stratum is None or r[self.strata] == stratum]

            ours, theirs = inside(held), inside(drawn)

            def tree(
                structure: Structure, code: Callable[[Any], int], n: int, in_line: bool,
                is_number: bool, ours: list[Record], theirs: list[Record]
            ) -> list[float]:  # fmt: skip
                rows = [
                    Row([c for c, _, _ in self._inputs(name, r)], code(r[name]), self._weight(r))
                    for r in ours
                ]
                sizes = [(k, o) for _, k, o in self._inputs(name, self._somebody)]
                grown = Tree(sizes, rows, structure, settings, n, in_line, is_number)
                found = []
                if "structure" in self.parts:
                    found.append(grown.log_structure)
                if "cells" in self.parts:
                    found += [
                        grown.log_prob([c for c, _, _ in self._inputs(name, r)], code(r[name]))
                        for r in theirs
                    ]
                return found

            if not declared.is_number:
                terms += tree(self.values[name][stratum], declared.values.index,
                              len(declared.values), declared.in_line, False, ours,
                              theirs)  # fmt: skip
                continue
            if declared.has_kinds:
                terms += tree(self.kinds[name][stratum], declared.kind, len(declared.kinds), False,
                              False, ours, theirs)  # fmt: skip
            ours, theirs = ([r for r in rows if declared.kind(r[name]) == 0]
                            for rows in (ours, theirs))  # fmt: skip
            terms += tree(self.values[name][stratum], declared.cell, len(declared.cells), True,
                          True, ours, theirs)  # fmt: skip
            if "points" in self.parts:
                counted = [(declared.point(r[name]), self._weight(r)) for r in ours]
                terms += [log_point(declared, counted, r[name], settings.backoff) for r in theirs]
        return terms

    @property
    def _somebody(self) -> Record:
        """Any record: what its variables are does not hang on its values."""
        return {n: d.low if d.is_number else d.values[0] for n, d in self.columns.items()}


class Row(NamedTuple):
    codes: Sequence[int]
    response: int
    weight: float


def splits_of(sizes: Sequence[tuple[int, bool]]) -> list[tuple[int, set[int]]]:
    """Return all candidates: the predictor, and the codes that go left."""
    found: list[tuple[int, set[int]]] = []
    for p, (n, in_order) in enumerate(sizes):
        if in_order:
            found += [(p, set(range(i + 1))) for i in range(n - 1)]
        elif n <= 5:
            # The last level stays on the right.
            for number in range(1, 2 ** (n - 1)):
                found.append((p, {k for k in range(n) if number >> k & 1}))
        else:
            found += [(p, {k}) for k in range(n)]
            for line in np.random.default_rng((2011, n)).random((24, n)).tolist():
                found.append((p, set(sorted(range(n), key=line.__getitem__)[: n // 2])))
    return found


def log_sigmoid(x: float) -> float:
    return -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))


def log_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    return top + math.log(math.fsum(math.exp(x - top) for x in logs))


class Tree:
    """A structure and the records in it."""

    def __init__(
        self, sizes: Sequence[tuple[int, bool]], rows: Sequence[Row], structure: Structure,
        settings: Settings, n_codes: int, in_line: bool, is_number: bool,
    ) -> None:  # fmt: skip
        self.splits, self.settings, self.n_codes = splits_of(sizes), settings, n_codes
        self.candidates, self.place = list(structure.candidates), list(structure.place)
        self.ranked = not in_line and 2 < n_codes <= 300
        if not self.ranked:
            assert self.place == list(range(n_codes))
        self.n_scores = min(10 if is_number else 64, n_codes)
        self.parent = {0: -1}
        for k, m in enumerate(m for m, c in enumerate(self.candidates) if c >= 0):
            self.parent |= {2 * k + 1: m, 2 * k + 2: m}
        self.rows: dict[int, list[Row]] = {m: [] for m in range(len(self.candidates))}
        for row in rows:
            for m in self.path(row.codes):
                self.rows[m].append(row)

    def path(self, codes: Sequence[int]) -> list[int]:
        """Return the nodes that a row passes, the leaf last."""
        nodes = [0]
        while self.candidates[nodes[-1]] >= 0:
            p, left = self.splits[self.candidates[nodes[-1]]]
            first = min(m for m, top in self.parent.items() if top == nodes[-1])
            nodes.append(first if codes[p] in left else first + 1)
        return nodes

    def depth(self, m: int) -> int:
        return 0 if m == 0 else 1 + self.depth(self.parent[m])

    def gain(self, rows: Sequence[Row], split: tuple[int, set[int]]) -> float:
        p, left = split
        least, total = 0.3 * self.settings.smallest, 0.0
        for goes_left in (True, False):
            side = [row for row in rows if (row.codes[p] in left) == goes_left]
            weights: dict[int, float] = {}
            for row in side:
                score = row.response * self.n_scores // self.n_codes
                weights[score] = weights.get(score, 0.0) + row.weight
            if side:
                total += math.fsum(w * w for w in weights.values()) / math.fsum(weights.values())
            total -= max(least - len(side), 0.0)
        return total

    @property
    def log_structure(self) -> float:
        """Log probability of the splits, and of the line of classes."""
        terms = [self.log_line] if self.ranked else []
        for m, chosen in enumerate(self.candidates):
            if not self.splits or self.depth(m) >= self.settings.depth:
                assert chosen < 0
                continue
            x = (len(self.rows[m]) - self.settings.smallest) / (self.settings.smallest / 10)
            terms.append(log_sigmoid(x if chosen >= 0 else -x))
            if chosen >= 0:
                powers = [self.gain(self.rows[m], s) / self.settings.temperature
                          for s in self.splits]  # fmt: skip
                terms.append(powers[chosen] - log_sum(powers))
        return math.fsum(terms)

    @property
    def log_line(self) -> float:
        powers = [0.0] * self.n_codes
        for row in self.rows[0]:
            powers[row.response] += row.weight / 5
        line = sorted(range(self.n_codes), key=self.place.__getitem__)
        return math.fsum(
            powers[line[i]] - log_sum([powers[k] for k in line[i:]]) for i in range(self.n_codes)
        )

    def share(self, m: int, low: int, high: int) -> float:
        """Return the share of the left half of the places from low up to high."""
        rows = [r for r in self.rows[m] if low <= self.place[r.response] < high]
        n = math.fsum(r.weight for r in rows)
        n_left = math.fsum(r.weight for r in rows if self.place[r.response] < (low + high) // 2)
        if m == 0:
            return (n_left + 0.5) / (n + 1)
        up = self.share(self.parent[m], low, high)
        a = self.settings.backoff * (1 + 10 / (n + 1)) + self.settings.floor / min(up, 1 - up)
        return (n_left + a * up) / (n + a)

    def log_prob(self, codes: Sequence[int], response: int) -> float:
        leaf, place = self.path(codes)[-1], self.place[response]
        low, high, total = 0, self.n_codes, 0.0
        while high - low > 1:
            middle, share = (low + high) // 2, self.share(leaf, low, high)
            if place < middle:
                total, high = total + math.log(share), middle
            else:
                total, low = total + math.log1p(-share), middle
        return total


LADDER = [1]
while len(LADDER) < 40:
    LADDER.append(LADDER[-1] * (5 if len(LADDER) % 2 else 2))


def roundness(point: int) -> int:
    """Return the last step of 1, 5, 10, 50, … that the point is a multiple of."""
    return max(r for r, step in enumerate(LADDER) if point % step == 0)


def log_point(
    declared: Declared, counted: Sequence[tuple[int, float]], value: float, backoff: float
) -> float:
    """Return the log probability of a number in its cell."""
    point, cell = declared.point(value), declared.cells[declared.cell(value)]
    if point in declared.apart or abs(point * declared.step - value) > declared.step / 2:
        return -math.inf
    points = [p for p in cell if p not in declared.apart]
    here = [(p, w) for p, w in counted if p in cell]
    degrees, degree = {roundness(p) for p in points}, roundness(point)

    def weight(low: int, high: int) -> float:
        return math.fsum(w for p, w in here if low <= p < high and roundness(p) == degree)

    n = math.fsum(w for _, w in here)
    total = math.log((weight(cell.start, cell.stop) + 0.5) / (n + len(degrees) / 2))
    step, own = LADDER[degree], [p for p in points if roundness(p) == degree]
    low, high = -(-cell.start // step), -(-cell.stop // step)
    while high - low > 1:
        middle = (low + high) // 2
        g = sum(low * step <= p < high * step for p in own)
        g_left = sum(low * step <= p < middle * step for p in own)
        is_left = point < middle * step
        if 0 < g_left < g:
            both, left = weight(low * step, high * step), weight(low * step, middle * step)
            share = (left + backoff * g_left / g) / (both + backoff)
            total += math.log(share if is_left else 1 - share)
        low, high = (low, middle) if is_left else (middle, high)
    return total
