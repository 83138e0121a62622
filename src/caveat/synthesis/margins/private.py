"""Tables measured with noise: all that a private release is made from.

Neighbours are tables of which one has a record more. A record is in one cell of every table, so
that a count moves by one. With noise of the discrete Gaussian the columns are counted first; pairs
are then chosen one by one, by the exponential mechanism, until they connect all columns; what
counts for a pair is how far its table is from independence. Their tables are counted with noise in
the end. Every step is paid for in ρ (zero-concentrated differential privacy), and ρ adds up.

The Poisson mechanism draws every cell of the whole table from Poisson(count + α) instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.privacy import choose, discrete_gaussian, poisson_counts, rho_of
from caveat.synthesis.margins.reconcile import reconcile, total_of
from caveat.synthesis.margins.tables import Tables, count_tables
from caveat.synthesis.methods._checks import check_number, need

__all__ = ["Measured", "Pair", "expected", "measure", "measure_poisson", "open_pairs",
           "parts_of"]  # fmt: skip

Ints = NDArray[np.int64]
Pair = tuple[str, str]

LARGEST_PAIR = 2**20
"""Cells of the largest pair that is thought of."""

SINGLES, CHOICE, PAIRS = 0.4, 0.1, 0.5
"""How ρ is divided: found on public files, the same for all."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What a mechanism let out about the data, and how.

    Parameters
    ----------
    sizes
        Number of cells of each column, declared.
    tables
        Counts with noise.
    sigmas
        Standard deviation of the noise in each table; empty for the Poisson mechanism.
    choices
        The pairs in the order in which they were chosen from the data; empty if they were given.
    choice_epsilon
        The ε of one choice.
    alpha
        What the Poisson mechanism adds to every count; 0 for Gaussian noise.
    last
        Columns that could be chosen once only, and not with one another: they are drawn last.
    """

    sizes: Mapping[str, int]
    tables: Mapping[tuple[str, ...], Ints]
    sigmas: Mapping[tuple[str, ...], float]
    choices: tuple[Pair, ...] = ()
    choice_epsilon: float = 0.0
    alpha: float = 0.0
    last: tuple[str, ...] = ()

    __repr__ = without_values

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        tables = [
            {"names": list(names), "counts": counts, "sigma": self.sigmas.get(names, 0.0)}
            for names, counts in self.tables.items()
        ]
        return {
            "sizes": dict(self.sizes),
            "tables": tables,
            "choices": [list(pair) for pair in self.choices],
            "choice_epsilon": self.choice_epsilon,
            "alpha": self.alpha,
            "last": list(self.last),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Measured:
        """Return what was measured from a file, or raise ValueError if it is nothing."""
        sizes, alpha, epsilon = dict(state["sizes"]), state["alpha"], state["choice_epsilon"]
        tables, sigmas = {}, {}
        for number in (alpha, epsilon, *(held["sigma"] for held in state["tables"])):
            check_number(number, low=0.0)
        for held in state["tables"]:
            names = tuple(held["names"])
            need(names and all(name in sizes for name in names), "a table of no columns")
            counts = held["counts"]
            need(isinstance(counts, np.ndarray) and counts.dtype.kind in "iu", "no counts")
            need(counts.shape == tuple(sizes[name] for name in names), "a table of other cells")
            tables[names] = counts.astype(np.int64)
            need((held["sigma"] == 0) == (alpha > 0), "no noise")
            if held["sigma"]:
                sigmas[names] = float(held["sigma"])
        choices = tuple((str(one), str(other)) for one, other in state["choices"])
        need(all(pair in tables for pair in choices), "a choice without its table")
        last = tuple(state["last"])
        need(all(name in sizes for name in last), "no columns")
        for place, pair in enumerate(choices):
            need(pair in open_pairs(sizes, choices[:place], last), "no tree")
        return cls(sizes, tables, sigmas, choices, epsilon, alpha, last)

    @property
    def rho(self) -> float:
        """What was paid, in zero-concentrated differential privacy."""
        noise = sum(1 / (2 * sigma**2) for sigma in self.sigmas.values())
        return noise + len(self.choices) * self.choice_epsilon**2 / 8

    @property
    def n_records(self) -> int:
        """How many records there are, as far as the tables tell; what is drawn by default."""
        if self.alpha:  # of what was added to the cells no record is there
            (counts,) = self.tables.values()
            return max(round(float(counts.sum()) - self.alpha * counts.size), 0)
        return round(total_of(dict(self.tables), self._variances))

    @property
    def _variances(self) -> dict[tuple[str, ...], float]:
        return {names: sigma**2 for names, sigma in self.sigmas.items()}

    @property
    def shares(self) -> Tables:
        """The shares that the tables speak for."""
        if not self.alpha:
            return reconcile(dict(self.tables), self.sizes, self._variances)
        less = {names: np.maximum(c - self.alpha, 0) for names, c in self.tables.items()}
        return {names: counts / max(counts.sum(), 1e-300) for names, counts in less.items()}

    @property
    def singles(self) -> dict[tuple[str, ...], Ints]:
        """The tables of one column, from which pairs were judged."""
        return {names: counts for names, counts in self.tables.items() if len(names) == 1}


def measure(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    epsilon: float,
    delta: float,
    given: Sequence[Pair] | None = None,
    last: Sequence[str] = (),
) -> Measured:
    """Count columns and pairs with noise, so that the whole is (ε, δ)-differentially private.

    Parameters
    ----------
    cells
        The cell of each record, by column.
    sizes
        Number of cells of each column.
    epsilon, delta
        The guarantee.
    given
        Pairs that form a tree or several; chosen privately by default.
    last
        Columns that rules decide upon once all others are known: leaves of the tree.
    """
    rho, names = rho_of(epsilon, delta), list(sizes)
    # As many as a forest of them can have, whatever is chosen.
    n_pairs = len(names) - len(set(parts_of(names, candidates(sizes)).values()))
    n_pairs = n_pairs if given is None else len(given)
    parts = np.array([SINGLES, CHOICE if given is None else 0.0, PAIRS])
    parts = parts / parts.sum() if n_pairs else np.array([1.0, 0.0, 0.0])
    sigma = math.sqrt(len(names) / (2 * rho * parts[0]))
    singles = _noisy(cells, sizes, [(name,) for name in names], sigma)
    choices: tuple[Pair, ...] = ()
    spent = 0.0
    if given is None and n_pairs:
        spent = math.sqrt(8 * rho * parts[1] / n_pairs)
        choices = _chosen(cells, sizes, singles, spent, last)
    pairs = list(choices if given is None else given)
    sigmas = dict.fromkeys(singles, sigma)
    tables = dict(singles)
    if pairs:
        wide = math.sqrt(n_pairs / (2 * rho * parts[2]))
        tables |= _noisy(cells, sizes, pairs, wide)
        sigmas |= dict.fromkeys(pairs, wide)
    kept = tuple(last) if choices else ()
    return Measured(dict(sizes), tables, sigmas, choices, spent, last=kept)


def measure_poisson(cells: Mapping[str, Ints], sizes: Mapping[str, int], alpha: float) -> Measured:
    """Draw every cell of the whole table from Poisson(count + α)."""
    names = tuple(sizes)
    (counts,) = count_tables(cells, sizes, [names]).values()
    drawn = poisson_counts(np.rint(counts).astype(np.int64), alpha)
    return Measured(dict(sizes), {names: drawn}, {}, alpha=alpha)


def _noisy(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    margins: Sequence[tuple[str, ...]],
    sigma: float,
) -> dict[tuple[str, ...], Ints]:
    tables = count_tables(cells, sizes, margins)
    # Whole numbers in, whole numbers out: the last bits of a float would tell the count.
    return {n: discrete_gaussian(np.rint(t).astype(np.int64), sigma) for n, t in tables.items()}


def expected(singles: Mapping[tuple[str, ...], Ints], sizes: Mapping[str, int]) -> dict[Pair, Ints]:
    """Return the counts of every pair if its columns were independent, by the noisy tables alone.

    They are whole numbers, so that the distance of a table from them changes by exactly one, at
    most, with a record.
    """
    total = total_of(dict(singles), dict.fromkeys(singles, 1.0))
    shares = reconcile(dict(singles), sizes)
    return {
        pair: np.rint(total * np.multiply.outer(shares[pair[0],], shares[pair[1],])).astype(
            np.int64
        )
        for pair in candidates(sizes)
    }


def candidates(sizes: Mapping[str, int]) -> list[Pair]:
    """Return the pairs that can be chosen."""
    pairs = itertools.combinations(sizes, 2)
    return [(one, other) for one, other in pairs if sizes[one] * sizes[other] <= LARGEST_PAIR]


def open_pairs(sizes: Mapping[str, int], chosen: Sequence[Pair], last: Sequence[str]) -> list[Pair]:
    """Return the pairs that can be chosen next: those that connect what is not yet connected.

    A column that is drawn last has one pair, with one that is not.
    """
    where = parts_of(list(sizes), chosen)
    taken = {name for pair in chosen for name in pair} & set(last)
    return [
        (a, b)
        for a, b in candidates(sizes)
        if where[a] != where[b] and not (a in last and b in last) and not {a, b} & taken
    ]


def parts_of(names: Sequence[str], pairs: Sequence[Pair]) -> dict[str, str]:
    """Return for each column the first one that pairs connect it with."""
    found = {name: name for name in names}
    for a, b in pairs:
        kept, gone = found[a], found[b]
        found = {name: kept if root == gone else root for name, root in found.items()}
    return found


def _chosen(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    singles: Mapping[tuple[str, ...], Ints],
    epsilon: float,
    last: Sequence[str],
) -> tuple[Pair, ...]:
    """Choose pairs that connect all columns, those far from independence with more probability."""
    independent = expected(singles, sizes)
    scores = {
        pair: int(np.abs(np.rint(count_tables(cells, sizes, [pair])[pair]) - counts).sum())
        for pair, counts in independent.items()
    }
    chosen: list[Pair] = []
    while open_ones := open_pairs(sizes, chosen, last):
        values = np.array([scores[pair] for pair in open_ones], np.int64)
        chosen.append(open_ones[choose(values, epsilon)])
    return tuple(chosen)
