"""Elimination as in the paper; its patterns are compared in test_elimination."""

from __future__ import annotations

from caveat.outputs.elimination import _without


def test_a_row_is_gone_and_the_rest_is_whole_and_small() -> None:
    assert _without({0: 4, 1: 2}, {0: 6, 2: 3}, 0) == {1: 1, 2: -1}
    assert _without({0: 2, 1: 2}, {0: -1, 1: -1}, 0) == {}
