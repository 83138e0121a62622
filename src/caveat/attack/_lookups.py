"""The likelihood of looked-up values in all data sets that differ in one record.

A table to look up in is made again for every change. That is cheap, and few changes differ: only
the cells of the column itself and of those it is looked up by matter. Where the records of a change
weigh less than what the most frequent value has before the next one, the table is the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack.worlds import Worlds
from caveat.synthesis.column_model import Cells, ColumnModel, inputs_of, without_unknown
from caveat.synthesis.fitting import fit_columns, predictors_of
from caveat.synthesis.methods import Inputs, Settings, Target
from caveat.synthesis.methods.tables import Lookup, cell_names
from caveat.synthesis.model import recoded
from caveat.synthesis.options import GIVEN
from caveat.table import Table
from caveat.table.table import concat
from caveat.tree.adjacent import Changes, Likelihoods, Training

__all__ = ["LookupChanges", "lookup_likelihoods"]

MARGIN = 1e-9
"""Sums of weights are taken as different when they differ by more than this share."""

Ints = NDArray[np.int64]


def lookup_likelihoods(
    inputs: Inputs,
    training: Training,
    release: Inputs,
    released: NDArray[Any],
    changes: Changes,
) -> Likelihoods:
    """Return how many released rows are impossible, and how many under each change.

    The arguments are those of :func:`caveat.tree.adjacent.adjacent_likelihoods`, with the inputs
    of the training rows besides. A row that agrees with its table has probability 1.
    """
    own = inputs.take(training.rows)
    place = {int(row): i for i, row in enumerate(training.rows)}
    codes = training.response[training.rows]
    base = _misses(own, codes, training.n_levels, release, released)
    impossible = np.full(len(changes.gone), base, np.int64)
    known: dict[tuple[Any, ...], int] = {}
    for i, (gone, come) in enumerate(
        zip(changes.gone.tolist(), changes.come.tolist(), strict=True)
    ):
        if gone < 0 and come < 0:
            continue
        added = tuple(changes.added[:, come].tolist()) if come >= 0 else ()
        answer = int(changes.added_response[come]) if come >= 0 else -1
        key = (gone, added, answer)
        if key not in known:
            rows, answers = own, codes
            if gone >= 0:
                kept = np.delete(np.arange(len(codes)), place[gone])
                rows, answers = rows.take(kept), answers[kept]
            if come >= 0:
                rows, answers = _with_row(rows, added), np.append(answers, answer)
            known[key] = _misses(rows, answers, training.n_levels, release, released)
        impossible[i] = known[key]
    return Likelihoods(0, base, np.zeros(len(impossible), np.int64), impossible)


def _misses(
    inputs: Inputs,
    codes: NDArray[Any],
    n_levels: int,
    release: Inputs,
    released: NDArray[Any],
) -> int:
    """Return how many released rows have another value than the one they would be looked up."""
    if not len(codes):
        return len(released)
    rng = np.random.default_rng(0)  # nothing is drawn
    table = Lookup.fit(inputs, Target(codes, n_levels), Settings(), rng)
    return int((table.draw(release, rng) != released).sum())


def _with_row(inputs: Inputs, cells: tuple[int, ...]) -> Inputs:
    parts = tuple(
        replace(part, codes=np.append(part.codes, cell), exact=None)
        for part, cell in zip(inputs.parts, cells, strict=True)
    )
    return Inputs(parts, inputs.n_rows + 1)


class LookupChanges:
    """The looked-up columns of a plan, ready to be changed in one record or in several.

    Parameters
    ----------
    worlds
        The original, the plan and the releases.
    """

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds
        entries = worlds.plan.columns.items()
        self.names = [n for n, entry in entries if entry.settings.method == "lookup"]
        if not self.names:
            return
        base, apart = worlds.base, ("drop", "derived")
        models = {n: m for n, m in base.items() if m.entry.settings.method not in apart}
        self.released = [
            {n: recoded(m, release, n) for n, m in models.items()} for release in worlds.releases
        ]
        self.misses = {name: self._misses(name, base[name]) for name in self.names}
        self.leads = {name: self._lead(name) for name in self.names}

    def impossible(self, gone: tuple[Ints, Ints], come: tuple[Table, Ints]) -> NDArray[np.bool_]:
        """Return in which worlds a released cell is another than the one that is looked up.

        The records that go and come, with the place where those of each world begin, are those of
        :meth:`caveat.attack.guarded.GuardedChanges.logs_of_sets`.
        """
        n_worlds = len(gone[1]) - 1
        found = np.zeros(n_worlds, bool)
        for name in self.names:
            misses = np.full(n_worlds, self.misses[name])
            for world in np.flatnonzero(self._may_change(name, gone, come)).tolist():
                rows = gone[0][gone[1][world] : gone[1][world + 1]]
                others = come[0].take(slice(come[1][world], come[1][world + 1]))
                misses[world] = self._misses(name, self._fitted(name, rows, others))
            found |= misses > 0
        return found

    def _fitted(self, name: str, gone: Ints, come: Table) -> ColumnModel:
        """Return the model of a looked-up column in another world."""
        original = self.worlds.original
        if len(gone) != come.n_rows:
            table = self.worlds.instead(gone, come) if come.n_rows else self.worlds.without(gone)
        else:
            order = np.arange(original.n_rows)
            order[gone] = original.n_rows + np.arange(come.n_rows)
            table = concat([original, come]).take(order)
        plan = self.worlds.plan
        entries = {
            n: replace(e, settings=replace(e.settings, method=GIVEN))
            for n, e in plan.columns.items()
            if n in predictors_of(plan, name)
        }
        alone = replace(plan, columns={**entries, name: plan.columns[name]}, margins=None)
        return fit_columns(table, alone, self.worlds.seed, 1)[name]

    def _misses(self, name: str, model: ColumnModel) -> int:
        """Return how many released cells are not what a model looks up."""
        worlds, misses = self.worlds, 0
        for cells, release in zip(self.released, worlds.releases, strict=True):
            safe = {n: without_unknown(c) for n, c in cells.items()}
            inputs = inputs_of(safe, predictors_of(worlds.plan, name), release.n_rows)
            logs = model.log_prob(inputs, cells[name], safe)
            misses += int((~np.isfinite(np.asarray(logs, np.float64))).sum())
        return misses

    def _keys(self, name: str, table: Table) -> tuple[Ints, NDArray[Any], NDArray[np.float64]]:
        """Return the combination, the code and the weight of each record of a table."""
        names = self.worlds.plan.columns[name].predictors
        base = self.worlds.base
        cells = {n: Cells(base[n].coding, codes=table[n].codes) for n in names}
        weight, weights = self.worlds.plan.weights, np.ones(table.n_rows)
        if weight:
            weights = table[weight].cell_numbers / self.worlds.plan.weight_unit
        return cell_names(inputs_of(cells, names, table.n_rows)), table[name].codes, weights

    def _lead(self, name: str) -> tuple[Ints, NDArray[np.float64]]:
        """Return the combinations, and by how much the most frequent value of each leads."""
        keys, codes, weights = self._keys(name, self.worlds.original)
        n_levels = self.worlds.original[name].n_levels
        known, place = np.unique(keys, return_inverse=True)
        pairs, pair = np.unique(place * n_levels + codes, return_inverse=True)
        mass = np.bincount(pair, weights)
        order = np.lexsort((mass, pairs // n_levels))
        mass, owner = mass[order], pairs[order] // n_levels
        last = np.flatnonzero(np.append(np.diff(owner) > 0, True))
        before = np.maximum(last - 1, 0)
        second = np.where((last > 0) & (owner[before] == owner[last]), mass[before], 0.0)
        return known, np.asarray(mass[last] * (1 - MARGIN) - second, np.float64)

    def _may_change(
        self, name: str, gone: tuple[Ints, Ints], come: tuple[Table, Ints]
    ) -> NDArray[np.bool_]:
        """Return in which worlds the table may be another one."""
        n_worlds = len(gone[1]) - 1
        base, plan = self.worlds.base[name], self.worlds.plan
        if base.coding.two_step or base.fixed or plan.strata:
            return np.ones(n_worlds, bool)
        known, lead = self.leads[name]
        sides = (self.worlds.original.take(gone[0]), gone[1]), come
        whose = np.concatenate([np.repeat(np.arange(n_worlds), np.diff(at)) for _, at in sides])
        parts = [self._keys(name, table.take(slice(at[0], at[-1]))) for table, at in sides]
        keys = np.concatenate([part[0] for part in parts])
        weights = np.concatenate([part[2] for part in parts])
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        new = known[place] != keys
        both, which = np.unique(whose * len(known) + place, return_inverse=True)
        moved = np.bincount(which, weights, minlength=len(both))
        found = np.zeros(n_worlds, bool)
        found[whose[new]] = True
        found[both[moved >= lead[both % len(known)]] // len(known)] = True
        return found
