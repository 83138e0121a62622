"""A grown tree: flat arrays that can be applied, drawn from and stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.showing import without_values
from caveat.tree._leaves import draw_codes, find_leaves, pack_nodes, share_of_codes
from caveat.tree._predictors import Predictors, check_codes, in_chunks, risk_of

DTYPES = {
    "feature": np.int32,
    "threshold": np.int32,
    "level_set": np.int32,
    "bits": np.uint64,
    "left": np.int32,
    "right": np.int32,
    "start": np.int32,
    "stop": np.int32,
    "improve": np.float64,
    "rows": np.int32,
    "leaf_offsets": np.int64,
    "leaf_codes": np.int32,
    "leaf_weights": np.float64,
    "n_levels": np.int32,
    "ordered": np.bool_,
}
PER_NODE = ("threshold", "level_set", "left", "right", "start", "stop", "improve")


def to_arrays(tree: Tree) -> dict[str, NDArray[Any]]:
    """Return the tree as named arrays; a classification tree has no `values`."""
    arrays: dict[str, NDArray[Any]] = {name: getattr(tree, name) for name in DTYPES}
    arrays["n_response_levels"] = np.array(tree.n_response_levels, np.int64)
    arrays["binned"] = np.array(tree.binned, np.int32)
    if tree.values is not None:
        arrays["values"] = tree.values
    return arrays


def check_fields(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the fields of a tree, or raise ValueError if the arrays do not describe one.

    Kernels do not check their indices, so nothing that points outside may pass.
    """
    fields: dict[str, Any] = {}
    for name, dtype in DTYPES.items():
        array = np.asarray(_get(arrays, name))
        if array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"{name} must be one-dimensional and of type {np.dtype(dtype)}")
        fields[name] = np.ascontiguousarray(array)
    fields["n_response_levels"] = int(_get(arrays, "n_response_levels"))
    fields["binned"] = tuple(int(i) for i in _get(arrays, "binned"))
    values = arrays.get("values")
    if values is not None:
        values = np.ascontiguousarray(values, np.float64)
        if values.shape != (fields["n_response_levels"],) or np.any(np.isnan(values)):
            raise ValueError("values must have one number for each response level")
    fields["values"] = values
    if set(arrays) - {*fields}:
        raise ValueError("there are arrays that no tree has")
    _check_nodes(fields)
    _check_rows(fields)
    _check_leaves(fields)
    return fields


def _get(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"{name} is missing from the arrays")
    return arrays[name]


def _check_nodes(fields: dict[str, Any]) -> None:
    feature, n_levels, ordered = fields["feature"], fields["n_levels"], fields["ordered"]
    n_nodes = len(feature)
    if n_nodes < 1 or any(len(fields[name]) != n_nodes for name in PER_NODE):
        raise ValueError("feature and the other arrays of nodes must have the same length")
    if len(ordered) != len(n_levels) or np.any(n_levels < 1):
        raise ValueError("n_levels and ordered must have one entry for each predictor")
    if any(not 0 <= place < len(n_levels) for place in fields["binned"]):
        raise ValueError("binned must name predictors")
    inner = np.flatnonzero(feature >= 0)
    if np.any(feature < -1) or np.any(feature >= len(n_levels)):
        raise ValueError("feature must name a predictor or be -1")
    for name in ("left", "right"):
        child = fields[name][inner]
        if np.any(child <= inner) or np.any(child >= n_nodes):
            raise ValueError(f"{name} must point to a later node")
    children = np.concatenate([fields["left"][inner], fields["right"][inner]])
    if not np.array_equal(np.bincount(children, minlength=n_nodes), np.arange(n_nodes) > 0):
        raise ValueError("every node but the first must be the child of one node")
    nominal = inner[~ordered[feature[inner]]]
    if np.any((fields["level_set"][inner] >= 0) != ~ordered[feature[inner]]):
        raise ValueError("level_set must be given exactly for nominal splits")
    words = (n_levels[feature[nominal]].astype(np.int64) + 63) // 64
    last = fields["level_set"][nominal] + words
    if np.any(last > len(fields["bits"])):
        raise ValueError("level_set must lie within bits")
    if not np.all(np.isfinite(fields["improve"])):
        raise ValueError("improve must be finite")


def _check_rows(fields: dict[str, Any]) -> None:
    start, stop, rows = fields["start"], fields["stop"], fields["rows"]
    if start[0] != 0 or stop[0] != len(rows) or np.any(start >= stop):
        raise ValueError("start and stop must lie within rows, and no node may be empty")
    inner = np.flatnonzero(fields["feature"] >= 0)
    left, right = fields["left"][inner], fields["right"][inner]
    for ours, theirs in (
        (start[inner], start[left]),
        (stop[left], start[right]),
        (stop[inner], stop[right]),
    ):
        if not np.array_equal(ours, theirs):
            raise ValueError("start and stop must share the rows of a node among its children")
    if rows.min() < 0:
        raise ValueError("rows must be row numbers")


def _check_leaves(fields: dict[str, Any]) -> None:
    offsets, codes = fields["leaf_offsets"], fields["leaf_codes"]
    n_leaves = int(np.count_nonzero(fields["feature"] < 0))
    if len(offsets) != n_leaves + 1 or offsets[0] != 0 or np.any(np.diff(offsets) < 1):
        raise ValueError("leaf_offsets must rise from 0, one step for each leaf")
    if offsets[-1] != len(codes) or len(codes) != len(fields["leaf_weights"]):
        raise ValueError("leaf_codes and leaf_weights must end where leaf_offsets end")
    if codes.min() < 0 or codes.max() >= fields["n_response_levels"]:
        raise ValueError("leaf_codes must be response codes")
    within = np.ones(len(codes), bool)
    within[offsets[:-1]] = False
    if np.any(np.diff(codes)[within[1:]] <= 0):
        raise ValueError("leaf_codes must rise within a leaf")
    weights = fields["leaf_weights"]
    if not (weights.min() > 0 and np.isfinite(weights.sum())):
        raise ValueError("leaf_weights must be positive and finite")


# -------------------------------------------------------------------------------------------------
# A grown tree: flat arrays that can be applied, drawn from and stored.


class LeafShares(NamedTuple):
    """Shares of the response codes: leaf i has `codes[offsets[i]:offsets[i + 1]]`, rising."""

    offsets: NDArray[np.int64]
    codes: NDArray[np.int32]
    shares: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tree:
    """A classification or regression tree in flat arrays, nodes in preorder.

    Attributes
    ----------
    feature
        Predictor that splits a node, -1 in leaves.
    threshold
        Ordered split: codes up to this one go left; -1 elsewhere.
    level_set
        Nominal split: first word of the node's set in `bits`, -1 elsewhere.
    bits
        Level sets: bit `code` is 1 where the level goes left.
    left, right
        Children, -1 in leaves.
    start, stop
        The node's training rows are `rows[start:stop]`.
    improve
        What the split removes: sum of squares, or weight times Gini index.
    rows
        Row numbers of the training rows; every leaf is a slice.
    leaf_offsets, leaf_codes, leaf_weights
        Weight of each response code in each leaf.
    values
        What the response codes stand for in a regression tree, None for classes.
    n_levels, ordered
        Declared levels and kind of each predictor.
    n_response_levels
        Declared number of response codes.
    binned
        Predictors whose cuts were searched in equal-frequency bins because they have more than
        65,535 levels.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.int32]
    level_set: NDArray[np.int32]
    bits: NDArray[np.uint64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    start: NDArray[np.int32]
    stop: NDArray[np.int32]
    improve: NDArray[np.float64]
    rows: NDArray[np.int32]
    leaf_offsets: NDArray[np.int64]
    leaf_codes: NDArray[np.int32]
    leaf_weights: NDArray[np.float64]
    values: NDArray[np.float64] | None
    n_levels: NDArray[np.int32]
    ordered: NDArray[np.bool_]
    n_response_levels: int
    binned: tuple[int, ...]

    __repr__ = without_values

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_offsets) - 1

    @cached_property
    def leaf_nodes(self) -> NDArray[np.int32]:
        """Node of each leaf."""
        return np.flatnonzero(self.feature < 0).astype(np.int32)

    @cached_property
    def _packed(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint64]]:
        """The predictors that are asked, the splits as `find_leaves` reads them, and the sets."""
        asked = np.unique(self.feature[self.feature >= 0])
        number = np.zeros(max(len(self.n_levels), 1) + 1, np.int32)
        number[asked] = np.arange(len(asked))
        number[-1] = -1  # the place of -1, which stands in leaves
        leaf_of_node = np.full(self.n_nodes, -1, np.int32)
        leaf_of_node[self.leaf_nodes] = np.arange(self.n_leaves)
        bits = self.bits if len(self.bits) else np.zeros(1, np.uint64)
        lines = pack_nodes(
            number[self.feature], self.threshold, self.level_set, self.left, self.right,
            self.stop - self.start, leaf_of_node, bits, self.n_levels[asked] <= 32,
        )  # fmt: skip
        return asked, lines, bits

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        return np.cumsum(self.leaf_weights)

    def donors(self, leaf: int) -> NDArray[np.int32]:
        """Return the row numbers of the training rows in a leaf, a view and not a copy."""
        if not 0 <= leaf < self.n_leaves:
            raise ValueError(f"leaf must be from 0 to {self.n_leaves - 1}")
        node = self.leaf_nodes[leaf]
        return self.rows[self.start[node] : self.stop[node]]

    def leaf_shares(self) -> LeafShares:
        """Return the shares of the response codes in each leaf, weighted if the rows were."""
        sums = np.add.reduceat(self.leaf_weights, self.leaf_offsets[:-1])
        shares = self.leaf_weights / np.repeat(sums, np.diff(self.leaf_offsets))
        return LeafShares(self.leaf_offsets, self.leaf_codes, shares)

    def apply(self, predictors: Predictors, threads: int = 1) -> NDArray[np.int32]:
        """Return the leaf of each row; a level unseen in a node follows the larger child."""
        self.check_predictors(predictors)
        leaves = np.zeros(predictors.n_rows, np.int32)
        table = predictors.table
        asked, lines, bits = self._packed
        columns = predictors.columns[asked]

        def work(start: int, stop: int) -> None:
            if len(lines):
                find_leaves(
                    table.codes, table.wide, table.wide_of, columns, lines, bits,
                    predictors.start, start, stop, leaves,
                )  # fmt: skip

        in_chunks(work, predictors.n_rows, threads)
        return leaves

    def draw(
        self, predictors: Predictors, uniforms: NDArray[np.float64], threads: int = 1
    ) -> NDArray[np.int32]:
        """Draw a response code for each row from its leaf.

        One number from [0, 1) decides each row, so the result does not depend on chunks or
        threads.
        """
        chances = check_uniforms(uniforms, predictors.n_rows)
        leaves = self.apply(predictors, threads)
        drawn = np.empty(len(leaves), np.int32)

        def work(start: int, stop: int) -> None:
            draw_codes(
                leaves, chances, self.leaf_offsets, self.leaf_codes, self._cumulative,
                start, stop, drawn,
            )  # fmt: skip

        in_chunks(work, len(leaves), threads)
        return drawn

    def shares(
        self, predictors: Predictors, codes: NDArray[np.unsignedinteger], threads: int = 1
    ) -> NDArray[np.float64]:
        """Return the share that each row's leaf gives to the row's response code."""
        wanted = check_codes(codes, self.n_response_levels, "codes", predictors.n_rows)
        wanted = wanted.astype(np.uint32, copy=False)
        leaves = self.apply(predictors, threads)
        shares = np.empty(len(leaves))

        def work(start: int, stop: int) -> None:
            share_of_codes(
                leaves, wanted, self.leaf_offsets, self.leaf_codes, self._cumulative,
                start, stop, shares,
            )  # fmt: skip

        in_chunks(work, len(leaves), threads)
        return shares

    def log_prob(
        self, predictors: Predictors, codes: NDArray[np.unsignedinteger], threads: int = 1
    ) -> NDArray[np.float64]:
        """Return the logarithm of `shares`, -inf where the leaf does not hold the code."""
        with np.errstate(divide="ignore"):
            return np.log(self.shares(predictors, codes, threads))

    def deviance(self) -> NDArray[np.float64]:
        """Return the risk of each node: sum of squares, or misclassified weight."""
        if self.values is None:
            return self._misclassified()
        risk = np.zeros(self.n_nodes)
        for leaf, node in enumerate(self.leaf_nodes):
            part = slice(self.leaf_offsets[leaf], self.leaf_offsets[leaf + 1])
            risk[node] = risk_of(self.leaf_weights[part], self.values[self.leaf_codes[part]])
        for node in np.flatnonzero(self.feature >= 0)[::-1]:
            risk[node] = risk[self.left[node]] + risk[self.right[node]] + self.improve[node]
        return risk

    def _misclassified(self) -> NDArray[np.float64]:
        mass = np.zeros((self.n_nodes, self.n_response_levels))
        leaf = np.repeat(np.arange(self.n_leaves), np.diff(self.leaf_offsets))
        mass[self.leaf_nodes[leaf], self.leaf_codes] = self.leaf_weights
        for node in np.flatnonzero(self.feature >= 0)[::-1]:
            mass[node] = mass[self.left[node]] + mass[self.right[node]]
        return np.asarray(mass.sum(axis=1) - mass.max(axis=1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tree as named plain arrays."""
        return to_arrays(self)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Tree:
        """Return the tree that `arrays` gave, after checking that nothing points outside."""
        return cls(**check_fields(arrays))

    def check_predictors(self, predictors: Predictors) -> None:
        """Raise ValueError unless these are the predictors that the tree was grown on."""
        if not np.array_equal(predictors.n_levels, self.n_levels):
            raise ValueError("predictors must have the columns and levels the tree was grown on")
        if not np.array_equal(predictors.ordered, self.ordered):
            raise ValueError("predictors must be ordered or nominal as those of the tree")


def check_uniforms(uniforms: NDArray[np.float64], n_rows: int) -> NDArray[np.float64]:
    """Return the numbers as an array, or raise ValueError."""
    chances = np.ascontiguousarray(uniforms, dtype=np.float64)
    if chances.shape != (n_rows,):
        raise ValueError(f"uniforms must have one number for each of the {n_rows} rows")
    if n_rows and not (chances.min() >= 0.0 and chances.max() < 1.0):
        raise ValueError("uniforms must be at least 0 and below 1")
    return chances
