"""What a plan says about columns that are made from margins: the tables, and who follows whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.synthesis.coding import Coding
from caveat.synthesis.margins.cells import cells_of, n_cells_of
from caveat.synthesis.margins.choose import spanning_tree
from caveat.synthesis.margins.clearing import Clearing
from caveat.synthesis.margins.promise import Promise
from caveat.synthesis.margins.tables import MOST_CELLS, check_size, within
from caveat.table import Table

__all__ = ["MARGINS", "MarginsPlan", "components", "is_tree", "plan_margins"]

MARGINS = "margins"
"""The name of the method."""

Margin = tuple[str, ...]


@dataclass(frozen=True)
class MarginsPlan:
    """The tables that columns are made from.

    Parameters
    ----------
    margins
        The columns of each table; none is within another.
    chosen
        Whether they were chosen by mutual information; else they were given.
    clearing
        The rules that the tables are cleared by; None if they are taken as they are.
    promise
        The guarantee that is given, with what was measured; None if there is none.

    Examples
    --------
    >>> plan = MarginsPlan((("a", "c"), ("b", "c")))
    >>> plan.arranged(["a", "b", "c"])
    {'a': (), 'c': ('a',), 'b': ('c',)}
    """

    margins: tuple[Margin, ...]
    chosen: bool = False
    clearing: Clearing | None = None
    promise: Promise | None = None

    def __str__(self) -> str:
        tables = ", ".join(" × ".join(margin) for margin in self.margins)
        chosen = " (a tree chosen by mutual information)" if self.chosen else ""
        cleared = "" if self.clearing is None else f"\nclearing: {self.clearing}"
        if self.promise is not None:
            cleared = f"\n{self.promise}"
            chosen = " (pairs are chosen privately)" if self.chosen else ""
        return f"margins: {tables}{chosen}{cleared}"

    def arranged(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the columns with those that each is drawn from, which come before it.

        The order of the names is kept as far as that allows.
        """
        found: dict[str, tuple[str, ...]] = {}
        for part in components(self.margins):
            own = [name for name in names if any(name in margin for margin in part)]
            found |= _tree(part, own) if is_tree(part) else _joint(own)
        order: list[str] = []
        while len(order) < len(found):
            ready = (n for n in names if n in found and n not in order)
            order.append(next(n for n in ready if set(found[n]) <= set(order)))
        return {name: found[name] for name in order}

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        return {
            "margins": [list(margin) for margin in self.margins],
            "chosen": self.chosen,
            "clearing": None if self.clearing is None else self.clearing.state(),
            "promise": None if self.promise is None else self.promise.state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> MarginsPlan:
        """Return the plan from a file, or raise an error if it is none."""
        margins = tuple(tuple(margin) for margin in state["margins"])
        names = list(dict.fromkeys(name for margin in margins for name in margin))
        if margins != maximal(margins) or not isinstance(state["chosen"], bool):
            raise ValueError("no margins")
        check_margins(margins, names)
        rules, promise = state["clearing"], state["promise"]
        return cls(
            margins,
            state["chosen"],
            None if rules is None else Clearing.of(rules),
            None if promise is None else Promise.from_state(promise),
        )


def _tree(part: Sequence[Margin], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of a tree with their parents; the first one is the root."""
    found: dict[str, tuple[str, ...]] = {names[0]: ()}
    pairs = [margin for margin in part if len(margin) == 2]
    while pairs:
        for pair in pairs:
            known = [name for name in pair if name in found]
            if known:
                (child,) = (name for name in pair if name not in found)
                found[child] = (known[0],)
                pairs = [other for other in pairs if other != pair]
                break
    return found


def _joint(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(names[:position]) for position, name in enumerate(names)}


def maximal(margins: Sequence[Sequence[str]]) -> tuple[Margin, ...]:
    """Return the margins that are within no other, each once."""
    once = {frozenset(margin): tuple(margin) for margin in reversed(list(margins))}
    kept = [m for key, m in once.items() if not any(key < other for other in once)]
    return tuple(reversed(kept))


def components(margins: Sequence[Margin]) -> list[list[Margin]]:
    """Return the margins in groups that have no column in common."""
    parts: list[list[Margin]] = []
    for margin in margins:
        touched = [p for p in parts if any(set(margin) & set(other) for other in p)]
        joined = [other for part in touched for other in part]
        parts = [part for part in parts if part not in touched] + [[*joined, margin]]
    return parts


def is_tree(part: Sequence[Margin]) -> bool:
    """Whether connected margins are pairs, or a column alone, without a circle."""
    names = {name for margin in part for name in margin}
    pairs = [margin for margin in part if len(margin) == 2]
    return all(len(margin) <= 2 for margin in part) and len(pairs) == len(names) - 1


def check_margins(margins: Sequence[Sequence[str]], names: Sequence[str]) -> None:
    """Refuse margins that are no tables of these columns, or leave one of them out."""
    for margin in margins:
        for name in margin:
            if name not in names:
                raise _wrong(
                    f"{name!r} is in a margin and is not made from margins",
                    f"use columns with the method margins: {', '.join(names)}",
                    "synthesis.margins.mismatch",
                )
        if not margin or len(set(margin)) < len(margin):
            raise _wrong(
                "a margin is empty, or has a column twice",
                "name the columns of each table once",
                "synthesis.margins.duplicate" if margin else "synthesis.margins.empty",
            )
    for name in names:
        if not any(name in margin for margin in margins):
            raise _wrong(
                f"{name!r} is in no margin",
                "add it to a margin, or add a margin of this column alone",
                "synthesis.margins.absent",
            )


def _wrong(what: str, do: str, code: str) -> CaveatError:
    return CaveatError(what, where="synthesis, margins", do=do, entry=("margins",), code=code)


def plan_margins(
    table: Table,
    codings: Mapping[str, Coding],
    given: Sequence[Sequence[str]],
    clearing: Any = None,
    weights: NDArray[np.float64] | None = None,
) -> tuple[MarginsPlan, list[str]]:
    """Return the tables that columns are made from, and what has to be said about them.

    Parameters
    ----------
    table
        The original table.
    codings
        The columns that are made from margins, with their cells.
    given
        The margins that a user asks for; none: a tree of pairs is chosen.
    clearing
        The rules that the tables are cleared by.
    weights
        Survey weights of the records.
    """
    rules = None if clearing is None else Clearing.of(clearing)
    sizes = {name: n_cells_of(coding) for name, coding in codings.items()}
    remarks: list[str] = []
    if given:
        check_margins(given, list(codings))
        margins = maximal(given)
    else:
        margins = tuple(spanning_tree(cells_of(codings, table), sizes, weights, rules))
        large = [m[0] for m in margins if len(m) == 1 and len(codings) > 1]
        if large:
            remarks.append(
                f"{', '.join(large)}: no table with another column has at most {MOST_CELLS:,} cells"
                + ("" if rules is None else " and is not wholly suppressed")
                + ", so that it is drawn from its own shares"
            )
    for margin in margins:
        check_size(margin, [sizes[name] for name in margin])
    for part in components(margins):
        names = [n for n in codings if any(n in margin for margin in part)]
        if not is_tree(part) and not within([sizes[name] for name in names]):
            raise _wrong(
                f"the margins of {', '.join(names)} are no tree of pairs, and their joint table "
                f"has more than {MOST_CELLS:,} cells",
                "give pairs that form no circle, or take fewer columns or bins",
                "synthesis.table.too-large",
            )
    return MarginsPlan(margins, not given, rules), remarks
