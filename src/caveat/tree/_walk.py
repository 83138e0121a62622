"""One walk down a tree with all changes of its training data together.

What a change does not touch is shared; where it makes another split the best, the node is grown
again for this change alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.tree._class_updates import split_classes
from caveat.tree._control import Control
from caveat.tree._predictors import Predictors
from caveat.tree._regrow import again_classes, again_numbers, change_leaf, join
from caveat.tree._response import NO_VALUES, encode_response, risk_of, whole_values
from caveat.tree._update import split_numbers
from caveat.tree._workspace import make_workspace

__all__ = ["Changes", "Floats", "Ints", "Likelihoods", "Training", "Walk"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SMALL = 64
"""Nodes up to this size are grown again for every change instead of being searched."""

NO_CHANGE = np.array([[-1, -1]])


class Training(NamedTuple):
    """The data of one tree: predictors, response codes, what they stand for, rows, and rules."""

    predictors: Predictors
    response: NDArray[np.unsignedinteger]
    n_levels: int
    values: Floats | None
    rows: Ints
    control: Control


class Changes(NamedTuple):
    """Adjacent data sets: in each one row goes (or -1) and one added row comes (or -1)."""

    gone: Ints
    come: Ints
    added: NDArray[np.uint16]  # codes of the added rows, one line for each predictor
    added_response: Ints


class Likelihoods(NamedTuple):
    """Sums of whole logarithms and numbers of impossible rows: of the tree, under each change."""

    base: int
    base_impossible: int
    changed: Ints
    impossible: Ints


class _Results(NamedTuple):
    """Subtrees after pruning, one line each."""

    whole: Ints  # splits that count, log-likelihood, impossible rows
    real: Floats  # risk removed, risk of the node, complexities from and up to which this holds

    def take(self, chosen: NDArray[np.bool_]) -> _Results:
        return _Results(self.whole[chosen], self.real[chosen])


@dataclass(slots=True)
class _Subtree:
    """The subtree of the unchanged data, pruned at one complexity and ready for others."""

    pruned: _Results
    node: tuple[Ints, Ints, int] | None = None  # rows, released rows and depth, to grow it again
    children: tuple[_Subtree, _Subtree] | None = None
    own: tuple[Floats, Floats, Ints] | None = None  # improvement, risk, the node as a leaf
    known: dict[float, _Results] = field(default_factory=dict)


class Walk:
    """One walk down a tree with all its changes."""

    def __init__(
        self,
        training: Training,
        release: Predictors,
        released: NDArray[np.unsignedinteger],
        changes: Changes,
        logs: Ints,
        scale: float,
    ) -> None:
        table, columns = training.predictors.table, training.predictors.columns
        start, stop = training.predictors.start, training.predictors.stop
        # one row more than there are: a place for the row that comes
        self.codes = np.zeros((len(columns), stop - start + 1), np.uint16)
        self.codes[:, :-1] = table.codes[columns, start:stop]
        self.features = training.predictors.features.copy()
        self.features[0] = np.arange(len(columns))
        self.release = np.ascontiguousarray(
            release.table.codes[release.columns, release.start : release.stop]
        )
        self.training, self.changes, self.logs = training, changes, logs
        self.released = released.astype(np.int64)
        self.answers = training.response.astype(np.int64)
        self.by_risk = training.values is None
        self._encode(scale)
        self._alphas()

    def _encode(self, scale: float) -> None:
        """Write the responses as the engine wants them: numbers on a grid, or classes."""
        training, come = self.training, self.changes.added_response
        codes = training.response[training.rows].astype(np.uint32)
        made, _ = encode_response(codes, training.n_levels, training.values, None, NO_VALUES)
        coded, added = self.answers, come
        if training.values is not None:
            total = next(
                t
                for t in (len(training.rows) + d for d in (0, -1, 1))
                if whole_values(training.values, t)[1] == scale
            )
            grid, _ = whole_values(training.values, total)
            made = made._replace(unit=1.0 / (scale * scale), risk_unit=1.0 / (scale * scale))
            coded, added = grid[self.answers], grid[come]
        elif not made.as_classes:
            coded, added = 1 - self.answers, 1 - come
        else:
            coded, added = coded.astype(np.uint16), added.astype(np.uint16)
            self.numbered = np.zeros_like(coded)
        self.response, self.added_coded = made._replace(answers=coded), added

    def _alphas(self) -> None:
        """Find the complexity that each adjacent data set prunes at."""
        training, cp = self.training, self.training.control.cp
        mass = np.bincount(self.answers[training.rows], minlength=training.n_levels).astype(float)
        values = NO_VALUES if training.values is None else training.values

        def alpha(gone: int, come: int) -> float:
            changed = mass.copy()
            if gone >= 0:
                changed[gone] -= 1
            if come >= 0:
                changed[come] += 1
            return cp * float(risk_of(changed, values))

        self.alpha = alpha(-1, -1)
        gone = np.where(self.changes.gone >= 0, self.answers[self.changes.gone], -1)
        come = np.full(len(gone), -1)
        if len(self.changes.added_response):
            come = np.where(
                self.changes.come >= 0, self.changes.added_response[self.changes.come], -1
            )
        pairs, place = np.unique(np.stack([gone, come], axis=1), axis=0, return_inverse=True)
        alphas = np.array([alpha(int(g), int(c)) for g, c in pairs])
        self.alphas = alphas[place.reshape(-1)] if len(gone) else np.zeros(0)
        self.least_alpha = float(min([self.alpha, *alphas.tolist()]))

    def run(self) -> Likelihoods:
        """Walk down from the root."""
        changes = np.stack([self.changes.gone, self.changes.come], axis=1)
        rows, released = self.training.rows.astype(np.int64), np.arange(len(self.released))
        base, results = self._visit(rows, released, 0, np.arange(len(changes)), changes)
        _, value, impossible = base.pruned.whole[0].tolist()
        return Likelihoods(value, impossible, results.whole[:, 1], results.whole[:, 2])

    def _visit(
        self, rows: Ints, released: Ints, depth: int, ids: Ints, changes: Ints
    ) -> tuple[_Subtree, _Results]:
        """Return the subtree of a node, and what each of the changes in it makes of it."""
        alphas = self.alphas[ids]
        if len(rows) <= SMALL or not len(ids) or depth >= self.training.control.max_depth:
            base = _Subtree(self._grow(rows, released, depth), (rows, released, depth))
            return base, self._grow(rows, released, depth, changes, alphas)
        split = self._split(rows, changes)
        same = split.same
        leaf = change_leaf(
            rows, self.answers, self.changes.added_response, changes, self.released[released],
            self.training.n_levels, self.logs,
        )  # fmt: skip
        if split.feature < 0:
            base = _Subtree(self._grow(rows, released, depth), (rows, released, depth))
            results = _as_leaves(leaf[1:], split.risk)
        else:
            children, below = self._descend(split, rows, released, depth, ids, changes)
            own = split.base_improve, split.base_risk, leaf[:1]
            base = _Subtree(_as_leaves(leaf[:1], own[1]), None, children, own)
            base.pruned = self._prune(base, self.alpha)
            results = self._join(below, split.improve, split.risk, leaf[1:], alphas)
        if not same.all():
            again = self._grow(rows, released, depth, changes[~same], alphas[~same])
            results.whole[~same], results.real[~same] = again
        return base, results

    def _descend(
        self, split: _Split, rows: Ints, released: Ints, depth: int, ids: Ints, changes: Ints
    ) -> tuple[tuple[_Subtree, _Subtree], tuple[_Results, _Results]]:
        """Visit both children with the changes whose rows go there; others have the base's."""
        children, results = [], []
        sides = [split.side(self.codes, rows), split.side(self.release, released)]
        gone, come = changes.T
        moving = [
            np.where(split.same & (gone >= 0), split.side(self.codes, gone), -1),
            np.where(split.same & (come >= 0), split.side(self.changes.added, come), -1),
        ]
        for side in (1, 0):
            below = np.stack(
                [
                    np.where(to == side, row, -1)
                    for to, row in zip(moving, (gone, come), strict=True)
                ],
                axis=1,
            )
            inside = np.asarray((below >= 0).any(axis=1))
            child, found = self._visit(
                rows[sides[0] == side], released[sides[1] == side], depth + 1, ids[inside],
                below[inside],
            )  # fmt: skip
            children.append(child)
            results.append(self._fill(child, inside, found, self.alphas[ids]))
        return (children[0], children[1]), (results[0], results[1])

    def _fill(
        self, base: _Subtree, inside: NDArray[np.bool_], found: _Results, alphas: Floats
    ) -> _Results:
        """Give the changes that do not touch a subtree its own results at their complexity."""
        whole = np.repeat(base.pruned.whole, len(inside), axis=0)
        real = np.repeat(base.pruned.real, len(inside), axis=0)
        outside = (alphas < base.pruned.real[0, 2]) | (alphas >= base.pruned.real[0, 3])
        for alpha in np.unique(alphas[outside & ~inside]).tolist():
            mine = outside & (alphas == alpha)
            whole[mine], real[mine] = self._prune(base, alpha)
        whole[inside], real[inside] = found
        return _Results(whole, real)

    def _prune(self, base: _Subtree, alpha: float) -> _Results:
        """Return the subtree of the unchanged data pruned at any complexity."""
        if alpha in base.known:
            return base.known[alpha]
        if base.children is None or base.own is None:
            assert base.node is not None
            result = self._grow(*base.node, NO_CHANGE, np.array([alpha]))
        else:
            low, high = (self._at(child, alpha) for child in base.children)
            result = self._join((low, high), *base.own, np.array([alpha]))
        base.known[alpha] = result
        return result

    def _at(self, base: _Subtree, alpha: float) -> _Results:
        low, high = base.pruned.real[0, 2:]
        return base.pruned if low <= alpha < high else self._prune(base, alpha)

    def _join(
        self,
        below: tuple[_Results, _Results],
        improve: Floats,
        risk: Floats,
        leaf: Ints,
        alphas: Floats,
    ) -> _Results:
        """Put two subtrees under their node and prune there, by the rule of `prune`."""
        left, right = below
        return _Results(*join(*left, *right, improve, risk, leaf, alphas, self.by_risk))

    def _grow(
        self,
        rows: Ints,
        released: Ints,
        depth: int,
        changes: Ints = NO_CHANGE,
        alphas: Floats | None = None,
    ) -> _Results:
        """Grow a node from its rows under each change."""
        control = replace(self.training.control, max_depth=self.training.control.max_depth - depth)
        rules = control.minbucket, control.smallest_split, control.max_depth
        response = self.response
        grow_again = again_classes if response.as_classes else again_numbers
        if alphas is None:
            alphas = np.array([self.alpha])
        results = _Results(np.zeros((len(changes), 3), np.int64), np.zeros((len(changes), 4)))
        sizes = len(rows) - (changes[:, 0] >= 0) + (changes[:, 1] >= 0)
        # The workspace of a tree is cut up by its exact number of rows.
        for size in np.unique(sizes).tolist():
            mine = sizes == size
            workspace = make_workspace(size, self.codes.shape[1], self.features, response, control)
            results.whole[mine], results.real[mine] = grow_again(
                self.codes, self.features, rows, tuple(response), self.answers,
                self.changes.added, self.added_coded, self.changes.added_response, changes[mine],
                alphas[mine], rules, tuple(workspace), self.release, released, self.released,
                self.logs, self.by_risk, self.training.n_levels, self.least_alpha,
            )  # fmt: skip
        return results

    def _split(self, rows: Ints, changes: Ints) -> _Split:
        """Search the best split of a node itself and under each change."""
        control = self.training.control
        rules = (control.minbucket, control.smallest_split)
        if self.response.as_classes:
            return self._split_classes(rows, changes, rules)
        feature, cut, left, own, total, same, improve, totals = split_numbers(
            self.codes, self.features, rows, self.response.answers, self.changes.added,
            self.added_coded, changes, rules, self.response.unit,
        )  # fmt: skip
        risk, base_risk = np.zeros(len(changes)), np.zeros(1)
        if self.by_risk:
            sizes = len(rows) - (changes[:, 0] >= 0) + (changes[:, 1] >= 0)
            risk = np.minimum(totals, sizes - totals).astype(np.float64)
            base_risk[0] = min(total, len(rows) - total)
        return _Split(feature, cut, left, np.array([own]), base_risk, same, improve, risk)

    def _split_classes(self, rows: Ints, changes: Ints, rules: tuple[int, int]) -> _Split:
        """Search after numbering the classes that occur in the node or come into it."""
        mine = self.response.answers[rows]
        come = self.added_coded[changes[changes[:, 1] >= 0, 1]]
        present = np.union1d(mine, come)
        self.numbered[rows] = np.searchsorted(present, mine)
        added = np.searchsorted(present, self.added_coded).astype(np.uint16)
        feature, cut, left, base_risk, same, risk = split_classes(
            self.codes, self.features, rows, self.numbered, self.changes.added, added, changes,
            rules, len(present),
        )  # fmt: skip
        # Classes are pruned by risk: nobody asks what their splits improve.
        none = np.zeros(len(changes))
        return _Split(feature, cut, left, np.zeros(1), np.array([base_risk]), same, none, risk)


class _Split(NamedTuple):
    """The best split of a node, and for each change whether it is the same and what it gives."""

    feature: int
    cut: int
    goes_left: NDArray[np.uint8]
    base_improve: Floats
    base_risk: Floats
    same: NDArray[np.bool_]
    improve: Floats
    risk: Floats

    def side(self, codes: NDArray[np.uint16], rows: Ints) -> Ints:
        """Return 1 for the rows that go left, 0 for the others."""
        if not codes.shape[1]:
            return np.zeros(len(rows), np.int64)
        mine = codes[self.feature, rows]
        left = mine <= self.cut if self.cut >= 0 else self.goes_left[mine] == 1
        return np.asarray(left).astype(np.int64)


def _as_leaves(leaf: Ints, risk: Floats) -> _Results:
    """Return nodes that have no split at any complexity."""
    n = len(leaf)
    whole = np.column_stack([np.zeros(n, np.int64), leaf])
    real = np.column_stack([np.zeros(n), risk, np.full(n, -np.inf), np.full(n, np.inf)])
    return _Results(whole, real)
