"""A tree as a dictionary of plain arrays, so that a file without pickle can hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from caveat.tree._tree import Tree

__all__ = ["check_fields", "to_arrays"]

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
