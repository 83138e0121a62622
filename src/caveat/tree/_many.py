"""Grow many trees at once over one shared table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.tree._control import DEFAULT, Control
from caveat.tree._grow import grow_tree
from caveat.tree._predictors import Predictors
from caveat.tree._threads import in_pool
from caveat.tree._tree import Tree

__all__ = ["Job", "grow_many"]


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
