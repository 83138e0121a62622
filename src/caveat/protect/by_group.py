"""What a protection does to each group: who is still seen, and what can still be said of them.

For any protection, and for synthetic data: a mean over everybody does not show that one group
pays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.intervals import Z95
from caveat.table import Table
from caveat.table.cells import Ints

__all__ = ["Burden", "OddsRatio", "burdens", "odds_ratios"]


@dataclass(frozen=True)
class OddsRatio:
    """The odds of an outcome in a group beside those in the reference group.

    Attributes
    ----------
    value
        The ratio; None where it cannot be estimated, because a group has nobody with the outcome,
        or nobody without it.
    interval
        95 %, from the normal distribution of its logarithm.
    n
        Records of the group whose outcome is known.
    """

    value: float | None
    interval: tuple[float, float] | None
    n: int


@dataclass(frozen=True)
class Burden:
    """What a protection did to one group.

    Attributes
    ----------
    group
        Its name before.
    before, after
        The odds ratio from the records that carry the name.
    """

    group: str
    before: OddsRatio
    after: OddsRatio

    __repr__ = without_values

    @property
    def lost(self) -> float:
        """Share of the group that can no longer be told to belong to it; below 0 for a gain."""
        return 1 - self.after.n / self.before.n if self.before.n else 0.0


def odds_ratios(
    table: Table, attribute: str, outcome: str, event: Any, *, reference: str = ""
) -> dict[str, OddsRatio]:
    """Return the odds ratio of an outcome for each group, from the records that carry its name.

    Parameters
    ----------
    table
        The records. Where the attribute or the outcome is missing or masked, they are left out.
    attribute
        The column that names the groups.
    outcome, event
        The column of the outcome, and the value of it that counts.
    reference
        The group the others are compared with; the largest one if it is not given.

    Examples
    --------
    >>> people = Table.from_frame({"group": list("aaaabbb"), "ill": list("ynnnyyn")})
    >>> {name: one.value for name, one in odds_ratios(people, "group", "ill", "y").items()}
    {'a': 1.0, 'b': 6.0}
    """
    column, told = table[attribute], table[outcome]
    names = [str(level) for level in column.levels.tolist()]
    codes = [i for i, level in enumerate(told.levels.tolist()) if str(level) == str(event)]
    if not codes:
        raise CaveatError(
            "nobody has this outcome",
            column=outcome,
            do="name a value that occurs",
            code="data.level.unknown",
        )
    known = ~column.is_missing & ~told.is_missing
    groups, hit = column.codes[known], np.isin(told.codes[known], codes)
    n = np.bincount(groups, minlength=len(names))
    with_it = np.bincount(groups, hit, len(names)).astype(np.int64)
    if reference and reference not in names:
        raise CaveatError(
            "the reference group does not occur",
            column=attribute,
            do="name another one",
            code="data.level.unknown",
        )
    if not n.any():
        raise CaveatError(
            "no group is left to compare", column=attribute, code="protection.group.empty"
        )
    base = names.index(reference) if reference else int(np.argmax(n))
    return {name: _ratio(with_it, n - with_it, i, base) for i, name in enumerate(names) if n[i]}


def _ratio(with_it: Ints, without: Ints, group: int, base: int) -> OddsRatio:
    n = int(with_it[group] + without[group])
    cells = [int(c[i]) for i in (group, base) for c in (with_it, without)]
    if not all(cells):
        return OddsRatio(None, None, n)
    value = cells[0] * cells[3] / (cells[1] * cells[2])
    if group == base:
        return OddsRatio(1.0, None, n)
    reach = Z95 * math.sqrt(sum(1 / cell for cell in cells))
    return OddsRatio(value, (value * math.exp(-reach), value * math.exp(reach)), n)


def burdens(
    before: Table, after: Table, attribute: str, outcome: str, event: Any, *,
    reference: str = "", merged: Mapping[str, str] | None = None,
) -> tuple[Burden, ...]:  # fmt: skip
    """Compare each group before and after a protection, smallest group first.

    Parameters
    ----------
    before, after
        The records before and after: the original and a release, or a release and what a protection
        made of it.
    attribute, outcome, event, reference
        As for :func:`odds_ratios`. The reference is the largest group before.
    merged
        The group that others became part of, by their names before. They get its odds ratio, and
        nobody is seen as one of them.
    """
    first = odds_ratios(before, attribute, outcome, event, reference=reference)
    base = reference or max(first, key=lambda name: first[name].n)
    into = dict(merged or {})
    second = odds_ratios(after, attribute, outcome, event, reference=into.get(base, base))
    found = []
    for name in sorted(first, key=lambda name: first[name].n):
        now = second.get(into.get(name, name), OddsRatio(None, None, 0))
        if name in into:
            now = OddsRatio(now.value, now.interval, 0)
        found.append(Burden(name, first[name], now))
    return tuple(found)
