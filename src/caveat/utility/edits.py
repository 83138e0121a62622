"""Rules that records, or groups of records, should obey: how many do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.errors import UndefinedVariableError

from caveat.errors import CaveatError
from caveat.table import Column, Kind, Table
from caveat.utility.comparison import Comparison
from caveat.utility.weighting import UNWEIGHTED, WEIGHTED, Weights

__all__ = ["EditRule", "RuleResult", "check_rules", "rule_notes"]


@dataclass(frozen=True)
class EditRule:
    """If `condition` then `consequence`.

    Parameters
    ----------
    consequence
        What must hold, in the syntax of ``pandas.DataFrame.eval``: ``"age >= 18"``.
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


def check_rules(comparison: Comparison, rules: Mapping[str, EditRule]) -> dict[str, RuleResult]:
    """Count violations in both tables.

    Missing cells make a comparison false, as in pandas.

    Examples
    --------
    >>> people = {"age": [12, 40], "married": ["no", "yes"]}
    >>> release = {"age": [12, 40], "married": ["yes", "yes"]}
    >>> rule = EditRule("married == 'no'", "age < 16")
    >>> check_rules(Comparison.of(people, release), {"child": rule})["child"].synthetic
    1.0
    """
    frames = [_frame(comparison.original), _frame(comparison.synthetic)]
    weights = comparison.weights
    found = {}
    for name, rule in rules.items():
        ours, n = _violations(frames[0], rule, name, weights)
        theirs, k = _violations(frames[1], rule, name)
        holds = None if rule.group else _truth(frames[0], rule.consequence, name)
        prior = None if holds is None else 1 - float(np.average(holds, weights=weights))
        found[name] = RuleResult(ours, theirs, n, k, prior)
    return found


def rule_notes(comparison: Comparison, rules: Mapping[str, EditRule]) -> tuple[str, ...]:
    """Say against what the rules of records and those of groups are measured."""
    if comparison.weights is None:
        return ()
    groups = [name for name, rule in rules.items() if rule.group is not None]
    grouped = (f"{UNWEIGHTED}: {', '.join(groups)}, groups have no weight",) if groups else ()
    return grouped if len(groups) == len(rules) else (WEIGHTED, *grouped)


def _violations(
    frame: Any, rule: EditRule, name: str, weights: Weights = None
) -> tuple[float | None, int]:
    """Return the share of violations, and the number of records or groups concerned."""
    holds = _truth(frame, rule.consequence, name)
    concerned = np.ones(len(frame), bool)
    if rule.condition is not None:
        concerned = _truth(frame, rule.condition, name)
    if rule.group is None:
        broken = ~holds[concerned]
        weight = None if weights is None else weights[concerned]
        return float(np.average(broken, weights=weight)) if len(broken) else None, len(broken)
    if rule.group not in frame:
        raise CaveatError("there is no such column", where=f"rule {name}", do="check its name")
    met = (frame.assign(_met=holds & concerned).groupby(rule.group, observed=True))["_met"].any()
    return float((~met).mean()) if len(met) else None, len(met)


def _truth(frame: Any, expression: str, name: str) -> NDArray[np.bool_]:
    try:
        value = frame.eval(expression, engine="python")
    except UndefinedVariableError:
        raise CaveatError(
            "the expression names a column that is not there",
            where=f"rule {name}",
            do=f"choose among {', '.join(map(str, frame))}",
        ) from None
    except Exception as error:
        raise CaveatError(
            f"the expression cannot be evaluated ({type(error).__name__})",
            where=f"rule {name}",
            do="write comparisons of columns joined by and, or, not",
        ) from error
    return np.broadcast_to(np.asarray(value, dtype=bool), len(frame))


def _frame(table: Table) -> Any:
    """Return a table as a pandas frame: numbers with NaN, everything else as text or None."""
    return pd.DataFrame({name: _cells(table[name]) for name in table})


def _cells(column: Column) -> Any:
    ways = len(column.missing)
    if column.kind.is_number or column.kind is Kind.BOOLEAN:
        return np.append(column.numbers, np.full(ways, np.nan))[column.codes]
    lookup = np.array([*map(str, column.levels.tolist()), *[None] * ways], dtype=object)
    return pd.Series(lookup[column.codes], dtype=object)
