"""All records at once, by updating looked-up values, choices and trees instead of fitting again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.attack.worlds import Evidence, Worlds, in_threads
from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.synthesis.choosing import Choosing
from caveat.synthesis.coding import ORDINARY, Coding
from caveat.synthesis.column_model import Cells, ColumnModel, inputs_of, without_unknown
from caveat.synthesis.fitting import fit_columns, predictors_of
from caveat.synthesis.methods import Inputs, Settings, Target
from caveat.synthesis.methods.tables import Lookup, cell_names
from caveat.synthesis.methods.trees import control_of
from caveat.synthesis.model import recoded
from caveat.synthesis.options import GIVEN
from caveat.synthesis.pairs import SAMPLED, Moved
from caveat.table import Table
from caveat.table.align import recode_to
from caveat.table.table import concat
from caveat.tree.adjacent import (
    Changes,
    Likelihoods,
    Training,
    adjacent_likelihoods,
    whole_logarithms,
)

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
        :meth:`caveat.attack.adjacent.GuardedChanges.logs_of_sets`.
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


# -------------------------------------------------------------------------------------------------
# What records do to the predictors that were chosen in a wide table.
#
# Only those in the sample in which columns are compared do anything. For guarded trees the
# probability of the predictors that were drawn moves; for other methods the strongest predictors
# may be others in some worlds.


CHOICES_CHUNK = 20_000
"""Worlds that are followed together: their records are held in bins."""
Floats = NDArray[np.float64]


class OtherPredictors(NamedTuple):
    """Worlds in which a column is drawn from others than in the data."""

    column: str
    predictors: tuple[str, ...]
    worlds: Ints


class ChoiceChanges:
    """The choice of a plan, ready to be changed in one record or in several.

    Parameters
    ----------
    worlds
        The original, and a plan with a choice.
    """

    def __init__(self, worlds: Worlds) -> None:
        choice = worlds.plan.choice
        assert choice is not None
        self.worlds = worlds
        self.choosing = Choosing(worlds.plan.columns, worlds.original, choice, worlds.bins)

    __repr__ = without_values

    def logs_of_sets(
        self,
        gone: Ints,
        gone_at: Ints,
        come: Table,
        come_at: Ints,
        threads: int | None = None,
        done: Callable[[float], None] | None = None,
    ) -> Floats:
        """Return what each world adds to the log probability of the predictors drawn.

        The arguments are those of `caveat.attack.adjacent.GuardedChanges.logs_of_sets`.
        """
        n_worlds = len(gone_at) - 1
        total = np.zeros(n_worlds)
        share = CHOICES_CHUNK / max(n_worlds, CHOICES_CHUNK)
        for start, moved in self._parts(gone, gone_at, come, come_at):
            found = in_threads(
                lambda name: self.choosing.log_drawn(name, moved),  # noqa: B023
                self.choosing.drawn_columns,
                threads,
                None if done is None else lambda ready: done(ready * share),
            )
            for logs in found:
                total[start : start + len(moved.at) - 1] += logs[:-1] - logs[-1]
        return total

    def others(
        self, gone: Ints, gone_at: Ints, come: Table, come_at: Ints, threads: int | None = None
    ) -> list[OtherPredictors]:
        """Return the worlds in which the strongest predictors of a column are others."""
        found: dict[tuple[str, tuple[str, ...]], list[Ints]] = {}
        for start, moved in self._parts(gone, gone_at, come, come_at):
            names = self.choosing.taken_columns
            sets = in_threads(
                lambda name: self.choosing.strongest_in(name, moved),  # noqa: B023
                names,
                threads,
            )
            for name, own in zip(names, sets, strict=True):
                for predictors, which in own.items():
                    found.setdefault((name, predictors), []).append(which + start)
        return [OtherPredictors(*key, np.concatenate(which)) for key, which in found.items()]

    def _parts(
        self, gone: Ints, gone_at: Ints, come: Table, come_at: Ints
    ) -> Iterator[tuple[int, Moved]]:
        """Return the sampled records that go and come, for a part of the worlds at a time."""
        for start in range(0, len(gone_at) - 1, CHOICES_CHUNK):
            down, up = (at[start : start + CHOICES_CHUNK + 1] for at in (gone_at, come_at))
            before = self.worlds.original.take(gone[down[0] : down[-1]])
            after = come.take(slice(up[0], up[-1]))
            n = len(down) - 1
            worlds = [np.repeat(np.arange(n), np.diff(at)) for at in (down, up)]
            kept = [np.flatnonzero(t[SAMPLED].codes == 1) for t in (before, after)]
            tables = [t.take(rows) for t, rows in zip((before, after), kept, strict=True)]
            world = np.concatenate([w[rows] for w, rows in zip(worlds, kept, strict=True)])
            codes = np.concatenate([self.choosing.coded(t) for t in tables], axis=1).T
            steps = np.repeat([-1, 1], [len(rows) for rows in kept])
            order = np.argsort(world, kind="stable")
            at = np.searchsorted(world[order], np.arange(n + 1))
            yield start, Moved(np.ascontiguousarray(codes[order]), steps[order], at)


# -------------------------------------------------------------------------------------------------
# All records at once, by updating trees instead of growing them again.
#
# For plans made of plain trees the likelihood of the release is a product over trees, and a
# changed record changes only a few of them: that of a column whose own value changes, and those
# of later columns that it predicts. :mod:`caveat.tree.adjacent` follows all changes down one tree
# together. Columns that are looked up by others take part: what a change does to them is cheap to
# see.


CHUNK = 40_000
"""Changes that one thread follows together."""

MODELLED = ("cart", "sample", "lookup")
"""The methods that can be updated."""


def can_update(worlds: Worlds) -> bool:
    """Whether every column is a plain tree, a plain draw from its shares, or looked up."""
    plan = worlds.plan
    if plan.weights or plan.strata or plan.rules:
        return False
    for name, entry in plan.columns.items():
        settings, column = entry.settings, worlds.original[name]
        if settings.method in ("derived", "drop", "constant", "copy"):
            continue
        smoothed = settings.smoothing and column.kind.is_number
        if settings.method not in MODELLED or settings.proper or smoothed:
            return False
        if column.n_levels >= np.iinfo(np.uint16).max:
            return False
        coding = Coding.of(column, entry.special, name)
        if not all(r.taking_part[column.codes].any() for r in _responses(coding)):
            return False
    return True


class _Response(NamedTuple):
    """One variable of a column: its code and whether it takes part, for each code of the column."""

    code: NDArray[Any]
    taking_part: NDArray[np.bool_]
    n_levels: int
    values: NDArray[np.float64] | None


@dataclass(frozen=True)
class _Tree:
    """One tree of the plan with the release that falls through it; or a table to look up in."""

    column: str
    predictors: tuple[str, ...]
    inputs: Inputs
    is_lookup: bool
    response: _Response
    training: Training
    release: Inputs
    released: NDArray[Any]


class _Work(NamedTuple):
    """The changes of one tree, and which of them each of its worlds makes."""

    tree: _Tree
    changes: Changes
    place: Ints
    worlds: Ints


class Updates:
    """The trees of a plan, ready to be changed in one record.

    Parameters
    ----------
    worlds
        The original, the plan and the releases; `can_update` must hold.
    """

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds
        table, plan = worlds.original, worlds.plan
        self.codings = {
            n: Coding.of(table[n], e.special, n, e.grid) for n, e in plan.columns.items()
        }
        self.cells = {n: Cells(c, codes=table[n].codes) for n, c in self.codings.items()}
        self.released = _released_cells(worlds, self.codings)
        modelled = [n for n, e in plan.columns.items() if e.settings.method in MODELLED]
        self.trees = [
            tree for name in modelled for tree in self._trees(name, plan.columns[name].predictors)
        ]
        cells = sum(len(tree.released) for tree in self.trees)
        self.logs, self.unit = whole_logarithms(table.n_rows, cells)

    def _trees(self, name: str, names: tuple[str, ...]) -> list[_Tree]:
        entry, table = self.worlds.plan.columns[name], self.worlds.original
        codes, released = table[name].codes, self.released[name].codes
        assert released is not None
        names = names if entry.settings.method != "sample" else ()
        inputs = inputs_of(self.cells, names, table.n_rows)
        release = inputs_of(self.released, names, len(released))
        trees = []
        for response in _responses(self.codings[name]):
            rows = np.flatnonzero(response.taking_part[codes])
            if not len(rows):
                continue
            fallen = np.flatnonzero(response.taking_part[released])
            training = Training(
                inputs.predictors, response.code[codes], response.n_levels, response.values, rows,
                control_of(entry.settings),
            )  # fmt: skip
            answers = response.code[released[fallen]]
            is_lookup = entry.settings.method == "lookup"
            trees.append(
                _Tree(name, names, inputs, is_lookup, response, training, release.take(fallen),
                      answers)
            )  # fmt: skip
        return trees

    def without(
        self, records: Ints, threads: int | None, done: Callable[[float], None] | None
    ) -> NDArray[np.float64]:
        """Return the log-likelihood of the release without each of the records."""
        n = len(records)
        others = self._others(records, self.worlds.original.take([]), threads)

        def work(tree: _Tree, which: Ints) -> _Work:
            parts = self._parts(tree.predictors)
            first, kind = _kinds([*parts, tree.training.response], records[which])
            inside = tree.response.taking_part[self.worlds.original[tree.column].codes[first]]
            changes = Changes(
                np.where(inside, first, -1), np.full(len(first), -1),
                np.zeros((max(len(parts), 1), 0), np.uint16), np.zeros(0, np.int64),
            )  # fmt: skip
            return _Work(tree, changes, kind, which)

        total, impossible = self._run(self.trees, work, others, n, threads, done)
        return np.where(impossible > 0, -np.inf, total)

    def with_values(
        self,
        target: str,
        records: Ints,
        threads: int | None,
        done: Callable[[float], None] | None,
        tried: Ints | None = None,
    ) -> NDArray[np.float64]:
        """Return the log-likelihood with each code of a column, or some, in each of the records."""
        column = self.worlds.original[target]
        values = np.arange(column.n_levels) if tried is None else tried
        n_levels = len(values)
        others = []
        if self.worlds.plan.choice is not None:
            codes = np.tile(values, len(records))
            gone = np.repeat(records, n_levels)
            come = self.worlds.original.take(gone).with_columns({target: column.with_codes(codes)})
            others = self._others(gone, come, threads)

        def work(tree: _Tree, which: Ints) -> _Work:
            parts = self._parts(tree.predictors)
            rows, row = np.unique(which // n_levels, return_inverse=True)
            first, kind = _kinds([*parts, tree.training.response, column.codes], records[rows])
            changes = self._replacements(tree, target, first, values)
            return _Work(tree, changes, kind[row] * n_levels + which % n_levels, which)

        touched = [t for t in self.trees if target == t.column or target in t.predictors]
        n_worlds = len(records) * n_levels
        total, impossible = self._run(touched, work, others, n_worlds, threads, done)
        return np.where(impossible > 0, -np.inf, total).reshape(len(records), n_levels)

    def _others(self, gone: Ints, come: Table, threads: int | None) -> list[OtherPredictors]:
        """Return in which worlds columns are drawn from others than in the data."""
        if self.worlds.plan.choice is None:
            return []
        each = np.arange(len(gone) + 1)
        come_at = np.minimum(each, come.n_rows)
        return ChoiceChanges(self.worlds).others(gone, each, come, come_at, threads)

    def _parts(self, names: tuple[str, ...]) -> list[NDArray[Any]]:
        inputs = inputs_of(self.cells, names, self.worlds.original.n_rows)
        return [part.codes for part in inputs.parts]

    def _replacements(self, tree: _Tree, target: str, first: Ints, values: Ints) -> Changes:
        """Return the changes of one tree: each code of the target in every kind of record."""
        table, n_levels = self.worlds.original, len(values)
        old = table[tree.column].codes[first]
        records = np.repeat(first, n_levels)
        codes = np.tile(values, len(first))
        added = np.stack(
            [part[records] for part in self._parts(tree.predictors)]
            or [np.zeros(len(records), np.uint16)]
        ).astype(np.uint16)
        if tree.column == target:
            new = codes
        else:
            new = np.repeat(old, n_levels)
            cells = {n: Cells(c, codes=table[n].codes[records]) for n, c in self.codings.items()
                     if n in tree.predictors}  # fmt: skip
            cells[target] = Cells(self.codings[target], codes=codes)
            parts = inputs_of(cells, tree.predictors, len(records)).parts
            added = np.stack([part.codes for part in parts]).astype(np.uint16)
        changed = codes != table[target].codes[records]
        goes = changed & tree.response.taking_part[np.repeat(old, n_levels)]
        comes = changed & tree.response.taking_part[new]
        return Changes(
            np.where(goes, records, -1),
            np.where(comes, np.arange(len(records)), -1),
            added,
            tree.response.code[new].astype(np.int64),
        )

    def _run(
        self,
        trees: list[_Tree],
        work: Callable[[_Tree, Ints], _Work],
        others: list[OtherPredictors],
        n_worlds: int,
        threads: int | None,
        done: Callable[[float], None] | None,
    ) -> tuple[NDArray[np.float64], Ints]:
        """Add up over the trees; what no change touches counts once for all worlds."""
        out: dict[str, list[Ints]] = {}
        for other in others:
            out.setdefault(other.column, []).append(other.worlds)
        everywhere, none = np.arange(n_worlds), np.zeros(0, np.int64)
        works = []
        for tree in trees:
            left = np.concatenate(out[tree.column]) if tree.column in out else none
            works.append(work(tree, np.setdiff1d(everywhere, left) if len(left) else everywhere))
        nothing = Changes(none, none, np.zeros((1, 0), np.uint16), none)
        touched = {id(tree) for tree in trees}
        works += [_Work(t, nothing, none, none) for t in self.trees if id(t) not in touched]
        items = [
            (number, work.tree, work.changes, start)
            for number, work in enumerate(works)
            for start in range(0, max(len(work.changes.gone), 1), CHUNK)
        ]
        # What takes longest comes first: else one thread is left with it while others have nothing.
        items.sort(key=_effort, reverse=True)
        found = in_threads(self._follow, items, threads, done)
        bases: dict[int, Ints] = {}
        changed = [np.zeros((2, len(work.changes.gone)), np.int64) for work in works]
        for (number, tree, _, start), result in zip(items, found, strict=True):
            changed[number][:, start : start + CHUNK] = result.changed, result.impossible
            bases[id(tree)] = np.array([result.base, result.base_impossible])
        impossible: dict[str, int] = {}
        for tree in (t for t in self.trees if bases[id(t)][1]):
            impossible[tree.column] = impossible.get(tree.column, 0) + int(bases[id(tree)][1])
        base = sum(int(bases[id(tree)][0]) for tree in self.trees)
        total = np.repeat([[base], [sum(impossible.values())]], n_worlds, axis=1)
        for one, values in zip(works, changed, strict=True):
            total[:, one.worlds] += values[:, one.place] - bases[id(one.tree)][:, None]
        # Trees from other predictors are grown one at a time: there may be very many.
        for other, value in zip(others, in_threads(
            lambda other: self._instead(other, work, bases), others, threads
        ), strict=True):  # fmt: skip
            total[:, other.worlds] += value
        self.base = Evidence(base * self.unit, impossible)
        return np.asarray(total[0] * self.unit, np.float64), total[1]

    def _instead(
        self, other: OtherPredictors, work: Callable[[_Tree, Ints], _Work], bases: dict[int, Ints]
    ) -> Ints:
        """Return what other predictors of a column change in the worlds that have them."""
        total = np.zeros((2, len(other.worlds)), np.int64)
        ours = [tree for tree in self.trees if tree.column == other.column]
        for tree, own in zip(self._trees(other.column, other.predictors), ours, strict=True):
            here = work(tree, other.worlds)
            values = np.zeros((2, len(here.changes.gone)), np.int64)
            for start in range(0, len(here.changes.gone), CHUNK):
                result = self._follow((0, tree, here.changes, start))
                values[:, start : start + CHUNK] = result.changed, result.impossible
            total += values[:, here.place] - bases[id(own)][:, None]
        return total

    def _follow(self, item: tuple[int, _Tree, Changes, int]) -> Any:
        _, tree, changes, start = item
        part = slice(start, start + CHUNK)
        mine = changes._replace(gone=changes.gone[part], come=changes.come[part])
        if tree.is_lookup:
            return lookup_likelihoods(tree.inputs, tree.training, tree.release, tree.released, mine)
        return adjacent_likelihoods(
            tree.training, tree.release.predictors, tree.released, mine, self.logs
        )


def _effort(item: tuple[int, _Tree, Changes, int]) -> int:
    """Return about how long it takes to follow some changes of a tree."""
    _, tree, changes, start = item
    return len(changes.gone[start : start + CHUNK]) * (1 + len(tree.inputs.parts))


def _responses(coding: Coding) -> list[_Response]:
    """Return the variables that a column is drawn as: its classes, its numbers, or both."""
    n_codes = coding.column.n_levels
    everyone = np.ones(n_codes, dtype=bool)
    if not coding.is_number:
        return [_Response(np.arange(n_codes, dtype=np.uint32), everyone, n_codes, None)]
    taking_part = coding.kind_of == ORDINARY if coding.two_step else everyone
    value = _Response(coding.value_of, taking_part, len(coding.numbers), coding.numbers)
    if not coding.two_step:
        return [value]
    return [_Response(coding.kind_of, everyone, coding.n_kinds, None), value]


def _released_cells(worlds: Worlds, codings: dict[str, Coding]) -> dict[str, Cells]:
    """Return the releases under each other in the codes of the original."""
    cells = {}
    for name, coding in codings.items():
        if worlds.plan.columns[name].settings.method == "drop":
            continue
        codes = np.concatenate([recode_to(r[name], coding.column) for r in worlds.releases])
        unknown = int((codes >= coding.column.n_levels).sum())
        if unknown and worlds.plan.columns[name].settings.method != "derived":
            raise CaveatError(
                f"the generator cannot have made this release: {unknown:,} cells have values that "
                "the original has not",
                column=name,
                do="check that original, release and generator belong together",
                code="attack.release.mismatch",
            )
        cells[name] = Cells(coding, codes=np.minimum(codes, coding.column.n_levels - 1))
    return cells


def _kinds(columns: list[NDArray[Any]], records: Ints) -> tuple[Ints, Ints]:
    """Return one record of each kind, and the kind of each record."""
    lines = np.stack([column[records].astype(np.int64) for column in columns], axis=1)
    _, first, kind = np.unique(lines, axis=0, return_index=True, return_inverse=True)
    return records[first], kind.reshape(-1)
