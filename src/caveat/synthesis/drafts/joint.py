"""Published tables of categories become rows: the joint table that has them as its margins.

Tables that share columns are fitted together by iterative proportional fitting. The cells of the
joint table then become whole numbers of rows, so that all published tables stay as near as can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.synthesis.drafts.columns import Floats
from caveat.synthesis.methods.ipf import MOST_CELLS, fit_joint

__all__ = ["Margin", "blocks_of", "joint_rows", "whole_counts"]

AGREE = 0.005
"""Shares of two publications may differ by so much: they are rounded."""
MOST_EXACT = 5_000  # cells of a joint table that are rounded, or repaired, by solving a program


@dataclass(frozen=True, eq=False)
class Margin:
    """Shares of a table.

    Parameters
    ----------
    by
        Its columns.
    shares
        One axis for each.
    weight
        How much it counts against others.
    entry
        Where it is written.
    published
        The shares as they are published, which may miss 1 by rounding; None if they do not.
    """

    by: tuple[str, ...]
    shares: Floats
    weight: float
    entry: tuple[str | int, ...]
    published: Floats | None = None

    __repr__ = without_values


def blocks_of(margins: Sequence[Margin]) -> list[tuple[str, ...]]:
    """Return the columns that hang together by tables, each block in the order of the tables."""
    blocks: list[list[str]] = []
    for margin in margins:
        touched = [block for block in blocks if set(block) & set(margin.by)]
        joined = dict.fromkeys(name for block in [*touched, list(margin.by)] for name in block)
        blocks = [block for block in blocks if block not in touched] + [list(joined)]
    return [tuple(block) for block in blocks]


def joint_rows(
    block: Sequence[str],
    sizes: Mapping[str, int],
    margins: Sequence[Margin],
    rows: int,
    rng: np.random.Generator,
) -> dict[str, NDArray[np.int64]]:
    """Return the codes of a block of columns, row by row in a random order."""
    shape = tuple(sizes[name] for name in block)
    if np.prod(shape, dtype=float) > MOST_CELLS:
        raise CaveatError(
            f"the columns {', '.join(block)} have more than {MOST_CELLS:,} combinations",
            entry=margins[0].entry,
            do="leave a table out, or group levels",
            code="draft.table.too-large",
        )
    axes = [tuple(block.index(name) for name in margin.by) for margin in margins]
    targets = [
        _against(margin.shares, kept, len(shape))
        for margin, kept in zip(margins, axes, strict=True)
    ]
    joint = fit_joint(shape, axes, targets, agreeing=False)
    _check_agree(joint, axes, targets, margins)
    counts = whole_counts(joint, axes, targets, rows)
    cells = np.repeat(np.arange(joint.size), counts.ravel())
    places = np.unravel_index(rng.permutation(cells), shape)
    return {name: place.astype(np.int64) for name, place in zip(block, places, strict=True)}


def _against(shares: Floats, kept: tuple[int, ...], depth: int) -> Floats:
    """Return shares shaped to stand against the joint table."""
    ordered = np.transpose(shares, np.argsort(kept))
    sizes = iter(ordered.shape)
    return ordered.reshape([next(sizes) if axis in kept else 1 for axis in range(depth)])


def _sums(joint: Floats, kept: tuple[int, ...]) -> Floats:
    others = tuple(axis for axis in range(joint.ndim) if axis not in kept)
    return np.asarray(joint.sum(axis=others, keepdims=True))


def _check_agree(
    joint: Floats,
    axes: Sequence[tuple[int, ...]],
    targets: Sequence[Floats],
    margins: Sequence[Margin],
) -> None:
    """Refuse tables that no file can have together, and say which ones are nearest."""
    off = [float(np.abs(_sums(joint, k) - t).max()) for k, t in zip(axes, targets, strict=True)]
    if max(off) <= AGREE:
        return
    worst = int(np.argmax(off))
    if joint.size <= MOST_EXACT:
        scale = np.concatenate([np.full(t.size, m.weight**0.5) for t, m in
                                zip(targets, margins, strict=True)])  # fmt: skip
        matrix = _margins_matrix(joint.shape, axes).toarray() * scale[:, None]
        wanted = np.concatenate([t.ravel() for t in targets]) * scale
        joint = scipy.optimize.nnls(matrix, wanted)[0].reshape(joint.shape)
        joint /= joint.sum()
        gaps = [np.abs(_sums(joint, k) - t).max() for k, t in zip(axes, targets, strict=True)]
        worst = int(np.argmax(gaps))
    feasible = _sums(joint, axes[worst]).ravel()
    shown = ", ".join(f"{share:.4f}" for share in feasible[:12])
    more = " …" if len(feasible) > 12 else ""
    raise CaveatError(
        f"the tables contradict each other: {' × '.join(margins[worst].by)} cannot be as it is "
        f"beside the others; the nearest feasible shares are {shown}{more}",
        entry=margins[worst].entry,
        do="correct it, or leave one of the tables out",
        code="draft.table.conflict",
    )


def _margins_matrix(shape: tuple[int, ...], axes: Sequence[tuple[int, ...]]) -> Any:
    """Return which cells of the joint table each cell of a margin sums."""
    places = np.indices(shape).reshape(len(shape), -1)
    parts = []
    for kept in axes:
        ordered = sorted(kept)
        sizes = [shape[axis] for axis in ordered]
        line = np.ravel_multi_index([places[axis] for axis in ordered], sizes)
        ones = np.ones(len(line))
        parts.append(scipy.sparse.csr_array((ones, (line, np.arange(len(line)))),
                               shape=(int(np.prod(sizes)), len(line))))  # fmt: skip
    return scipy.sparse.vstack(parts, "csr")


def whole_counts(
    joint: Floats, axes: Sequence[tuple[int, ...]], targets: Sequence[Floats], rows: int
) -> NDArray[np.int64]:
    """Return whole numbers of rows for the cells, with the margins as near as can be.

    Examples
    --------
    >>> joint = np.array([[0.3, 0.3], [0.2, 0.2]])
    >>> sums = [np.array([[0.6], [0.4]]), np.array([[0.5, 0.5]])]
    >>> counts = whole_counts(joint, [(0,), (1,)], sums, 10)
    >>> counts.sum(axis=1).tolist(), counts.sum(axis=0).tolist()
    ([6, 4], [5, 5])
    """
    exact = joint.ravel() * rows
    low = np.floor(exact + 1e-9)
    if joint.size > MOST_EXACT:
        return _by_remainder(exact, low, rows).reshape(joint.shape)
    matrix = _margins_matrix(joint.shape, axes)
    wanted = np.concatenate([t.ravel() for t in targets]) * rows
    n, m = len(exact), len(wanted)
    # Cells go up by one or two or stay; what a margin then lacks or has too much of is the cost.
    held = scipy.sparse.hstack(
        [matrix, scipy.sparse.eye_array(m), -scipy.sparse.eye_array(m)], "csr"
    )
    every = scipy.sparse.hstack(
        [scipy.sparse.csr_array(np.ones((1, n))), scipy.sparse.csr_array((1, 2 * m))], "csr"
    )
    ahead = np.concatenate([(low + 1 - exact) * 1e-3, np.ones(2 * m)])
    top = np.where(exact > 0, 2.0, 0.0)
    found = scipy.optimize.milp(
        ahead,
        constraints=[
            scipy.optimize.LinearConstraint(held, wanted - matrix @ low, wanted - matrix @ low),
            scipy.optimize.LinearConstraint(every, rows - low.sum(), rows - low.sum()),
        ],
        integrality=np.concatenate([np.ones(n), np.zeros(2 * m)]),
        bounds=scipy.optimize.Bounds(
            np.zeros(n + 2 * m), np.concatenate([top, np.full(2 * m, np.inf)])
        ),
        options={"node_limit": 200, "mip_rel_gap": 0.01},
    )
    if found.x is None:
        return _by_remainder(exact, low, rows).reshape(joint.shape)
    return np.asarray((low + np.round(found.x[:n])).astype(np.int64).reshape(joint.shape))


def _by_remainder(exact: Floats, low: Floats, rows: int) -> NDArray[np.int64]:
    """Return the floors, and one more where most is left over."""
    counts = low.astype(np.int64)
    first = np.argsort(low - exact, kind="stable")[: rows - int(counts.sum())]
    counts[first] += 1
    return counts
