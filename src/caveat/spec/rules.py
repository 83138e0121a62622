"""Rules of the synthesis as a specification has them: about a record, or about a group."""

from __future__ import annotations

import re

from caveat.errors import CaveatError
from caveat.synthesis.linked.plan import some_of
from caveat.synthesis.linked.stages import FIRST, PREVIOUS
from caveat.synthesis.rules import parse_rule

__all__ = ["columns_of", "is_of_groups"]


def is_of_groups(rule: str) -> bool:
    """Whether a rule asks for some member of every group, as ``any(age >= 18)`` does."""
    return re.match(r"\s*any\s*\(", rule) is not None


def columns_of(rule: str, grouped: bool) -> tuple[str, ...]:
    """Return the columns that a rule names, or say why it cannot be read.

    Parameters
    ----------
    rule
        The text.
    grouped
        Whether rows belong together.

    Examples
    --------
    >>> columns_of("any(age >= 18)", grouped=True), columns_of("begin <= end", grouped=False)
    (('age',), ('begin', 'end'))
    """
    if not is_of_groups(rule):
        read = parse_rule(rule)
        names = (*read.sources, read.target)
        # What is asked of the first member, or of the one before, is a column of members.
        before = (FIRST, PREVIOUS) if grouped else ()
        return tuple(name.split(".", 1)[1] if name.startswith(before) else name for name in names)
    if not grouped:
        raise CaveatError(
            "any() asks the members of a group, and no group is named",
            do='add [groups] with key = "…"',
            code="spec.entry.absent",
        )
    return tuple(some_of(rule).columns)
