"""One candidate: the rules have the same numbers in the compiled loops."""

from __future__ import annotations

from caveat.outputs import elimination
from caveat.outputs.elimination import Rule


def test_the_numbers_of_the_rules_are_those_of_the_loops() -> None:
    for rule in set(Rule) - {Rule.CLOSE}:  # which no elimination knows
        assert getattr(elimination, rule.name) == rule
