"""An office's attack on its own publication: the records rebuilt from the cells that are shown."""

from __future__ import annotations

from math import prod

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.outputs.blocks import System
from caveat.outputs.guesses import Guesses
from caveat.outputs.publication import Publication
from caveat.outputs.reconstruction import MOST_CELLS, Attacked, rebuild
from caveat.outputs.tables import Cells, cells_of
from caveat.seeds import child_seed, rng_of

__all__ = ["attack_publication", "told_by"]

Ints = NDArray[np.int64]


def attack_publication(
    publication: Publication, *, times: int = 100, informed: bool = True, seed: int = 0
) -> Attacked:
    """Rebuild the records from what is shown of tables with hidden cells, and compare.

    Parameters
    ----------
    publication
        Tables of counts without weights, from :func:`caveat.outputs.publication.publish`.
    times
        How often the records are rebuilt.
    informed
        Whether the starts are drawn from what is known without the tables.
    seed
        Seed of all draws.

    Notes
    -----
    A shown cell is a figure; a hidden one is unknown. Where a table leaves out the cells that
    nobody is in, they are known to be 0, and hidden ones not to be. The number of records is taken
    to be known. All is rebuilt as one block, since codes above others run across blocks.

    Examples
    --------
    >>> from caveat.outputs.primary import PrimaryRules
    >>> from caveat.outputs.publication import inner_cells, publish
    >>> from caveat.outputs.tables import Layout
    >>> from caveat.table import Table
    >>> people = Table.from_frame({"sex": list("fffmmm"), "ill": list("yynnyy")})
    >>> inner = inner_cells(people, [Layout("t", ("sex", "ill"))])
    >>> plans = [publish(inner, PrimaryRules(None, singles=hidden)) for hidden in (False, True)]
    >>> [attack_publication(plan, times=50).published.agreement == 1 for plan in plans]
    [True, False]
    """
    told, truth = told_by(publication)
    names = tuple(publication.cells.hierarchies)
    shares = _shares(told, truth, len(names))
    rebuilt = rebuild(
        told, times=times, start=shares if informed else None, seed=child_seed(seed, 0)
    )
    drawn = rng_of(seed, 1).multinomial(truth.sum(), shares, times)
    return Attacked(names, "", told.cells, Guesses(rebuilt, truth), Guesses(drawn, truth))


def told_by(publication: Publication) -> tuple[System, Ints]:
    """Return what a publication of counts tells about all combinations of codes, and their counts.

    The first figure is the number of records. A hidden cell that is known not to be empty is a
    bound on the negative count.
    """
    given = publication.cells
    if publication.values.dtype.kind != "i":
        raise CaveatError(
            "records are rebuilt from counts, and these tables have sums or weights",
            where="publication",
            do="attack the tables that count records",
            code="outputs.table.unsupported",
        )
    n = prod(len(tree.leaves) for tree in given.hierarchies.values())
    if n > MOST_CELLS:
        raise CaveatError(
            f"there are {n:,} combinations of codes",
            where="publication",
            do=f"use fewer or coarser columns: {MOST_CELLS:,} are the most",
            code="outputs.cell.too-many",
        )
    every = _every(given)
    truth = np.bincount(every.row_of, minlength=n)
    hidden_keys = set(map(tuple, given.keys[publication.done.hidden].tolist()))
    hidden = np.array([key in hidden_keys for key in map(tuple, every.keys.tolist())], bool)
    sums = sp.csr_array(every.matrix.T)
    shown, counts = sums[np.flatnonzero(~hidden)], every.sums(truth)[~hidden]
    filled = sums[np.flatnonzero(hidden if len(given.inner) < n else np.zeros_like(hidden))]
    matrix = sp.vstack([np.ones((1, n), np.int64), shown, -filled], format="csr")
    figures = np.concatenate([[truth.sum()], counts, np.full(filled.shape[0], -1)])
    at_most = np.arange(len(figures)) > len(counts)
    trees = tuple(every.hierarchies.values())
    kinds = tuple(
        tuple(tree.codes[node] for tree, node in zip(trees, nodes, strict=True))
        for nodes in every.inner.tolist()
    )
    return System(kinds, matrix, figures, at_most), truth


def _every(given: Cells) -> Cells:
    """Return the same tables over all combinations of codes, those that no record has too."""
    codes = {}
    for (name, tree), nodes in zip(given.hierarchies.items(), given.inner.T, strict=True):
        leaf_of = np.zeros(len(tree.codes), np.int64)
        leaf_of[tree.leaves] = np.arange(len(tree.leaves))
        codes[name] = leaf_of[nodes][given.row_of]
    return cells_of(codes, given.hierarchies, given.layouts, every=True)


def _shares(told: System, truth: Ints, n_columns: int) -> NDArray[np.float64]:
    """Return the shares of records whose columns are independent of each other."""
    shares = np.ones(len(truth))
    for i in range(n_columns):
        _, of = np.unique([kind[i] for kind in told.cells], return_inverse=True)
        shares *= np.bincount(of, truth)[of]
    return np.asarray(shares / shares.sum())
