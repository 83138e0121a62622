"""Tables become rows that have them again."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.synthesis.drafts.columns import Margin, blocks_of, joint_rows, whole_counts


def margin(by: str, counts: list[list[int]] | list[int], weight: float = 1.0) -> Margin:
    shares = np.array(counts, float)
    return Margin(tuple(by), shares / shares.sum(), weight, ("table", 0))


def test_blocks_are_what_tables_tie_together() -> None:
    ab, cd, bc, e = (margin(by, [[1, 1], [1, 1]]) for by in ("ab", "cd", "bc", "ef"))
    assert blocks_of([ab, cd]) == [("a", "b"), ("c", "d")]
    assert blocks_of([ab, cd, e, bc]) == [("e", "f"), ("a", "b", "c", "d")]


def test_two_tables_come_out_exactly() -> None:
    ab, bc = margin("ab", [[3, 7], [11, 2]]), margin("bc", [[9, 5], [1, 8]])
    sizes = dict.fromkeys("abc", 2)
    rows = joint_rows(("a", "b", "c"), sizes, [ab, bc], 23, np.random.default_rng(1))
    for one, counts in (("ab", [[3, 7], [11, 2]]), ("bc", [[9, 5], [1, 8]])):
        x, y = (rows[name] for name in one)
        found = np.bincount(2 * x + y, minlength=4).reshape(2, 2)
        assert found.tolist() == counts


def test_axes_in_another_order_are_the_same_table() -> None:
    ba = margin("ba", [[3, 7], [11, 2]])
    ab = margin("ab", [[3, 11], [7, 2]])
    sizes = {"a": 2, "b": 2}
    made = [joint_rows(("a", "b"), sizes, [one], 23, np.random.default_rng(1)) for one in (ba, ab)]
    counts = [np.bincount(2 * rows["a"] + rows["b"]).tolist() for rows in made]
    assert counts == [[3, 11, 7, 2]] * 2


def test_other_numbers_of_rows_stay_near() -> None:
    shares = np.array([0.335, 0.335, 0.33])
    assert whole_counts(shares, [(0,)], [shares], 100).sum() == 100
    assert np.abs(whole_counts(shares, [(0,)], [shares], 100) - 100 * shares).max() < 1


def test_large_tables_are_rounded_by_what_is_left_over() -> None:
    joint = np.full((80, 80), 1 / 6400)
    counts = whole_counts(joint, [(0,)], [np.full((80, 1), 1 / 80)], 10_000)
    assert counts.sum() == 10_000
    assert set(np.unique(counts)) == {1, 2}


def test_margins_that_contradict_each_other_name_the_nearest() -> None:
    ab, b = margin("ab", [[1, 1], [1, 1]]), margin("b", [6, 4])
    with pytest.raises(CaveatError) as raised:
        joint_rows(("a", "b"), {"a": 2, "b": 2}, [ab, b], 100, np.random.default_rng(1))
    # By hand: b with share p costs 2·(p/2 − ¼)²·2 … = (p − ½)² and 2(p − 0.6)²: p = 0.5667.
    assert "contradict each other" in str(raised.value)
    assert "0.2833, 0.2167" in str(raised.value) or "0.5667, 0.4333" in str(raised.value)


def test_pairs_that_agree_on_every_column_and_still_contradict() -> None:
    """If a = b and b = c for everybody, a ≠ c for nobody."""
    same, other = [[5, 0], [0, 5]], [[0, 5], [5, 0]]
    margins = [margin("ab", same), margin("bc", same), margin("ac", other)]
    with refused("draft.table.conflict", entry=("table", 0)):
        joint_rows(("a", "b", "c"), dict.fromkeys("abc", 2), margins, 10, np.random.default_rng(1))
