"""Formulas, conditions and rules as ``caveat synth`` reads them: how names and values are written.

The language itself is defined where it is read; here are only the parts that a look can suggest.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "LONGEST", "RESERVED", "Rule", "can_be_named", "fixed", "is_one_of", "literal", "named",
    "suggest",
]  # fmt: skip

LONGEST = 10_000  # characters of a rule or formula: longer ones are not read
# Words with a meaning of their own: a column of this name stands in backticks.
RESERVED = frozenset(
    ("round", "floor", "ceil", "abs", "sqrt", "log", "exp", "min", "max", "missing")
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in words of the language, the column it asks about and the one it decides upon."""

    source: str
    target: str
    text: str


def can_be_named(name: str) -> bool:
    """Whether a column of this name can stand in a formula or a rule at all."""
    return not re.search(r"[`\n]| then ", name)


def named(name: str) -> str:
    """Return a column name as it stands in a formula, in backticks unless it is a plain word."""
    plain = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII)
    return name if plain and not keyword.iskeyword(name) and name not in RESERVED else f"`{name}`"


def literal(value: Any) -> str:
    """Return a number or a text as it stands in a rule.

    What would end a text too early, a backtick or the word before the consequence, is escaped.
    """
    return repr(value).replace("`", r"\x60").replace(" then ", r" \x74hen ")


def is_one_of(name: str, values: Sequence[Any]) -> str:
    """Return the condition that a column has one of the values."""
    if len(values) == 1:
        return f"{named(name)} == {literal(values[0])}"
    return f"{named(name)} in [{', '.join(map(literal, values))}]"


def fixed(source: str, condition: str, target: str, value: str) -> Rule:
    """Return the rule that the target has a value, as it is written, where a condition holds."""
    return Rule(source, target, f"if {condition} then {named(target)} = {value}")


def suggest(rules: Sequence[Rule]) -> dict[str, Any]:
    """Return the rules that can be written, as the suggestion of a finding."""
    known = [
        rule
        for rule in rules
        if can_be_named(rule.source) and can_be_named(rule.target) and len(rule.text) <= LONGEST
    ]
    return {
        "rules": [rule.text for rule in known],
        "between": [[rule.source, rule.target] for rule in known],
    }
