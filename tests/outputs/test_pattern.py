"""The rules have words."""

from __future__ import annotations

from caveat.outputs.elimination import Rule


def test_every_rule_says_what_it_protects() -> None:
    assert len({rule.words for rule in Rule}) == 5
