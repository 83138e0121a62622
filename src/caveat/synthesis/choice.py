"""How many predictors are chosen for the columns of a wide table, and what is said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from caveat.errors import CaveatError
from caveat.synthesis._pairs import BINS
from caveat.synthesis.methods import Settings

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan

__all__ = ["ALL", "AUTO", "MOST", "WIDE", "Choice", "all_or_named", "how_many", "is_drawn"]

AUTO, ALL = "auto", "all"
WIDE = 60
"""Columns up to which every one is drawn from all before it."""
MOST = 20
"""Columns that one of a wide table is drawn from."""


def is_drawn(settings: Settings) -> bool:
    """Whether predictors of a column with these settings are drawn, not taken."""
    return settings.method == "guarded"


@dataclass(frozen=True)
class Choice:
    """How predictors were chosen in a plan.

    Parameters
    ----------
    most
        Predictors that were chosen for a column, beside those that were declared.
    rows
        Records in which columns were compared, at most.
    temperature
        The chance in the choice for guarded trees, in nats.
    declared
        The columns whose predictors were chosen, each with those that were not: rules, derived
        columns and strata need them.
    """

    most: int
    rows: int
    temperature: float
    declared: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "declared", MappingProxyType(dict(self.declared)))

    def described(self, columns: Mapping[str, ColumnPlan]) -> dict[str, Any]:
        """Return how it was done, for the evidence; there is a temperature if any are drawn."""
        drawn = any(is_drawn(columns[name].settings) for name in self.declared)
        return {
            "columns": len(self.declared),
            "most": self.most,
            "rows": self.rows,
            "temperature": self.temperature if drawn else None,
            "says": self.words(columns),
        }

    def words(self, columns: Mapping[str, ColumnPlan]) -> str:
        """Return how it was done, for people."""
        taken = "the strongest are taken, and the strong attacker takes them again in every world"
        drawn = (
            f"they are drawn, of two columns the one that tells {self.temperature:g} nats more e "
            "times as often, and the strong attacker knows which, and how probable that was"
        )
        kinds = {is_drawn(columns[name].settings) for name in self.declared}
        how = drawn if kinds == {True} else taken
        if len(kinds) > 1:
            how = f"for guarded trees {drawn}; for others {taken}"
        return (
            f"{len(self.declared):,} columns are drawn from {self.most} columns before them each, "
            "those that tell most about them (mutual information less chance, in "
            f"{self.rows:,} records), beside what rules, derived columns and strata need; {how}"
        )

    def worst_case(self, columns: Mapping[str, ColumnPlan]) -> float:
        """Return a bound on what a record can do to the log probability of all draws.

        A score of n records changes by at most log n + 1, and by 29/2 where codes come or go in
        both columns; so each draw changes by at most twice as much over the temperature.
        """
        drawn = sum(is_drawn(columns[name].settings) for name in self.declared)
        most = log(self.rows) + 1 + (2 * BINS - 3) / 2
        return drawn * self.most * 2 * most / self.temperature

    def state(self) -> dict[str, Any]:
        """Return the choice as plain values."""
        declared = {name: list(others) for name, others in self.declared.items()}
        return {
            "most": self.most,
            "rows": self.rows,
            "temperature": self.temperature,
            "declared": declared,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Choice:
        """Return the choice from plain values, or raise ValueError."""
        most, rows, temperature = state["most"], state["rows"], state["temperature"]
        if not (type(most) is type(rows) is int and most >= 1 and rows >= 1):
            raise ValueError("no numbers of columns and rows")
        if not (isinstance(temperature, float) and 0 < temperature < np.inf):
            raise ValueError("no temperature")
        declared = {name: tuple(others) for name, others in state["declared"].items()}
        return cls(most, rows, temperature, declared)

    def check(self, columns: Mapping[str, ColumnPlan]) -> None:
        """Raise CaveatError unless the predictors of these columns can have been chosen so."""
        for name, declared in self.declared.items():
            entry = columns.get(name)
            if (
                entry is None
                or not set(declared) <= set(entry.predictors)
                or len(entry.predictors) - len(declared) > self.most
            ):
                raise CaveatError("the plan contradicts itself", code="model.file.damaged")


def how_many(options: Mapping[str, Any], n_columns: int) -> int | None:
    """Return how many predictors are chosen for a column, as the options say; None for all.

    ``predictors`` is "auto", "all", a whole number, or a table with those of single columns.

    Examples
    --------
    >>> [how_many({"predictors": given}, 100) for given in ("auto", "all", 7, {"b": ["a"]})]
    [20, None, 7, 20]
    """
    given = options.get("predictors", AUTO)
    if isinstance(given, Mapping) or given == AUTO:
        return MOST if n_columns > WIDE else None
    if given == ALL:
        return None
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and given >= 1:
        return int(given)
    raise CaveatError(
        "predictors must be auto, all, a whole number, 1 or more, or a table of columns",
        where="synthesis",
        do='write predictors = "auto", or name those of a column in its own entry',
        entry=("predictors",),
        code="synthesis.setting.type",
    )


def all_or_named(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the predictors that are named for single columns of linked tables or groups.

    All others are drawn from everything before them there: a number of columns is refused.
    """
    given = options.get("predictors", {})
    if isinstance(given, Mapping):
        return given
    if how_many(options, 0) is not None:
        raise CaveatError(
            "predictors are chosen in a table that stands by itself, not in groups or linked ones",
            where="synthesis",
            do="leave the number out, or name the predictors of a column in its own entry",
            entry=("predictors",),
            code="synthesis.setting.conflict",
        )
    return {}
