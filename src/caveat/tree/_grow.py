"""Grow one tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import announce
from caveat.tree._control import DEFAULT, Control
from caveat.tree._growing import (
    FEATURE,
    IMPROVE,
    LEFT,
    RIGHT,
    START,
    STOP,
    THRESHOLD,
    grow_classes,
    grow_numbers,
)
from caveat.tree._predictors import EXACT_LEVELS, Predictors, check_codes, check_kind
from caveat.tree._pruning import COLLAPSED, LEVEL_SET, finish
from caveat.tree._response import encode_response, exact_weights
from caveat.tree._tree import Tree
from caveat.tree._workspace import Response, make_workspace, most_nominal

__all__ = ["grow", "grow_tree"]

for _kernel in (grow_classes, grow_numbers):
    announce(
        _kernel,
        "Compiling the tree engine: up to 25 seconds, and 20 more for the strong attacker; "
        "once for this installation.",
    )

MOST_CELLS = 1 << 24
"""Most levels x classes of a nominal predictor: its table must fit in memory."""


def grow(
    predictors: Predictors,
    response_codes: NDArray[np.unsignedinteger],
    n_levels: int,
    *,
    values: NDArray[np.float64] | None = None,
    weights: NDArray[np.float64] | None = None,
    rows: NDArray[np.integer] | None = None,
    control: Control = DEFAULT,
) -> Tree:
    """Grow a tree.

    Parameters
    ----------
    predictors
        The coded table.
    response_codes
        Response of each row of the table, codes from 0 to `n_levels` - 1.
    n_levels
        Number of response codes.
    values
        The number each code stands for: the tree is a regression tree (sum of squares). Without
        it the codes are classes (Gini).
    weights
        Positive case weight of each row of the table.
    rows
        Row numbers to fit on (all rows unless given); a number may occur more than once.
    control
        Stopping rules.

    Returns
    -------
    Tree
        The pruned tree.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.repeat(np.array([0, 1], np.uint8), 10)
    >>> tree = grow(Predictors([x], [2], [False]), x, 2)
    >>> tree.n_leaves
    2
    """
    return grow_tree(predictors, response_codes, n_levels, values, weights, rows, control)


def grow_tree(
    predictors: Predictors,
    response_codes: NDArray[np.unsignedinteger],
    n_levels: int,
    values: NDArray[np.float64] | None,
    weights: NDArray[np.float64] | None,
    rows: NDArray[np.integer] | None,
    control: Control,
    n_candidates: int | None = None,
    seed: int = 1,
) -> Tree:
    """Do what `grow` says, with a random choice of `n_candidates` predictors at each node."""
    n_rows = predictors.n_rows
    answers = check_kind(response_codes, n_levels, "response_codes", n_rows)
    values = _check_values(values, n_levels)
    weights = _check_weights(weights, n_rows)
    _check_sizes(predictors, n_levels, values)
    fitted = _check_rows(rows, n_rows)
    masses = exact_weights(weights)
    if rows is not None or answers.dtype.itemsize > 4:
        check_codes(answers, n_levels, "response_codes", n_rows)
    chosen = None if rows is None else fitted
    response, risk = _encode(answers, n_levels, values, weights, masses, chosen)
    if risk < 0:
        check_codes(answers, n_levels, "response_codes", n_rows)
    table, features = predictors.table, predictors.features
    workspace = make_workspace(len(fitted), table.codes.shape[1], features, response, control)
    alpha = control.cp * risk
    rules = (
        control.minbucket, control.smallest_split, control.max_depth, alpha,
        predictors.n_columns if n_candidates is None else n_candidates,
    )  # fmt: skip
    random = predictors.order
    if n_candidates is not None:
        random = random.copy()
        random[0] = seed
    if predictors.start:
        fitted += np.uint32(predictors.start)
    grow_nodes = grow_classes if response.as_classes else grow_numbers
    n_nodes = grow_nodes(
        table.codes, features, tuple(response), rules, fitted, random, tuple(workspace)
    )
    nodes, measures = workspace.nodes, workspace.measures
    del workspace, response  # their memory is needed for what follows
    return _finish(
        predictors, answers, masses, n_levels, fitted, nodes, measures, n_nodes, alpha, values
    )


def _encode(
    answers: NDArray[np.unsignedinteger],
    n_levels: int,
    values: NDArray[np.float64] | None,
    weights: NDArray[np.float64] | None,
    masses: NDArray[np.float64],
    rows: NDArray[np.uint32] | None,
) -> tuple[Response, float]:
    """Write the response of the rows as the kernels want it; return its risk too."""
    codes = answers.astype(np.uint32)
    if rows is not None:
        codes = codes[rows]
        if weights is not None:
            weights, masses = weights[rows], masses[rows]
    return encode_response(codes, n_levels, values, weights, masses)


def _finish(
    predictors: Predictors,
    answers: NDArray[np.unsignedinteger],
    masses: NDArray[np.float64],
    n_levels: int,
    fitted: NDArray[np.uint32],
    nodes: NDArray[np.int32],
    measures: NDArray[np.float64],
    n_nodes: int,
    alpha: float,
    values: NDArray[np.float64] | None,
) -> Tree:
    """Prune the nodes that were grown, and put what is left into a tree."""
    table, features = predictors.table, predictors.features
    most = min(n_levels * (n_nodes // 2 + 1), len(fitted))
    leaf_offsets = np.empty(n_nodes // 2 + 2, np.int64)
    leaf_codes, leaf_weights = np.empty(most, np.int32), np.empty(most)
    n_nodes, filled, bits = finish(
        nodes, measures, n_nodes, alpha, values is None, table.codes, features, fitted,
        predictors.start, answers.astype(np.uint32), masses, n_levels, leaf_offsets, leaf_codes,
        leaf_weights,
    )  # fmt: skip
    # Nobody else has these arrays; to cut them costs no second copy.
    leaf_offsets.resize(n_nodes // 2 + 2, refcheck=False)
    leaf_codes.resize(filled, refcheck=False)
    leaf_weights.resize(filled, refcheck=False)
    nodes = nodes[:, :n_nodes].copy()
    for node in measures[COLLAPSED, :n_nodes].nonzero()[0]:
        fitted[nodes[START, node] : nodes[STOP, node]].sort()
    if predictors.binned:
        _raise_to_codes(nodes, predictors)
    return Tree(
        nodes[FEATURE],
        nodes[THRESHOLD],
        nodes[LEVEL_SET],
        bits,
        nodes[LEFT],
        nodes[RIGHT],
        nodes[START],
        nodes[STOP],
        measures[IMPROVE, :n_nodes].copy(),
        fitted.view(np.int32),
        leaf_offsets,
        leaf_codes,
        leaf_weights,
        values,
        predictors.n_levels,
        predictors.ordered,
        n_levels,
        predictors.binned,
    )


def _raise_to_codes(nodes: NDArray[np.int32], predictors: Predictors) -> None:
    """Turn cuts between bins into cuts between codes."""
    for feature in predictors.binned:
        ends = predictors.table.bin_ends[int(predictors.columns[feature])]
        here = nodes[FEATURE] == feature
        nodes[THRESHOLD, here] = ends[nodes[THRESHOLD, here]]


def _check_values(values: NDArray[np.float64] | None, n_levels: int) -> NDArray[np.float64] | None:
    if values is None:
        return None
    array = np.array(values, dtype=np.float64)
    if array.shape != (n_levels,):
        raise ValueError(f"values must have one number for each of the {n_levels} levels")
    if not np.isfinite(array).all():
        raise ValueError("values must be finite numbers")
    return array


def _check_weights(weights: NDArray[np.float64] | None, n_rows: int) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n_rows,):
        raise ValueError(f"weights must have one number for each of the {n_rows} rows")
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError("weights must be positive and finite")
    return array


def _check_rows(rows: NDArray[np.integer] | None, n_rows: int) -> NDArray[np.uint32]:
    if rows is None:
        chosen = np.arange(n_rows, dtype=np.uint32)
    else:
        array = np.asarray(rows)
        if array.ndim != 1 or array.dtype.kind not in "ui":
            raise ValueError("rows must be a one-dimensional array of row numbers")
        if len(array) and not (array.min() >= 0 and array.max() < n_rows):
            raise ValueError(f"rows must be from 0 to {n_rows - 1}")
        chosen = np.sort(array.astype(np.uint32))
    if not len(chosen):
        raise ValueError("rows must hold at least one row to grow a tree")
    return chosen


def _check_sizes(predictors: Predictors, n_levels: int, values: NDArray[np.float64] | None) -> None:
    if values is not None or n_levels <= 2:
        return
    if n_levels > EXACT_LEVELS:
        raise ValueError(f"n_levels must not exceed {EXACT_LEVELS} for classes")
    if most_nominal(predictors.features) * n_levels > MOST_CELLS:
        raise ValueError("predictors hold a nominal column with too many levels for these classes")
