"""The structure of grouped data, and rules that records or groups of records should obey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.notes import Note
from caveat.table import Table
from caveat.table.grouping import joined_tables
from caveat.table.linked import Members, members_of, shared_columns, varies
from caveat.table.table import Column
from caveat.utility.correlations import association_matrix
from caveat.utility.pair import (
    WEIGHTED,
    PairGroups,
    WeightedPair,
    Weights,
    group_weights,
    unweighted,
)


@dataclass(frozen=True)
class EditRule:
    """If `condition` then `consequence`.

    Parameters
    ----------
    consequence
        What must hold, a condition of :class:`caveat.expressions.Expression`: ``"age >= 18"``.
    condition
        For which records; all unless given.
    group
        A column. Each of its groups then needs at least one record that meets condition and
        consequence: ``EditRule("age >= 18", group="household")`` says that no household is without
        an adult.
    """

    consequence: str
    condition: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class RuleResult:
    """How a rule fares.

    Attributes
    ----------
    original, synthetic
        Share of the records under the condition (or groups) that violate the rule; ``None`` where
        there are none. Records of the original count by their weights, groups do not.
    original_n, synthetic_n
        Number of these records or groups.
    chance
        Violations that independent columns would have: one minus the share of the consequence among
        all original records. ``None`` for groups.
    """

    original: float | None
    synthetic: float | None
    original_n: int
    synthetic_n: int
    chance: float | None


def check_rules(pair: WeightedPair, rules: Mapping[str, EditRule]) -> dict[str, RuleResult]:
    """Count violations in both tables.

    Missing cells make a comparison false, but for ``!=`` and ``not in``.

    Examples
    --------
    >>> people = {"age": [12, 40], "married": ["no", "yes"]}
    >>> release = {"age": [12, 40], "married": ["yes", "yes"]}
    >>> rule = EditRule("married == 'no'", "age < 16")
    >>> check_rules(WeightedPair.of(people, release), {"child": rule})["child"].synthetic
    1.0
    """
    original, weights, groups = pair.original, pair.weights, pair.groups
    found = {}
    for name, rule in rules.items():
        by_key = groups is not None and rule.group == groups.said.key
        ours, n = _violations(
            original, rule, name, weights, groups.original if by_key and groups else None
        )
        theirs, k = _violations(
            pair.synthetic, rule, name, None, groups.synthetic if by_key and groups else None
        )
        holds = None if rule.group else truth(original, rule.consequence, name)
        prior = None if holds is None else 1 - float(np.average(holds, weights=weights))
        found[name] = RuleResult(ours, theirs, n, k, prior)
    return found


def rule_notes(pair: WeightedPair, rules: Mapping[str, EditRule]) -> tuple[Note, ...]:
    """Say against what the rules of records and those of groups are measured."""
    if pair.weights is None:
        return ()
    groups = [name for name, rule in rules.items() if rule.group is not None]
    grouped = (unweighted(f"{', '.join(groups)}, groups have no weight"),) if groups else ()
    return grouped if len(groups) == len(rules) else (WEIGHTED, *grouped)


def check_rule(table: Table, rule: EditRule, name: str) -> None:
    """Refuse a rule that cannot be held against a table."""
    _violations(table, rule, name)


def _violations(
    table: Table,
    rule: EditRule,
    name: str,
    weights: Weights = None,
    members: Members | None = None,
) -> tuple[float | None, int]:
    """Return the share of violations, and the number of records or groups concerned.

    The groups of a key that was taken out of the table come as `members`.
    """
    holds = truth(table, rule.consequence, name)
    concerned = np.ones(table.n_rows, bool)
    if rule.condition is not None:
        concerned = truth(table, rule.condition, name)
    if rule.group is None:
        broken = ~holds[concerned]
        weight = None if weights is None else weights[concerned]
        return float(np.average(broken, weights=weight)) if len(broken) else None, len(broken)
    if members is not None:
        met = np.bincount(members.group[holds & concerned], minlength=members.n_groups)
        broken = met[members.sizes > 0] == 0
        return float(broken.mean()) if len(broken) else None, len(broken)
    if rule.group not in table:
        raise CaveatError(
            "there is no such column",
            where=f"rule {name}",
            do="check its name",
            code="data.column.unknown",
        )
    group = table[rule.group]
    n = len(group.levels)  # a missing cell belongs to no group
    met = np.bincount(group.codes[holds & concerned], minlength=group.n_levels)[:n]
    broken = met[group.counts[:n] > 0] == 0
    return float(broken.mean()) if len(broken) else None, len(broken)


def truth(table: Table, text: str, name: str) -> NDArray[np.bool_]:
    """Return the rows in which a condition of the rule of this name holds."""
    try:
        expression = Expression(text)
        absent = [column for column in expression.columns if column not in table]
        if not absent:
            return expression.holds(table.columns)
    except CaveatError as error:
        raise CaveatError(
            f"the expression cannot be evaluated: {error.what}",
            where=f"rule {name}",
            do=error.do or "write comparisons of columns joined by and, or, not",
            code=error.code,
        ) from error
    raise CaveatError(
        "the expression names a column that is not there",
        where=f"rule {name}",
        do=f"choose among {', '.join(table.names)}",
        code="data.column.unknown",
    )


# -------------------------------------------------------------------------------------------------
# The structure of grouped data: sizes, compositions, what members share, how they go together.
#
# Groups of the original count by the mean weight of their members. Nothing here depends on the
# order of rows or on what the keys are called.


Floats = NDArray[np.float64]
LEAST_SHARE = 0.05  # of the original's rows, for a class that counts for itself


def groups_in(pair: WeightedPair) -> PairGroups:
    """Return who belongs together, or say that nobody said so."""
    if pair.groups is None:
        raise CaveatError(
            "no column says which rows belong together",
            do="name it (groups)",
            code="measure.group.undeclared",
        )
    return pair.groups


def constant_of(pair: WeightedPair) -> tuple[str, ...]:
    """Return the columns with one value for the whole group, as said or as in the original.

    Of those that were named, those that are compared: a release need not hold them all.
    """
    groups = groups_in(pair)
    if groups.said.constant is not None:
        return tuple(name for name in groups.said.constant if name in pair.names)
    return pair.once("constant", lambda: shared_columns(pair.original, groups.original))


@dataclass(frozen=True)
class GroupCounts:
    """How many groups there are.

    Attributes
    ----------
    original, synthetic
        Groups in either table; those of the original by their weights.
    rows_original, rows_synthetic
        Rows in either table.
    """

    original: float
    synthetic: int
    rows_original: int
    rows_synthetic: int

    @property
    def relative(self) -> float:
        """Groups per row of the synthetic table over those of the original, minus 1."""
        ours, theirs = self.original / self.rows_original, self.synthetic / self.rows_synthetic
        return theirs / ours - 1


def group_counts(pair: WeightedPair) -> GroupCounts:
    """Count the groups of both tables."""
    groups = groups_in(pair)
    weights = group_weights(groups.original, pair.weights)
    ours = float(groups.original.n_groups if weights is None else weights.sum())
    return GroupCounts(ours, groups.synthetic.n_groups, pair.n_original, pair.n_synthetic)


def size_distance(pair: WeightedPair) -> float:
    """Return the total variation distance of the numbers of members of a group.

    For children of parents these are the numbers of children, 0 included.
    """
    groups = groups_in(pair)
    weights = group_weights(groups.original, pair.weights)
    return _total_variation(groups.original.sizes, groups.synthetic.sizes, weights)


def size_shares(pair: WeightedPair, most: int) -> list[tuple[int, float, float]]:
    """Return which share of the groups of both tables has each number of members.

    The last number stands for itself and all above it.
    """
    groups = groups_in(pair)
    weights = group_weights(groups.original, pair.weights)
    sizes = [np.minimum(m.sizes, most) for m in (groups.original, groups.synthetic)]
    n = max(int(s.max(initial=0)) for s in sizes) + 1
    ours, theirs = np.bincount(sizes[0], weights, n), np.bincount(sizes[1], minlength=n)
    return [
        (k, float(ours[k] / ours.sum()), float(theirs[k] / theirs.sum()))
        for k in range(n)
        if ours[k] or theirs[k]
    ]


def compositions(pair: WeightedPair, bands: int = 5) -> dict[str, float]:
    """Return for each column how far the tables of compositions are apart: total variation.

    The composition of a group is which classes its members have: only women, only men, both.
    Numbers are cut into bands on both tables pooled; a class that fewer than 5 % of the original
    have counts together with the other rare ones. Columns with one value per group have no
    composition.
    """
    groups = groups_in(pair)
    fixed = {*constant_of(pair), size_column(pair)}
    there = groups.original.sizes > 0
    weights = group_weights(groups.original, pair.weights)
    kept = None if weights is None else weights[there]
    found = {}
    for name, category in pair.categories(bands).items():
        if name in fixed:
            continue
        share = pair.weigh(category.original, category.n_levels) / pair.n_original
        frequent = share >= LEAST_SHARE
        place = np.where(frequent, np.cumsum(frequent), 0)  # 0: a rare class
        ours = _patterns(groups.original, place[category.original], int(frequent.sum()) + 1)
        theirs = _patterns(groups.synthetic, place[category.synthetic], int(frequent.sum()) + 1)
        found[name] = _total_variation(ours[there], theirs[groups.synthetic.sizes > 0], kept)
    return found


def _patterns(members: Members, classes: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return for each group which classes occur in it, as the digits of a binary number."""
    hits = np.bincount(members.group * n + classes, minlength=members.n_groups * n) > 0
    return np.asarray(hits.reshape(-1, n) @ (1 << np.arange(n, dtype=np.int64)))


def _total_variation(ours: NDArray[np.int64], theirs: NDArray[np.int64], weights: Weights) -> float:
    _, place = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    n = int(place.max()) + 1
    p = np.bincount(place[: len(ours)], weights, n)
    q = np.bincount(place[len(ours) :], minlength=n)
    return float(np.abs(p / p.sum() - q / q.sum()).sum() / 2)


def one_value(pair: WeightedPair) -> dict[str, float | None]:
    """Return for each constant column the share of synthetic groups in which it has one value.

    Groups of one member have one value of everything and do not count; None if there are no others.
    """
    members = groups_in(pair).synthetic
    several = members.sizes > 1
    found: dict[str, float | None] = {}
    for name in constant_of(pair):
        wrong = varies(pair.synthetic[name].codes.astype(np.int64), members)[several]
        found[name] = 1 - float(wrong.mean()) if len(wrong) else None
    return found


def size_column(pair: WeightedPair) -> str | None:
    """Return the column that holds the number of members, if there is one."""
    groups = groups_in(pair)
    if groups.original.sizes.max(initial=0) < 2:
        return None
    return pair.once(
        "size column",
        lambda: next(
            (n for n in pair.numeric if _agreement(pair.original[n], groups.original) == 1), None
        ),
    )


def size_agreement(pair: WeightedPair, name: str) -> tuple[float, float]:
    """Return the share of rows in which a column is the number of members, in both tables."""
    groups = groups_in(pair)
    return (
        _agreement(pair.original[name], groups.original),
        _agreement(pair.synthetic[name], groups.synthetic),
    )


def _agreement(column: Column, members: Members) -> float:
    return float((column.cell_numbers == members.sizes[members.group]).mean())


def within_groups(pair: WeightedPair) -> dict[str, tuple[float, float]]:
    """Return how members of a group go together, column by column: original and synthetic.

    With an order it is the first against the second member of every group that has both: Pearson's
    correlation of numbers, Cramér's V of classes. Without one it is every member against every
    other one of its group (the intraclass correlation), such that each member counts once. Columns
    with one value per group are left out, and so are those for which either figure is not defined.
    """
    groups = groups_in(pair)
    sides = (
        (pair.original, groups.original, group_weights(groups.original, pair.weights)),
        (pair.synthetic, groups.synthetic, None),
    )
    fixed = {*constant_of(pair), size_column(pair)}
    names = [name for name in pair.names if name not in fixed]
    order = groups.said.order
    if order.removeprefix("-") not in pair.names:  # it may be an identifier
        order = ""
    figures = []
    for table, members, weights in sides:
        if order:
            figures.append(_first_and_second(table, members, weights, names, order))
        else:
            figures.append({n: _intraclass(table[n], members, weights) for n in names})
    return {
        name: (figures[0][name], figures[1][name])
        for name in names
        if np.isfinite([figures[0][name], figures[1][name]]).all()
    }


def _first_and_second(
    table: Table, members: Members, weights: Weights, names: Sequence[str], order: str
) -> dict[str, float]:
    """Return the association of the first and the second member's value of each column.

    Members that the order does not tell apart are told apart by their other values, so that the
    order of rows does not matter.
    """
    by = table[order.removeprefix("-")]
    codes = by.codes.astype(np.int64)
    falling = np.where(by.is_missing, codes, -codes) if order.startswith("-") else codes
    ties = [table[name].codes for name in reversed(table.names)]
    rows = np.lexsort((*ties, falling, members.group))
    pairs = np.flatnonzero(members.sizes > 1)
    starts = members.starts[pairs]
    first, second = rows[starts], rows[starts + 1]
    scale = None
    if weights is not None and len(pairs):
        scale = weights[pairs] * (len(pairs) / weights[pairs].sum())
    found = {}
    for name in names:
        column = table[name]
        both = Table({"first": column.take(first), "second": column.take(second)})
        enough = len(pairs) > 1
        found[name] = float(association_matrix(both, scale)[0, 1]) if enough else float("nan")
    return found


def _intraclass(column: Column, members: Members, weights: Weights) -> float:
    """Return how the members of a group agree: every pair of them, each member counted once."""
    held = ~column.is_missing if column.kind.is_number else np.ones(len(column), bool)
    size = np.bincount(members.group[held], minlength=members.n_groups)
    held &= (size > 1)[members.group]
    if not held.any():
        return float("nan")
    group, by_group = members.group[held], 1 / np.maximum(size - 1, 1)
    each = np.ones(held.sum()) if weights is None else weights[group]
    if weights is not None:
        by_group = by_group * weights
    if not column.kind.is_number:
        return _intraclass_cramer(column.codes[held], group, members.n_groups, by_group, each)
    x = column.cell_numbers[held]
    x = x - np.average(x, weights=each)
    total = float((each * x**2).sum())
    if not total > 0:
        return float("nan")
    sums = np.bincount(group, x, members.n_groups)
    squares = np.bincount(group, x**2, members.n_groups)
    return float((by_group * (sums**2 - squares)).sum()) / total


def _intraclass_cramer(
    codes: NDArray[np.integer],
    group: NDArray[np.int64],
    n_groups: int,
    by_group: Floats,
    each: Floats,
) -> float:
    """Return Cramér's V of the table of all ordered pairs of members."""
    levels, codes = np.unique(codes, return_inverse=True)
    if len(levels) < 2:
        return float("nan")
    counts = scipy.sparse.csr_array(
        (np.ones(len(codes)), (group, codes)), shape=(n_groups, len(levels))
    )
    counts.sum_duplicates()
    weighted = counts.multiply(by_group[:, None]).tocsr()
    # Pairs of a member with itself are no pairs.
    pairs = (counts.T @ weighted).tocoo()
    own = np.bincount(codes, by_group[group], len(levels))
    i, j = pairs.coords
    values = pairs.data - np.where(i == j, own[i], 0.0)
    shares = np.bincount(codes, each, len(levels)) / each.sum()
    chi = float((values**2 / (shares[i] * shares[j])).sum()) / each.sum() ** 2 - 1
    return float(np.sqrt(max(0.0, chi) / (len(levels) - 1)))


def joined_pair(pair: WeightedPair) -> WeightedPair:
    """Return the pair of tables with a row per group: what is shared, and the members together.

    See :func:`caveat.table.grouping.joined_tables`.
    """
    groups = groups_in(pair)
    linked = groups.original.parents is not None
    constant = () if linked else constant_of(pair)

    def make() -> WeightedPair:
        ours, theirs = joined_tables(
            (pair.original, pair.synthetic), (groups.original, groups.synthetic), constant
        )
        found = WeightedPair.of(ours, theirs, group_weights(groups.original, pair.weights))
        found.model_rows = pair.model_rows
        return found

    return pair.once("joined", make)


@dataclass(frozen=True)
class Composition:
    """A kind of group, by conditions that its members meet.

    Parameters
    ----------
    some
        Conditions of :class:`caveat.expressions.Expression`; the group has a member for each.
    none
        Conditions that none of its members meets: ``Composition(none=("age >= 18",))`` is a group
        of children only.
    """

    some: tuple[str, ...] = ()
    none: tuple[str, ...] = ()


def count_groups(
    table: Table, key: str, kinds: Mapping[str, Composition], weights: Weights = None
) -> dict[str, float]:
    """Count the groups of each kind; with weights of the rows, how many they stand for.

    Examples
    --------
    >>> people = {"home": [1, 1, 2, 3], "sex": ["f", "m", "m", "f"], "age": [40, 41, 12, 70]}
    >>> kinds = {
    ...     "children only": Composition(none=("age >= 18",)),
    ...     "mixed": Composition(some=("sex == 'f'", "sex == 'm'")),
    ... }
    >>> count_groups(Table.from_frame(people), "home", kinds)
    {'children only': 1.0, 'mixed': 1.0}
    """
    members = members_of(table, key)
    each = np.ones(members.n_groups) if weights is None else members.means(weights)

    def has(text: str, name: str) -> NDArray[np.bool_]:
        return np.bincount(members.group, truth(table, text, name), members.n_groups) > 0

    found = {}
    for name, kind in kinds.items():
        meets = np.ones(members.n_groups, dtype=bool)
        for text in kind.some:
            meets &= has(text, name)
        for text in kind.none:
            meets &= ~has(text, name)
        found[name] = float(each[meets].sum())
    return found
