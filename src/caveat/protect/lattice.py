"""Full-domain generalisation: hierarchies, the lattice of their levels, and SafePub."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import urandom
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.protect.record import Protected, Step, number_column
from caveat.showing import without_values
from caveat.table import Column, Kind, Table
from caveat.table.cells import Ints, dense, key_cells

HIDDEN = "*"
"""What stands in a column that is generalised to one group."""

Node = tuple[int, ...]


@dataclass(frozen=True)
class Levels:
    """What is declared about the levels of one column.

    Without widths or groups a column has two levels: as it is, and hidden.

    Parameters
    ----------
    widths
        For numbers: the widths of the intervals of level 1, 2, …, each a multiple of the one
        before.
    origin
        Where an interval begins.
    groups
        For classes: one grouping for each level 1, 2, …. The first one has for each group its
        values, the later ones the groups of the one before.
    hides
        Whether the top is one group for everything.

    Examples
    --------
    >>> age = Table.from_frame({"age": [31, 34, 47]})["age"]
    >>> hierarchy = Levels(widths=[5, 10]).of(age, "age")
    >>> hierarchy.names[1:]
    (('[30, 35)', '[45, 50)'), ('[30, 40)', '[40, 50)'), ('*',))
    """

    widths: Sequence[float] = ()
    origin: float = 0.0
    groups: Sequence[Mapping[str, Sequence[Any]]] = ()
    hides: bool = True

    def __post_init__(self) -> None:
        if self.widths and self.groups:
            raise CaveatError(
                "widths and groups do not go together",
                do="give one of them",
                code="protection.setting.conflict",
            )
        finite = all(math.isfinite(number) for number in (*self.widths, self.origin))
        if not finite or any(width <= 0 for width in self.widths):
            raise CaveatError(
                "widths must be above 0",
                do="mend widths and origin",
                code="protection.setting.range",
            )
        for low, high in itertools.pairwise(self.widths):
            ratio = high / low
            if ratio < 1.5 or not math.isclose(ratio, round(ratio), rel_tol=1e-9):
                raise CaveatError(
                    f"the width {high:g} is no multiple of {low:g}",
                    do="make every width a multiple of the one before",
                    code="protection.setting.mismatch",
                )

    def of(self, column: Column, name: str) -> Hierarchy:
        """Return the hierarchy of a column; a value that was not declared is an error."""
        first = (*map(_text, column.levels.tolist()), *map(str, column.missing))
        maps, names = [np.arange(column.n_levels)], [first]
        found = self._intervals(column, name) if self.widths else self._groups(column, name)
        missing = list(map(str, column.missing))
        for codes, labels in found:
            # A way to be missing stays what it is until everything is hidden.
            ways = len(labels) + np.arange(len(missing))
            maps.append(np.append(codes, ways).astype(np.int64))
            names.append((*labels, *missing))
        if self.hides:
            maps.append(np.zeros(column.n_levels, np.int64))
            names.append((HIDDEN,))
        return Hierarchy(tuple(maps), tuple(names))

    def words(self, level: int) -> str:
        """Return what a level does.

        Examples
        --------
        >>> [Levels(widths=[5, 10]).words(level) for level in range(4)]
        ['as it is', 'intervals of 5', 'intervals of 10', 'hidden']
        """
        if level == 0:
            return "as it is"
        if level <= len(self.widths):
            return f"intervals of {self.widths[level - 1]:g}"
        return f"grouping {level}" if level <= len(self.groups) else "hidden"

    def _intervals(self, column: Column, name: str) -> Iterator[tuple[Ints, list[str]]]:
        numbers = number_column(Table({name: column}), name, "a hierarchy of widths").numbers
        index = np.floor((numbers - self.origin) / self.widths[0]).astype(np.int64)
        for position, width in enumerate(self.widths):
            if position:
                # From the level before: rounding cannot take an interval apart.
                index = index // round(width / self.widths[position - 1])
            used, codes = np.unique(index, return_inverse=True)
            starts = [self.origin + float(i) * width for i in used]
            yield codes, [f"[{start:.10g}, {start + width:.10g})" for start in starts]

    def _groups(self, column: Column, name: str) -> Iterator[tuple[Ints, list[str]]]:
        if self.groups and column.kind in (Kind.DATE, Kind.DATETIME):
            raise CaveatError(
                "dates have no groups",
                column=name,
                do="derive a year and group it",
                code="protection.column.unsupported",
            )
        members: list[str] = [_text(value) for value in column.levels.tolist()]
        codes = np.arange(len(members))
        for level, grouping in enumerate(self.groups, 1):
            group_of: dict[str, str] = {}
            for group, values in grouping.items():
                for value in map(_text, values):
                    if value in group_of:
                        raise CaveatError(
                            f"something is in two groups of level {level}",
                            column=name,
                            do="put every value into one group",
                            code="protection.group.duplicate",
                        )
                    group_of[value] = group
            absent = [i for i, member in enumerate(members) if member not in group_of]
            if absent:
                raise _undeclared(column, codes, absent[0], level, name)
            labels = list(dict.fromkeys(grouping))
            place = {group: i for i, group in enumerate(labels)}
            codes = np.array([place[group_of[member]] for member in members], np.int64)[codes]
            members = labels
            yield codes, labels


def _text(value: Any) -> str:
    """Return a value as it is compared: 3.0 in the data is 3 in a declaration."""
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def _undeclared(column: Column, codes: Ints, code: int, level: int, name: str) -> CaveatError:
    if level > 1:
        return CaveatError(
            f"a group of level {level - 1} is in no group of level {level}",
            column=name,
            do="name every group of the level before",
            code="protection.group.undeclared",
        )
    row = int(np.argmax(column.codes == np.flatnonzero(codes == code)[0])) + 1
    return CaveatError(
        "a value is in no declared group",
        column=name,
        row=row,
        do="declare every value that can occur, not only those that do",
        code="data.value.undeclared",
    )


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The levels of one column as arrays.

    Parameters
    ----------
    maps
        For each level the group of each code of level 0; the first is 0, 1, ….
    names
        For each level the names of the groups.

    Examples
    --------
    >>> Hierarchy((np.arange(3), np.array([0, 0, 1])), (("a", "b", "c"), ("ab", "c"))).top
    1
    """

    maps: tuple[Ints, ...]
    names: tuple[tuple[str, ...], ...]

    __repr__ = without_values

    def __post_init__(self) -> None:
        if not self.maps or not np.array_equal(self.maps[0], np.arange(len(self.maps[0]))):
            raise ValueError("level 0 leaves codes as they are")
        if len(self.maps) != len(self.names):
            raise ValueError("every level needs names")
        for low, high, names in zip(self.maps, self.maps[1:], self.names[1:], strict=False):
            if len(high) != len(low) or (len(high) and int(high.max()) >= len(names)):
                raise ValueError("a level does not fit its codes or names")
            if len(set(zip(low.tolist(), high.tolist(), strict=True))) != len(set(low.tolist())):
                raise ValueError("a level takes a group of the one before apart")

    @property
    def top(self) -> int:
        """The highest level."""
        return len(self.maps) - 1

    def column(self, original: Column, level: int, codes: Ints) -> Column:
        """Return released cells as a column that says nothing about any other cell.

        Which levels there are, how they are written and in which order they stand depends on the
        released cells alone: a single 2.5 that was not released must not make 1 a 1.0.

        Parameters
        ----------
        original
            The column that the hierarchy was made of.
        level
            Its level.
        codes
            Groups of this level, one per released row.
        """
        if level == 0 and original.kind.is_number:
            return _in_order(replace(original.with_codes(codes), storage=""))
        names = self.names[level]
        ways = () if names == (HIDDEN,) else original.missing
        missing = tuple(replace(m, code=None if m.code is None else str(m.code)) for m in ways)
        levels = np.array(names[: len(names) - len(ways)], dtype=object)
        labels = {_text(k): v for k, v in original.value_labels.items()} if level == 0 else {}
        made = Column(codes, levels, Kind.CATEGORY, missing, original.label, labels)
        return _in_order(made)


def _in_order(column: Column) -> Column:
    """Return a column with the levels that occur, sorted, and their labels."""
    column = column.compact()
    n = len(column.levels)
    order = np.argsort(column.levels, kind="stable")
    ways = sorted(range(len(column.missing)), key=lambda way: column.missing[way].key)
    place = np.empty(column.n_levels, np.int64)
    place[np.concatenate([order, n + np.array(ways, np.int64)])] = np.arange(column.n_levels)
    kept = set(column.levels.tolist())
    return replace(
        column,
        codes=place[column.codes],
        levels=column.levels[order],
        missing=tuple(column.missing[way] for way in ways),
        value_labels={k: v for k, v in column.value_labels.items() if k in kept},
    )


@dataclass(frozen=True, eq=False)
class Lattice:
    """All combinations of levels of some columns, from as they are to the tops.

    Examples
    --------
    >>> sex = Levels().of(Table.from_frame({"sex": ["f", "m"]})["sex"], "sex")
    >>> age = Levels([10]).of(Table.from_frame({"age": [31, 47]})["age"], "age")
    >>> lattice = Lattice((sex, age))
    >>> lattice.n_nodes, lattice.predecessors((1, 1))
    (6, [(0, 1), (1, 0)])
    >>> lattice.generalise(np.array([[0, 0], [1, 1]]), (1, 0)).tolist()
    [[0, 0], [0, 1]]
    """

    hierarchies: tuple[Hierarchy, ...]

    @property
    def top(self) -> Node:
        """The most general node."""
        return tuple(hierarchy.top for hierarchy in self.hierarchies)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return math.prod(level + 1 for level in self.top)

    def nodes(self) -> Iterator[Node]:
        """All nodes, in the order of their levels."""
        return itertools.product(*(range(level + 1) for level in self.top))

    def predecessors(self, node: Node) -> list[Node]:
        """Return the nodes that are one level lower in one column."""
        return [(*node[:i], level - 1, *node[i + 1 :]) for i, level in enumerate(node) if level]

    def generalise(self, codes: Ints, node: Node) -> Ints:
        """Return records at a node: one row per record and one column per hierarchy."""
        columns = zip(self.hierarchies, node, codes.T, strict=True)
        made = [hierarchy.maps[level][column] for hierarchy, level, column in columns]
        return np.stack(made, axis=1) if made else codes

    def sizes(self, node: Node) -> list[int]:
        """Return the number of groups of each column at a node."""
        pairs = zip(self.hierarchies, node, strict=True)
        return [len(hierarchy.names[level]) for hierarchy, level in pairs]

    def classes(self, codes: Ints, node: Node) -> tuple[Ints, int]:
        """Return the equivalence class of each record at a node, and the number of classes."""
        return equivalence_classes(self.generalise(codes, node), self.sizes(node))


def equivalence_classes(codes: Ints, sizes: Sequence[int]) -> tuple[Ints, int]:
    """Give the combinations of codes that occur the numbers 0, 1, … in their order.

    Parameters
    ----------
    codes
        One row per record.
    sizes
        Number of codes of each column.

    Returns
    -------
    The class of each record, and the number of classes.

    Examples
    --------
    >>> classes, n = equivalence_classes(np.array([[1, 0], [0, 2], [1, 0]]), [2, 3])
    >>> classes.tolist(), n
    ([1, 0, 1], 2)
    """
    if not sizes:
        return np.zeros(len(codes), np.int64), min(len(codes), 1)
    (cells,), n = key_cells([list(codes.T)], sizes)
    return cells, n


# -------------------------------------------------------------------------------------------------
# SafePub with a chosen sampling rate: real records, generalised, with a promise (ε, δ).
#
# Every record is kept with probability β, values are generalised by declared levels, and records
# whose combination of values fewer than k of the kept ones share are dropped. With k large enough
# for β this is differentially private (Li, Qardaji and Su 2012; Bild, Kuhn and Prasser 2018;
# Sugiyama et al. for β below the largest one). The levels are chosen by the exponential mechanism
# with Iyengar's score of a classification.


MOST_NODES = 20_000
LARGEST_K = 10**9
SHARE_OF_SEARCH = 0.1  # of epsilon, as in the papers
ROUNDING = 1e-9  # what the tails of the binomial may be too small by, many times over
ULPS = 4e-16
BITS = 2**64


def beta_max(epsilon: float) -> float:
    """Return the largest sampling rate that an ε allows: 1 − e^−ε, rounded down.

    Examples
    --------
    >>> [round(beta_max(epsilon), 4) for epsilon in (0.9, 1.8, 2.7)]
    [0.5934, 0.8347, 0.9328]
    """
    _check_epsilon(epsilon)
    return math.nextafter(math.nextafter(-math.expm1(-epsilon), 0.0), 0.0)


def delta_of(k: int, beta: float, epsilon: float) -> float:
    """Return an upper bound of δ for classes of k, a sampling rate and the ε of the anonymisation.

    With γ = 1 − (1 − β) e^−ε it is the largest P[Binomial(n, β) > γ n] over n ≥ k/γ − 1. All n are
    tried up to where the bound exp(−n KL(γ, β)) is below what was found. Rounding is upwards.

    Examples
    --------
    >>> f"{delta_of(44, beta_max(0.9), 0.9):.4g}"
    '9.898e-05'
    """
    _check_rate(beta, epsilon)
    if k < 1:
        raise CaveatError(
            "a class has 1 record or more",
            where="safepub",
            do="use k of 1 or more",
            code="outputs.setting.range",
        )
    gamma = 1 - (1 - beta) * math.exp(-epsilon)
    low, high = gamma - ULPS, gamma + ULPS
    rate = low * math.log(low / beta) + (1 - low) * math.log((1 - low) / (1 - beta))
    n, block, worst = max(math.ceil(k / high - 1), 1), 64, 0.0
    while worst < math.exp(-n * rate):
        tried = np.arange(n, n + block)
        most = np.floor(low * tried)
        tails = scipy.special.betainc(most + 1, tried - most, beta)  # P[Binomial(n, beta) > most]
        worst = max(worst, float(tails.max()))
        n, block = n + block, min(2 * block, 1 << 20)
    return min(1.0, worst * (1 + ROUNDING))


def smallest_k(beta: float, epsilon: float, delta: float) -> int:
    """Return the smallest k with ``delta_of(k, beta, epsilon)`` of at most δ.

    ARX and the papers print one more, and so does :func:`safepub` use it.

    Examples
    --------
    >>> [smallest_k(beta, 0.9, 1e-4) for beta in (0.5, 0.4, 0.3, 0.2)]
    [30, 21, 15, 10]
    """
    _check_delta(delta)
    high = 1
    while delta_of(high, beta, epsilon) > delta:
        high *= 2
        if high > LARGEST_K:
            raise CaveatError(
                "no class of any size is large enough",
                where="safepub",
                do="allow a larger delta or a smaller beta",
                code="outputs.limit.failed",
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if delta_of(middle, beta, epsilon) <= delta:
            high = middle
        else:
            low = middle
    return high


def _check_epsilon(epsilon: float) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise CaveatError(
            "epsilon must be above 0",
            where="safepub",
            do="use for instance 1",
            code="outputs.setting.range",
        )


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise CaveatError(
            "delta must lie between 0 and 1",
            where="safepub",
            do="use for instance 1e-6",
            code="outputs.setting.range",
        )


def _check_rate(beta: float, epsilon: float) -> None:
    largest = beta_max(epsilon)
    if not 0 < beta <= largest:
        raise CaveatError(
            f"the sampling rate must lie between 0 and {largest:.6f}",
            where="safepub",
            do="choose a smaller beta or a larger epsilon",
            code="outputs.setting.range",
        )


@dataclass(frozen=True)
class Promise:
    """What a release promises, fixed before any record is seen.

    Parameters
    ----------
    epsilon, delta
        What is promised in all.
    anonymisation, search
        The parts of ε: for sampling and suppression, and for the choice of levels.
    beta
        The probability that a record is kept.
    k
        The smallest class that is released.
    columns
        All columns of the release. Nothing else may be published of these records under the same
        promise.
    """

    epsilon: float
    delta: float
    anonymisation: float
    search: float
    beta: float
    k: int
    columns: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The promise in sentences."""
        return (
            f"differential privacy with epsilon {self.epsilon:g} ({self.anonymisation:g} for the "
            f"records, {self.search:g} for the choice of levels) and delta {self.delta:g}",
            "protected: one row of the data; two data sets are neighbours if one has one row more",
            f"covered: {', '.join(self.columns)}, and no other column; only the released file",
            "not covered: a person with several rows, how beta and the levels were chosen if "
            "somebody looked at results, and the counts of this run that are for the office",
        )


def promise_for(
    columns: tuple[str, ...], *, epsilon: float, delta: float, beta: float | None = None,
    search: float = SHARE_OF_SEARCH,
) -> Promise:  # fmt: skip
    """Return what a release with these parameters promises; no data are needed.

    Parameters
    ----------
    columns
        The columns of the release.
    epsilon, delta
        The whole promise.
    beta
        The sampling rate; the largest one if it is not given, which is not the best.
    search
        The share of ε that pays for the choice of levels.

    Examples
    --------
    >>> promise_for(("age", "sex"), epsilon=1, delta=1e-4, beta=0.4).k
    22
    """
    _check_epsilon(epsilon)
    _check_delta(delta)
    if not 0 < search < 1:
        raise CaveatError(
            "the share for the choice of levels must lie between 0 and 1",
            where="safepub",
            do="use for instance 0.1",
            code="outputs.setting.range",
        )
    chosen = epsilon * search
    rest = epsilon - chosen
    rate = beta_max(rest) if beta is None else beta
    _check_rate(rate, rest)
    return Promise(epsilon, delta, rest, chosen, rate, smallest_k(rate, rest, delta) + 1, columns)


def safepub(
    table: Table, levels: Mapping[str, Levels], response: str, *, epsilon: float, delta: float,
    beta: float | None = None, search: float = SHARE_OF_SEARCH,
) -> Protected:  # fmt: skip
    """Release real records of a table under a promise.

    Parameters
    ----------
    table
        The original records; one row per person. The kinds of its columns should be declared: one
        that was found from the data is outside the promise.
    levels
        The columns to release, with their declared levels.
    response
        One more column, released as it is: the class that an analyst will predict. Records are
        dropped as if it were a key; the choice of levels looks for large classes that agree on it.
    epsilon, delta, beta, search
        As for :func:`promise_for`.

    Returns
    -------
    Protected
        The released records, sorted, and the record of what was done. Its counts are for the office
        alone: the promise is about the released table.

    Notes
    -----
    Randomness is the operating system's, and there is no seed: who knows it knows who was sampled.
    The levels are chosen on a sample of their own, so that the promises of the two parts add up.
    The order of the rows is that of their values.
    """
    if response in levels:
        raise CaveatError(
            "the response is released as it is",
            column=response,
            do="declare no levels of it",
            code="outputs.column.conflict",
        )
    everything = {**levels, response: Levels(hides=False)}
    promise = promise_for(tuple(everything), epsilon=epsilon, delta=delta, beta=beta, search=search)
    lattice = _lattice(table, everything)
    codes = np.stack([table[name].codes.astype(np.int64) for name in everything], axis=1)
    node = _chosen(codes[_kept(len(codes), promise.beta)], lattice, promise)
    sample = codes[_kept(len(codes), promise.beta)]
    made, n_classes = _released(sample, lattice, node, promise.k)
    counts = {
        "rows": table.n_rows,
        "sampled": len(sample),
        "suppressed": len(sample) - len(made),
        "released": len(made),
        "classes": n_classes,
        **{f"{name}: level": level for name, level in zip(everything, node, strict=True)},
    }
    parameters = {
        "columns": list(everything), "response": response, "epsilon": epsilon, "delta": delta,
        "beta": promise.beta, "search": search, "k": promise.k,
    }  # fmt: skip
    step = Step("safepub", parameters, counts, reads_original=True, notes=_notes(promise, table))
    return Protected(_table(table, made, tuple(everything), lattice, node), step)


def _table(
    original: Table, made: Ints, names: tuple[str, ...], lattice: Lattice, node: Node
) -> Table:
    """Return the released records in the order of their values: nothing is left of another one."""
    columns = {
        name: lattice.hierarchies[i].column(original[name], node[i], made[:, i])
        for i, name in enumerate(names)
    }
    order = np.lexsort([column.codes for column in reversed(columns.values())])
    return Table(columns, original.backend).take(order)


def _lattice(table: Table, levels: Mapping[str, Levels]) -> Lattice:
    lattice = Lattice(tuple(one.of(table[name], name) for name, one in levels.items()))
    if lattice.n_nodes > MOST_NODES:
        raise CaveatError(
            f"there are {lattice.n_nodes:,} combinations of levels",
            where="safepub",
            do=f"declare fewer levels: {MOST_NODES:,} combinations are the most",
            code="outputs.level.too-many",
        )
    return lattice


def _notes(promise: Promise, table: Table) -> tuple[Note, ...]:
    notes = [Note("promise", words) for words in promise.words]
    left = [name for name in table if name not in promise.columns]
    if left:
        notes.append(Note("left-out", f"not released: {', '.join(left)}"))
    if promise.delta * table.n_rows >= 1:
        notes.append(
            Note(
                "large-delta",
                "delta is not below 1 / rows: a mechanism that publishes one record whole could "
                "keep such a promise",
            )
        )
    return tuple(notes)


def _kept(rows: int, beta: float) -> NDArray[np.bool_]:
    """Draw for each row whether it is kept: with probability β, never more, in whole numbers."""
    drawn = np.frombuffer(urandom(8 * rows), dtype=np.uint64)
    return np.asarray(drawn < np.uint64(math.floor(beta * BITS)))


def _chosen(sample: Ints, lattice: Lattice, promise: Promise) -> Node:
    """Choose a node by the exponential mechanism; one record changes a score by at most k."""
    from caveat.privacy.noise import choose

    nodes = list(lattice.nodes())
    scores = [_score(sample, lattice, node, promise.k) for node in nodes]
    return nodes[choose(np.array(scores, np.int64), promise.search / promise.k)]


def _score(sample: Ints, lattice: Lattice, node: Node, k: int) -> int:
    """Count the records that are released and agree with most of those alike but for the response.

    The response is the last column. Alike are records with equal values in all columns before it; a
    record is released if k have its values, the response among them. Adding a record changes one
    count, by 1 or from k − 1 that count as 0 to k.
    """
    made, sizes = lattice.generalise(sample, node), lattice.sizes(node)
    alike, n_alike = equivalence_classes(made[:, :-1], sizes[:-1])
    pairs, n_pairs = dense(alike * sizes[-1] + made[:, -1], n_alike * sizes[-1])
    counts = np.bincount(pairs, minlength=n_pairs)
    counts[counts < k] = 0
    most, group_of = np.zeros(n_alike, np.int64), np.zeros(n_pairs, np.int64)
    group_of[pairs] = alike
    np.maximum.at(most, group_of, counts)
    return int(most.sum())


def _released(sample: Ints, lattice: Lattice, node: Node, k: int) -> tuple[Ints, int]:
    """Return the records in classes of k or more, and the number of these classes."""
    classes, n = lattice.classes(sample, node)
    counts = np.bincount(classes, minlength=n)
    kept = counts[classes] >= k
    return lattice.generalise(sample[kept], node), int((counts >= k).sum())
