"""Small eliminations in fractions."""

from __future__ import annotations

from fractions import Fraction

from caveat.outputs.audit import combination


def test_what_cannot_be_combined_is_none_and_what_is_twice_is_found() -> None:
    one, two = {0: Fraction(1)}, {1: Fraction(2)}
    assert combination([one, one, two], {0: Fraction(3), 1: Fraction(1)}) == [3, 0, Fraction(1, 2)]
    assert combination([one], {1: Fraction(1)}) is None
    assert combination([], {1: Fraction(1)}) is None
