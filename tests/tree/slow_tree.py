"""A slow tree that is obviously right: exact fractions, every cut, every subset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from caveat.tree import Control


@dataclass
class SlowNode:
    rows: tuple[int, ...]
    risk: Fraction
    feature: int = -1
    improve: Fraction = Fraction(0)
    children: tuple[SlowNode, ...] = ()

    def walk(self) -> Iterator[SlowNode]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass
class SlowData:
    columns: list[np.ndarray]
    ordered: list[bool]
    codes: np.ndarray
    n_levels: int
    values: list[Fraction] | None
    weights: list[int]

    def mass(self, rows: tuple[int, ...]) -> int:
        return sum(self.weights[row] for row in rows)

    def class_mass(self, rows: tuple[int, ...]) -> list[int]:
        mass = [0] * self.n_levels
        for row in rows:
            mass[self.codes[row]] += self.weights[row]
        return mass

    def mean(self, rows: tuple[int, ...]) -> Fraction:
        """Mean response, or the share of the first class: what nominal levels are ordered by."""
        if self.values is None:
            return Fraction(self.class_mass(rows)[0], self.mass(rows))
        total = sum(self.weights[row] * self.values[self.codes[row]] for row in rows)
        return Fraction(total) / self.mass(rows)

    def impurity(self, rows: tuple[int, ...]) -> Fraction:
        """Weight times Gini index, or the sum of squares."""
        if self.values is None:
            squares = sum(mass * mass for mass in self.class_mass(rows))
            return self.mass(rows) - Fraction(squares, self.mass(rows))
        mean = self.mean(rows)
        return sum(
            (self.weights[row] * (self.values[self.codes[row]] - mean) ** 2 for row in rows),
            Fraction(0),
        )

    def risk(self, rows: tuple[int, ...]) -> Fraction:
        if self.values is None:
            return Fraction(self.mass(rows) - max(self.class_mass(rows)))
        return self.impurity(rows)

    def left_sides(self, rows: tuple[int, ...], feature: int) -> Iterator[set[int]]:
        """Sets of levels for the left child, in the order in which the first of equals wins."""
        column = self.columns[feature]
        levels = sorted({int(column[row]) for row in rows})
        if not self.ordered[feature]:
            if self.values is None and self.n_levels > 2:
                for step in range(1, 2 ** (len(levels) - 1)):
                    gray = step ^ (step >> 1)
                    yield {level for i, level in enumerate(levels) if gray >> i & 1}
                return
            levels.sort(key=lambda level: self.mean(tuple(r for r in rows if column[r] == level)))
        for cut in range(1, len(levels)):
            yield set(levels[:cut])


def best_split(
    data: SlowData, rows: tuple[int, ...], minbucket: int
) -> tuple[Fraction, int, tuple[int, ...], tuple[int, ...]] | None:
    best = None
    whole = data.impurity(rows)
    for feature, column in enumerate(data.columns):
        for side in data.left_sides(rows, feature):
            left = tuple(row for row in rows if column[row] in side)
            right = tuple(row for row in rows if column[row] not in side)
            if min(len(left), len(right)) < minbucket:
                continue
            improve = whole - data.impurity(left) - data.impurity(right)
            if improve > (best[0] if best else 0):
                best = improve, feature, left, right
    return best


def grow_slowly(data: SlowData, rows: tuple[int, ...], control: Control) -> SlowNode:
    """Grow to the end, then collapse from the leaves upward."""
    root = _grow(data, rows, control, 0)
    _prune(root, control.cp * float(root.risk))
    return root


def _grow(data: SlowData, rows: tuple[int, ...], control: Control, depth: int) -> SlowNode:
    node = SlowNode(rows, data.risk(rows))
    if len(rows) < control.smallest_split or depth >= control.max_depth:
        return node
    split = best_split(data, rows, control.minbucket)
    if split:
        node.improve, node.feature, left, right = split
        node.children = tuple(_grow(data, side, control, depth + 1) for side in (left, right))
    return node


def _prune(node: SlowNode, alpha: float) -> tuple[Fraction, int]:
    """Return the risk removed and the splits that make up the node's complexity, 0 in leaves.

    Each child's subtree is counted or not, whatever gives the most per split; among equals as many
    splits as possible. The subtree itself stays, counted or not, unless the node collapses.
    """
    if not node.children:
        return Fraction(0), 0
    own = node.risk - sum((child.risk for child in node.children), Fraction(0))
    one, two = (_prune(child, alpha) for child in node.children)
    choices = []
    for counted in ([], [one], [two], [one, two]):
        removed = own + sum((part[0] for part in counted), Fraction(0))
        splits = 1 + sum(part[1] for part in counted)
        choices.append((removed / splits, splits))
    each, splits = max(choices)
    if float(each) <= alpha:
        node.children, node.feature, node.improve = (), -1, Fraction(0)
        return Fraction(0), 0
    return each * splits, splits
