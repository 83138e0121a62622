"""Rules that records, or groups of records, should obey: how many do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.notes import Note
from caveat.table import Table
from caveat.table.linked import Members
from caveat.utility.pair import WeightedPair
from caveat.utility.weighting import WEIGHTED, Weights, unweighted

__all__ = ["EditRule", "RuleResult", "check_rule", "check_rules", "rule_notes", "truth"]


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
