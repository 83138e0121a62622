"""Grow one tree, many over one table, or a forest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import announce
from caveat.showing import without_values
from caveat.tree._growing import (
    DEFAULT,
    FEATURE,
    IMPROVE,
    LEFT,
    RIGHT,
    START,
    STOP,
    THRESHOLD,
    Control,
    Response,
    grow_classes,
    grow_numbers,
    make_workspace,
    most_nominal,
)
from caveat.tree._leaves import COLLAPSED, LEVEL_SET, finish
from caveat.tree._predictors import (
    EXACT_LEVELS,
    Predictors,
    check_codes,
    check_kind,
    encode_response,
    exact_weights,
    in_pool,
)
from caveat.tree._tree import LeafShares, Tree, check_uniforms

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


# -------------------------------------------------------------------------------------------------
# Grow many trees at once over one shared table.


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The arguments of `grow` for one tree of `grow_many`."""

    predictors: Predictors
    response_codes: NDArray[np.unsignedinteger]
    n_levels: int
    values: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    rows: NDArray[np.integer] | None = None
    control: Control = DEFAULT

    __repr__ = without_values


def grow_many(jobs: Sequence[Job], threads: int = 1) -> list[Tree]:
    """Grow one tree for each job; the number of threads does not change the trees."""
    # The dear ones first, so that no thread waits long for the last.
    order = sorted(range(len(jobs)), key=lambda i: -_expected_work(jobs[i]))
    trees = in_pool(
        lambda job: grow_tree(
            job.predictors, job.response_codes, job.n_levels, job.values, job.weights, job.rows,
            job.control,
        ),
        [jobs[i] for i in order],
        threads,
    )  # fmt: skip
    place = dict(zip(order, trees, strict=True))
    return [place[i] for i in range(len(jobs))]


def _expected_work(job: Job) -> float:
    n_rows = job.predictors.n_rows if job.rows is None else len(job.rows)
    kind = 1.5 if job.values is not None else (1.0 if job.n_levels <= 2 else 3.0)
    return kind * n_rows * job.predictors.n_columns


# -------------------------------------------------------------------------------------------------
# Bagged trees with random predictor subsets.


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees whose leaf shares are averaged."""

    trees: tuple[Tree, ...]

    __repr__ = without_values

    def apply(self, predictors: Predictors, threads: int = 1) -> NDArray[np.int32]:
        """Return the leaf of each row in each tree, one line for each tree."""
        return np.stack([tree.apply(predictors, threads) for tree in self.trees])

    def leaf_shares(self) -> list[LeafShares]:
        """Return the leaf shares of each tree."""
        return [tree.leaf_shares() for tree in self.trees]

    def shares(
        self, predictors: Predictors, codes: NDArray[np.unsignedinteger], threads: int = 1
    ) -> NDArray[np.float64]:
        """Return the mean over the trees of the share a row's leaf gives to its code."""
        total = np.zeros(predictors.n_rows)
        for tree in self.trees:
            total += tree.shares(predictors, codes, threads)
        return total / len(self.trees)

    def log_prob(
        self, predictors: Predictors, codes: NDArray[np.unsignedinteger], threads: int = 1
    ) -> NDArray[np.float64]:
        """Return the logarithm of `shares`, -inf where no tree holds the code."""
        with np.errstate(divide="ignore"):
            return np.log(self.shares(predictors, codes, threads))

    def draw(
        self, predictors: Predictors, uniforms: NDArray[np.float64], threads: int = 1
    ) -> NDArray[np.int32]:
        """Draw a response code for each row from the averaged shares.

        The number of a row chooses the tree; what is left of it is uniform again and decides the
        draw from that tree's leaf.
        """
        chances = check_uniforms(uniforms, predictors.n_rows) * len(self.trees)
        chosen = np.minimum(chances.astype(np.int64), len(self.trees) - 1)
        rest = np.clip(chances - chosen, 0.0, np.nextafter(1.0, 0.0))
        drawn = np.empty(predictors.n_rows, np.int32)
        for i, tree in enumerate(self.trees):
            here = chosen == i
            drawn[here] = tree.draw(predictors, rest, threads)[here]
        return drawn


def grow_forest(
    predictors: Predictors,
    response_codes: NDArray[np.unsignedinteger],
    n_levels: int,
    *,
    n_trees: int,
    seed: np.random.SeedSequence,
    n_candidates: int | None = None,
    values: NDArray[np.float64] | None = None,
    weights: NDArray[np.float64] | None = None,
    rows: NDArray[np.integer] | None = None,
    control: Control = DEFAULT,
    threads: int = 1,
) -> Forest:
    """Grow trees on bootstrap samples, each split on the best of a few random predictors.

    Parameters
    ----------
    predictors, response_codes, n_levels, values, weights, rows, control
        As for `grow`.
    n_trees
        Number of trees.
    seed
        Parent of one seed for each tree; the same seed gives the same forest.
    n_candidates
        Predictors tried at a node, all unless given. More are tried only where none of these
        can split the node.
    threads
        Trees grown at the same time; the forest does not depend on it.
    """
    if n_trees < 1:
        raise ValueError("n_trees must be at least 1")
    if n_candidates is not None and not 1 <= n_candidates <= predictors.n_columns:
        raise ValueError(f"n_candidates must be from 1 to {predictors.n_columns}")
    pool = np.arange(predictors.n_rows) if rows is None else np.asarray(rows)

    def one_tree(child: np.random.SeedSequence) -> Tree:
        random = np.random.default_rng(child)
        sample = pool[random.integers(len(pool), size=len(pool))]
        return grow_tree(
            predictors, response_codes, n_levels, values, weights, sample, control,
            n_candidates, int(random.integers(1, 2**63)),
        )  # fmt: skip

    return Forest(tuple(in_pool(one_tree, seed.spawn(n_trees), threads)))
