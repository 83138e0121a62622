"""One candidate: the rules have the same numbers in the compiled loops."""

from __future__ import annotations

from caveat.outputs import _attempt
from caveat.outputs._pattern import Rule


def test_the_numbers_of_the_rules_are_those_of_the_loops() -> None:
    for rule in set(Rule) - {Rule.CLOSE}:  # which no elimination knows
        assert getattr(_attempt, rule.name) == rule
