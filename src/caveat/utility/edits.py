"""Rules that records, or groups of records, should obey: how many do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.table import Table
from caveat.utility.comparison import Comparison

__all__ = ["EditRule", "RuleResult", "check_rule", "check_rules"]


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
        there are none.
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


def check_rules(comparison: Comparison, rules: Mapping[str, EditRule]) -> dict[str, RuleResult]:
    """Count violations in both tables.

    Missing cells make a comparison false, but for ``!=`` and ``not in``.

    Examples
    --------
    >>> people = {"age": [12, 40], "married": ["no", "yes"]}
    >>> release = {"age": [12, 40], "married": ["yes", "yes"]}
    >>> rule = EditRule("married == 'no'", "age < 16")
    >>> check_rules(Comparison.of(people, release), {"child": rule})["child"].synthetic
    1.0
    """
    tables = comparison.original, comparison.synthetic
    found = {}
    for name, rule in rules.items():
        (ours, n), (theirs, k) = (_violations(table, rule, name) for table in tables)
        prior = None if rule.group else 1 - float(_truth(tables[0], rule.consequence, name).mean())
        found[name] = RuleResult(ours / n if n else None, theirs / k if k else None, n, k, prior)
    return found


def check_rule(table: Table, rule: EditRule, name: str) -> None:
    """Refuse a rule that cannot be held against a table."""
    _violations(table, rule, name)


def _violations(table: Table, rule: EditRule, name: str) -> tuple[int, int]:
    holds = _truth(table, rule.consequence, name)
    concerned = np.ones(table.n_rows, bool)
    if rule.condition is not None:
        concerned = _truth(table, rule.condition, name)
    if rule.group is None:
        return int((concerned & ~holds).sum()), int(concerned.sum())
    if rule.group not in table:
        raise CaveatError("there is no such column", where=f"rule {name}", do="check its name")
    group = table[rule.group]
    n = len(group.levels)  # a missing cell belongs to no group
    met = np.bincount(group.codes[holds & concerned], minlength=group.n_levels)[:n]
    groups = group.counts[:n] > 0
    return int((groups & (met == 0)).sum()), int(groups.sum())


def _truth(table: Table, text: str, name: str) -> NDArray[np.bool_]:
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
        ) from error
    raise CaveatError(
        "the expression names a column that is not there",
        where=f"rule {name}",
        do=f"choose among {', '.join(table.names)}",
    )
