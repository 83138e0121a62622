# mypy: disable-error-code="no-untyped-def"
"""The likelihood of released rows in all trees whose training data differ in one row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import announce, inner, kernel
from caveat.tree._growing import (
    FEATURE,
    LEFT,
    RIGHT,
    RISK,
    START,
    STOP,
    THRESHOLD,
    Control,
    grow_classes,
    grow_numbers,
    make_workspace,
)
from caveat.tree._leaves import decide, weigh_splits
from caveat.tree._predictors import NO_VALUES, Predictors, encode_response, risk_of, whole_values
from caveat.tree._updates import most_levels, split_classes, split_numbers


@kernel
def change_leaf(rows, answers, added_answers, changes, released, n_levels, logs):
    """Return the log-likelihood of the released codes if the node is a leaf, under each change.

    Line 0 is the node itself. Logarithms are whole numbers (see `adjacent`), so that sums are
    exact; the second entry counts the released rows whose code the leaf has not.
    """
    counts = np.zeros(n_levels, np.int64)
    wanted = np.zeros(n_levels, np.int64)
    for i in range(len(rows)):
        counts[answers[rows[i]]] += 1
    for i in range(len(released)):
        wanted[released[i]] += 1
    out = np.zeros((1 + len(changes), 2), np.int64)
    for c in range(n_levels):
        if wanted[c] and counts[c]:
            out[0, 0] += wanted[c] * logs[counts[c]]
        elif wanted[c]:
            out[0, 1] += wanted[c]
    plain, missing = out[0, 0], out[0, 1]
    out[0, 0] -= len(released) * logs[len(rows)]
    for item in range(len(changes)):
        gone, come = changes[item, 0], changes[item, 1]
        size = len(rows) - (gone >= 0) + (come >= 0)
        value, zeros = plain, missing
        if gone >= 0:
            c = answers[gone]
            value -= wanted[c] * logs[counts[c]]
            counts[c] -= 1
            value += wanted[c] * logs[counts[c]]
            zeros += wanted[c] if counts[c] == 0 else 0
        if come >= 0:
            c = added_answers[come]
            value -= wanted[c] * logs[counts[c]]
            zeros -= wanted[c] if counts[c] == 0 else 0
            counts[c] += 1
            value += wanted[c] * logs[counts[c]]
            counts[c] -= 1
        if gone >= 0:
            counts[answers[gone]] += 1
        out[1 + item, 0] = value - len(released) * logs[size]
        out[1 + item, 1] = zeros
    return out


@kernel
def again_classes(*given):
    """Grow a node again for three and more classes; the arguments of `grow_again` follow."""
    return grow_again(True, None, *given)


@kernel
def again_numbers(*given):
    """Grow a node again for numbers or two classes; the arguments of `grow_again` follow."""
    return grow_again(None, True, *given)


@inner
def choose_rows(codes, features, rows, added, gone, come, chosen):
    """List the rows after a change; the one that comes is written behind all others."""
    size = 0
    for i in range(len(rows)):
        if rows[i] != gone:
            chosen[size] = rows[i]
            size += 1
    if come >= 0:
        scratch = codes.shape[1] - 1
        for f in range(features.shape[1]):
            codes[features[0, f], scratch] = added[f, come]
        chosen[size] = scratch
        size += 1
    return size


@inner
def grow_again(
    classes, numbers, codes, features, rows, response, answers, added, added_coded, added_answers,
    changes, alphas, rules, workspace, release, released, released_answers, logs, by_risk, n_levels,
    least_alpha,
):  # fmt: skip
    """Grow a node from its rows under each change, prune it and let the released rows fall.

    The last column of `codes` is scratch for the row that comes. `answers` are response codes,
    `response` has what the engine makes of them, for `classes` or `numbers` as in `grow_nodes`.
    Growing stops early at the least complexity only, so that the result says what other
    complexities would prune. Returns whole numbers (splits that count, log-likelihood, impossible
    rows) and real ones (risk removed, risk, and the complexities between which the pruned tree is
    the same).
    """
    scratch = codes.shape[1] - 1
    n = len(rows)
    chosen = np.empty(n + 1, np.uint32)
    coded, no_weight, n_classes, unit, risk_unit = response
    local = np.empty(n + 1, coded.dtype)
    random = np.empty(1 + features.shape[1], np.uint64)
    whole = np.empty((len(changes), 3), np.int64)
    real = np.empty((len(changes), 4))
    falling = np.empty(len(released), np.int64)
    for item in range(len(changes)):
        gone, come = changes[item, 0], changes[item, 1]
        size = choose_rows(codes, features, rows, added, gone, come, chosen)
        for i in range(size):
            row = chosen[i]
            local[i] = added_coded[come] if row == scratch else coded[row]
        for i in range(len(random)):
            random[i] = i - 1 if i else 1
        mine = (local[:size], no_weight, n_classes, unit, risk_unit)
        limits = (rules[0], rules[1], rules[2], least_alpha, features.shape[1])
        n_nodes = 0
        if classes is not None:
            n_nodes = grow_classes(codes, features, mine, limits, chosen[:size], random, workspace)
        if numbers is not None:
            n_nodes = grow_numbers(codes, features, mine, limits, chosen[:size], random, workspace)
        nodes, measures = workspace[0], workspace[1]
        gain = np.zeros(n_nodes)
        splits = np.zeros(n_nodes, np.int64)
        real[item, 2], real[item, 3] = weigh_splits(
            nodes, measures, n_nodes, alphas[item], by_risk, gain, splits
        )
        whole[item, 0], real[item, 0], real[item, 1] = splits[0], gain[0], measures[RISK, 0]
        for i in range(len(released)):
            falling[i] = released[i]
        value, zeros = let_fall(
            codes, features, nodes, splits, n_nodes, chosen, answers,
            added_answers[come] if come >= 0 else 0, scratch, release, falling, released_answers,
            logs, n_levels,
        )  # fmt: skip
        whole[item, 1] = value
        whole[item, 2] = zeros
    return whole, real


@kernel
def join(left_whole, left_real, right_whole, right_real, improve, risk, leaf, alphas, by_risk):
    """Put two subtrees under their node and prune there, under each change.

    The arrays are those of `grow_again`; `leaf` is the log-likelihood of the node as a leaf.
    """
    whole = np.empty_like(left_whole)
    real = np.empty_like(left_real)
    for i in range(len(alphas)):
        own = risk[i] - left_real[i, 1] - right_real[i, 1] if by_risk else improve[i]
        gain, splits, low, high = decide(
            own, left_real[i, 0], left_whole[i, 0], right_real[i, 0], right_whole[i, 0], alphas[i],
            max(left_real[i, 2], right_real[i, 2]), min(left_real[i, 3], right_real[i, 3]),
        )  # fmt: skip
        whole[i, 0] = splits
        for j in range(2):
            whole[i, 1 + j] = left_whole[i, 1 + j] + right_whole[i, 1 + j] if splits else leaf[i, j]
        real[i, 0], real[i, 1], real[i, 2], real[i, 3] = gain, risk[i], low, high
    return whole, real


@inner
def let_fall(
    codes, features, nodes, splits, n_nodes, rows, answers, scratch_answer, scratch, release,
    falling, released_answers, logs, n_levels,
):  # fmt: skip
    """Return the log-likelihood of the released rows in the pruned tree, and the impossible ones.

    `falling` is parted along the tree as the rows of the original were.
    """
    counts = np.zeros(n_levels, np.int64)
    goes_left = np.zeros(most_levels(features), np.uint8)
    buffer = np.empty(len(falling), np.int64)
    bounds = np.zeros((n_nodes, 2), np.int64)
    bounds[0, 1] = len(falling)
    value = zeros = skip_to = 0
    for node in range(n_nodes):
        start, stop = nodes[START, node], nodes[STOP, node]
        if start < skip_to:
            continue
        first, last = bounds[node, 0], bounds[node, 1]
        if splits[node] == 0:
            skip_to = stop
            if first < last:
                for i in range(start, stop):
                    row = rows[i]
                    counts[scratch_answer if row == scratch else answers[row]] += 1
                for i in range(first, last):
                    count = counts[released_answers[falling[i]]]
                    value += logs[count] - logs[stop - start]
                    zeros += count == 0
                counts[:] = 0
            continue
        f = nodes[FEATURE, node]
        cut = nodes[THRESHOLD, node]
        if features[2, f]:
            middle = nodes[STOP, nodes[LEFT, node]]
            goes_left[: features[1, f]] = middle - start >= stop - middle
            for i in range(start, stop):
                goes_left[codes[features[0, f], rows[i]]] = i < middle
        place = part(falling, first, last, release[f], cut, features[2, f], goes_left, buffer)
        bounds[nodes[LEFT, node], 0], bounds[nodes[LEFT, node], 1] = first, place
        bounds[nodes[RIGHT, node], 0], bounds[nodes[RIGHT, node], 1] = place, last
    return value, zeros


@inner
def part(falling, first, last, column, cut, nominal, goes_left, buffer):
    """Bring the released rows that go left to the front and return where the others start."""
    place = first
    held = 0
    for i in range(first, last):
        row = falling[i]
        code = column[row]
        if goes_left[code] if nominal else code <= cut:
            falling[place] = row
            place += 1
        else:
            buffer[held] = row
            held += 1
    for i in range(held):
        falling[place + i] = buffer[i]
    return place


# -------------------------------------------------------------------------------------------------
# One walk down a tree with all changes of its training data together.
#
# What a change does not touch is shared; where it makes another split the best, the node is grown
# again for this change alone.


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


# -------------------------------------------------------------------------------------------------
# The likelihood of released rows in all trees whose training data differ in one row.
#
# A tree grown without a row, with another row, or with one in place of another is the old tree
# except along the paths of these rows. The walk goes down the tree once with all changes
# together; what a change does not touch is shared. The result is that of growing every tree from
# scratch, bit for bit: splits are chosen by the engine's own rules from whole-number sums, and
# log-likelihoods are added up as whole numbers.


for _kernel in (split_numbers, split_classes, again_numbers, again_classes):
    announce(
        _kernel, "Compiling the strong attacker: about 15 seconds, once for this installation."
    )


def whole_logarithms(n_rows: int, n_released: int) -> tuple[Ints, float]:
    """Return log 0, 1, …, n_rows + 1 as whole multiples of a unit, and the unit.

    The unit is the smallest power of two for which the sum over all released cells fits into 64
    bits; log 0 is written as 0 and counted apart.
    """
    numbers = np.log(np.maximum(np.arange(n_rows + 2), 1))
    largest = 4.0 * max(n_released, 1) * max(numbers[-1], 1.0)
    bits = 62 - int(np.ceil(np.log2(largest)))
    return np.rint(np.ldexp(numbers, bits)).astype(np.int64), 2.0**-bits


def adjacent_likelihoods(
    training: Training,
    release: Predictors,
    released: NDArray[np.unsignedinteger],
    changes: Changes,
    logs: Ints,
) -> Likelihoods:
    """Return the log-likelihood of released rows in a tree and in those of adjacent data.

    Parameters
    ----------
    training
        The data of the tree. Rows count once; predictors are searched value by value.
    release
        The predictors of the released rows.
    released
        Their response codes.
    changes
        The adjacent data sets.
    logs
        From `whole_logarithms`.
    """
    if training.predictors.binned or len(np.unique(training.rows)) < len(training.rows):
        raise ValueError("training must have no binned predictors and no repeated rows")
    changed = np.zeros(len(changes.gone), np.int64)
    impossible = np.zeros(len(changes.gone), np.int64)
    sizes = len(training.rows) - (changes.gone >= 0) + (changes.come >= 0)
    base = (0, 0)
    # The grid of the numbers depends on the number of rows, but hardly ever on one row more.
    grids: dict[float, NDArray[np.bool_]] = {}
    impossible[sizes == 0] = len(released)  # a tree without rows gives nothing at all
    for size in np.unique(np.append(sizes[sizes > 0], len(training.rows))).tolist():
        scale = 1.0 if training.values is None else whole_values(training.values, size)[1]
        grids[scale] = grids.get(scale, np.zeros(len(sizes), np.bool_)) | (sizes == size)
    for scale, mine in grids.items():
        part = changes._replace(gone=changes.gone[mine], come=changes.come[mine])
        walk = Walk(training, release, released, part, logs, scale)
        result = walk.run()
        base = result.base, result.base_impossible
        changed[mine] = result.changed
        impossible[mine] = result.impossible
    return Likelihoods(*base, changed, impossible)
