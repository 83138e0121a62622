"""Margins beyond a tree: one joint table for the columns that hang together, fitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from caveat.errors import CaveatError
from caveat.synthesis.margins.tables import Tables
from caveat.synthesis.methods.ipf import fit_joint

__all__ = ["joint_shares"]


def joint_shares(tables: Tables, sizes: Mapping[str, int], names: Sequence[str]) -> Tables:
    """Return the joint table of columns that has these margins, as far as they agree.

    Margins that were rounded one by one agree on nothing quite. The fit then goes round among
    tables that meet one of them each; it ends where a round changes nothing any more.

    Parameters
    ----------
    tables
        Counts or shares of the margins, none below 0.
    sizes
        The number of cells of each column.
    names
        The columns of the joint table, in the order of its axes.

    Examples
    --------
    >>> tables = {("a",): np.array([3, 1]), ("b",): np.array([10, 10])}
    >>> joint_shares(tables, {"a": 2, "b": 2}, ["a", "b"])["a", "b"].tolist()
    [[0.375, 0.375], [0.125, 0.125]]
    """
    shape = tuple(sizes[name] for name in names)
    axes, targets = [], []
    for margin, table in tables.items():
        places = [names.index(name) for name in margin]
        turned = np.asarray(table, np.float64).transpose(np.argsort(places))
        whole = [size if axis in places else 1 for axis, size in enumerate(shape)]
        total = turned.sum()
        if total <= 0:
            return {tuple(names): np.zeros(shape)}
        axes.append(tuple(sorted(places)))
        targets.append((turned / total).reshape(whole))
    joint = fit_joint(shape, axes, targets, agreeing=False)
    if joint.sum() <= 0:
        raise CaveatError(
            f"the margins of {', '.join(names)} contradict each other: no record fits them all",
            where="synthesis, margins",
            do="group levels, lower the threshold, or give margins that form a tree",
            entry=("margins",),
            code="synthesis.margins.conflict",
        )
    return {tuple(names): joint}
