"""How much of the records tables give back, an office's own publication included."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, hstack

from caveat.errors import CaveatError
from caveat.outputs.blocks import Guesses, System, disagreement
from caveat.outputs.publication import Publication
from caveat.outputs.tables import Cells, cells_of
from caveat.seeds import child_seed, rng_of
from caveat.showing import without_values
from caveat.table import Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_CELLS = 20_000
GAP = 0.01  # how far from the nearest block one may be that is taken


def rebuild(
    published: System, *, times: int = 100, start: Floats | None = None, seed: int = 0
) -> Ints:
    """Rebuild a block many times, each time from another random start.

    Parameters
    ----------
    published
        The figures, from :func:`caveat.outputs.blocks.system`.
    times
        Number of blocks.
    start
        What is believed before: an expected count, or share, for each cell. All cells alike if it
        is not given.
    seed
        Seed of the starts.

    Returns
    -------
    One row per block: the count of each cell. Every block agrees with every figure.

    Notes
    -----
    A start is a draw of as many records as a first solution has. The block that is nearest to it is
    found by integer programming (HiGHS), with distances weighted at random between 1 and 1.5 so
    that ties do not always fall the same way. The blocks are spread over those that are possible;
    they are no sample with equal chances, and how often a record is met is no probability.

    Examples
    --------
    >>> from caveat.outputs.blocks import Figure, system
    >>> figures = [Figure({}, 3), Figure({"sex": "f"}, 1), Figure({"ill": "yes"}, 2)]
    >>> found = rebuild(system({"sex": "fm", "ill": ["yes", "no"]}, figures), times=50)
    >>> sorted(set(map(tuple, found.tolist())))
    [(0, 1, 2, 0), (1, 0, 1, 1)]
    """
    if times < 1:
        raise CaveatError(
            "a block must be rebuilt at least once", where="times", code="outputs.setting.range"
        )
    n = published.matrix.shape[1]
    belief = np.ones(n) if start is None else np.asarray(start, np.float64)
    if belief.shape != (n,) or not (belief >= 0).all() or not belief.sum() > 0:
        raise CaveatError(
            "a start has one number from 0 up for each cell",
            where="start",
            code="outputs.setting.range",
        )
    matrix = csr_array(published.matrix.astype(np.float64))
    size = int(_nearest(matrix, published, np.zeros(n, np.int64), np.ones((2, n))).sum())
    blocks = np.empty((times, n), np.int64)
    for i in range(times):
        rng = rng_of(seed, i)
        drawn = rng.multinomial(size, belief / belief.sum())
        blocks[i] = _nearest(matrix, published, drawn, 1 + rng.random((2, n)) / 2)
    return blocks


def _nearest(matrix: Any, published: System, start: Ints, weights: Floats) -> Ints:
    """Return a block that agrees with every figure, near to a start: cells that gain and lose."""
    taken = np.flatnonzero(start)
    left = published.counts - published.matrix @ start
    low = np.where(published.at_most, -np.inf, left)
    both = hstack([matrix, -matrix[:, taken]]) if len(taken) else matrix
    limits = np.concatenate([np.full(len(start), np.inf), start[taken]])
    found = milp(
        np.concatenate([weights[0], weights[1, taken]]),
        constraints=LinearConstraint(both, low, left),
        integrality=np.ones(len(limits)),
        bounds=Bounds(0, limits),
        options={"mip_rel_gap": GAP},
    )
    if found.x is None:
        raise disagreement()
    change = np.rint(found.x).astype(np.int64)
    block: Ints = start + change[: len(start)]
    block[taken] -= change[len(start) :]
    sums = published.matrix @ block
    is_met = np.where(published.at_most, sums <= published.counts, sums == published.counts)
    if not is_met.all() or (block < 0).any():
        raise RuntimeError("a rebuilt block does not agree with the figures")
    return block


@dataclass(frozen=True, eq=False)
class Attacked:
    """Tables attacked by whoever has the records they were made from.

    Parameters
    ----------
    names
        The columns of a cell; the block first, if there are several.
    by
        The column that names the block, or nothing.
    cells
        The values of each kind of record.
    published
        What an attacker rebuilds from the tables.
    chance
        What somebody without the tables guesses: the right number of records in each block, every
        column drawn by itself from its distribution over all blocks.
    """

    names: tuple[str, ...]
    by: str
    cells: tuple[tuple[Any, ...], ...]
    published: Guesses
    chance: Guesses

    __repr__ = without_values

    @property
    def unique(self) -> float:
        """Share of the records that no other equals: the most that can be found for certain."""
        truth = self.published.truth
        return float((truth == 1).sum() / truth.sum())

    @property
    def random_matches(self) -> float:
        """Share of records that naming people at random among equal ones gets right."""
        truth = self.published.truth
        return float((truth > 0).sum() / truth.sum())

    def unequivocal(self, known: Sequence[str]) -> float:
        """Return the share of records about whom the rest is told to those who know some columns.

        All true records with these values agree on the others, every guess has the same, and it is
        right. A block is known without being named. It says nothing about people who are not in the
        data.
        """
        for name in known:
            if name not in self.names:
                raise CaveatError(
                    f"{name!r} is in no table",
                    do=f"use {', '.join(self.names)}",
                    code="data.column.unknown",
                )
        place = [i for i, name in enumerate(self.names) if name in known or name == self.by]
        groups: dict[tuple[Any, ...], list[int]] = {}
        for i, cell in enumerate(self.cells):
            groups.setdefault(tuple(cell[j] for j in place), []).append(i)
        truth, guessed = self.published.truth, self.published.frequency > 0
        told = 0
        for members in groups.values():
            there = [i for i in members if truth[i]]
            if len(there) == 1 and [i for i in members if guessed[i]] == there:
                told += int(truth[there[0]])
        return told / int(truth.sum())

    def summary(self, k: int | None = None) -> dict[str, tuple[float | None, float | None]]:
        """Return what the tables give and what chance gives, side by side.

        Parameters
        ----------
        k
            How many kinds the ranking is cut at; as many as exist if it is not given.
        """
        n = int((self.published.truth > 0).sum()) if k is None else k
        both = (self.published, self.chance)
        rows: dict[str, list[float | None]] = {
            "records right in one guess": [one.agreement for one in both],
            "correlation of frequency and number": [one.correlation for one in both],
            f"of the first {n} kinds, exist": [one.precision(n) for one in both],
            f"of the first {n} kinds, unique": [one.precision(n, most=1) for one in both],
            f"uniques among the first {n}": [one.recall(n, most=1) for one in both],
            "spurious kinds by existing ones": [one.spurious for one in both],
            "existing kinds missed": [one.missed for one in both],
        }
        return {name: (pair[0], pair[1]) for name, pair in rows.items()}


def attack_tables(
    table: Table, tables: Sequence[Sequence[str]], *, by: str = "", times: int = 100,
    hide_below: int = 0, informed: bool = True, seed: int = 0,
) -> Attacked:  # fmt: skip
    """Attack a publication plan before it is published: rebuild the records from their own tables.

    Parameters
    ----------
    table
        The records.
    tables
        The columns of each table of counts, in every block. Every combination of values is a cell,
        zeros among them.
    by
        The column that names the block: a municipality, a school. One block if it is not given.
    times
        How often each block is rebuilt.
    hide_below
        Counts from 1 to below this are not published. That they are below it is known, and used;
        that they are not 0 is not used. The number of records is always published.
    informed
        Whether the starts are drawn from what is known without the tables (see :class:`Attacked`),
        or from all cells alike. Who starts from nothing may get less right than chance, which says
        nothing about the tables.
    seed
        Seed of all draws.

    Examples
    --------
    >>> people = Table.from_frame({"sex": list("ffmmm"), "ill": list("yynnn"), "at": list("aabbb")})
    >>> found = attack_tables(people, [["sex"], ["ill"]], by="at", times=20)
    >>> found.published.agreement, round(found.chance.agreement, 1) < 0.8
    (1.0, True)
    """
    names = _names(table, tables, by)
    every = _cells(table, names, tables)
    blocks = table[by].codes if by else np.zeros(table.n_rows, np.int64)
    labels = _values(table, by) if by else [""]
    kinds: list[tuple[Any, ...]] = []
    found: list[tuple[Ints, Ints, Ints]] = []
    for block in map(int, np.unique(blocks)):
        truth = np.bincount(every.place[blocks == block], minlength=len(every.cells))
        told = _published(every, truth, hide_below)
        start = every.shares if informed else None
        rebuilt = rebuild(told, times=times, start=start, seed=child_seed(seed, 0, block))
        drawn = rng_of(seed, 1, block).multinomial(truth.sum(), every.shares, times)
        found.append((truth, rebuilt, drawn))
        kinds += [(labels[block], *cell) for cell in every.cells] if by else every.cells
    truth, rebuilt, drawn = (np.concatenate(part, axis=-1) for part in zip(*found, strict=True))
    names = [by, *names] if by else names
    return Attacked(tuple(names), by, tuple(kinds), Guesses(rebuilt, truth), Guesses(drawn, truth))


class _Cells(NamedTuple):
    """All combinations of values, the sums that are published, and where each record lies.

    ``shares`` are those of records whose columns are independent of each other.
    """

    cells: tuple[tuple[Any, ...], ...]
    matrix: Ints
    place: Ints
    shares: Floats


def _cells(table: Table, names: list[str], tables: Sequence[Sequence[str]]) -> _Cells:
    values = [_values(table, name) for name in names]
    shape = [len(one) for one in values]
    margins = [_margin(shape, [names.index(name) for name in one]) for one in tables]
    everybody = np.ones((1, math.prod(shape)), np.int64)
    place = np.ravel_multi_index([table[name].codes.astype(np.int64) for name in names], shape)
    shares = np.ones(1)
    for name in names:
        shares = np.outer(shares, table[name].counts).ravel()
    return _Cells(
        tuple(product(*values)),
        np.concatenate([everybody, *margins]),
        np.asarray(place),
        shares / shares.sum(),
    )


def _names(table: Table, tables: Sequence[Sequence[str]], by: str) -> list[str]:
    names = list(dict.fromkeys(name for columns in tables for name in columns))
    if not names or not table.n_rows:
        raise CaveatError(
            "no table is named, or there is no record", where="tables", code="outputs.table.absent"
        )
    if by in names:
        raise CaveatError(
            "the block is in every table by itself",
            column=by,
            do="leave it out",
            code="outputs.column.conflict",
        )
    n = math.prod(table[name].n_levels for name in names)
    if n > MOST_CELLS:
        raise CaveatError(
            f"there are {n:,} combinations of values",
            where="tables",
            do=f"use fewer or coarser columns: {MOST_CELLS:,} are the most",
            code="outputs.cell.too-many",
        )
    return names


def _values(table: Table, name: str) -> list[Any]:
    column = table[name]
    return [*column.levels.tolist(), *map(str, column.missing)]


def _margin(shape: Sequence[int], kept: Sequence[int]) -> Ints:
    """Return the sums over all columns but some: one row per combination of these."""
    codes = np.indices(shape).reshape(len(shape), -1)
    sizes = [shape[i] for i in kept]
    rows = np.ravel_multi_index([codes[i] for i in kept], sizes)
    matrix = np.zeros((math.prod(sizes), codes.shape[1]), np.int64)
    matrix[rows, np.arange(len(rows))] = 1
    return matrix


def _published(every: _Cells, truth: Ints, hide_below: int) -> System:
    """Count the figures; the small ones, but not the total, are known to be small only."""
    counts = every.matrix @ truth
    hidden = (counts > 0) & (counts < hide_below)
    hidden[0] = False
    return System(every.cells, every.matrix, np.where(hidden, hide_below - 1, counts), hidden)


def surest(prior: float, epsilon: float) -> float:
    """Return how sure a promise ε lets somebody become who gave something a probability before.

    The odds may grow by e^ε, the only thing that ε says: at 39.91 that is 2·10¹⁷.

    Examples
    --------
    >>> [round(surest(0.001, epsilon), 4) for epsilon in (0.1, 4.2, 10.6)]
    [0.0011, 0.0626, 0.9757]
    """
    if not 0 <= prior <= 1 or not epsilon >= 0:
        raise CaveatError(
            "a probability lies between 0 and 1, and epsilon is not negative",
            code="outputs.setting.range",
        )
    if prior in (0, 1):
        return prior
    return 1 / (1 + (1 - prior) / prior * math.exp(-epsilon))


# -------------------------------------------------------------------------------------------------
# An office's attack on its own publication: the records rebuilt from the cells that are shown.


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
